package payout_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/wait"
	"rail/server/money/payout"
	"rail/server/money/payout/railtest"
	"rail/server/secret"
)

func TestRailSettles(t *testing.T) {
	t.Parallel()
	r := apitest.NewPayoutRail(t)
	s := r.Server
	id, partner, sales := r.Due(t, 10000, 5000)
	require.NoError(t, r.Round(t))
	require.Equal(t, "pending", r.Payout(id).String("status"), "not before its day")
	r.Later()
	require.NoError(t, r.Round(t))
	p := r.Payout(id)
	require.Equal(t, []string{"processing", "tr_" + id}, []string{p.String("status"), p.String("external_id")})
	transfer, times := r.Rail.Transfer(id)
	require.Equal(t, 1, times)
	require.JSONEq(t, `{"email":"pay@example.com"}`, string(transfer.Details))
	require.Equal(t,
		payout.Transfer{
			ID: id, AmountMinor: 3000, Currency: "USD", Method: "paypal", PartnerID: partner, Email: transfer.Email,
			Name: transfer.Name, Details: transfer.Details, SubmittedAt: transfer.SubmittedAt,
		}, transfer)
	require.Equal(t, 1, apitest.Tally(s, r.ProgramID, "payout.updated"))

	s.Refused(409, "payout_in_flight", "", s.Post("/v1/payouts/"+id+"/mark_paid", nil))
	s.Refused(409, "payout_in_flight", "", s.Delete("/v1/payouts/"+id))
	s.Refused(409, "payout_in_flight", "", s.Delete("/v1/partners/"+partner))
	k := s.Get("/v1/commissions?program_id=" + r.ProgramID + "&sale_id=" + sales[0]).Data()[0]["id"].(string)
	s.Refused(409, "commission_in_payout", "", s.Post("/v1/commissions/"+k+"/reject", M{"reason": "late"}))
	refund := s.Must(200, s.Post("/v1/sales/"+sales[0]+"/refund", nil))
	require.EqualValues(t, 2000, refund.Int("clawback_minor"), "what is in flight counts as paid")
	require.NoError(t, r.Round(t))
	require.Equal(t, "processing", r.Payout(id).String("status"))
	r.Tallied(t)

	r.Rail.End(id, payout.Status{State: payout.Settled})
	require.NoError(t, r.Round(t))
	p = r.Payout(id)
	require.Equal(t, []string{"paid", "tr_" + id, s.Clock.Now().String()}, []string{
		p.String("status"), p.String("external_id"), p.String("paid_at"),
	})
	_, due, paid := s.Balance(r.ProgramID, partner, "USD")
	require.Equal(t, []int64{-2000, 3000}, []int64{due, paid}, "the clawback waits for the next payout")
	types := s.EventTypes(r.ProgramID)
	require.Equal(t, []string{"commission.paid", "commission.paid", "payout.paid"}, types[len(types)-3:])
	require.NoError(t, r.Round(t))
	require.Equal(t, 1, apitest.Tally(s, r.ProgramID, "payout.paid"))
	r.Tallied(t)
}

func TestRailRejectsAndReturns(t *testing.T) {
	t.Parallel()
	r := apitest.NewPayoutRail(t)
	s := r.Server
	rejected, _, _ := r.Due(t, 10000)
	returned, _, _ := r.Due(t, 5000)
	r.Later()
	require.NoError(t, r.Round(t))
	r.Rail.End(rejected, payout.Status{State: payout.Rejected, Code: "account_closed", Message: "The account is closed."})
	r.Rail.End(returned, payout.Status{State: payout.Returned})
	require.NoError(t, r.Round(t))
	p := r.Payout(rejected)
	require.Equal(t, []string{"failed", "account_closed", "The account is closed."}, []string{
		p.String("status"), p.String("error_code"), p.String("error_message"),
	})
	require.Equal(t, []string{"failed", "returned"}, []string{
		r.Payout(returned).String("status"), r.Payout(returned).String("error_code"),
	})
	require.Equal(t, 2, apitest.Tally(s, r.ProgramID, "payout.failed"))
	require.EqualValues(t, 1, p.Int("commission_count"), "a failed payout keeps what it has")
	paid := s.Must(200, s.Post("/v1/payouts/"+rejected+"/mark_paid", M{"method": "wire"}))
	require.Equal(t, []any{"paid", nil, nil}, []any{
		paid.Body["status"], paid.Body["error_code"], paid.Body["error_message"],
	})
	s.Must(200, s.Delete("/v1/payouts/"+returned))
	r.Tallied(t)
}

