-- Connections to services that move money, and the payouts that they have.

-- name: PayoutRailGet :one
SELECT t.* FROM payout_rails t WHERE t.id = @id AND t.org_id = @org_id;

-- name: PayoutRailAcrossOrgs :one
-- PayoutRailAcrossOrgs finds a rail of any organization.
SELECT t.* FROM payout_rails t WHERE t.id = @id;

-- name: PayoutRailsOfProgram :many
SELECT t.* FROM payout_rails t WHERE t.program_id = @program_id AND t.org_id = @org_id
ORDER BY t.created_at DESC, t.id DESC;

-- name: PayoutRailInsert :exec
INSERT INTO payout_rails (id, org_id, program_id, kind, livemode, status, methods, credentials, busy_until,
    submit_after, without_funds_at, last_success_at, last_error, created_at, updated_at, url, automatic_batch_minor,
    automatic_day_minor)
VALUES (@id, @org_id, @program_id, @kind, @livemode, @status, @methods, @credentials, @busy_until,
    @submit_after, @without_funds_at, @last_success_at, @last_error, @created_at, @updated_at, @url,
    @automatic_batch_minor, @automatic_day_minor);

-- name: PayoutRailSetAutomatic :execrows
-- PayoutRailSetAutomatic changes the limits of sending without a person's confirmation. It changes nothing if another caller
-- has changed them since they were read.
UPDATE payout_rails SET automatic_batch_minor = @automatic_batch_minor, automatic_day_minor = @automatic_day_minor,
    updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND status = 'active'
    AND automatic_batch_minor IS NOT DISTINCT FROM sqlc.narg('was_batch_minor')::bigint
    AND automatic_day_minor IS NOT DISTINCT FROM sqlc.narg('was_day_minor')::bigint;

-- name: PayoutRailDisconnect :execrows
UPDATE payout_rails SET status = 'disconnected', updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND status = 'active';

-- name: PayoutRailsToFollow :many
-- PayoutRailsToFollow lists the rails of all organizations that have payouts to submit or to ask about. A rail that
-- is disconnected still answers about the payouts that it has.
SELECT t.* FROM payout_rails t WHERE t.id > @after AND (t.busy_until IS NULL OR t.busy_until <= @now::timestamptz)
    AND (EXISTS (SELECT FROM payouts p WHERE coalesce(p.rail_id, '') = t.id AND p.rail = t.kind AND p.status = 'processing'
            AND p.attention IS DISTINCT FROM 'unconfirmed' AND (p.checked_at IS NULL OR p.checked_at <= @asked_before)
            AND (p.external_id IS NOT NULL AND t.kind <> 'webhook'
                OR p.external_id IS NULL AND (t.submit_after IS NULL OR t.submit_after <= @now::timestamptz)))
        OR t.kind <> 'webhook' AND EXISTS (SELECT FROM payouts p WHERE coalesce(p.rail_id, '') = t.id AND p.rail = t.kind
            AND p.status = 'paid' AND p.rail <> 'file' AND p.external_id IS NOT NULL AND p.marked_at IS NULL
            AND p.checked_at <= @watched_before AND p.attention_dismissed_at IS NULL
            AND (p.attention IS NULL OR p.attention NOT IN ('returned', 'reversed'))))
ORDER BY t.id LIMIT @lim;

-- name: PayoutRailSetSuccess :exec
-- PayoutRailSetSuccess stores the time of a successful call. Another server may have stored a later failure.
UPDATE payout_rails SET last_success_at = @now, last_error = @last_error, updated_at = @now,
    without_funds_at = CASE WHEN @submitted::boolean THEN NULL ELSE without_funds_at END
WHERE id = @id AND org_id = @org_id AND (busy_until IS NULL OR busy_until <= @now);

-- name: PayoutRailSetBusy :exec
-- PayoutRailSetBusy stores the error of a failed call, and the time of the next one.
UPDATE payout_rails SET last_error = @last_error, busy_until = @busy_until, updated_at = @now
WHERE id = @id AND org_id = @org_id;

-- name: PayoutRailSetWithoutFunds :exec
-- PayoutRailSetWithoutFunds records that the account lacks funds, and until when nothing is submitted.
UPDATE payout_rails SET last_error = @last_error, submit_after = @submit_after, updated_at = @now,
    without_funds_at = coalesce(without_funds_at, @now)
WHERE id = @id AND org_id = @org_id;

-- name: PayoutRailReplace :execrows
-- PayoutRailReplace replaces the credentials of a rail.
UPDATE payout_rails SET credentials = @credentials, busy_until = NULL, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: PayoutRailsSealed :many
SELECT t.id, t.credentials FROM payout_rails t WHERE t.id > @after ORDER BY t.id LIMIT @lim;

