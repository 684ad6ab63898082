package payout_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func TestPayoutTravels(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	s := e.Server
	partner, _ := e.Referrer(10000, 5000)
	s.Must(201, apitest.Grant(s, e.ProgramID, partner, M{"amount_minor": -300}))
	s.Must(201, apitest.Grant(s, e.ProgramID, partner, M{"amount_minor": 700, "currency": "EUR"}))
	batch := e.Batch(201)
	require.Equal(t, "open", batch.String("status"))
	require.Equal(t, s.Clock.Now().String(), batch.String("period_end"), "a bare date of today ends now")
	require.EqualValues(t, 2, batch.Int("payout_count"))
	require.Len(t, batch.Body["totals"], 2)
	usd := e.Payouts("&batch_id=" + batch.String("id") + "&expand=partner,batch")
	require.Len(t, usd, 2)
	var p apitest.Answer
	for _, one := range usd {
		if one.String("currency") == "USD" {
			p = one
		}
	}
	require.EqualValues(t, 2700, p.Int("amount_minor"), "the clawback is netted")
	require.EqualValues(t, 3, p.Int("commission_count"))
	require.Equal(t, []string{"pending", "2026-10-01T00:00:00.000Z"}, []string{p.String("status"), p.String("due_at")})
	require.Equal(t, batch.Body, p.Body["batch"])
	e.Tallied(t)
	again := e.Batch(200)
	require.Equal(t, batch.String("id"), again.String("id"))
	require.EqualValues(t, 2, again.Int("payout_count"), "a second run pays nobody twice")
	s.Clock.Advance(time.Hour)
	s.Refused(400, "parameter_invalid", "paid_at", s.Post("/v1/payouts/"+p.String("id")+"/mark_paid", M{
		"paid_at": "2026-09-01T13:00:01Z",
	}))
	paid := s.Must(200, s.Post("/v1/payouts/"+p.String("id")+"/mark_paid", M{"external_id": "wire-1", "method": "wire"}))
	require.Equal(t, []string{"paid", "wire-1", "wire", "2026-09-01T13:00:00.000Z"}, []string{
		paid.String("status"), paid.String("external_id"), paid.String("method"), paid.String("paid_at"),
	})
	s.Refused(409, "payout_already_paid", "", s.Post("/v1/payouts/"+p.String("id")+"/mark_paid", nil))
	s.Refused(409, "payout_already_paid", "", s.Delete("/v1/payouts/"+p.String("id")))
	types := s.EventTypes(e.ProgramID)
	require.Equal(t, []string{"commission.paid", "commission.paid", "commission.paid", "payout.paid"},
		types[len(types)-4:])
	_, due, done := s.Balance(e.ProgramID, partner, "USD")
	require.Equal(t, []int64{0, 2700}, []int64{due, done})
	e.Tallied(t)
}