// TestRefundsDuringPayout: a refund during a payout in flight claws its share back. Whatever
// happens to the payout, nothing is taken twice.
func TestRefundsDuringPayout(t *testing.T) {
	t.Parallel()
	r := apitest.NewPayoutRail(t)
	s := r.Server
	id, partner, sales := r.Due(t, 10000)
	r.Later()
	require.NoError(t, r.Round(t))
	require.EqualValues(t, 500,
		s.Must(200, s.Post("/v1/sales/"+sales[0]+"/refund", M{"amount_minor": 2500})).Int("clawback_minor"))
	r.Rail.End(id, payout.Status{State: payout.Rejected})
	require.NoError(t, r.Round(t))
	k := s.Get("/v1/commissions?program_id=" + r.ProgramID + "&kind=referral").Data()[0]["id"].(string)
	s.Refused(409, "commission_not_open", "", s.Post("/v1/commissions/"+k+"/reject", M{"reason": "x"}))
	require.EqualValues(t, 1500, s.Must(200, s.Post("/v1/sales/"+sales[0]+"/refund", nil)).Int("clawback_minor"))
	require.Equal(t, []any{"failed", int64(500), int64(2)},
		[]any{r.Payout(id).String("status"), r.Payout(id).Int("amount_minor"), r.Payout(id).Int("commission_count")},
		"what is clawed back now is in the payout, so that no more is paid than is left")
	r.Tallied(t)
	s.Must(200, s.Delete("/v1/payouts/"+id))
	_, due, _ := s.Balance(r.ProgramID, partner, "USD")
	require.EqualValues(t, 0, due)
	r.Tallied(t)
}

// TestRailAway: a lost response or an unavailable rail delays a payout and never pays it twice.
func TestRailAway(t *testing.T) {
	t.Parallel()
	r := apitest.NewPayoutRail(t)
	id, _, _ := r.Due(t, 10000)
	r.Later()
	r.Rail.SetDown(true)
	require.ErrorIs(t, r.Round(t), railtest.ErrDown)
	require.Equal(t, "processing", r.Payout(id).String("status"))
	r.Rail.SetDown(false)
	r.Rail.LoseAnswers(true)
	require.ErrorIs(t, r.Round(t), railtest.ErrDown)
	r.Rail.LoseAnswers(false)
	r.Rail.End(id, payout.Status{State: payout.Settled})
	require.NoError(t, r.Round(t))
	require.Equal(t, "paid", r.Payout(id).String("status"))
	refused, _, _ := r.Due(t, 3000)
	r.Later()
	r.Rail.Refuse("limit", "Too much.")
	require.NoError(t, r.Round(t))
	require.Equal(t, []string{"failed", "limit"}, []string{
		r.Payout(refused).String("status"), r.Payout(refused).String("error_code"),
	})
	r.Tallied(t)
}

// TestPollWithoutDetails: a rail is asked about a payout although its partner's details cannot be read any longer.
func TestPollWithoutDetails(t *testing.T) {
	t.Parallel()
	r := apitest.NewPayoutRail(t)
	id, partner, _ := r.Due(t, 10000)
	r.Later()
	require.NoError(t, r.Round(t))
	_, err := r.Server.Pool.Exec(t.Context(), "UPDATE partners SET payout_details = 'x' WHERE id = $1", partner)
	require.NoError(t, err)
	r.Rail.End(id, payout.Status{State: payout.Rejected, Code: "closed"})
	require.NoError(t, r.Round(t))
	require.Equal(t, "failed", r.Payout(id).String("status"))
}

// TestRailSendsOnlyPayable: the rail does not pay a partner who was suspended or chose another
// method. A payout stays in flight if its state is unknown, or if the rail refuses a payout that it
// may already have.
func TestRailSendsOnlyPayable(t *testing.T) {
	t.Parallel()
	r := apitest.NewPayoutRail(t)
	s := r.Server
	suspended, bad, _ := r.Due(t, 10000)
	s.Must(200, s.Post("/v1/partners/"+bad, M{"status": "suspended"}))
	moved, fickle, _ := r.Due(t, 10000)
	s.Must(200, s.Post("/v1/partners/"+fickle, M{"payout_method": nil}))
	odd, _, _ := r.Due(t, 10000)
	r.Hold = true
	suspicious, _, _ := r.Due(t, 10000)
	f := openFlagOn(t, s, suspicious)
	r.Later()
	r.Rail.LoseAnswers(true)
	require.ErrorIs(t, r.Round(t), railtest.ErrDown)
	r.Rail.LoseAnswers(false)
	r.Rail.Refuse("duplicate", "We have that one.")
	require.Error(t, r.Round(t))
	statuses := func() (out []string) {
		for _, id := range []string{suspended, moved, odd, suspicious} {
			out = append(out, r.Payout(id).String("status"))
		}
		return out
	}
	require.Equal(t, []string{"pending", "pending", "processing", "pending"}, statuses())
	r.Rail.Accept()
	r.Rail.End(odd, payout.Status{State: "pending_review"})
	require.ErrorContains(t, r.Round(t), "pending_review")
	s.Must(200, s.Post("/v1/risk_flags/"+f+"/resolve", M{"note": "Known."}))
	require.ErrorContains(t, r.Round(t), "pending_review")
	require.Equal(t, []string{"pending", "pending", "processing", "processing"}, statuses(),
		"what was kept back goes once its flag is closed")
	require.Equal(t, 4, apitest.Tally(s, r.ProgramID, "payout.due"), "recorded before anything is sent")
	r.Tallied(t)
}