-- name: PayoutRailsReseal :exec
UPDATE payout_rails SET credentials = @credentials WHERE id = @id AND credentials = @was;

-- name: PayoutsToHandOver :many
-- PayoutsToHandOver lists the pending payouts of a batch that a rail with the methods can send, in the order of their
-- locks: those of active partners with the payout's method. Sample payouts move no money.
SELECT p.id, p.partner_id, p.amount_minor, p.currency FROM payouts p WHERE p.batch_id = @batch_id AND p.org_id = @org_id AND p.status = 'pending'
    AND p.method = ANY (@methods::text[]) AND NOT starts_with(p.id, 'sample_')
    AND (@currency::text = '' OR p.currency = @currency)
    AND (sqlc.narg('due_by')::timestamptz IS NULL OR p.due_told AND p.due_at <= sqlc.narg('due_by')::timestamptz)
    AND (sqlc.narg('created_from')::timestamptz IS NULL OR p.created_at >= sqlc.narg('created_from')::timestamptz)
    AND EXISTS (SELECT FROM partners o WHERE o.id = p.partner_id AND o.org_id = p.org_id AND o.status = 'active'
        AND o.payout_method = p.method)
    AND NOT (@hold_on_high_risk::boolean AND EXISTS (SELECT FROM risk_flags f
        WHERE f.program_id = p.program_id AND f.partner_id = p.partner_id AND f.severity = 'high'
            AND f.status IN ('open', 'reviewing')))
ORDER BY p.partner_id, p.id LIMIT @lim;

-- name: PayoutsHandOver :exec
-- PayoutsHandOver gives pending payouts to a rail. From then on they can be neither lowered nor deleted.
UPDATE payouts SET status = 'processing', rail = @rail, rail_id = @rail_id, checked_at = NULL, submissions = 0,
    submitted_at = NULL, external_id = NULL, fee_minor = NULL, fee_currency = NULL, updated_at = @now
WHERE id = ANY (@ids::text[]) AND org_id = @org_id AND status = 'pending';

-- name: PayoutCountsByRail :many
-- PayoutCountsByRail counts the payouts of a batch that a rail has or had, and those in progress, by method and currency.
SELECT coalesce(p.method, '')::text AS method, p.currency, max(coalesce(p.rail, ''))::text AS rail, count(*) AS payouts,
    count(*) FILTER (WHERE p.status = 'processing') AS processing
FROM payouts p WHERE p.batch_id = @batch_id AND p.org_id = @org_id AND p.rail_id IS NOT NULL
GROUP BY p.method, p.currency ORDER BY p.method, p.currency;

-- name: PayoutSendInsert :exec
INSERT INTO payout_sends (id, org_id, program_id, batch_id, rail_id, currency, amount_minor, payout_count, created_at,
    automatic)
VALUES (@id, @org_id, @program_id, @batch_id, @rail_id, @currency, @amount_minor, @payout_count, @created_at,
    @automatic);

-- name: PayoutSendsAutomatic :one
-- PayoutSendsAutomatic sums what was sent of a program without a confirmation: of one batch, and since a time.
SELECT coalesce(sum(t.amount_minor) FILTER (WHERE t.batch_id = @batch_id), 0)::bigint AS of_batch,
    coalesce(sum(t.amount_minor) FILTER (WHERE t.created_at >= @since), 0)::bigint AS of_day
FROM payout_sends t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.automatic;

-- name: BatchesToSendAutomatically :many
-- BatchesToSendAutomatically lists the batches with due payouts that connected rails may send without a confirmation, those of
-- active rails in programs with automatic payouts. Payouts in other currencies than the program's, and those created
-- before automatic payouts were switched on, wait for a person.
SELECT DISTINCT r.id AS rail_id, r.org_id, p.batch_id FROM payout_rails r JOIN programs g ON g.id = r.program_id
    JOIN payouts p ON p.program_id = r.program_id AND p.currency = g.currency AND p.method = ANY (r.methods)
WHERE r.status = 'active' AND r.livemode AND r.automatic_batch_minor IS NOT NULL AND g.auto_payouts_enabled
    AND g.status = 'active' AND p.status = 'pending' AND p.due_told AND p.due_at <= @now AND p.method IS NOT NULL
    AND (g.auto_payouts_since IS NULL OR p.created_at >= g.auto_payouts_since)
    AND NOT starts_with(p.id, 'sample_')
    AND (r.id, p.batch_id) > (@after_rail::text, @after_batch::text)
ORDER BY r.id, p.batch_id LIMIT @lim;

-- name: PayoutSendLatest :one
-- PayoutSendLatest finds the latest hand-over of a batch's payouts in a currency to a rail.
SELECT t.* FROM payout_sends t WHERE t.batch_id = @batch_id AND t.org_id = @org_id AND t.rail_id = @rail_id
    AND (@currency::text = '' OR t.currency = @currency)