func TestPayoutEligibility(t *testing.T) {
	t.Parallel()
	e := newEarner(t, M{"min_payout_minor": 1000, "payout_methods": []string{"paypal"}})
	s := e.Server
	poor, _ := e.Referrer(4000)
	suspended, _ := e.Referrer(50000)
	s.Must(200, s.Post("/v1/partners/"+suspended, M{"status": "suspended"}))
	bare, _ := e.Referrer(50000)
	fine, _ := e.Referrer(50000)
	s.Must(200, s.Post("/v1/partners/"+fine, M{"payout_method": "paypal"}))
	reason := func(partner string) string { return e.Payouts("&partner_id=" + partner)[0].String("reason") }
	batch := e.Batch(201)
	require.EqualValues(t, 1, batch.Int("payout_count"))
	require.EqualValues(t, 3, batch.Int("not_eligible_count"))
	require.Equal(t, []string{"below_minimum", "partner_not_active", "no_payout_method", ""}, []string{
		reason(poor), reason(suspended), reason(bare), reason(fine),
	})
	require.Contains(t, e.Payouts("&partner_id=" + poor)[0].String("reason_text"), "8.00 USD is due")
	require.Contains(t, e.Payouts("&partner_id=" + poor)[0].String("reason_text"), "the minimum is 10.00 USD")
	require.Equal(t, 3, apitest.Tally(s, e.ProgramID, "payout.not_eligible"))
	id := e.Payouts("&partner_id=" + poor)[0].String("id")
	s.Refused(409, "payout_not_payable", "", s.Post("/v1/payouts/"+id+"/mark_paid", nil))
	e.Batch(200)
	require.Equal(t, 3, apitest.Tally(s, e.ProgramID, "payout.not_eligible"), "the same reason is no news")
	s.Must(200, s.Post("/v1/partners/"+poor, M{"payout_method": "paypal", "min_payout_minor": 500}))
	e.Batch(200, M{"partner_id": poor})
	p := e.Payouts("&partner_id=" + poor)[0]
	require.Equal(t, []string{id, "pending", "paypal"}, []string{p.String("id"), p.String("status"), p.String("method")})
	require.Equal(t, 2, apitest.Tally(s, e.ProgramID, "payout.created"))
	s.Must(200, s.Post("/v1/partners/"+bare, M{"payout_method": "paypal", "min_payout_minor": 1000000}))
	e.Batch(200)
	require.Equal(t, "below_minimum", reason(bare))
	e.Batch(200, M{"ignore_minimum": true})
	require.Empty(t, reason(bare))
	e.Tallied(t)
}

func TestPayoutDeleted(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	partner, _ := e.Referrer(10000)
	e.Batch(201)
	p := e.Payouts("")[0]
	e.Must(200, e.Delete("/v1/payouts/"+p.String("id")))
	require.Empty(t, e.Payouts(""))
	types := e.EventTypes(e.ProgramID)
	require.Equal(t, "payout.deleted", types[len(types)-1])
	_, due, _ := e.Balance(e.ProgramID, partner, "USD")
	require.EqualValues(t, 2000, due)
	e.Batch(200)
	require.NotEqual(t, p.String("id"), e.Payouts("")[0].String("id"), "the next run collects them again")
	e.Tallied(t)
}

// TestMoneyLeavesAnOpenPayout: refunds and rejections reduce a pending payout, and remove it if
// nothing is left.
func TestMoneyLeavesAnOpenPayout(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	s := e.Server
	partner, sales := e.Referrer(10000, 5000)
	e.Batch(201)
	amount := func() int64 { return e.Payouts("")[0].Int("amount_minor") }
	s.Must(200, s.Post("/v1/sales/"+sales[0]+"/refund", M{"amount_minor": 2500}))
	require.EqualValues(t, 2500, amount())
	e.Tallied(t)
	s.Must(200, s.Post("/v1/sales/"+sales[0]+"/refund", nil))
	require.EqualValues(t, 1000, amount())
	e.Tallied(t)
	k := s.Get("/v1/commissions?program_id=" + e.ProgramID + "&sale_id=" + sales[1]).Data()[0]["id"].(string)
	s.Must(200, s.Post("/v1/commissions/"+k+"/reject", M{"reason": "fraud"}))
	require.Empty(t, e.Payouts(""))
	require.Equal(t, 1, apitest.Tally(s, e.ProgramID, "payout.deleted"))
	_, due, _ := s.Balance(e.ProgramID, partner, "USD")
	require.EqualValues(t, 0, due)
	e.Tallied(t)
}

func TestBatchRefusals(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	other := e.Program()
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{"period_end": nil}, 400, "parameter_invalid", "period_end"},
		{M{"period_end": "2026-09-02"}, 400, "parameter_invalid", "period_end"},
		{M{"period_end": "2026-09-01T12:00:01Z"}, 400, "parameter_invalid", "period_end"},
		{M{"period_end": "August"}, 400, "parameter_invalid", "period_end"},
		{M{"program_id": "prg_none"}, 404, "resource_not_found", "program_id"},
		{M{"partner_id": "part_none"}, 404, "resource_not_found", "partner_id"},
		{M{"partner_id": e.Partner(other)}, 400, "invalid_reference", "partner_id"},
	} {
		body := M{"program_id": e.ProgramID, "period_end": "2026-08-31"}
		maps.Copy(body, c.body)
		e.Refused(c.status, c.code, c.param, e.Post("/v1/payout_batches", body))
	}
}

