-- name: CouponGet :one
SELECT t.* FROM coupons t WHERE t.id = @id AND t.org_id = @org_id;

-- name: CouponLock :one
-- CouponLock reads the row for a change; nobody else changes it until the commit.
SELECT t.* FROM coupons t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: CouponInsert :execrows
-- CouponInsert adds no row where the code is taken, whatever its case.
INSERT INTO coupons (id, org_id, program_id, partner_id, group_id, code, external_id, active, created_at, updated_at,
    external_parent_id, active_as_of)
VALUES (@id, @org_id, @program_id, @partner_id, @group_id, @code, @external_id, @active, @created_at, @updated_at,
    @external_parent_id, @active_as_of)
ON CONFLICT DO NOTHING;

-- name: CouponUpdate :exec
-- CouponUpdate leaves the code, which is the processor's.
UPDATE coupons SET external_id = @external_id, partner_id = @partner_id, external_parent_id = @external_parent_id,
    active_as_of = @active_as_of, updated_at = @updated_at
    WHERE id = @id AND org_id = @org_id;

-- name: CouponDelete :exec
DELETE FROM coupons WHERE id = @id AND org_id = @org_id;

-- name: CouponByCode :one
-- CouponByCode ignores case, as the index does that makes codes unique.
SELECT t.* FROM coupons t WHERE t.program_id = @program_id AND t.org_id = @org_id AND lower(t.code) = lower(@code);

-- name: CouponSetActive :exec
-- CouponSetActive writes what the processor says of a code.
UPDATE coupons SET active = @active, external_parent_id = @external_parent_id, active_as_of = @active_as_of,
    updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: CouponsOfPartner :one
-- CouponsOfPartner counts those that are on.
SELECT count(*) FROM coupons t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.partner_id = @partner_id
    AND t.active;

-- name: CouponsStop :many
-- CouponsStop turns a partner's coupons off. What a processor says later counts.
UPDATE coupons SET active = false, active_as_of = @now, updated_at = @now
WHERE program_id = @program_id AND org_id = @org_id AND partner_id = @partner_id AND active
RETURNING *;
