-- name: PayoutGet :one
SELECT t.* FROM payouts t WHERE t.id = @id AND t.org_id = @org_id;

-- name: PayoutLock :one
SELECT t.* FROM payouts t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: PayoutCommissions :many
-- PayoutCommissions locks the commissions of a payout.
SELECT t.* FROM commissions t WHERE t.payout_id = @payout_id AND t.org_id = @org_id
    ORDER BY t.created_at, t.id FOR NO KEY UPDATE;

-- name: PayoutsInsert :exec
-- PayoutsInsert writes the payouts of one page of a batch.
INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status, method, reason,
    reason_text,
    period_month, period_end, due_at, created_at, updated_at)
SELECT unnest(@ids::text[]), @org_id, @program_id, unnest(@partner_ids::text[]), @batch_id, unnest(@amounts::bigint[]),
    unnest(@currencies::text[]),
    unnest(@statuses::text[]), nullif(unnest(@methods::text[]), ''), nullif(unnest(@reasons::text[]), ''),
        nullif(unnest(@reason_texts::text[]), ''),
    @period_month, @period_end, @due_at, @now, @now;

-- name: PayoutsReevaluate :exec
-- PayoutsReevaluate updates the eligibility of the page's ineligible payouts.
UPDATE payouts t SET amount_minor = v.amount_minor, status = v.status, method = v.method, reason = v.reason,
    reason_text = v.reason_text,
    period_end = @period_end, due_at = @due_at, updated_at = @now
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@amounts::bigint[]) AS amount_minor,
    unnest(@statuses::text[]) AS status,
    nullif(unnest(@methods::text[]), '') AS method, nullif(unnest(@reasons::text[]), '') AS reason,
        nullif(unnest(@reason_texts::text[]), '') AS reason_text) v
WHERE t.id = v.id AND t.org_id = @org_id AND t.status = 'not_eligible';

-- name: PayoutSetPaid :exec
UPDATE payouts SET status = 'paid', method = @method, external_id = @external_id, paid_at = @paid_at, error_code = NULL,
    error_message = NULL, failure_mailed_at = NULL, marked_at = @marked_at, before_paid = @before_paid,
    mark_id = @mark_id, attention = NULL, attention_text = NULL, attention_at = NULL,
    rail_id = CASE WHEN @keeps_rail::boolean THEN rail_id END, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: PayoutLower :exec
UPDATE payouts SET amount_minor = @amount_minor, updated_at = @updated_at WHERE id = @id AND org_id = @org_id;

-- name: PayoutDelete :exec
DELETE FROM payouts WHERE id = @id AND org_id = @org_id;

-- name: PayoutsAttach :exec
-- PayoutsAttach puts the commissions of one page into their payouts.
UPDATE commissions t SET payout_id = v.payout_id, updated_at = greatest(t.updated_at, @now::timestamptz)
FROM (SELECT unnest(@payout_ids::text[]) AS payout_id, unnest(@ids::text[]) AS id) v
WHERE t.id = v.id AND t.org_id = @org_id AND t.status = 'due' AND t.payout_id IS NULL;

-- name: PayoutRelease :exec
UPDATE commissions SET payout_id = NULL, updated_at = greatest(updated_at, @updated_at::timestamptz)
WHERE payout_id = @payout_id AND org_id = @org_id AND status = 'due';

-- name: PayoutSettle :exec
UPDATE commissions SET status = 'paid', updated_at = greatest(updated_at, @updated_at::timestamptz)
WHERE payout_id = @payout_id AND org_id = @org_id AND status = 'due';

-- name: PayoutOldestSale :one
-- PayoutOldestSale reads the time of the oldest sale of a payout. A commission without a sale, or a manual
-- one, counts from its creation.
SELECT min(CASE WHEN k.kind = 'referral' THEN coalesce(s.occurred_at, k.created_at) ELSE k.created_at END)::timestamptz
    AS sold_at
FROM commissions k LEFT JOIN sales s ON s.id = k.sale_id AND s.org_id = k.org_id
WHERE k.payout_id = @payout_id AND k.org_id = @org_id;

