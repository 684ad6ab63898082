-- payouts_list_idx and one index a filter serve the page and the count.

-- name: PayoutPage :many
SELECT t.* FROM payouts t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('batch_id')::text IS NULL OR t.batch_id = sqlc.narg('batch_id')::text)
  AND (sqlc.narg('status')::text IS NULL OR t.status = sqlc.narg('status')::text)
  AND (sqlc.narg('status_in')::text[] IS NULL OR t.status = ANY (sqlc.narg('status_in')::text[]))
  AND (sqlc.narg('after_at')::timestamptz IS NULL OR (t.created_at, t.id) < (sqlc.narg('after_at')::timestamptz, sqlc.narg('after_id')::text))
  AND (sqlc.narg('before_at')::timestamptz IS NULL OR (t.created_at, t.id) > (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::text))
ORDER BY CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.created_at END,
         CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.id END,
         t.created_at DESC, t.id DESC
LIMIT @lim;

-- name: PayoutCount :one
-- PayoutCount counts up to a bound, above which TallyTotal is asked.
SELECT count(*) FROM (SELECT 1 FROM payouts t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('batch_id')::text IS NULL OR t.batch_id = sqlc.narg('batch_id')::text)
  AND (sqlc.narg('status')::text IS NULL OR t.status = sqlc.narg('status')::text)
  AND (sqlc.narg('status_in')::text[] IS NULL OR t.status = ANY (sqlc.narg('status_in')::text[]))
  LIMIT @most) few;

-- name: PayoutCursor :one
SELECT t.created_at, t.id FROM payouts t
WHERE t.id = @id AND t.program_id = @program_id AND t.org_id = @org_id
  AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('batch_id')::text IS NULL OR t.batch_id = sqlc.narg('batch_id')::text);

-- name: PayoutGet :one
SELECT t.* FROM payouts t WHERE t.id = @id AND t.org_id = @org_id;

-- name: PayoutLock :one
SELECT t.* FROM payouts t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: PayoutCommissions :many
-- PayoutCommissions locks what a payout holds.
SELECT t.* FROM commissions t WHERE t.payout_id = @payout_id AND t.org_id = @org_id ORDER BY t.created_at, t.id FOR NO KEY UPDATE;

-- name: PayoutInsert :exec
INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status, method, reason, reason_text,
    period_month, period_end, due_at, created_at, updated_at)
VALUES (@id, @org_id, @program_id, @partner_id, @batch_id, @amount_minor, @currency, @status, @method, @reason, @reason_text,
    @period_month, @period_end, @due_at, @created_at, @updated_at);

-- name: PayoutReevaluate :exec
UPDATE payouts SET amount_minor = @amount_minor, status = @status, method = @method, reason = @reason, reason_text = @reason_text,
    period_end = @period_end, due_at = @due_at, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND status = 'not_eligible';

-- name: PayoutPaid :exec
UPDATE payouts SET status = 'paid', method = @method, external_id = @external_id, paid_at = @paid_at, error_code = NULL, error_message = NULL, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: PayoutLower :exec
UPDATE payouts SET amount_minor = @amount_minor, updated_at = @updated_at WHERE id = @id AND org_id = @org_id;

-- name: PayoutDelete :exec
DELETE FROM payouts WHERE id = @id AND org_id = @org_id;

-- name: PayoutAttach :exec
UPDATE commissions SET payout_id = @payout_id, updated_at = @updated_at WHERE id = ANY (@ids::text[]) AND org_id = @org_id AND status = 'due' AND payout_id IS NULL;

-- name: PayoutRelease :exec
UPDATE commissions SET payout_id = NULL, updated_at = @updated_at WHERE payout_id = @payout_id AND org_id = @org_id AND status = 'due';

-- name: PayoutSettle :exec
UPDATE commissions SET status = 'paid', updated_at = @updated_at WHERE payout_id = @payout_id AND org_id = @org_id AND status = 'due';

-- name: BatchPage :many
SELECT t.* FROM payout_batches t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND (sqlc.narg('after_at')::timestamptz IS NULL OR (t.created_at, t.id) < (sqlc.narg('after_at')::timestamptz, sqlc.narg('after_id')::text))
  AND (sqlc.narg('before_at')::timestamptz IS NULL OR (t.created_at, t.id) > (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::text))
ORDER BY CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.created_at END,
         CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.id END,
         t.created_at DESC, t.id DESC
LIMIT @lim;

-- name: BatchCount :one
SELECT count(*) FROM payout_batches t
WHERE t.program_id = @program_id AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id);

-- name: BatchCursor :one
SELECT t.created_at, t.id FROM payout_batches t WHERE t.id = @id AND t.program_id = @program_id AND t.org_id = @org_id;

-- name: BatchGet :one
SELECT t.* FROM payout_batches t WHERE t.id = @id AND t.org_id = @org_id;

-- name: BatchByIDs :many
SELECT t.* FROM payout_batches t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: BatchProgram :one
SELECT t.program_id FROM payout_batches t WHERE t.id = @id AND t.org_id = @org_id;

-- name: BatchOfMonth :one
SELECT t.* FROM payout_batches t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.period_month = @period_month;

-- name: BatchInsert :exec
INSERT INTO payout_batches (id, org_id, program_id, period_month, period_end, created_at, updated_at)
VALUES (@id, @org_id, @program_id, @period_month, @period_end, @created_at, @updated_at);

-- name: BatchTouch :exec
UPDATE payout_batches SET period_end = @period_end, updated_at = @updated_at WHERE id = @id AND org_id = @org_id;

