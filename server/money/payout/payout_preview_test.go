package payout_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/api"
	"rail/server/harness/apitest"
)

// preview returns the preview of a batch, through the generated client.
func (e earner) preview(t *testing.T, change ...func(*api.PayoutPreviewRequest)) *api.PayoutPreview {
	t.Helper()
	body := api.PayoutPreviewRequest{ProgramID: e.ProgramID, PeriodEnd: "2026-09-01"}
	for _, c := range change {
		c(&body)
	}
	answer, err := e.Client.PreviewPayoutBatchWithResponse(t.Context(), body)
	require.NoError(t, err)
	require.NotNil(t, answer.JSON200, "%s", answer.Body)
	return answer.JSON200
}

// payoutLine is a line of a preview, or a payout of a batch. Both have these members.
type payoutLine struct {
	partner, currency, reason, text string
	amount, commissions             int64
}

// previewLines returns the lines for which a batch creates payouts.
func previewLines(p *api.PayoutPreview) map[payoutLine]bool {
	out := map[payoutLine]bool{}
	for _, l := range p.Data {
		if l.Outcome == api.PayoutPreviewOutcomePayout || l.Outcome == api.PayoutPreviewOutcomeNotEligible {
			count := l.CommissionCount
			if l.Reason != nil {
				count = 0 // such a payout has no commissions
			}
			out[payoutLine{
				l.PartnerID, l.Currency, fmt.Sprint(deref(l.Reason)), deref(l.ReasonText), l.AmountMinor, count,
			}] = true
		}
	}
	return out
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// TestPayoutPreview: a batch creates exactly the payouts of the preview, with the same texts. A
// preview changes nothing.
func TestPayoutPreview(t *testing.T) {
	t.Parallel()
	e := newEarner(t, M{"min_payout_minor": 1000, "payout_methods": []string{"paypal", "wise"}})
	s := e.Server
	method := func(partner string, m any) { s.Must(200, s.Post("/v1/partners/"+partner, M{"payout_method": m})) }
	fine, _ := e.Referrer(10000, 20000)
	method(fine, "paypal")
	s.Must(201, apitest.Grant(s, e.ProgramID, fine, M{"amount_minor": 700, "currency": "EUR"}))
	small, _ := e.Referrer(100)
	method(small, "wise")
	methodless, _ := e.Referrer(50000)
	gone, _ := e.Referrer(50000)
	method(gone, "paypal")
	s.Must(200, s.Post("/v1/partners/"+gone, M{"status": "suspended"}))
	indebted, sales := e.Referrer(50000)
	method(indebted, "paypal")
	e.Batch(201, M{"partner_id": indebted})
	s.Must(200, s.Post("/v1/payouts/"+e.Payouts("&partner_id=" + indebted)[0].String("id")+"/mark_paid", nil))
	s.Must(200, s.Post("/v1/sales/"+sales[0]+"/refund", nil))
	early, _ := e.Referrer(20000)
	method(early, "paypal")
	e.Batch(200, M{"partner_id": early})
	s.Sale(e.ProgramID, s.Customer(e.ProgramID, early), M{"amount_minor": 30000})
	s.Flow(e.ProgramID, M{"approval_mode": "after_days", "approval_delay_days": 5, "priority": 1})
	waiting, _ := e.Referrer(40000)
	method(waiting, "wise")

	before := s.Must(200, s.Get("/v1/commissions?program_id="+e.ProgramID+"&limit=100")).Raw
	p := e.preview(t)
	require.Equal(t, before, s.Must(200, s.Get("/v1/commissions?program_id="+e.ProgramID+"&limit=100")).Raw)
	outcomes := map[string]api.PayoutPreviewOutcome{}
	for _, l := range p.Data {
		outcomes[l.PartnerID+l.Currency] = l.Outcome
	}
	require.Equal(t, map[string]api.PayoutPreviewOutcome{
		fine + "USD": "payout", fine + "EUR": "payout", small + "USD": "not_eligible", methodless + "USD": "not_eligible",
		gone + "USD": "not_eligible", indebted + "USD": "nothing_due", early + "USD": "next_month",
	}, outcomes, "what approves itself later is in none")
	require.EqualValues(t, 6, p.PartnerCount)
	require.Equal(t, []any{false, false, "2026-10-01T00:00:00.000Z"}, []any{p.Partial, p.HasMore, p.DueAt.String()})
	require.NotNil(t, p.BatchID)
	require.Equal(t, api.PayoutPreviewTotal{
		Outcome: "payout", Currency: "EUR", Method: new(api.PayoutMethodPaypal), PayoutCount: 1, AmountMinor: 700,
	}, p.Totals[0])

	// Some days later the commission is approved automatically, whether or not the job has run.
	s.Clock.Advance(6 * 24 * time.Hour)
	at := func(b *api.PayoutPreviewRequest) { b.PeriodEnd = s.Clock.Now().String() }
	p = e.preview(t, at)
	want := previewLines(p)
	require.Len(t, want, 6)
	require.Equal(t, want, e.previewPages(t, at, p.Totals))
	only := e.preview(t, at, func(b *api.PayoutPreviewRequest) { b.Outcome = new(api.PayoutPreviewOutcomeNextMonth) })
	require.Len(t, only.Data, 1)
	require.Equal(t, early, only.Data[0].PartnerID)
	require.Contains(t, *only.Data[0].ReasonText, "already")

	earlier := map[string]bool{}
	for _, y := range e.Payouts("") {
		earlier[y.String("id")] = true
	}
	e.Batch(200, M{"period_end": s.Clock.Now().String()})
	require.Equal(t, want, e.linesSince(earlier))
	e.Tallied(t)
}

// previewPages collects the lines of a preview in pages of one line.
func (e *earner) previewPages(t *testing.T, at func(*api.PayoutPreviewRequest), totals []api.PayoutPreviewTotal) map[payoutLine]bool {
	t.Helper()
	paged := map[payoutLine]bool{}
	for after := ""; ; {
		some := e.preview(t, at, func(b *api.PayoutPreviewRequest) {
			b.Limit = new(int64(1))
			if after != "" {
				b.StartingAfter = &after
			}
		})
		require.Equal(t, totals, some.Totals, "of all, whatever the page")
		for line := range previewLines(some) {
			paged[line] = true
		}
		if !some.HasMore {
			return paged
		}
		after = some.Data[len(some.Data)-1].PartnerID
	}
}

// linesSince returns the payouts that are not among earlier.
func (e *earner) linesSince(earlier map[string]bool) map[payoutLine]bool {
	got := map[payoutLine]bool{}
	for _, y := range e.Payouts("&limit=100") {
		if !earlier[y.String("id")] {
			reason, _ := y.Body["reason"].(string)
			text, _ := y.Body["reason_text"].(string)
			got[payoutLine{
				y.String("partner_id"), y.String("currency"), reason, text, y.Int("amount_minor"), y.Int("commission_count"),
			}] = true
		}
	}
	return got
}

// TestPayoutPreviewNarrows: a preview accepts and refuses the same parameters as a batch.
func TestPayoutPreviewNarrows(t *testing.T) {
	t.Parallel()
	e := newEarner(t, M{"min_payout_minor": 1000000})
	one, _ := e.Referrer(10000)
	e.Referrer(10000)
	alone := e.preview(t, func(b *api.PayoutPreviewRequest) { b.PartnerID, b.IgnoreMinimum = &one, new(true) })
	require.Len(t, alone.Data, 1)
	require.EqualValues(t, "payout", alone.Data[0].Outcome)
	require.Nil(t, alone.BatchID)
	require.EqualValues(t, "below_minimum", *e.preview(t).Data[0].Reason)
	other := e.Program()
	stranger := e.Partner(other)
	group := apitest.Answer{Body: e.Get("/v1/groups?program_id=" + other).Data()[0]}.String("id")
	for param, id := range map[string]string{"partner_id": stranger, "group_id": group} {
		e.Refused(400, "invalid_reference", param, e.Post("/v1/payout_batches/preview", M{"program_id": e.ProgramID, "period_end": "2026-09-01", param: id}))
	}
	e.Refused(400, "parameter_invalid", "period_end",
		e.Post("/v1/payout_batches/preview", M{"program_id": e.ProgramID, "period_end": "2099-01-01"}))
	require.Empty(t, e.Payouts(""))
}

// TestPayoutPreviewOfMany: the sums include all partners, in several pages of reads.
func TestPayoutPreviewOfMany(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	e.many(2*page + 3)
	p := e.preview(t)
	require.EqualValues(t, 2*page+3, p.PartnerCount)
	require.Len(t, p.Data, 100)
	require.True(t, p.HasMore)
	require.Equal(t, []api.PayoutPreviewTotal{
		{Outcome: "payout", Currency: "USD", PayoutCount: 2*page + 3, AmountMinor: 1000 * (2*page + 3)},
	}, p.Totals)
}
