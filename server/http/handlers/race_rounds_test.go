package handlers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/jobs"
	"rail/server/money/payout"
	"rail/server/money/payout/railtest"
	"rail/server/secret"
)

// rounds is how often each race is run, and callers how many take part.
const (
	rounds  = 12
	callers = 16
)

// twins are two server processes on one database.
type twins struct {
	earner
	of []*apitest.Process
}

func newTwins(t *testing.T, more ...M) twins {
	t.Helper()
	of := apitest.Processes(t, apitest.Real(t), 2)
	e := earner{of[0].Server, of[0].Program(more...)}
	e.s.Flow(e.program)
	return twins{e, of}
}

// race runs f for every caller at once, each through one of the processes, and
// fails the test for an answer that is neither a success nor a refusal.
func (w twins) race(t *testing.T, f func(i int, s *apitest.Process) apitest.Answer) []apitest.Answer {
	t.Helper()
	out := atOnce(callers, func(i int) apitest.Answer { return f(i, w.of[i%2]) })
	for _, a := range out {
		require.Contains(t, []int{0, 200, 201, 400, 404, 409}, a.Status, "%s", a.Raw)
	}
	return out
}

// sold returns a partner, a sale of theirs and its commission.
func (w twins) sold(amount int, more ...M) (partner, sale, commission string) {
	partner = w.s.Partner(w.program)
	sale = w.s.Sale(w.program, w.s.Customer(w.program, partner),
		append([]M{{"amount_minor": amount}}, more...)...).String("id")
	for _, k := range w.s.Get("/v1/commissions?program_id=" + w.program + "&sale_id=" + sale).Data() {
		commission = k["id"].(string)
	}
	return partner, sale, commission
}

func (w twins) collect(via *apitest.Server) apitest.Answer {
	return via.Post("/v1/payout_batches", M{"program_id": w.program, "period_end": clock.System{}.Now().String()})
}

func (w twins) payoutOf(partner string) (string, string) {
	for _, p := range w.payouts("&partner_id=" + partner) {
		return p.String("id"), p.String("status")
	}
	return "", ""
}

// told counts the events of a type about one object.
func (w twins) told(t *testing.T, kind, subject string) (n int) {
	t.Helper()
	require.NoError(t,
		w.s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM events WHERE type = $1 AND subject_id = $2", kind,
			subject).Scan(&n))
	return n
}

func (w twins) commission(id string) apitest.Answer {
	return w.s.Must(200, w.s.Get("/v1/commissions/"+id))
}

func statuses(answers []apitest.Answer, status int) (n int) {
	for _, a := range answers {
		if a.Status == status {
			n++
		}
	}
	return n
}

// Refunds of one sale at once make one.
func TestRaceR1RefundRefund(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	for range rounds {
		_, sale, commission := w.sold(10000)
		answers := w.race(t,
			func(_ int, s *apitest.Process) apitest.Answer { return s.Post("/v1/sales/"+sale+"/refund", nil) })
		var voided int64
		for _, a := range answers {
			require.Equal(t, 200, a.Status, "%s", a.Raw)
			require.Equal(t, answers[0].String("refunded_at"), a.String("refunded_at"))
			voided += a.Int("voided_commissions")
		}
		require.EqualValues(t, 1, voided)
		require.Equal(t, []int{1, 1}, []int{w.told(t, "sale.refunded", sale), w.told(t, "commission.voided", commission)})
	}
	w.tallied(t)
}

// A payment and refunds at once: voided and not paid, or paid and clawed
// back, once.
func TestRaceR2R6RefundMarkPaid(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	for range rounds {
		partner, sale, commission := w.sold(10000)
		w.s.Must(201, ensure201(w.collect(w.s)))
		id, _ := w.payoutOf(partner)
		answers := w.race(t, func(i int, s *apitest.Process) apitest.Answer {
			if i%4 == 0 {
				return s.Post("/v1/sales/"+sale+"/refund", nil)
			}
			return s.Post("/v1/payouts/"+id+"/mark_paid", nil)
		})
		_, due, paid := w.s.Balance(w.program, partner, "USD")
		switch k := w.commission(commission); k.String("status") {
		case "voided":
			require.Equal(t, []int64{0, 0}, []int64{due, paid})
			require.Zero(t, w.told(t, "payout.paid", id))
		case "paid":
			require.Equal(t, []int64{-2000, 2000}, []int64{due, paid})
			require.Equal(t, []int{1, 1}, []int{w.told(t, "payout.paid", id), w.told(t, "commission.paid", commission)})
			require.Equal(t, 5, statuses(answers, 200), "one payment and four refunds")
		default:
			require.Fail(t, "neither", "%v", k.Body)
		}
	}
	w.tallied(t)
}

