package sale_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// charge returns the charge of the sale.
func (w sold) charge() string { return w.s.Get("/v1/sales/" + w.saleID).String("external_charge_id") }

// TestRefundIsTakenOnce: a refund with an id is recorded once, by any route, however often and
// however late it is reported.
func TestRefundIsTakenOnce(t *testing.T) {
	t.Parallel()
	w := sell(t, 10000)
	part := M{"external_refund_id": "re_1", "amount_minor": 2500}
	first := w.s.Must(200, w.refund(part))
	require.EqualValues(t, 2500, first.Int("amount_minor"))
	w.s.Clock.Advance(100 * 24 * time.Hour)
	events := w.s.EventTypes(w.program)
	again := w.s.Must(200, w.refund(part))
	require.Equal(t, string(first.Raw), string(again.Raw), "the first result")
	byCharge := w.s.Must(200, w.s.Post("/v1/refunds", apitest.RefundBody(w.program, w.charge(), "re_1",
		M{"amount_minor": 2500})))
	require.Equal(t, first.String("id"), byCharge.String("id"))
	differs := w.s.Must(200, w.refund(M{"external_refund_id": "re_1", "amount_minor": 2400,
		"refunded_at": "2026-09-02T00:00:00Z"}))
	require.Equal(t, []any{M{
		"code":    "differs_from_recorded",
		"message": "The refund was recorded before with other values, which stay: amount_minor, refunded_at.",
	}}, differs.Body["warnings"])
	require.Equal(t, events, w.s.EventTypes(w.program), "a repeat is no event")
	sale := w.s.Get("/v1/sales/" + w.saleID)
	require.Equal(t, []int64{7500, 10000, 2500}, []int64{sale.Int("amount_minor"), sale.Int("charged_minor"),
		sale.Int("refunded_minor")})

	rest := w.s.Must(201, w.s.Post("/v1/refunds", apitest.RefundBody(w.program, w.charge(), "re_2")))
	require.EqualValues(t, 7500, rest.Int("amount_minor"))
	sale = w.s.Get("/v1/sales/" + w.saleID)
	require.Equal(t, []int64{10000, 10000}, []int64{sale.Int("charged_minor"), sale.Int("refunded_minor")})
	late := w.s.Must(201, w.s.Post("/v1/refunds", apitest.RefundBody(w.program, w.charge(), "re_3")))
	require.Equal(t, []any{int64(0), "applied"}, []any{late.Int("amount_minor"), late.String("status")},
		"nothing was left")
	list := w.s.Must(200, w.s.Get("/v1/refunds?expand[]=sale&program_id="+w.program+"&sale_id="+w.saleID))
	require.Len(t, list.Data(), 3)
	require.Equal(t, w.saleID, list.Data()[0]["sale"].(M)["id"])
	require.Equal(t, rest.Body["commissions"], w.s.Must(200,
		w.s.Get("/v1/refunds/"+rest.String("id"))).Body["commissions"])
	apitest.Balanced(t, w.s)
}

