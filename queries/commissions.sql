-- name: CommissionGet :one
SELECT t.* FROM commissions t WHERE t.id = @id AND t.org_id = @org_id;

-- name: CommissionLock :one
-- CommissionLock reads the row for a change and locks it until the commit.
SELECT t.* FROM commissions t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: CommissionInsert :exec
-- CommissionInsert writes a row as it is; a created_xid of 0 is this transaction's.
INSERT INTO commissions (id, org_id, program_id, partner_id, sale_id, customer_id, flow_id, flow_branch_id, kind,
    amount_minor, revenue_minor, rate_type, rate_value, currency, status, mature_at, approve_at, approved_at,
    voided_at, void_reason, payout_id, metadata, created_at, updated_at, created_xid, shrunk_minor, clawed_minor,
    refunded_before_minor)
VALUES (@id, @org_id, @program_id, @partner_id, @sale_id, @customer_id, @flow_id, @flow_branch_id, @kind,
    @amount_minor, @revenue_minor, @rate_type, @rate_value, @currency, @status, @mature_at, @approve_at, @approved_at,
    @voided_at, @void_reason, @payout_id, @metadata, @created_at, @updated_at,
    coalesce(nullif(@created_xid::xid8, '0'), pg_current_xact_id()), @shrunk_minor, @clawed_minor,
    @refunded_before_minor);

-- name: CommissionVoid :execrows
-- CommissionVoid is conditional on the state that was read.
UPDATE commissions SET status = 'voided', voided_at = @now, void_reason = @reason, payout_id = NULL, updated_at = @now
WHERE id = @id AND org_id = @org_id AND status IN ('pending', 'approved', 'due');

-- name: PayoutsByIDs :many
SELECT sqlc.embed(t), coalesce(n.total, 0)::bigint AS commission_count
FROM payouts t LEFT JOIN (
    SELECT x.owner_id, sum(x.total) AS total FROM tally_sums x
    WHERE x.program_id = ANY (ARRAY(SELECT k.program_id FROM payouts k
        WHERE k.id = ANY (@ids::text[]) AND k.org_id = @org_id)) AND x.org_id = @org_id
      AND x.list = 'commissions' AND x.owner_id = ANY (@ids::text[]) GROUP BY 1) n ON n.owner_id = t.id
WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: PayoutProgram :one
SELECT t.program_id FROM payouts t WHERE t.id = @id AND t.org_id = @org_id;

-- name: CommissionSetStatus :execrows
-- CommissionSetStatus moves a commission from the state that was read.
UPDATE commissions SET status = @status, approved_at = @approved_at, voided_at = @voided_at, void_reason = @void_reason,
    payout_id = CASE WHEN @status::text IN ('rejected', 'voided') THEN NULL ELSE payout_id END, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND status = @previous;

-- commissions_mature_idx serves the range and the order, and skips other states. Of several states
-- the query takes the first rows of each, like CommissionPage.
SELECT t.* FROM commissions t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND t.mature_at >= @from_at::timestamptz AND t.mature_at <= @to_at::timestamptz
  AND (sqlc.narg('status')::text IS NULL OR t.status = sqlc.narg('status')::text)
  AND (sqlc.narg('status_in')::text[] IS NULL OR t.id = ANY (ARRAY(
    SELECT y.id FROM unnest(sqlc.narg('status_in')::text[]) v(status) CROSS JOIN LATERAL (
      SELECT k.id FROM commissions k
      WHERE k.program_id = @program_id AND k.mature_at >= @from_at::timestamptz AND k.mature_at <= @to_at::timestamptz
          AND k.status = v.status
        AND (sqlc.narg('after_at')::timestamptz IS NULL OR (k.mature_at, k.id) > (sqlc.narg('after_at')::timestamptz,
            sqlc.narg('after_id')::text))
        AND (sqlc.narg('before_at')::timestamptz IS NULL OR (k.mature_at, k.id) < (sqlc.narg('before_at')::timestamptz,
            sqlc.narg('before_id')::text))
      ORDER BY CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN k.mature_at END DESC,
               CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN k.id END DESC,
               k.mature_at, k.id
      LIMIT @lim
    ) y)))
  AND (sqlc.narg('after_at')::timestamptz IS NULL OR (t.mature_at, t.id) > (sqlc.narg('after_at')::timestamptz,
      sqlc.narg('after_id')::text))
  AND (sqlc.narg('before_at')::timestamptz IS NULL OR (t.mature_at, t.id) < (sqlc.narg('before_at')::timestamptz,
      sqlc.narg('before_id')::text))
