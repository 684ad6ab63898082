package sale_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// exec runs a statement with the program's id.
func (h inboxed) exec(sql string, args ...any) {
	h.T.Helper()
	_, err := h.Pool.Exec(h.T.Context(), sql, append([]any{h.ProgramID}, args...)...)
	require.NoError(h.T, err)
}

// reports records a payment of 100.00 again, by another id of its charge, and requires its sale.
func (h inboxed) reports(sale, charge string, more M) {
	h.T.Helper()
	body := M{"program_id": h.ProgramID, "external_charge_id": charge, "amount_minor": 10000, "currency": "USD"}
	maps.Copy(body, more)
	require.Equal(h.T, sale, h.Must(200, h.Post("/v1/sales", body)).String("id"), more)
	require.EqualValues(h.T, 1, h.Total("sales"))
}

// TestOtherIDOfCharge: a payment that its processor reported with several ids is one sale, whichever id a later payment
// or refund names.
func TestOtherIDOfCharge(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	k := h.CreateCustomer(M{"external_customer_id": "c1"})
	sale := h.Sell(k, "ch_1", h.Clock.Now().Time)
	h.exec(`INSERT INTO charge_aliases (org_id, program_id, alias, external_charge_id, created_at)
		SELECT org_id, id, 'in_1', 'ch_1', now() FROM programs WHERE id = $1`)
	h.reports(sale, "in_1", M{"customer_id": k})
	h.reports(sale, "in_1", M{"external_customer_id": "c1"})
	h.reports(sale, "in_1", M{"external_customer_id": "c2", "partner_id": h.PartnerID})
	require.EqualValues(t, 1, h.Total("customers"))
	body := apitest.RefundBody(h.ProgramID, "in_1", "re_1", M{"amount_minor": 2500})
	done := h.Must(201, h.Post("/v1/refunds", body))
	require.Equal(t, "ch_1", done.String("external_charge_id"))
	again := h.Must(200, h.Post("/v1/refunds", body))
	require.Equal(t, done.String("id"), again.String("id"))
	require.Empty(t, again.Body["warnings"])
	require.EqualValues(t, 1500, h.Earned())
	apitest.Balanced(t, h.Server)
}

// TestOtherIDOfOtherID: a refund reaches an imported sale by an id that only another id of the sale knows.
func TestOtherIDOfOtherID(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	h.Sell(h.CreateCustomer(nil), "order-17", h.Clock.Now().Time)
	h.exec(`INSERT INTO charge_aliases (org_id, program_id, alias, external_charge_id, created_at)
		SELECT org_id, id, a.alias, a.charge, now()
		FROM programs, (VALUES ('pi_1', 'in_1'), ('in_1', 'order-17')) a (alias, charge) WHERE id = $1`)
	h.Receive(M{"type": "refund", "external_charge_id": "pi_1", "external_refund_id": "re_1", "amount_minor": 2500})
	h.Last("recorded", nil)
	require.EqualValues(t, 1500, h.Earned())
}

// TestOtherIDOfImported: every report of an imported payment under another id is the imported sale. Refunds and events
// that waited for the other id are applied to it.
func TestOtherIDOfImported(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	k := h.CreateCustomer(nil)
	at := h.Clock.Now().Time.AddDate(0, 0, -1)
	sale := h.Sell(k, "ch_1", at)
	h.exec(`INSERT INTO imports (id, org_id, program_id, source, dry_run, emit_events, status, place, counts, balances,
			groups, created_at, updated_at)
		SELECT 'imp_1', org_id, id, 'rewardful', false, false, 'done', '{}', '{}', '{}', '{}', now(), now()
		FROM programs WHERE id = $1`)
	h.exec(`INSERT INTO import_objects (program_id, source, kind, source_id, org_id, import_id, target, created, data,
			written_at)
		SELECT id, 'rewardful', 4, 's', org_id, 'imp_1', $2, true, '{}', now() FROM programs WHERE id = $1`, sale)
	h.Must(202, h.Post("/v1/refunds", apitest.RefundBody(h.ProgramID, "in_1", "re_1", M{"amount_minor": 2500})))
	h.Receive(M{"type": "refund", "external_charge_id": "in_1", "external_refund_id": "re_2", "amount_minor": 2500})
	h.Work()
	for range 2 {
		h.reports(sale, "in_1", M{"customer_id": k, "occurred_at": at.Add(time.Minute)})
		require.EqualValues(t, 1500, h.Earned())
	}
	h.Clock.Advance(time.Minute)
	h.Last("recorded", nil)
	require.EqualValues(t, 1000, h.Earned())
	apitest.Balanced(t, h.Server)
}