// TestRefundBeforeItsSale: a refund that arrives before its sale waits, can be retrieved, and is
// applied in the transaction of the sale.
func TestRefundBeforeItsSale(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	customer := s.Customer(program, partner)
	s.Flow(program)
	early := s.Must(202, s.Post("/v1/refunds", apitest.RefundBody(program, "ch_1", "re_1", M{"amount_minor": 4000,
		"reason": "asked"})))
	require.Equal(t, []any{"waiting", nil, nil}, []any{early.String("status"), early.Body["sale_id"],
		early.Body["currency"]})
	again := s.Must(200, s.Post("/v1/refunds", apitest.RefundBody(program, "ch_1", "re_1", M{"amount_minor": 4000})))
	require.Equal(t, early.String("id"), again.String("id"))
	s.Must(202, s.Post("/v1/refunds", apitest.RefundBody(program, "ch_1", "re_2", M{"amount_minor": 99999})))
	require.EqualValues(t, 2,
		s.Get("/v1/refunds?status=waiting&external_charge_id=ch_1&program_id="+program).Int("total_count"))

	other := s.Sale(program, customer, M{"external_charge_id": "ch_2"})
	s.Refused(409, "refund_waiting", "external_refund_id", s.Post("/v1/sales/"+other.String("id")+"/refund",
		M{"external_refund_id": "re_1"}))

	s.Clock.Advance(time.Hour)
	sale := s.Sale(program, customer, M{"external_charge_id": "ch_1", "amount_minor": 10000,
		"occurred_at": s.Clock.Now().String()})
	require.Equal(t, "commission_created", sale.String("activity_outcome"))
	require.Equal(t, []int64{10000, 10000}, []int64{sale.Int("charged_minor"), sale.Int("refunded_minor")},
		"at most what there was")
	require.Equal(t, sale.String("occurred_at"), sale.String("refunded_at"), "not before the sale")
	first := s.Get("/v1/refunds/" + early.String("id"))
	require.Equal(t, []any{"applied", sale.String("id"), "USD", int64(4000), "asked"},
		[]any{first.String("status"), first.String("sale_id"), first.String("currency"), first.Int("amount_minor"),
			first.String("reason")})
	second := apitest.Answer{Body: s.Get("/v1/refunds?external_refund_id=re_2&program_id=" + program).Data()[0]}
	require.EqualValues(t, 6000, second.Int("amount_minor"), "what was left")
	apitest.Balanced(t, s)
}

// TestRefundsThatWaitAreBounded: a sale has a limited number of waiting refunds, and applies them
// all.
func TestRefundsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	customer := s.Customer(program, s.Partner(program))
	for range 50 {
		s.Must(202, s.Post("/v1/refunds", apitest.RefundBody(program, "ch_1", apitest.Unique("re_"), M{"amount_minor": 1})))
	}
	s.Refused(409, "refund_waiting", "external_charge_id", s.Post("/v1/refunds", apitest.RefundBody(program, "ch_1", "re_over")))
	sale := s.Sale(program, customer, M{"external_charge_id": "ch_1"})
	require.EqualValues(t, 50, sale.Int("refunded_minor"))
	lines := s.Get("/v1/audit_log_entries?action=sale.refunded&program_id=" + program)
	require.EqualValues(t, 50, lines.Int("total_count"), "each has its line in the audit log")
	s.Must(201, s.Post("/v1/refunds", apitest.RefundBody(program, "ch_1", "re_over")))
	apitest.Balanced(t, s)
}

// TestRefundGivesUp: a refund without a sale is unmatched after 30 days. If it is reported again
// when the sale exists, it is applied.
func TestRefundGivesUp(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	customer := s.Customer(program, s.Partner(program))
	body := apitest.RefundBody(program, "ch_1", "re_1")
	early := s.Must(202, s.Post("/v1/refunds", body))
	s.Clock.Advance(30*24*time.Hour - time.Minute)
	apitest.RunJob(t, s, "expire-refunds")
	require.Equal(t, "waiting", s.Get("/v1/refunds/"+early.String("id")).String("status"))
	s.Clock.Advance(time.Minute)
	apitest.RunJob(t, s, "expire-refunds")
	require.Equal(t, "unmatched", s.Get("/v1/refunds/"+early.String("id")).String("status"))
	require.Nil(t, s.Sale(program, customer, M{"external_charge_id": "ch_1"}).Body["refunded_at"])
	again := s.Must(201, s.Post("/v1/refunds", body))
	require.Equal(t, []string{early.String("id"), "applied"}, []string{again.String("id"), again.String("status")})
	apitest.Balanced(t, s)
}