ORDER BY CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.mature_at END DESC,
         CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.id END DESC,
         t.mature_at, t.id
LIMIT @lim;

-- name: CommissionsToMature :many
-- CommissionsToMature locks the next commissions whose holding period has ended; other replicas
-- skip them.
UPDATE commissions t SET status = 'due', updated_at = @now
FROM (SELECT k.id FROM commissions k WHERE k.status = 'approved' AND k.mature_at <= @now
    ORDER BY k.mature_at, k.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id RETURNING t.*;

-- name: CommissionsToApprove :many
-- CommissionsToApprove locks the next commissions with automatic approval; one whose holding period
-- has ended is due at once.
UPDATE commissions t SET status = CASE WHEN t.mature_at <= @now THEN 'due' ELSE 'approved' END, approved_at = @now,
    updated_at = @now
FROM (SELECT k.id FROM commissions k WHERE k.status = 'pending' AND k.approve_at <= @now
    ORDER BY k.approve_at, k.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id RETURNING t.*;

-- name: CommissionShrink :exec
-- CommissionShrink reduces an unpaid commission. updated_at never goes back, even if this request
-- began before the last change.
UPDATE commissions SET amount_minor = amount_minor - @part_minor, shrunk_minor = shrunk_minor + @part_minor,
    revenue_minor = @revenue_minor, updated_at = greatest(updated_at, @updated_at::timestamptz)
WHERE id = @id AND org_id = @org_id AND status IN ('pending', 'approved', 'due');

-- name: CommissionCorrect :exec
-- CommissionCorrect sets another amount. It settles earlier refunds: later refunds take
-- their share of the rest.
UPDATE commissions SET amount_minor = @amount_minor, shrunk_minor = 0, refunded_before_minor = @refunded_minor,
    updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND amount_minor = @previous_minor AND status IN ('pending', 'approved', 'due')
    AND payout_id IS NULL;

-- name: CommissionAddClawback :exec
-- CommissionAddClawback adds the amount of a clawback to a commission that is paid, being paid,
-- or restored in part. A restoration adds a negative amount.
UPDATE commissions SET clawed_minor = clawed_minor + @part_minor,
    updated_at = greatest(updated_at, @updated_at::timestamptz)
    WHERE id = @id AND org_id = @org_id AND status IN ('pending', 'approved', 'due', 'paid');

-- name: CommissionCorrections :many
-- CommissionCorrections returns the commissions that a person has corrected.
SELECT DISTINCT a.target_id FROM audit_facts a
WHERE a.target_id = ANY (@ids::text[]) AND a.org_id = @org_id AND a.action = 'commission.corrected';

-- name: CommissionReasons :many
-- CommissionReasons reads the reasons of commissions for their explanation, with the last
-- correction of each. Columns of deleted rows are NULL; a correction whose entry of the audit
-- log was deleted has no reason and no corrector.
SELECT k.id, k.kind, k.sale_id, (k.metadata ->> 'restores' IS NOT NULL
    OR k.metadata ->> 'commission_id' IS NOT NULL)::boolean
    AS follows, k.revenue_minor, k.rate_type, k.rate_value, k.shrunk_minor, k.currency, k.flow_branch_id,
    s.currency AS sale_currency, f.name AS flow_name, f.branches, c.id AS customer_id,
    coalesce(c.tracked_by, '')::text AS tracked_by, c.lead_at,
    coalesce(p.display_name, nullif(concat_ws(' ', p.first_name, p.last_name), ''), p.company_name,
        p.handle)::text AS partner_name,
    l.value AS link_value, u.code AS coupon_code, v.created_at AS clicked_at, g.time_zone,
    a.after_minor AS corrected_to_minor, a.created_at AS corrected_at, y.reason AS correction_reason, y.actor_type AS corrector_type, w.name AS corrector_name
FROM commissions k
JOIN programs g ON g.id = k.program_id
JOIN partners p ON p.id = k.partner_id
LEFT JOIN sales s ON s.id = k.sale_id
LEFT JOIN flows f ON f.id = k.flow_id AND f.org_id = @org_id
LEFT JOIN customer_merges m ON m.id = k.customer_id AND m.org_id = @org_id
LEFT JOIN customers c ON c.id = coalesce(m.customer_id, k.customer_id) AND c.partner_id = k.partner_id
    AND c.org_id = @org_id
LEFT JOIN links l ON l.id = c.link_id
LEFT JOIN coupons u ON u.id = c.coupon_id
LEFT JOIN clicks v ON v.id = c.click_id
LEFT JOIN audit_facts a ON a.id = (SELECT e.id FROM audit_facts e
    WHERE e.target_id = k.id AND e.action = 'commission.corrected' AND e.org_id = @org_id
    ORDER BY e.created_at DESC, e.id DESC LIMIT 1)
LEFT JOIN audit_log_entries y ON y.id = a.id AND y.org_id = @org_id
LEFT JOIN users w ON w.id = y.actor_id AND w.org_id = @org_id
WHERE k.id = ANY (@ids::text[]) AND k.org_id = @org_id;

-- name: RehearsalCommissions :many
-- RehearsalCommissions reads the commissions for a new customer's sign-up and for its sale.
SELECT t.* FROM commissions t WHERE (t.sale_id = @sale_id
    OR t.customer_id = @customer_id AND t.kind = 'referral' AND t.sale_id IS NULL) AND t.org_id = @org_id
ORDER BY t.created_at, t.sale_id NULLS FIRST, t.id;

-- name: CommissionsOpen :many
-- CommissionsOpen sums a partner's unpaid commissions by currency and by whether they can be
-- rejected (commission.rejectable, and payout.Lower).
SELECT k.currency, (k.amount_minor > 0 AND k.clawed_minor = 0 AND coalesce(p.status NOT IN ('processing', 'paid'),
    true))::boolean AS rejectable, count(*) AS commissions, sum(k.amount_minor)::bigint AS amount_minor
FROM commissions k LEFT JOIN payouts p ON p.id = k.payout_id
WHERE k.program_id = @program_id AND k.org_id = @org_id AND k.partner_id = @partner_id
    AND k.status IN ('pending', 'approved', 'due')
GROUP BY 1, 2 ORDER BY 1, 2;

-- name: CommissionsOpenLock :many
-- CommissionsOpenLock locks the oldest rejectable commissions.
SELECT t.* FROM commissions t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.partner_id = @partner_id
    AND t.status IN ('pending', 'approved', 'due') AND t.amount_minor > 0 AND t.clawed_minor = 0
    AND (t.payout_id IS NULL OR t.payout_id = ANY (@payout_ids::text[]))
ORDER BY t.created_at, t.id LIMIT @lim FOR NO KEY UPDATE;

-- name: CommissionsReject :exec
-- CommissionsReject rejects commissions that are locked.
UPDATE commissions SET status = 'rejected', voided_at = @now, void_reason = @reason, payout_id = NULL,
    updated_at = @now
WHERE id = ANY (@ids::text[]) AND org_id = @org_id AND status IN ('pending', 'approved', 'due');

-- name: CommissionRedecide :exec
-- CommissionRedecide writes another decision of the rules on an unpaid commission.
UPDATE commissions SET amount_minor = @amount_minor, shrunk_minor = @shrunk_minor, refunded_before_minor = 0,
    revenue_minor = @revenue_minor, rate_type = @rate_type, rate_value = @rate_value, flow_id = @flow_id,
    flow_branch_id = @flow_branch_id, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND status IN ('pending', 'approved', 'due') AND payout_id IS NULL;