// ensure201 lets a batch that was there already count as made.
func ensure201(a apitest.Answer) apitest.Answer {
	if a.Status == 200 {
		a.Status = 201
	}
	return a
}

// Refunds and batches of one month at once: one payout a partner, which
// holds exactly what is in it.
func TestRaceR3R5RefundBatch(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	for range rounds {
		partner, sale, _ := w.sold(10000)
		other, _, kept := w.sold(5000)
		w.race(t, func(i int, s *apitest.Process) apitest.Answer {
			if i%4 == 0 {
				return s.Post("/v1/sales/"+sale+"/refund", M{"amount_minor": 1000})
			}
			return w.collect(s.Server)
		})
		require.Len(t, w.payouts("&partner_id="+partner), 1)
		require.Len(t, w.payouts("&partner_id="+other), 1)
		require.NotNil(t, w.commission(kept).Body["payout_id"])
		w.tallied(t)
	}
}

// A refund, approvals and the jobs at once keep one order.
func TestRaceR4RefundMaturityApprove(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	w.s.Flow(w.program, M{"approval_mode": "manual", "priority": 1})
	for round := range rounds {
		partner, sale, commission := w.sold(10000)
		w.race(t, func(i int, s *apitest.Process) apitest.Answer {
			switch {
			case i == 5 && round%2 == 0:
				return s.Post("/v1/sales/"+sale+"/refund", nil)
			case i%3 == 0:
				for _, j := range jobs.All(jobs.Means{Pool: w.s.Pool, Clock: w.s.Clock}) {
					if j.Name == "mature-commissions" || j.Name == "approve-commissions" {
						if err := j.Run(t.Context(), clock.System{}.Now()); err != nil {
							t.Error(err)
						}
					}
				}
				return apitest.Answer{}
			}
			return s.Post("/v1/commissions/"+commission+"/approve", nil)
		})
		k := w.commission(commission)
		_, due, _ := w.s.Balance(w.program, partner, "USD")
		if round%2 == 0 {
			require.Equal(t, []any{"voided", int64(0)}, []any{k.String("status"), due})
			require.Equal(t, 1, w.told(t, "commission.voided", commission))
		} else {
			require.Equal(t, []any{"due", int64(2000)}, []any{k.String("status"), due})
		}
		balanced(t, w.s)
	}
}

// A payment by hand and the rail's settlement: one wins.
func TestRaceR7MarkPaidSettlement(t *testing.T) {
	t.Parallel()
	w := newTwins(t, M{"payout_methods": []string{"paypal"}})
	keeper, err := secret.New(w.s.Config.SecretKey)
	require.NoError(t, err)
	memory := railtest.New()
	sender := payout.Sender{Pool: w.s.Pool, Keeper: keeper, Rails: []payout.Rail{memory}}
	for round := range rounds {
		partner, _, commission := w.sold(10000)
		w.s.Must(200, w.s.Post("/v1/partners/"+partner, M{"payout_method": "paypal"}))
		w.s.Must(201, ensure201(w.collect(w.s)))
		id, _ := w.payoutOf(partner)
		memory.End(id, payout.Status{State: payout.Settled})
		now := clock.System{}.Now().Days(int64(40 + round))
		runJobAt(t, w.s, "payouts-due", now)
		w.race(t, func(i int, s *apitest.Process) apitest.Answer {
			if i%4 > 0 {
				return s.Post("/v1/payouts/"+id+"/mark_paid", nil)
			}
			if err := sender.Run(t.Context(), railRun(w.s, now.Plus(time.Duration(i)*time.Minute))); err != nil {
				t.Error(err)
			}
			return apitest.Answer{}
		})
		require.NoError(t, sender.Run(t.Context(), railRun(w.s, now.Plus(time.Hour))))
		_, status := w.payoutOf(partner)
		require.Equal(t, "paid", status)
		require.Equal(t, []int{1, 1}, []int{w.told(t, "payout.paid", id), w.told(t, "commission.paid", commission)})
	}
	w.tallied(t)
}