-- name: PayoutUndo :exec
-- PayoutUndo undoes a payment that was marked by hand, and restores the payout.
UPDATE payouts SET status = @status, method = @method, external_id = @external_id, error_code = @error_code,
    error_message = @error_message, failure_mailed_at = @failure_mailed_at, paid_at = NULL, marked_at = NULL,
    before_paid = NULL, mark_id = NULL, attention = @attention, attention_text = @attention_text,
    attention_at = @attention_at, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: PayoutUnsettle :exec
-- PayoutUnsettle makes the commissions of a payout due again whose payment is undone; they stay in it.
UPDATE commissions SET status = 'due', updated_at = greatest(updated_at, @updated_at::timestamptz)
WHERE payout_id = @payout_id AND org_id = @org_id AND status = 'paid';

-- name: PayoutAmountsByIDs :many
-- PayoutAmountsByIDs lists payouts by their ids, in the order of their locks.
SELECT t.id, t.partner_id, t.amount_minor, t.currency FROM payouts t WHERE t.id = ANY (@ids::text[])
    AND t.org_id = @org_id AND t.program_id = @program_id ORDER BY t.partner_id, t.id;

-- name: PayoutsToMark :many
-- PayoutsToMark lists the payouts of a batch that can be paid outside of rails, in the order of their locks. An
-- empty method or currency selects all; with no_method only payouts without a method are listed.
SELECT t.id, t.partner_id, t.amount_minor, t.currency FROM payouts t WHERE t.batch_id = @batch_id
    AND t.org_id = @org_id AND (t.status = 'pending' OR t.status = 'processing' AND t.rail = @rail)
    AND (@currency::text = '' OR t.currency = @currency::text)
    AND (CASE WHEN @no_method::boolean THEN t.method IS NULL ELSE @method::text = '' OR t.method = @method::text END)
ORDER BY t.partner_id, t.id;

-- name: PayoutAmountsByMark :many
-- PayoutAmountsByMark lists the payouts that a request marked as paid, in the order of their locks.
SELECT t.id, t.partner_id, t.amount_minor, t.currency FROM payouts t WHERE t.program_id = @program_id
    AND t.org_id = @org_id AND t.mark_id = @mark_id ORDER BY t.partner_id, t.id;

-- name: PayoutsLock :many
-- PayoutsLock locks payouts after their partners.
SELECT t.* FROM payouts t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id
    ORDER BY t.partner_id, t.id FOR NO KEY UPDATE;

-- name: PayoutSetFailureMailed :exec
UPDATE payouts SET failure_mailed_at = @now, updated_at = @now WHERE id = @id AND org_id = @org_id
    AND status = 'failed';

-- name: PayoutDetailsChanges :many
-- PayoutDetailsChanges lists those of the partners whose payout details changed since they were last paid.
SELECT p.id, p.payout_details_changed_at FROM partners p
WHERE p.id = ANY (@partner_ids::text[]) AND p.org_id = @org_id AND p.payout_details_changed_at > (
    SELECT max(coalesce(y.submitted_at, y.filed_at, y.paid_at)) FROM payouts y WHERE y.program_id = p.program_id AND y.org_id = p.org_id
        AND y.partner_id = p.id
        AND y.status = 'paid');

-- name: BatchGet :one
SELECT t.* FROM payout_batches t WHERE t.id = @id AND t.org_id = @org_id;

-- name: BatchByIDs :many
SELECT t.* FROM payout_batches t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: BatchProgram :one
SELECT t.program_id FROM payout_batches t WHERE t.id = @id AND t.org_id = @org_id;

-- name: BatchOfMonth :one
SELECT t.* FROM payout_batches t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.period_month = @period_month AND t.import_id IS NULL;

-- name: BatchInsert :exec
INSERT INTO payout_batches (id, org_id, program_id, period_month, period_end, created_at, updated_at, auto_run_at,
    import_id)
VALUES (@id, @org_id, @program_id, @period_month, @period_end, @created_at, @updated_at, @auto_run_at, @import_id);

-- name: BatchTouch :exec
UPDATE payout_batches SET period_end = greatest(period_end, @period_end), updated_at = @updated_at
    WHERE id = @id AND org_id = @org_id;

