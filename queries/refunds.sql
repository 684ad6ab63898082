-- name: RefundGet :one
SELECT t.* FROM refunds t WHERE t.id = @id AND t.org_id = @org_id;

-- name: RefundByExternalID :one
SELECT t.* FROM refunds t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.external_refund_id = @external_refund_id;

-- name: RefundLast :one
-- RefundLast is the refund that completed the refund of a sale.
SELECT t.* FROM refunds t WHERE t.sale_id = @sale_id AND t.org_id = @org_id AND t.amount_minor > 0
    ORDER BY t.created_at DESC, t.id DESC LIMIT 1;

-- name: RefundsWaiting :many
-- RefundsWaiting lists the refunds that arrived before the sale of a charge.
SELECT t.* FROM refunds t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.external_charge_id = @external_charge_id
    AND t.status = 'waiting'
ORDER BY t.created_at, t.id;

-- name: RefundsWaitingCount :one
SELECT count(*) FROM refunds t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.external_charge_id = @external_charge_id
    AND t.status = 'waiting';

-- name: RefundsSetCharge :exec
-- RefundsSetCharge gives the waiting refunds of a charge's other id to the charge.
UPDATE refunds SET external_charge_id = @external_charge_id, updated_at = @now
WHERE program_id = @program_id AND org_id = @org_id AND external_charge_id = @alias AND status = 'waiting';

-- name: RefundInsert :exec
INSERT INTO refunds (id, org_id, program_id, sale_id, external_charge_id, external_refund_id, status, amount_minor,
    currency,
    voided_commissions, clawback_minor, effects, reason, refunded_at, created_at, updated_at, level_minor,
    restored_minor, restorations)
VALUES (@id, @org_id, @program_id, @sale_id, @external_charge_id, @external_refund_id, @status, @amount_minor,
    @currency,
    @voided_commissions, @clawback_minor, @effects, @reason, @refunded_at, @created_at, @updated_at,
    @level_minor, @restored_minor, @restorations);

-- name: RefundApply :exec
-- RefundApply ends the wait of a refund.
UPDATE refunds SET sale_id = @sale_id, status = 'applied', amount_minor = @amount_minor, currency = @currency,
    voided_commissions = @voided_commissions, clawback_minor = @clawback_minor, effects = @effects,
        refunded_at = @refunded_at,
    updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND status <> 'applied';

-- name: RefundsExpire :many
-- RefundsExpire ends the wait of refunds whose sale has not arrived.
UPDATE refunds SET status = 'unmatched', updated_at = @now
WHERE id IN (SELECT r.id FROM refunds r WHERE r.status = 'waiting' AND r.created_at <= @before
    ORDER BY r.created_at, r.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED)
RETURNING *;

-- name: ChargeLock :exec
-- ChargeLock serializes requests about a charge of a program, so that a refund and a later sale
-- find each other.
SELECT pg_advisory_xact_lock(hashtextextended(@org_id::text || ' ' || @program_id::text || ' '
    || @external_charge_id::text, 0));

-- name: ChargesLock :exec
-- ChargesLock is ChargeLock for several charges, in their order: sorted ones cannot deadlock.
SELECT count(pg_advisory_xact_lock(hashtextextended(@org_id::text || ' ' || @program_id::text || ' ' || c.id, 0)))
FROM unnest(@external_charge_ids::text[]) AS c (id);

-- name: RefundsOfSale :many
SELECT t.* FROM refunds t WHERE t.sale_id = @sale_id AND t.org_id = @org_id ORDER BY t.created_at, t.id;

-- name: RefundRestore :exec
-- RefundRestore records the restored amount of a refund.
UPDATE refunds SET restored_minor = @restored_minor, restorations = @restorations, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;
