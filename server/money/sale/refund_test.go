package sale_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/ident"
)

// sold is a program with one sale that earned 20 %.
type sold struct {
	s                                  *apitest.Server
	program, partner, customer, saleID string
}

func sell(t *testing.T, amount int64, more ...M) sold {
	t.Helper()
	s := apitest.New(t)
	w := sold{s: s, program: s.Program(more...)}
	w.partner = s.Partner(w.program)
	w.customer = s.Customer(w.program, w.partner)
	s.Flow(w.program)
	w.saleID = s.Sale(w.program, w.customer, M{"amount_minor": amount}).String("id")
	s.Clock.Advance(time.Hour)
	return w
}

func (w sold) refund(body any) apitest.Answer { return w.s.Post("/v1/sales/"+w.saleID+"/refund", body) }

// commissions returns the commissions of the sale, oldest first.
func (w sold) commissions() (out []apitest.Answer) {
	data := w.s.Must(200, w.s.Get("/v1/commissions?program_id="+w.program+"&sale_id="+w.saleID)).Data()
	for _, d := range slices.Backward(data) {
		out = append(out, apitest.Answer{Body: d})
	}
	return out
}

// pay marks the commission as paid, as a payout would.
func (w sold) pay(t *testing.T) {
	t.Helper()
	batch, payout := ident.New(ident.Batch), ident.New(ident.Payout)
	for _, sql := range []string{
		`INSERT INTO payout_batches (id, org_id, program_id, period_month, period_end, created_at, updated_at)
			VALUES ('` + batch + `', '` + w.s.Org + `', '` + w.program +
			`', '2026-09-01', '2026-09-30Z', '2026-09-01Z', '2026-09-01Z')`,
		`INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status, period_month, period_end, due_at, paid_at, created_at, updated_at)
			SELECT '` + payout + `', k.org_id, k.program_id, k.partner_id, '` + batch +
			`', k.amount_minor, k.currency, 'paid', '2026-09-01', '2026-09-30Z', '2026-10-30Z', '2026-10-30Z', '2026-10-01Z', '2026-10-01Z'
			FROM commissions k WHERE k.sale_id = '` + w.saleID + `'`,
		`INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket, amount_minor, created_at)
			SELECT k.org_id, k.program_id, k.partner_id, k.id, k.currency, 'due', 'paid', k.amount_minor, now() FROM commissions k WHERE k.sale_id = '` + w.saleID + `'`,
		`UPDATE commissions SET status = 'paid', payout_id = '` + payout + `' WHERE sale_id = '` + w.saleID + `'`,
	} {
		_, err := w.s.Pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
}

func TestRefundUnpaid(t *testing.T) {
	t.Parallel()
	for _, hold := range []int{0, 30} {
		w := sell(t, 4999, M{"holding_period_days": hold})
		refund := w.s.Must(200, w.refund(M{"reason": "asked"}))
		before := map[int]string{0: "due", 30: "approved"}[hold]
		require.Equal(t, M{
			"id": refund.Body["id"], "object": "refund", "sale_id": w.saleID, "external_refund_id": nil, "status": "applied",
			"amount_minor":       json.Number("4999"),
			"voided_commissions": refund.Body["voided_commissions"], "clawback_minor": refund.Body["clawback_minor"],
			"currency": "USD",
			"commissions": []any{M{
				"commission_id": w.commissions()[0].String("id"), "partner_id": w.partner, "currency": "USD",
				"clawback_minor": json.Number("0"), "clawback_id": nil,
				"before": M{"amount_minor": json.Number("1000"), "status": before},
				"after":  M{"amount_minor": json.Number("1000"), "status": "voided"},
			}},
			"warnings": []any{}, "refunded_at": "2026-09-01T13:00:00.000Z",
		}, refund.Body)
		require.EqualValues(t, 1, refund.Int("voided_commissions"))
		require.EqualValues(t, 0, refund.Int("clawback_minor"))
		k := w.commissions()[0]
		require.Equal(t, []string{"voided", "sale_refunded", "2026-09-01T13:00:00.000Z"}, []string{
			k.String("status"), k.String("void_reason"), k.String("voided_at"),
		})
		require.Equal(t, "refunded", w.s.Get("/v1/customers/"+w.customer).String("status"))
		require.Equal(t, "2026-09-01T13:00:00.000Z", w.s.Get("/v1/sales/"+w.saleID).String("refunded_at"))
		pending, due, _ := w.s.Balance(w.program, w.partner, "USD")
		require.Equal(t, []int64{0, 0}, []int64{pending, due})
		types := w.s.EventTypes(w.program)
		require.Equal(t, []string{"sale.refunded", "commission.voided", "refund.created"}, types[len(types)-3:])
		w.s.Clock.Advance(time.Hour)
		again := w.s.Must(200, w.refund(nil))
		require.Equal(t, "2026-09-01T13:00:00.000Z", again.String("refunded_at"))
		require.EqualValues(t, 0, again.Int("voided_commissions"))
		require.EqualValues(t, 0, again.Int("amount_minor"))
		require.Equal(t, refund.String("id"), again.String("id"), "the refund that left nothing")
		require.Len(t, w.s.EventTypes(w.program), len(types), "a second refund is no event")
		require.EqualValues(t, 1,
			w.s.Get("/v1/audit_log_entries?program_id="+w.program+"&target_id="+w.saleID).Int("total_count"))
		later := w.s.Sale(w.program, w.customer)
		require.Equal(t, false, later.Body["is_first_sale"])
		require.Equal(t, "active", w.s.Get("/v1/customers/"+w.customer).String("status"), "a later sale")
		apitest.Balanced(t, w.s)
	}
}

func TestRefundPaid(t *testing.T) {
	t.Parallel()
	w := sell(t, 10000)
	w.pay(t)
	refund := w.s.Must(200, w.refund(M{"refunded_at": "2026-09-01T12:30:00Z"}))
	require.EqualValues(t, 0, refund.Int("voided_commissions"))
	require.EqualValues(t, 2000, refund.Int("clawback_minor"))
	all := w.commissions()
	require.Len(t, all, 2)
	origin, claw := all[0], all[1]
	require.Equal(t, "paid", origin.String("status"))
	require.Equal(t, []string{"clawback", "due"}, []string{claw.String("kind"), claw.String("status")})
	require.EqualValues(t, -2000, claw.Int("amount_minor"))
	require.Equal(t, M{"commission_id": origin.String("id")}, claw.Body["metadata"])
	require.Equal(t, origin.String("flow_id"), claw.String("flow_id"))
	_, due, paid := w.s.Balance(w.program, w.partner, "USD")
	require.Equal(t, []int64{-2000, 2000}, []int64{due, paid})
	types := w.s.EventTypes(w.program)
	require.Equal(t, []string{"sale.refunded", "commission.created", "refund.created"}, types[len(types)-3:])
	apitest.Balanced(t, w.s)
}

func TestRefundInParts(t *testing.T) {
	t.Parallel()
	w := sell(t, 1000) // earns 200
	part := func(amount int64) apitest.Answer { return w.s.Must(200, w.refund(M{"amount_minor": amount})) }
	part(333)
	sale := w.s.Get("/v1/sales/" + w.saleID)
	require.EqualValues(t, 667, sale.Int("amount_minor"))
	require.Nil(t, sale.Body["refunded_at"])
	k := w.commissions()[0]
	require.EqualValues(t, 133, k.Int("amount_minor"), "200 less 66.6, half up")
	require.EqualValues(t, 667, k.Int("revenue_minor"))
	require.Equal(t, "due", k.String("status"))
	require.Equal(t, "active", w.s.Get("/v1/customers/"+w.customer).String("status"))
	types := w.s.EventTypes(w.program)
	require.Equal(t, []string{"sale.updated", "commission.updated", "refund.created"}, types[len(types)-3:])
	updated := apitest.Answer{Body: w.s.Events(w.program)[len(types)-3].Body["data"].(M)}
	require.EqualValues(t, 1000, updated.Int("previous_amount_minor"))
	require.EqualValues(t, 667, updated.Int("amount_minor"))
	w.pay(t)
	require.EqualValues(t, 66, part(333).Int("clawback_minor"), "133.2 in all, half up, less 67")
	last := part(334)
	require.EqualValues(t, 67, last.Int("clawback_minor"), "what remains")
	require.Equal(t, "refunded", w.s.Get("/v1/customers/"+w.customer).String("status"))
	require.NotNil(t, w.s.Get("/v1/sales/" + w.saleID).Body["refunded_at"])
	_, due, paid := w.s.Balance(w.program, w.partner, "USD")
	require.EqualValues(t, 0, due+paid)
	apitest.Balanced(t, w.s)
}

func TestRefundRefusals(t *testing.T) {
	t.Parallel()
	w := sell(t, 1000)
	before := apitest.Rows(w.s, w.s.Org)
	delete(before, "api_keys") // has the time of its last use
	for _, c := range []struct {
		body        any
		status      int
		code, param string
	}{
		{M{"amount_minor": 0}, 400, "parameter_invalid", "amount_minor"},
		{M{"amount_minor": 1001}, 400, "parameter_invalid", "amount_minor"},
		{M{"amount_minor": -5}, 400, "parameter_invalid", "amount_minor"},
		{M{"refunded_at": "2026-09-01T13:00:01Z"}, 400, "parameter_invalid", "refunded_at"},
		{M{"refunded_at": "2026-09-01T11:59:59Z"}, 400, "parameter_invalid", "refunded_at"},
		{M{"when": "now"}, 400, "parameter_unknown", "when"},
	} {
		w.s.Refused(c.status, c.code, c.param, w.refund(c.body))
	}
	w.s.Refused(404, "resource_not_found", "", w.s.Post("/v1/sales/sale_none/refund", nil))
	after := apitest.Rows(w.s, w.s.Org)
	delete(after, "api_keys")
	require.Equal(t, before, after, "a refusal changes nothing")
}

// TestPartsAtOnce: concurrent partial refunds, before and after the commission is paid, sum to the
// whole. The books balance after each.
func TestPartsAtOnce(t *testing.T) {
	t.Parallel()
	w := sell(t, 9973)
	parts, left := []int64{}, int64(9973)
	for left > 0 {
		p := min(left, 1+rand.Int64N(1500)) // any parts will do
		parts, left = append(parts, p), left-p
	}
	half := len(parts) / 2
	give := func(some []int64) {
		for _, a := range apitest.AtOnce(len(some), func(i int) apitest.Answer {
			return w.refund(M{"amount_minor": some[i]})
		}) {
			w.s.Must(200, a)
		}
		apitest.Balanced(t, w.s)
	}
	give(parts[:half])
	w.pay(t)
	give(parts[half:])
	require.NotNil(t, w.s.Get("/v1/sales/" + w.saleID).Body["refunded_at"])
	_, due, paid := w.s.Balance(w.program, w.partner, "USD")
	require.EqualValues(t, 0, due+paid, "nothing of the commission is left")
}