-- name: BatchLock :one
SELECT t.* FROM payout_batches t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: BatchFinish :exec
-- BatchFinish marks a run as complete; auto_run_at is the begin of the month's automatic run.
UPDATE payout_batches SET auto_run_at = coalesce(sqlc.narg('auto_run_at'), auto_run_at), updated_at = @updated_at
    WHERE id = @id AND org_id = @org_id;

-- name: BatchesGenerating :many
-- BatchesGenerating lists those of the batches that a run works on.
SELECT DISTINCT r.batch_id FROM payout_runs r WHERE r.program_id = @program_id AND r.batch_id = ANY (@ids::text[])
    AND r.org_id = @org_id;

-- name: PayoutRunJoin :execrows
-- PayoutRunJoin adds another request to an unfinished run. A month has one automatic run,
-- regardless of the number of replicas.
UPDATE payout_runs SET period_end = greatest(period_end, @period_end), again = again
    OR NOT (automatic AND @automatic::boolean), automatic = automatic OR @automatic::boolean
WHERE program_id = @program_id AND batch_id = @batch_id AND group_id = @group_id AND ignore_minimum = @ignore_minimum
    AND org_id = @org_id;

-- name: PayoutRunInsert :exec
INSERT INTO payout_runs (id, org_id, program_id, batch_id, group_id, ignore_minimum, automatic, period_end, after_id,
    created_at)
VALUES (@id, @org_id, @program_id, @batch_id, @group_id, @ignore_minimum, @automatic, @period_end, @after_id,
    @created_at);

-- name: PayoutRuns :many
SELECT r.id, r.org_id FROM payout_runs r WHERE r.id > @after ORDER BY r.id LIMIT @lim;

-- name: PayoutRunTake :one
-- PayoutRunTake takes a run for one page, unless another replica has it.
SELECT r.* FROM payout_runs r WHERE r.id = @id AND r.org_id = @org_id FOR UPDATE SKIP LOCKED;

-- name: PayoutRunAdvance :exec
UPDATE payout_runs SET after_id = @after_id, again = @again WHERE id = @id AND org_id = @org_id;

-- name: PayoutRunDelete :exec
DELETE FROM payout_runs WHERE id = @id AND org_id = @org_id;

-- name: BatchTotals :many
-- BatchTotals sums the payouts of batches by currency and state.
SELECT p.batch_id, p.currency, p.status, count(*) AS payouts, sum(p.amount_minor)::bigint AS amount_minor FROM payouts p
WHERE p.batch_id = ANY (@batch_ids::text[]) AND p.org_id = @org_id GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- name: BatchBreakdown :many
-- BatchBreakdown sums the payouts of batches by state, method and currency.
SELECT p.batch_id, p.status, p.method, p.currency, count(*) AS payouts, sum(p.amount_minor)::bigint AS amount_minor
FROM payouts p WHERE p.batch_id = ANY (@batch_ids::text[]) AND p.org_id = @org_id
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;

-- name: BatchPartners :many
-- BatchPartners locks the next partners with money to collect, in the order of their ids, so that
-- none of their refunds or sales intervenes. Only the load of a sample collects for its partners.
SELECT t.* FROM partners t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.id > @after
  AND (@sample::boolean OR NOT starts_with(t.id, 'sample_'))
  AND (sqlc.narg('partner_id')::text IS NULL OR t.id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('group_id')::text IS NULL OR t.group_id = sqlc.narg('group_id')::text)
  AND EXISTS (SELECT 1 FROM commissions k WHERE k.program_id = @program_id AND k.partner_id = t.id
      AND k.partner_id > @after AND k.payout_id IS NULL
      AND (k.status = 'due' AND (k.mature_at <= @period_end OR k.amount_minor < 0) OR k.status = 'approved'
          AND k.mature_at <= @period_end
          OR k.status = 'pending' AND k.approve_at <= @now AND k.mature_at <= @period_end))
ORDER BY t.id LIMIT @lim FOR NO KEY UPDATE OF t;

