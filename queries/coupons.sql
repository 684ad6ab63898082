-- name: CouponGet :one
SELECT t.* FROM coupons t WHERE t.id = @id AND t.org_id = @org_id;

-- name: CouponLock :one
-- CouponLock reads the row for a change and locks it until the commit.
SELECT t.* FROM coupons t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: CouponInsert :execrows
-- CouponInsert adds no row if the code is taken, ignoring case.
INSERT INTO coupons (id, org_id, program_id, partner_id, group_id, code, external_id, active, created_at, updated_at,
    external_parent_id, active_as_of)
VALUES (@id, @org_id, @program_id, @partner_id, @group_id, @code, @external_id, @active, @created_at, @updated_at,
    @external_parent_id, @active_as_of)
ON CONFLICT DO NOTHING;

-- name: CouponUpdate :exec
-- CouponUpdate does not change the code, which belongs to the processor.
UPDATE coupons SET external_id = @external_id, partner_id = @partner_id, external_parent_id = @external_parent_id,
    active_as_of = @active_as_of, updated_at = @updated_at
    WHERE id = @id AND org_id = @org_id;

-- name: CouponDelete :exec
DELETE FROM coupons WHERE id = @id AND org_id = @org_id;

-- name: CouponByCode :one
-- CouponByCode ignores case, like the unique index.
SELECT t.* FROM coupons t WHERE t.program_id = @program_id AND t.org_id = @org_id AND lower(t.code) = lower(@code);

-- name: CouponSetActive :exec
-- CouponSetActive sets the state of a code from the processor.
UPDATE coupons SET active = @active, external_parent_id = @external_parent_id, active_as_of = @active_as_of,
    updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: CouponsOfPartner :one
-- CouponsOfPartner counts a partner's active coupons.
SELECT count(*) FROM coupons t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.partner_id = @partner_id
    AND t.active;

-- name: CouponsDeactivate :many
-- CouponsDeactivate deactivates a partner's coupons. A later event of the processor overrides it.
UPDATE coupons SET active = false, active_as_of = @now, updated_at = @now
WHERE program_id = @program_id AND org_id = @org_id AND partner_id = @partner_id AND active
RETURNING *;