-- name: BatchTotals :many
-- BatchTotals sums the payouts of batches by currency and state.
SELECT p.batch_id, p.currency, p.status, count(*) AS payouts, sum(p.amount_minor)::bigint AS amount_minor FROM payouts p
WHERE p.batch_id = ANY (@batch_ids::text[]) AND p.org_id = @org_id GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- name: BatchPartners :many
-- BatchPartners locks the partners with money that is due, in the order of
-- their ids, so that no refund or sale of theirs falls between.
SELECT t.* FROM partners t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND NOT starts_with(t.id, 'sample_')
  AND (sqlc.narg('partner_id')::text IS NULL OR t.id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('group_id')::text IS NULL OR t.group_id = sqlc.narg('group_id')::text)
  AND EXISTS (SELECT 1 FROM commissions k WHERE k.program_id = @program_id AND k.partner_id = t.id AND k.status = 'due' AND k.payout_id IS NULL)
ORDER BY t.id FOR NO KEY UPDATE OF t;

-- name: BatchCommissions :many
-- BatchCommissions lists what is due up to the period's end, and every clawback
-- that is due whatever its date (decisions, 117).
SELECT t.* FROM commissions t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.partner_id = ANY (@partner_ids::text[])
  AND t.status = 'due' AND t.payout_id IS NULL AND (t.mature_at <= @period_end OR t.amount_minor < 0)
ORDER BY t.partner_id, t.currency, t.created_at, t.id FOR NO KEY UPDATE OF t;

-- name: BatchPayouts :many
SELECT t.* FROM payouts t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.period_month = @period_month
AND t.partner_id = ANY (@partner_ids::text[]) FOR NO KEY UPDATE;

-- name: PayoutsDue :many
-- PayoutsDue takes the next payouts whose day has come; other replicas pass
-- over what this one holds.
UPDATE payouts t SET due_told = true
FROM (SELECT p.id FROM payouts p WHERE p.status = 'pending' AND NOT p.due_told AND p.due_at <= @now ORDER BY p.due_at, p.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id RETURNING t.*;

-- name: ProgramsToBatch :many
-- ProgramsToBatch lists the programs that want the month's batch made and have
-- none; sample programs never do.
SELECT t.id, t.org_id FROM programs t WHERE t.auto_payouts_enabled AND NOT starts_with(t.id, 'sample_')
AND NOT EXISTS (SELECT 1 FROM payout_batches b WHERE b.program_id = t.id AND b.period_month = @period_month)
ORDER BY t.id;

-- name: PayoutsToSend :many
-- PayoutsToSend takes the next payouts that are due, and told to be, of active
-- partners who still want the method that the rail pays, and who are not held; other replicas pass over what this one holds.
-- Sample payouts move no money.
UPDATE payouts t SET status = 'processing', rail = @rail, updated_at = @now
FROM (SELECT p.id FROM payouts p WHERE p.status = 'pending' AND p.due_told AND p.due_at <= @now AND p.method = ANY (@methods::text[]) AND NOT starts_with(p.id, 'sample_')
      AND EXISTS (SELECT 1 FROM partners o WHERE o.id = p.partner_id AND o.status = 'active' AND o.payout_method = p.method)
      AND NOT (@hold_on_high_risk::boolean AND EXISTS (SELECT 1 FROM risk_flags f
          WHERE f.program_id = p.program_id AND f.partner_id = p.partner_id AND f.severity = 'high' AND f.status IN ('open', 'reviewing')))
    ORDER BY p.due_at, p.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id RETURNING t.*;

-- name: PayoutsInFlight :many
-- PayoutsInFlight takes the payouts that the rail has, or must still be given,
-- and that nobody has asked about since asked_before.
UPDATE payouts t SET checked_at = @now, submissions = t.submissions + CASE WHEN t.external_id IS NULL THEN 1 ELSE 0 END
FROM (SELECT p.id FROM payouts p WHERE p.status = 'processing' AND p.rail = @rail AND (p.checked_at IS NULL OR p.checked_at <= @asked_before)
    ORDER BY p.checked_at NULLS FIRST, p.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id RETURNING t.*;

-- name: PayoutSubmitted :exec
-- PayoutSubmitted keeps the id under which the rail knows the transfer.
UPDATE payouts SET external_id = @external_id, updated_at = @updated_at WHERE id = @id AND org_id = @org_id AND status = 'processing';

-- name: PayoutFailed :exec
UPDATE payouts SET status = 'failed', error_code = @error_code, error_message = @error_message, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND status = 'processing';

-- name: PayoutsOfBatch :many
-- PayoutsOfBatch lists what is left to pay of a batch, with the payees, for the
-- operator's export.
SELECT sqlc.embed(t), sqlc.embed(p), g.currency AS program_currency
FROM payouts t JOIN partners p ON p.id = t.partner_id JOIN programs g ON g.id = t.program_id
WHERE t.batch_id = @batch_id AND t.status IN ('pending', 'failed') AND t.method = @method AND p.status = 'active' AND p.payout_method = t.method AND NOT starts_with(t.id, 'sample_') ORDER BY t.currency, t.id;

-- name: PayoutInFlight :one
-- PayoutInFlight finds a payout that a rail has, for the operator.
SELECT t.* FROM payouts t WHERE t.id = @id AND t.status = 'processing';

-- name: BatchExists :one
-- BatchExists tells whether there is such a batch, for the operator.
SELECT t.id FROM payout_batches t WHERE t.id = @id;
