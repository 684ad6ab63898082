-- Connections to services that move money, and the payouts that they have.

-- name: PayoutRailGet :one
SELECT t.* FROM payout_rails t WHERE t.id = @id AND t.org_id = @org_id;

-- name: PayoutRailOperated :one
-- PayoutRailOperated finds a rail of any organization.
SELECT t.* FROM payout_rails t WHERE t.id = @id;

-- name: PayoutRailActive :one
-- PayoutRailActive finds the active rail of a program, kind and mode.
SELECT t.* FROM payout_rails t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.kind = @kind
    AND t.livemode = @livemode AND t.status = 'active';

-- name: PayoutRailsOfProgram :many
SELECT t.* FROM payout_rails t WHERE t.program_id = @program_id AND t.org_id = @org_id
ORDER BY t.created_at DESC, t.id DESC;

-- name: PayoutRailInsert :exec
INSERT INTO payout_rails (id, org_id, program_id, kind, livemode, status, methods, credentials, busy_until,
    without_funds_at, last_success_at, last_error, created_at, updated_at)
VALUES (@id, @org_id, @program_id, @kind, @livemode, @status, @methods, @credentials, @busy_until,
    @without_funds_at, @last_success_at, @last_error, @created_at, @updated_at);

-- name: PayoutRailDisconnect :execrows
UPDATE payout_rails SET status = 'disconnected', updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND status = 'active';

-- name: PayoutRailsToFollow :many
-- PayoutRailsToFollow lists the rails of all organizations that have payouts to submit or to ask about. A rail that
-- is disconnected still answers about the payouts that it has.
SELECT t.* FROM payout_rails t WHERE t.id > @after AND (t.busy_until IS NULL OR t.busy_until <= @now::timestamptz)
    AND (EXISTS (SELECT FROM payouts p WHERE p.rail_id = t.id AND p.status = 'processing'
            AND (p.checked_at IS NULL OR p.checked_at <= @asked_before))
        OR EXISTS (SELECT FROM payouts p WHERE p.rail_id = t.id AND p.status = 'paid' AND p.attention IS NULL
            AND p.checked_at <= @watched_before AND p.paid_at > @paid_after))
ORDER BY t.id LIMIT @lim;

-- name: PayoutRailAnswered :exec
-- PayoutRailAnswered records that the service has answered.
UPDATE payout_rails SET last_success_at = @now, last_error = NULL, busy_until = NULL, without_funds_at = NULL,
    updated_at = @now
WHERE id = @id AND org_id = @org_id;

-- name: PayoutRailFailed :exec
-- PayoutRailFailed records why a call failed, and until when no other is made.
UPDATE payout_rails SET last_error = @last_error, busy_until = @busy_until, updated_at = @now,
    without_funds_at = CASE WHEN @without_funds::boolean THEN coalesce(without_funds_at, @now) ELSE without_funds_at END
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
    AND EXISTS (SELECT FROM partners o WHERE o.id = p.partner_id AND o.org_id = p.org_id AND o.status = 'active'
        AND o.payout_method = p.method)
    AND NOT (@hold_on_high_risk::boolean AND EXISTS (SELECT FROM risk_flags f
        WHERE f.program_id = p.program_id AND f.partner_id = p.partner_id AND f.severity = 'high'
            AND f.status IN ('open', 'reviewing')))
ORDER BY p.partner_id, p.id LIMIT @lim;

-- name: PayoutsHandOver :exec
-- PayoutsHandOver gives pending payouts to a rail. From then on they can be neither lowered nor deleted.
UPDATE payouts SET status = 'processing', rail = @rail, rail_id = @rail_id, checked_at = NULL, submissions = 0,
    updated_at = @now
WHERE id = ANY (@ids::text[]) AND org_id = @org_id AND status = 'pending';

-- name: PayoutSendInsert :exec
INSERT INTO payout_sends (id, org_id, program_id, batch_id, rail_id, currency, amount_minor, payout_count, created_at)
VALUES (@id, @org_id, @program_id, @batch_id, @rail_id, @currency, @amount_minor, @payout_count, @created_at);

-- name: PayoutSendLatest :one
-- PayoutSendLatest finds the latest hand-over of a batch's payouts in a currency to a rail.
SELECT t.* FROM payout_sends t WHERE t.batch_id = @batch_id AND t.org_id = @org_id AND t.rail_id = @rail_id
    AND (@currency::text = '' OR t.currency = @currency)
ORDER BY t.created_at DESC, t.id DESC LIMIT 1;

-- name: RailPayoutsToFollow :many
-- RailPayoutsToFollow leases payouts that a rail has, or must still receive, and that were last checked before
-- asked_before. Payouts that the rail cannot confirm wait for a person.
UPDATE payouts t SET checked_at = @now, submissions = t.submissions + CASE WHEN t.external_id IS NULL THEN 1 ELSE 0 END,
    submitted_at = coalesce(t.submitted_at, @now)
FROM (SELECT p.id FROM payouts p WHERE p.rail_id = @rail_id AND p.status = 'processing'
        AND p.attention IS DISTINCT FROM 'unconfirmed' AND (p.checked_at IS NULL OR p.checked_at <= @asked_before)
    ORDER BY p.checked_at NULLS FIRST, p.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id RETURNING t.*;

-- name: RailPayoutsToWatch :many
-- RailPayoutsToWatch leases paid payouts whose money may still come back.
UPDATE payouts t SET checked_at = @now
FROM (SELECT p.id FROM payouts p WHERE p.rail_id = @rail_id AND p.status = 'paid' AND p.attention IS NULL
        AND p.checked_at <= @watched_before AND p.paid_at > @paid_after
    ORDER BY p.checked_at, p.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id RETURNING t.*;

-- name: PayoutAttend :exec
-- PayoutAttend notes what a person should look at, or that there is nothing left.
UPDATE payouts SET attention = @attention, attention_text = @attention_text, attention_at = @attention_at,
    updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: PayoutFee :exec
UPDATE payouts SET fee_minor = @fee_minor, fee_currency = @fee_currency WHERE id = @id AND org_id = @org_id;