-- name: PreviewPartners :many
-- PreviewPartners lists the partners of BatchPartners without locks.
SELECT t.* FROM partners t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.id > @after AND NOT starts_with(t.id, 'sample_')
  AND (sqlc.narg('partner_id')::text IS NULL OR t.id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('group_id')::text IS NULL OR t.group_id = sqlc.narg('group_id')::text)
  AND EXISTS (SELECT 1 FROM commissions k WHERE k.program_id = @program_id AND k.partner_id = t.id
      AND k.partner_id > @after AND k.payout_id IS NULL
      AND (k.status = 'due' AND (k.mature_at <= @period_end OR k.amount_minor < 0) OR k.status = 'approved'
          AND k.mature_at <= @period_end
          OR k.status = 'pending' AND k.approve_at <= @now AND k.mature_at <= @period_end))
ORDER BY t.id LIMIT @lim;

-- name: PartnersBelowCustomers :many
-- PartnersBelowCustomers lists the partners that were never paid and have fewer paying customers than least.
SELECT t.id, c.customers FROM partners t CROSS JOIN LATERAL (SELECT count(*) AS customers FROM (SELECT FROM customers k
    WHERE k.program_id = t.program_id AND k.partner_id = t.id AND k.status IN ('active', 'cancelled', 'suspended')
    LIMIT @least::bigint) paying) c
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.id = ANY (@partner_ids::text[]) AND c.customers < @least::bigint
    AND NOT EXISTS (SELECT FROM payouts p WHERE p.program_id = t.program_id AND p.partner_id = t.id AND p.status = 'paid');

-- name: BatchMature :many
-- BatchMature makes the commissions due that have matured by the period's end, ahead of the job. It
-- and the reads of a page also name the page's first and last partner, so that their plan does not
-- depend on estimates of the others.
UPDATE commissions t SET status = 'due', updated_at = @now
FROM (SELECT k.id FROM commissions k WHERE k.program_id = @program_id AND k.org_id = @org_id
    AND k.partner_id BETWEEN @first_id AND @last_id
    AND k.partner_id = ANY (@partner_ids::text[]) AND k.payout_id IS NULL AND k.status = 'approved'
        AND k.mature_at <= @period_end ORDER BY k.id FOR NO KEY UPDATE) due
WHERE t.id = due.id AND t.org_id = @org_id RETURNING t.*;

-- name: BatchApprove :many
-- BatchApprove does the same for automatic approval.
UPDATE commissions t SET status = 'due', approved_at = @now, updated_at = @now
FROM (SELECT k.id FROM commissions k WHERE k.program_id = @program_id AND k.org_id = @org_id
    AND k.partner_id BETWEEN @first_id AND @last_id
    AND k.partner_id = ANY (@partner_ids::text[]) AND k.payout_id IS NULL AND k.status = 'pending'
        AND k.approve_at <= @now AND k.mature_at <= @period_end ORDER BY k.id FOR NO KEY UPDATE) due
WHERE t.id = due.id AND t.org_id = @org_id RETURNING t.*;

-- name: BatchCommissions :many
-- BatchCommissions sums the commissions due by the period's end, and all due clawbacks regardless
-- of their date (decisions, 117), by partner and currency.
SELECT k.partner_id, k.currency, sum(k.amount_minor)::bigint AS amount_minor, count(*) AS commissions,
    array_agg(k.id)::text[] AS ids
FROM (SELECT t.* FROM commissions t
    WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.partner_id BETWEEN @first_id AND @last_id
        AND t.partner_id = ANY (@partner_ids::text[])
      AND t.status = 'due' AND t.payout_id IS NULL AND (t.mature_at <= @period_end OR t.amount_minor < 0)
    ORDER BY t.id FOR NO KEY UPDATE) k
GROUP BY k.partner_id, k.currency ORDER BY k.partner_id, k.currency;

-- name: PreviewCommissions :many
-- PreviewCommissions returns the sums of BatchCommissions as after BatchMature and BatchApprove, without ids.
SELECT t.partner_id, t.currency, sum(t.amount_minor)::bigint AS amount_minor, count(*) AS commissions,
    '{}'::text[] AS ids
FROM commissions t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.partner_id BETWEEN @first_id AND @last_id
    AND t.partner_id = ANY (@partner_ids::text[]) AND t.payout_id IS NULL
  AND (t.status = 'due' AND (t.mature_at <= @period_end OR t.amount_minor < 0)
      OR t.status = 'approved' AND t.mature_at <= @period_end
      OR t.status = 'pending' AND t.approve_at <= @now AND t.mature_at <= @period_end)
