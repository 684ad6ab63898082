package check

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/money/ledger"
)

// decided are commissions that a person has decided on, more than a year ago, with the entries of the audit log: one
// was corrected, one granted, one rejected, and one is due since its payout was deleted.
var decided = []string{
	`UPDATE commissions SET amount_minor = 600 WHERE id = 'com_half'`,
	`UPDATE commissions SET kind = 'reward', rate_type = NULL, rate_value = NULL WHERE id = 'com_signup'`,
	`UPDATE commissions SET status = 'rejected' WHERE id = 'com_void'`,
	`UPDATE commissions SET created_at = now() - interval '500 days', approved_at = now() - interval '500 days',
		mature_at = now() - interval '450 days' WHERE id = 'com_big'`,
	`INSERT INTO payout_batches (id, org_id, program_id, period_month, period_end, auto_run_at, created_at, updated_at)
		VALUES ('batch_old', 'org_a', 'prg_a', date_trunc('month', now() - interval '410 days'),
			now() - interval '400 days', now() - interval '400 days', now(), now())`,
	`INSERT INTO audit_log_entries
		(id, org_id, program_id, action, target_id, api_key_id, reason, before, after, created_at)
		SELECT 'aud_' || action, 'org_a', 'prg_a', action, target, 'key_1', 'because', before::json, after::json,
			now() - interval '399 days' FROM (VALUES
			('commission.corrected', 'com_half', '{"amount_minor": 503}', '{"amount_minor": 600}'),
			('commission.created', 'com_signup', NULL, '{"amount_minor": 250}'),
			('commission.rejected', 'com_void', '{"status": "pending"}', '{"status": "rejected"}'),
			('payout.deleted', 'pyt_gone', '{"partner_id": "part_b"}', NULL),
			('partner.updated', 'part_b', '{"name": "B"}', '{"name": "C"}')) v (action, target, before, after)`,
}

// TestAuditAfterACut: the equations that read the audit log hold after its old entries were dropped, and find as much.
func TestAuditAfterACut(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.append("com_half", "part_a", "source", "pending", 97)
	for _, sql := range decided {
		b.exec(sql)
	}
	require.NoError(t, ledger.NewFolder(b.pool).Fold(t.Context()))
	require.Empty(t, b.found())
	b.exec(`SELECT cut_audit_log(now() - interval '60 days', 100)`)
	var n int
	require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT count(*) FROM audit_log_entries").Scan(&n))
	require.Zero(t, n)
	require.Empty(t, b.found(), "what was dropped")
	b.exec(`ALTER TABLE audit_log_facts DISABLE TRIGGER audit_log_facts_append_only`)
	for action, want := range map[string][]string{
		"commission.corrected": {"M03", "M08"}, "commission.created": {"M33"}, "commission.rejected": {"M33"},
		"payout.deleted": {"left out"},
	} {
		b.exec(`UPDATE audit_log_facts SET action = 'x' || action WHERE action = $1`, action)
		require.Equal(t, want, b.found(), action)
		b.exec(`UPDATE audit_log_facts SET action = $1 WHERE action = 'x' || $1`, action)
	}
	b.append("com_big", "part_b", "source", "due", 1)
	require.Contains(t, b.found(), "M03", "a second earning that no entry raised")
}