// Of approvals and rejections one decides.
func TestRaceR8ApproveReject(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	w.s.Flow(w.program, M{"approval_mode": "manual", "priority": 1})
	for range rounds {
		_, _, commission := w.sold(10000)
		answers := w.race(t, func(i int, s *apitest.Process) apitest.Answer {
			if i < callers/2 {
				return s.Post("/v1/commissions/"+commission+"/approve", nil)
			}
			return s.Post("/v1/commissions/"+commission+"/reject", M{"reason": "x"})
		})
		approved, rejected := statuses(answers[:callers/2], 200), statuses(answers[callers/2:], 200)
		require.LessOrEqual(t, approved, 1)
		require.Equal(t, 1, rejected, "an approved one can still be rejected, once")
		require.Equal(t, "rejected", w.commission(commission).String("status"))
		require.Equal(t, approved+1, w.told(t, "commission.updated", commission))
	}
	w.tallied(t)
}

// Of a customer's first sales at once one is the first.
func TestRaceR12FirstSales(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	handle := w.s.PartnerObject(w.program).String("handle")
	for range rounds {
		customers, referral := visitors(w.s, w.program, handle, 1)
		answers := w.race(t, func(_ int, s *apitest.Process) apitest.Answer {
			return s.Post("/v1/sales", apitest.SaleBody(w.program, customers[0]))
		})
		first := 0
		for _, a := range answers {
			require.Equal(t, 201, a.Status, "%s", a.Raw)
			if a.Body["is_first_sale"] == true {
				first++
			}
		}
		require.Equal(t, 1, first)
		require.Equal(t, 1, w.told(t, "referral.converted", referral))
	}
	w.tallied(t)
}

// A customer that is reassigned while it pays: sale, commission and event
// name the same partner.
func TestRaceR13ReassignSale(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	ada, bob := w.s.Partner(w.program), w.s.Partner(w.program)
	for range rounds {
		customer := w.s.Customer(w.program, ada)
		w.race(t, func(i int, s *apitest.Process) apitest.Answer {
			if i%4 == 0 {
				return s.Post("/v1/customers/"+customer, M{"partner_id": []string{ada, bob}[i/4%2]})
			}
			return s.Post("/v1/sales", apitest.SaleBody(w.program, customer))
		})
	}
	var wrong int
	require.NoError(t,
		w.s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM sales s LEFT JOIN commissions k ON k.sale_id = s.id
		LEFT JOIN events e ON e.subject_id = s.id AND e.type = 'sale.created'
		WHERE (s.partner_id, s.partner_id) IS DISTINCT FROM (k.partner_id, e.partner_id)`).Scan(&wrong))
	require.Zero(t, wrong)
	w.tallied(t)
}

// A partner that goes while its customers pay: each sale is unattributed
// with a warning, or was complete before.
func TestRaceR16PartnerDeleteSale(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	for range rounds {
		partner := w.s.Partner(w.program)
		customer := w.s.Customer(w.program, partner)
		answers := w.race(t, func(i int, s *apitest.Process) apitest.Answer {
			if i == 7 {
				return s.Delete("/v1/partners/" + partner)
			}
			return s.Post("/v1/sales", apitest.SaleBody(w.program, customer))
		})
		require.Equal(t, 200, answers[7].Status, "%s", answers[7].Raw)
		for i, a := range answers {
			if i == 7 || a.Status == 404 { // the customer went with its partner
				continue
			}
			require.Equal(t, 201, a.Status, "%s", a.Raw)
			sale := w.s.Must(200, w.s.Get("/v1/sales/"+a.String("id")))
			require.Nil(t, sale.Body["partner_id"])
			require.Empty(t, w.s.Get("/v1/commissions?program_id="+w.program+"&sale_id="+a.String("id")).Data())
		}
		balanced(t, w.s)
	}
}