GROUP BY t.partner_id, t.currency ORDER BY t.partner_id, t.currency;

-- name: PreviewPayouts :many
SELECT t.* FROM payouts t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.period_month = @period_month AND t.import_id IS NULL
AND t.partner_id BETWEEN @first_id AND @last_id AND t.partner_id = ANY (@partner_ids::text[]) ORDER BY t.id;

-- name: BatchPayouts :many
SELECT t.* FROM payouts t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.period_month = @period_month AND t.import_id IS NULL
AND t.partner_id BETWEEN @first_id AND @last_id AND t.partner_id = ANY (@partner_ids::text[])
    ORDER BY t.id FOR NO KEY UPDATE;

-- name: PayoutsDue :many
-- PayoutsDue locks the next payouts whose due date has passed; other replicas skip them.
UPDATE payouts t SET due_told = true
FROM (SELECT p.id FROM payouts p WHERE p.status = 'pending' AND NOT p.due_told AND p.due_at <= @now
    ORDER BY p.due_at, p.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id RETURNING t.*;

-- name: ProgramsToBatch :many
-- ProgramsToBatch lists programs with automatic batches and without the month's automatic run, even
-- if the batch was requested before; sample programs have none. The month is the one before that of
-- now in the program's zone, which must have begun by settled. A program whose automatic batches were
-- switched on since then begins with the next month.
SELECT t.id, t.org_id FROM programs t WHERE t.auto_payouts_enabled AND t.id > @after AND NOT starts_with(t.id,
    'sample_')
AND (t.auto_payouts_since IS NULL OR date_trunc('month', zone_day(t.auto_payouts_since, t.time_zone)::timestamp)
    < date_trunc('month', zone_day(@now::timestamptz, t.time_zone)::timestamp))
AND date_trunc('month', zone_day(@settled::timestamptz, t.time_zone)::timestamp)
    = date_trunc('month', zone_day(@now::timestamptz, t.time_zone)::timestamp)
AND NOT EXISTS (SELECT 1 FROM payout_batches b WHERE b.program_id = t.id AND b.import_id IS NULL
    AND b.period_month =
        (date_trunc('month', zone_day(@now::timestamptz, t.time_zone)::timestamp) - interval '1 month')::date
    AND (b.auto_run_at IS NOT NULL OR EXISTS (SELECT 1 FROM payout_runs r
        WHERE r.program_id = t.id AND r.batch_id = b.id AND r.automatic)))
ORDER BY t.id LIMIT @lim;

-- name: PayoutsToSend :many
-- PayoutsToSend locks the next payouts that are due, and reported as due, of active partners whose
-- current method the rail pays. hold_on_high_risk excludes those with an open high risk flag. Other
-- replicas skip locked ones. Sample payouts move no money.
UPDATE payouts t SET status = 'processing', rail = @rail, updated_at = @now
FROM (SELECT p.id FROM payouts p WHERE p.status = 'pending' AND p.due_told AND p.due_at <= @now
    AND p.method = ANY (@methods::text[]) AND NOT starts_with(p.id, 'sample_')
      AND EXISTS (SELECT 1 FROM partners o WHERE o.id = p.partner_id AND o.status = 'active'
          AND o.payout_method = p.method)
      AND NOT (@hold_on_high_risk::boolean AND EXISTS (SELECT 1 FROM risk_flags f
          WHERE f.program_id = p.program_id AND f.partner_id = p.partner_id AND f.severity = 'high'
              AND f.status IN ('open', 'reviewing')))
    ORDER BY p.due_at, p.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id RETURNING t.*;

-- name: PayoutSetExternalID :exec
-- PayoutSetExternalID stores the rail's id of the transfer.
UPDATE payouts SET external_id = @external_id, updated_at = @updated_at
    WHERE id = @id AND org_id = @org_id AND status = 'processing';

-- name: PayoutSetFailed :exec
UPDATE payouts SET status = 'failed', error_code = @error_code, error_message = @error_message,
    failed_transfers = @failed_transfers, attention = NULL, attention_text = NULL, attention_at = NULL,
    updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND status = 'processing';

-- name: PayoutsToFile :many
-- PayoutsToFile locks the next payouts of a batch that are not paid and that a file
-- of the methods should have, or whose partners now want one of these, with the
-- payees; '' is for none, and held is whether a high risk flag is open. Payouts that a rail has are not
-- among them, and with fresh none that left in an earlier file.
SELECT sqlc.embed(t), sqlc.embed(p), g.currency AS program_currency, EXISTS (SELECT 1 FROM risk_flags f
    WHERE f.program_id = t.program_id AND f.partner_id = t.partner_id AND f.severity = 'high' AND f.status IN ('open',
        'reviewing')) AS held
FROM payouts t JOIN partners p ON p.id = t.partner_id JOIN programs g ON g.id = t.program_id
WHERE t.batch_id = @batch_id AND t.org_id = @org_id AND t.id > @after AND NOT starts_with(t.id, 'sample_')
  AND (t.status IN ('pending', 'failed') OR t.status = 'processing' AND t.rail = @rail AND NOT @fresh::boolean)
      AND (coalesce(t.method, '') = ANY (@methods::text[]) OR coalesce(p.payout_method, '') = ANY (@methods::text[]))
ORDER BY t.id LIMIT @lim FOR NO KEY UPDATE OF t;

-- name: PayoutsSetFiled :exec
-- PayoutsSetFiled marks payouts as exported in a file. No rail has them from then on.
UPDATE payouts SET status = 'processing', rail = @rail, rail_id = NULL, submitted_at = NULL, submissions = 0, filed_at = @now,
    external_id = CASE WHEN rail_id IS NULL THEN external_id END, error_code = NULL, error_message = NULL,
    failure_mailed_at = NULL, updated_at = @now
WHERE id = ANY (@ids::text[]) AND org_id = @org_id AND status IN ('pending', 'failed');

-- name: PayoutUnpaidCounts :many
-- PayoutUnpaidCounts counts the unpaid payouts of a batch, except those with a rail, by method and
-- currency.
SELECT t.method, t.currency, count(*) AS payouts FROM payouts t
WHERE t.batch_id = @batch_id AND t.org_id = @org_id AND NOT starts_with(t.id, 'sample_')
  AND (t.status IN ('pending', 'failed') OR t.status = 'processing' AND t.rail = @rail) GROUP BY 1, 2 ORDER BY 1, 2;

-- name: PayoutsInFile :many
-- PayoutsInFile lists the next payouts of a batch that left in a file and have had no end.
SELECT t.* FROM payouts t WHERE t.batch_id = @batch_id AND t.org_id = @org_id AND t.id > @after
    AND t.status = 'processing' AND t.rail = @rail ORDER BY t.id LIMIT @lim;

-- name: BatchPayoutsByIDs :many
-- BatchPayoutsByIDs reads the payouts that belong to a batch, in the order of their locks.
SELECT t.* FROM payouts t WHERE t.batch_id = @batch_id AND t.org_id = @org_id AND t.id = ANY (@ids::text[])
    ORDER BY t.partner_id, t.id;

-- name: PayoutsOfReferences :many
-- PayoutsOfReferences finds the payouts of a batch by the ends of their ids, which are their
-- short references.
SELECT t.id FROM payouts t WHERE t.batch_id = @batch_id AND t.org_id = @org_id
    AND right(t.id, 16) = ANY (@shorts::text[]);

-- name: PayoutsMissing :many
-- PayoutsMissing lists the payouts of a batch that left in a file and are not among the ids. A
-- file has one currency, and PayPal's and Wise's have one method: where the ids are
-- of the batch, only payouts that the same kind of file has are listed.
WITH named AS (SELECT DISTINCT p.currency, CASE WHEN p.method IN ('paypal', 'wise') THEN p.method ELSE '' END AS kind
    FROM payouts p WHERE p.batch_id = @batch_id AND p.org_id = @org_id AND p.id = ANY (@ids::text[]))
SELECT t.id, t.partner_id, t.amount_minor, t.currency, count(*) OVER () AS total FROM payouts t
WHERE t.batch_id = @batch_id AND t.org_id = @org_id AND t.status = 'processing' AND t.rail = @rail
    AND t.id <> ALL (@ids::text[])
    AND (NOT EXISTS (SELECT 1 FROM named)
        OR (t.currency, CASE WHEN t.method IN ('paypal', 'wise') THEN t.method ELSE '' END)
        IN (SELECT n.currency, n.kind FROM named n))
ORDER BY t.id LIMIT @lim;

-- name: PayoutsToCancel :many
-- PayoutsToCancel lists the reversible payouts of a batch, by partner; filed includes exported
-- ones.
SELECT t.id, t.partner_id FROM payouts t WHERE t.batch_id = @batch_id AND t.org_id = @org_id
    AND (t.status IN ('pending', 'failed', 'not_eligible')
        OR @filed::boolean AND t.status = 'processing' AND t.rail = @rail)
ORDER BY t.partner_id, t.id LIMIT @lim;

-- name: PartnersLock :exec
-- PartnersLock locks partners in the order of their ids, before their commissions.
SELECT 1 FROM partners t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id ORDER BY t.id FOR NO KEY UPDATE;

-- name: PayoutsLockUndoable :many
-- PayoutsLockUndoable locks the payouts that can still be undone.
SELECT t.* FROM payouts t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id
    AND (t.status IN ('pending', 'failed', 'not_eligible')
        OR @filed::boolean AND t.status = 'processing' AND t.rail = @rail)
ORDER BY t.partner_id, t.id FOR NO KEY UPDATE;

-- name: PayoutsDelete :exec
DELETE FROM payouts WHERE id = ANY (@ids::text[]) AND org_id = @org_id;

-- name: PayoutsRelease :exec
-- PayoutsRelease makes the payouts' commissions due again.
UPDATE commissions SET payout_id = NULL, updated_at = greatest(updated_at, @updated_at::timestamptz)
WHERE payout_id = ANY (@payout_ids::text[]) AND org_id = @org_id AND status = 'due';

-- name: PayoutsOfBatch :one
-- PayoutsOfBatch counts the payouts of a batch.
SELECT count(*) FROM payouts t WHERE t.batch_id = @batch_id AND t.org_id = @org_id;

-- name: PayoutInFlight :one
-- PayoutInFlight finds a payout that a rail has, or that left in a file, for the operator.
SELECT t.* FROM payouts t WHERE t.id = @id AND t.status = 'processing';

-- name: BatchAcrossOrgs :one
-- BatchAcrossOrgs finds a batch, for the operator.
SELECT t.* FROM payout_batches t WHERE t.id = @id;

-- name: PayoutsLockUnsent :many
-- PayoutsLockUnsent locks the payouts of a partner that have not been sent.
SELECT t.id FROM payouts t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.partner_id = @partner_id
    AND t.status NOT IN ('processing', 'paid') ORDER BY t.id FOR NO KEY UPDATE;

-- name: PayoutYear :many
-- PayoutYear sums the payouts that were paid in a time by partner, method and currency, in this order.
SELECT t.partner_id, coalesce(t.method, '')::text AS method, t.currency, sum(t.amount_minor)::bigint AS paid_minor,
    count(*) AS payouts
FROM payouts t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.status = 'paid' AND t.paid_at >= @from_at::timestamptz
    AND t.paid_at < @to_at::timestamptz
    AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 LIMIT @lim OFFSET @skip;

-- name: PayoutYearCount :one
-- PayoutYearCount counts the rows of PayoutYear.
SELECT count(*) AS rows FROM (SELECT DISTINCT t.partner_id, t.method, t.currency FROM payouts t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.status = 'paid' AND t.paid_at >= @from_at::timestamptz
    AND t.paid_at < @to_at::timestamptz
    AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)) x;

-- name: PayoutYearSums :many
-- PayoutYearSums sums the payouts of PayoutYear by currency.
SELECT t.currency, sum(t.amount_minor)::bigint AS amount_minor, count(*) AS payouts FROM payouts t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.status = 'paid' AND t.paid_at >= @from_at::timestamptz
    AND t.paid_at < @to_at::timestamptz
    AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)
GROUP BY 1 ORDER BY 1;