// TestPayoutRaces: concurrent batches, payments, refunds and deletions through two servers leave
// books that balance, and pay nothing twice.
func TestPayoutRaces(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	s := e.Server
	replica := *s
	replica.URL = apitest.On(t, s.DSN, s.Clock).URL
	replica.Key = s.Key
	var sales []string
	for range 4 {
		_, some := e.Referrer(10000, 5000)
		sales = append(sales, some...)
	}
	answers := apitest.AtOnce(16, func(i int) apitest.Answer {
		via := s
		if i%2 == 1 {
			via = &replica
		}
		return via.Post("/v1/payout_batches", M{"program_id": e.ProgramID, "period_end": "2026-09-01"})
	})
	created := 0
	for _, a := range answers {
		require.Contains(t, []int{200, 201}, a.Status, "%s", a.Raw)
		if a.Status == 201 {
			created++
		}
	}
	require.Equal(t, 1, created)
	require.Len(t, e.Payouts(""), 4)
	e.Tallied(t)
	payouts := e.Payouts("")
	answers = apitest.AtOnce(32, func(i int) apitest.Answer {
		p := "/v1/payouts/" + payouts[i%4].String("id")
		switch i / 4 % 4 {
		case 0, 1:
			return s.Post(p+"/mark_paid", nil)
		case 2:
			return replica.Post("/v1/sales/"+sales[i%8]+"/refund", nil)
		}
		return replica.Post("/v1/sales/"+sales[i%8]+"/refund", M{"amount_minor": 1000})
	})
	for _, a := range answers {
		require.Contains(t, []int{200, 400, 404, 409}, a.Status, "%s", a.Raw)
	}
	e.Tallied(t)
	paid := 0
	for _, p := range e.Payouts("") {
		if p.String("status") == "paid" {
			paid++
		}
	}
	require.Equal(t, paid, apitest.Tally(s, e.ProgramID, "payout.paid"))
}

func TestPayoutsFallDue(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	e.Referrer(10000)
	e.Batch(201)
	apitest.RunJob(t, e.Server, "payouts-due")
	require.Zero(t, apitest.Tally(e.Server, e.ProgramID, "payout.due"))
	e.Clock.Set(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC))
	apitest.AtOnce(4, func(int) apitest.Answer { apitest.RunJob(t, e.Server, "payouts-due"); return apitest.Answer{} })
	require.Equal(t, 1, apitest.Tally(e.Server, e.ProgramID, "payout.due"), "once, on any number of replicas")
	e.Tallied(t)
}

func TestAutoPayouts(t *testing.T) {
	t.Parallel()
	e := newEarner(t, M{"auto_payouts_enabled": true})
	e.Referrer(10000)
	s := e.Server
	batches := func() []map[string]any { return s.Get("/v1/payout_batches?program_id=" + e.ProgramID).Data() }
	s.Clock.Set(time.Date(2026, 10, 1, 0, 9, 59, 0, time.UTC))
	apitest.RunJob(t, s, "auto-payouts")
	require.Empty(t, batches(), "not before ten past midnight")
	s.Clock.Set(time.Date(2026, 10, 1, 0, 10, 0, 0, time.UTC))
	apitest.AtOnce(4, func(int) apitest.Answer { apitest.RunJob(t, s, "auto-payouts"); return apitest.Answer{} })
	require.Equal(t, "2026-09-30T23:59:59.999Z", batches()[0]["period_end"])
	require.Len(t, e.Payouts(""), 1)
	require.Equal(t, 1, apitest.Tally(s, e.ProgramID, "payout.created"))
	e.Tallied(t)
}