ORDER BY t.created_at DESC, t.id DESC LIMIT 1;

-- name: RailPayoutsToPoll :many
-- RailPayoutsToPoll leases payouts that a rail has and that were last checked before asked_before; rail_id is empty for
-- an operator's rail.
UPDATE payouts t SET checked_at = @now
FROM (SELECT p.id FROM payouts p WHERE p.rail = @rail AND coalesce(p.rail_id, '') = @rail_id::text AND p.status = 'processing'
        AND p.external_id IS NOT NULL AND (p.checked_at IS NULL OR p.checked_at <= @asked_before)
    ORDER BY p.checked_at NULLS FIRST, p.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id RETURNING t.*;

-- name: RailPayoutsToSubmit :many
-- RailPayoutsToSubmit leases payouts that a rail must still receive. Payouts that it does not confirm wait for a person.
UPDATE payouts t SET checked_at = @now
FROM (SELECT p.id FROM payouts p WHERE p.rail = @rail AND coalesce(p.rail_id, '') = @rail_id::text AND p.status = 'processing'
        AND p.external_id IS NULL AND p.attention IS DISTINCT FROM 'unconfirmed'
        AND (p.checked_at IS NULL OR p.checked_at <= @asked_before)
    ORDER BY p.checked_at NULLS FIRST, p.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id RETURNING t.*;

-- name: PayoutCountSubmission :one
-- PayoutCountSubmission counts a submission just before it is made, if the lease is still the caller's.
UPDATE payouts SET submissions = submissions + 1, submitted_at = coalesce(submitted_at, @now)
WHERE id = @id AND org_id = @org_id AND status = 'processing' AND external_id IS NULL AND checked_at = @leased_at
RETURNING *;

-- name: PayoutUncountSubmission :exec
-- PayoutUncountSubmission takes back the count of a submission that the rail certainly has not accepted.
UPDATE payouts SET submissions = submissions - 1, submitted_at = CASE WHEN submissions > 1 THEN submitted_at END
WHERE id = @id AND org_id = @org_id AND status = 'processing' AND external_id IS NULL AND submissions > 0;

-- name: RailPayoutsToWatch :many
-- RailPayoutsToWatch leases paid payouts whose money may still come back. Older ones lose checked_at, and are not
-- leased again. A payout that RailPayoutPollNow has marked is leased at any age.
UPDATE payouts t SET checked_at = CASE WHEN t.paid_at > @paid_after::timestamptz OR t.checked_at = @ask_now::timestamptz
    THEN @now::timestamptz END
FROM (SELECT p.id FROM payouts p WHERE p.rail = @rail AND coalesce(p.rail_id, '') = @rail_id::text AND p.status = 'paid'
        AND p.rail <> 'file' AND p.external_id IS NOT NULL AND p.marked_at IS NULL AND p.checked_at <= @watched_before
        AND p.attention_dismissed_at IS NULL AND (p.attention IS NULL OR p.attention NOT IN ('returned', 'reversed'))
    ORDER BY p.checked_at, p.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id RETURNING t.*;

-- name: RailPayoutPollNow :execrows
-- RailPayoutPollNow makes the next round poll a payout of a connected rail, paid or not, whatever its age.
UPDATE payouts SET checked_at = CASE WHEN status = 'processing' THEN NULL ELSE @ask_now::timestamptz END
WHERE id = @id AND org_id = @org_id AND rail_id = @rail_id AND external_id IS NOT NULL AND (status = 'processing'
    OR status = 'paid' AND marked_at IS NULL);

-- name: RailPayoutsReturn :many
-- RailPayoutsReturn sets payouts back to pending that a rail has but was never sent.
UPDATE payouts SET status = 'pending', rail = NULL, rail_id = NULL, checked_at = NULL, attention = NULL,
    attention_text = NULL, attention_at = NULL, updated_at = @now
WHERE rail_id = @rail_id AND org_id = @org_id AND status = 'processing' AND submitted_at IS NULL AND external_id IS NULL
RETURNING *;

-- name: PayoutSetAttention :exec
-- PayoutSetAttention sets or clears the reason for which a person should review a payout.
UPDATE payouts SET attention = @attention, attention_text = @attention_text, attention_at = @attention_at,
    updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND status = @status;

-- name: PayoutAttentionDismiss :exec
-- PayoutAttentionDismiss ends the attention of a paid payout whose money came back.
UPDATE payouts SET attention = NULL, attention_text = NULL, attention_at = NULL, attention_dismissed_at = @now,
    updated_at = @now
WHERE id = @id AND org_id = @org_id AND status = 'paid';

-- name: PayoutFee :exec
UPDATE payouts SET fee_minor = @fee_minor, fee_currency = @fee_currency WHERE id = @id AND org_id = @org_id;