// TestRefundReachesCommissionsByHand: a refund also takes its share of rewards and deductions that
// were granted by hand for the sale, paid or not.
func TestRefundReachesCommissionsByHand(t *testing.T) {
	t.Parallel()
	for _, paid := range []bool{false, true} {
		w := sell(t, 10000, M{"holding_period_days": 0})
		second := w.s.Partner(w.program)
		w.s.Must(201, apitest.Grant(w.s, w.program, w.partner, M{"amount_minor": 5000, "external_charge_id": w.charge()}))
		w.s.Must(201, apitest.Grant(w.s, w.program, w.partner, M{"amount_minor": -700, "sale_id": w.saleID}))
		w.s.Must(201, apitest.Grant(w.s, w.program, second, M{"amount_minor": 300, "sale_id": w.saleID}))
		other := apitest.Grant(w.s, w.program, w.partner, M{"amount_minor": 111})
		w.s.Must(201, other)
		if paid {
			w.s.Must(201, w.s.Post("/v1/payout_batches", M{"program_id": w.program,
				"period_end": w.s.Clock.Now().String()}))
			for _, p := range w.s.Get("/v1/payouts?program_id=" + w.program).Data() {
				w.s.Must(200, w.s.Post("/v1/payouts/"+p["id"].(string)+"/mark_paid", nil))
			}
		}
		refund := w.s.Must(200, w.refund(nil))
		require.Len(t, refund.Body["commissions"], 4)
		want := map[bool][]int64{false: {4, 0}, true: {0, 2000 + 5000 + 300}}[paid]
		require.Equal(t, want, []int64{refund.Int("voided_commissions"), refund.Int("clawback_minor")})
		var left int64
		for _, k := range w.commissions() {
			if status := k.String("status"); status != "voided" {
				left += k.Int("amount_minor")
			}
		}
		require.Zero(t, left, "commissions of a refunded sale sum to nothing")
		_, due, settled := w.s.Balance(w.program, w.partner, "USD")
		require.EqualValues(t, 111, due+settled, "what no sale earned stays")
		w.s.Refused(409, "sale_refunded", "sale_id", apitest.Grant(w.s, w.program, second, M{"amount_minor": 300,
			"sale_id": w.saleID}))
		apitest.Balanced(t, w.s)
	}
}

// TestRefundOfASaleAhead: a sale may be some minutes ahead of the server's clock. A refund without
// a time is still accepted.
func TestRefundOfASaleAhead(t *testing.T) {
	t.Parallel()
	w := sell(t, 1000)
	ahead := w.s.Clock.Now().Add(4 * time.Minute).UTC().Format(time.RFC3339Nano)
	w.saleID = w.s.Sale(w.program, w.customer, M{"occurred_at": ahead}).String("id")
	sale := w.s.Get("/v1/sales/" + w.saleID)
	require.Equal(t, sale.String("occurred_at"), w.s.Must(200, w.refund(nil)).String("refunded_at"))
}

func TestRefundRefusalsByCharge(t *testing.T) {
	t.Parallel()
	w := sell(t, 1000)
	stranger := apitest.On(t, w.s.DSN, w.s.Clock)
	foreign := stranger.Program()
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{"external_charge_id": nil}, 400, "parameter_invalid", "external_charge_id"},
		{M{"external_refund_id": ""}, 400, "parameter_invalid", "external_refund_id"},
		{M{"amount_minor": 0}, 400, "parameter_invalid", "amount_minor"},
		{M{"amount_minor": 1001}, 400, "parameter_invalid", "amount_minor"},
		{M{"refunded_at": "2026-09-01T13:00:01Z"}, 400, "parameter_invalid", "refunded_at"},
		{M{"refunded_at": "2026-09-01T13:00:01Z", "external_charge_id": "ch_none"}, 400, "parameter_invalid",
			"refunded_at"},
		{M{"program_id": "prg_none"}, 404, "resource_not_found", "program_id"},
		{M{"program_id": foreign}, 404, "resource_not_found", "program_id"},
	} {
		w.s.Refused(c.status, c.code, c.param, w.s.Post("/v1/refunds", apitest.RefundBody(w.program, w.charge(), "re_1",
			c.body)))
	}
	require.EqualValues(t, 0, w.s.Get("/v1/refunds?program_id="+w.program).Int("total_count"))
	w.s.Refused(404, "resource_not_found", "", w.s.Get("/v1/refunds/rfd_none"))
	other := w.s.Program()
	s2 := w.s.Must(202, w.s.Post("/v1/refunds", apitest.RefundBody(other, w.charge(), "re_1")))
	require.Equal(t, "waiting", s2.String("status"), "charges are those of a program")
}