// TestStaleRefusal: a refusal fails no payout that another server has submitted since it was leased.
func TestStaleRefusal(t *testing.T) {
	t.Parallel()
	r := apitest.NewPayoutRail(t)
	id, _, _ := r.Due(t, 10000)
	r.Later()
	r.Rail.LoseAnswers(true)
	require.ErrorIs(t, r.Round(t), railtest.ErrDown) // another server: the payout is submitted once
	now, err := db.New().PayoutGet(t.Context(), r.Pool, db.PayoutGetParams{ID: id, OrgID: r.Org})
	require.NoError(t, err)
	require.EqualValues(t, 1, now.Submissions)
	leased := now
	leased.Submissions = 0
	u := r.SendsPayouts(r.Clock.Now())
	sender := payout.Sender{Pool: r.Pool}
	require.NoError(t, sender.Refuse(t.Context(), u, leased, payout.Refusal{Code: "payout_method_changed"}))
	require.Equal(t, "processing", r.Payout(id).String("status"))
	require.NoError(t, sender.Refuse(t.Context(), u, now, payout.Refusal{Code: "closed"}))
	require.Equal(t, []string{"failed", "closed"}, []string{r.Payout(id).String("status"), r.Payout(id).String("error_code")})
}

// stuck is a rail that never answers.
type stuck struct{ calls atomic.Int32 }

func (*stuck) Name() string      { return "stuck" }
func (*stuck) Methods() []string { return []string{"wise"} }
func (s *stuck) Submit(ctx context.Context, _ payout.Transfer) (string, error) {
	s.calls.Add(1)
	<-ctx.Done()
	return "", ctx.Err()
}
func (*stuck) Status(context.Context, payout.Transfer) (payout.Status, error) {
	return payout.Status{}, nil
}

// TestRailThatHangs: a rail that does not answer gets few requests and does not delay others. No
// rail may have the name reserved for files.
func TestRailThatHangs(t *testing.T) {
	t.Parallel()
	r := apitest.PayoutRail{Earner: apitest.NewEarner(t), Rail: railtest.New()}
	s := r.Server
	for range 12 {
		partner, _ := r.Referrer(10000)
		s.Must(200, s.Post("/v1/partners/"+partner, M{"payout_method": "wise"}))
	}
	id, _, _ := r.Due(t, 10000)
	r.Later()
	r.Rail.End(id, payout.Status{State: payout.Settled})
	apitest.RunJob(t, s, "payouts-due")
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	hangs := &stuck{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended, began := make(chan error, 1), time.Now()
	go func() {
		ended <- payout.Sender{
			Pool: s.Pool, Keeper: keeper, Rails: []payout.Rail{hangs, ofPayPal{r.Rail, "memory"}, ofPayPal{r.Rail, "file"}},
		}.Run(ctx, s.SendsPayouts(s.Clock.Now()))
	}()
	wait.Until(t, func() bool { return hangs.calls.Load() > 0 && r.Payout(id).String("status") == "paid" })
	require.Less(t, time.Since(began), 15*time.Second, "less than the timeout of a rail")
	cancel()
	require.ErrorContains(t, <-ended, `cannot have the name "file"`)
	r.Tallied(t)
}

// ofPayPal is a rail in memory with another name. It pays by PayPal only.
type ofPayPal struct {
	*railtest.Rail
	name string
}

func (r ofPayPal) Name() string    { return r.name }
func (ofPayPal) Methods() []string { return []string{"paypal"} }

// openFlagOn opens a high flag on the partner of a payout.
func openFlagOn(t *testing.T, s *apitest.Server, id string) (flag string) {
	t.Helper()
	p := s.Must(200, s.Get("/v1/payouts/"+id))
	partner := s.Get("/v1/partners/" + p.String("partner_id"))
	s.Refused(409, "self_referral_blocked", "email", s.Post("/v1/customers", M{
		"program_id": p.String("program_id"), "partner_id": partner.String("id"), "email": partner.String("email"),
	}))
	return s.Get("/v1/risk_flags?program_id=" + p.String("program_id") + "&partner_id=" +
		partner.String("id")).Data()[0]["id"].(string)
}

// TestRailRaces: concurrent runs of two replicas, manual payments, refunds and deletions end every
// payout once.
func TestRailRaces(t *testing.T) {
	t.Parallel()
	r := apitest.NewPayoutRail(t)
	s := r.Server
	for range 5 {
		id, _, sales := r.Due(t, 10000)
		r.Later()
		r.Rail.End(id, payout.Status{State: payout.Settled})
		apitest.AtOnce(8, func(i int) apitest.Answer {
			switch i % 4 {
			case 0:
				return s.Post("/v1/payouts/"+id+"/mark_paid", nil)
			case 1:
				return s.Post("/v1/sales/"+sales[0]+"/refund", M{"amount_minor": 1000})
			default:
				if err := r.Again(t); err != nil {
					t.Error(err)
				}
				return apitest.Answer{}
			}
		})
		require.NoError(t, r.Round(t))
		require.Equal(t, "paid", r.Payout(id).String("status"))
		_, times := r.Rail.Transfer(id)
		require.LessOrEqual(t, times, 1)
		r.Tallied(t)
	}
	require.Equal(t, 5, apitest.Tally(s, r.ProgramID, "payout.paid"))
}

// TestRaceR7MarkPaidSettlement races manual payments through two servers with the settlement of a
// payment rail: one wins. Stage G6 of the bar tests the other races of two servers. Its servers
// have no rail.
func TestRaceR7MarkPaidSettlement(t *testing.T) {
	t.Parallel()
	const rounds, callers = 12, 16
	servers := apitest.Processes(t, apitest.Real(t), 2)
	w := earner{servers[0].Server.Earner(M{"payout_methods": []string{"paypal"}})}
	w.Flow(w.ProgramID)
	keeper, err := secret.New(w.Config.SecretKey)
	require.NoError(t, err)
	memory := railtest.New()
	sender := payout.Sender{Pool: w.Pool, Keeper: keeper, Rails: []payout.Rail{memory}}
	for round := range rounds + 1 {
		partner := w.Partner(w.ProgramID)
		w.Must(200, w.Post("/v1/partners/"+partner, M{"payout_method": "paypal"}))
		sale := w.Sale(w.ProgramID, w.Customer(w.ProgramID, partner), M{"amount_minor": 10000}).String("id")
		commission := w.Get("/v1/commissions?program_id=" + w.ProgramID + "&sale_id=" + sale).Data()[0]["id"].(string)
		w.Must(201, ensure201(w.Post("/v1/payout_batches", M{
			"program_id": w.ProgramID, "period_end": clock.System{}.Now().String(),
		})))
		id := w.Payouts("&partner_id=" + partner)[0].String("id")
		if round == 0 { // the key of statements must not begin at the later time of a rail's round
			w.Must(200, w.Post("/v1/payouts/"+id+"/mark_paid", nil))
		}
		memory.End(id, payout.Status{State: payout.Settled})
		now := clock.System{}.Now().Days(int64(40 + round))
		apitest.RunJobAt(t, w.Server, "payouts-due", now)
		for _, a := range apitest.AtOnce(callers, func(i int) apitest.Answer {
			if i%4 > 0 {
				return servers[i%2].Post("/v1/payouts/"+id+"/mark_paid", nil)
			}
			if err := sender.Run(t.Context(), w.Server.SendsPayouts(now.Plus(time.Duration(i)*time.Minute))); err != nil {
				t.Error(err)
			}
			return apitest.Answer{}
		}) {
			require.Contains(t, []int{0, 200, 201, 400, 404, 409}, a.Status, "%s", a.Raw)
		}
		require.NoError(t, sender.Run(t.Context(), w.Server.SendsPayouts(now.Plus(time.Hour))))
		require.Equal(t, "paid", w.Payouts("&partner_id=" + partner)[0].String("status"))
		for kind, subject := range map[string]string{"payout.paid": id, "commission.paid": commission} {
			var n int
			require.NoError(t, w.Pool.QueryRow(t.Context(),
				"SELECT count(*) FROM events WHERE type = $1 AND subject_id = $2", kind, subject).Scan(&n))
			require.Equal(t, 1, n, kind)
		}
	}
	w.Tallied(t)
}
