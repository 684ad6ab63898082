-- name: CustomerByIDs :many
SELECT t.* FROM customers t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: CustomerGet :one
SELECT t.* FROM customers t WHERE t.id = @id AND t.org_id = @org_id;

-- name: CustomerLock :one
-- CustomerLock reads the row for a change; nobody else changes it until the commit.
SELECT t.* FROM customers t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: CustomerInsert :execrows
-- CustomerInsert adds no row where the external id is taken.
INSERT INTO customers (id, org_id, program_id, partner_id, referral_id, link_id, coupon_id, click_id, processor,
    external_customer_id, external_subscription_id, email, name, identifier, status, tracked_by, lead_at,
    converted_at, metadata, created_at, updated_at, attribution)
VALUES (@id, @org_id, @program_id, @partner_id, @referral_id, @link_id, @coupon_id, @click_id, @processor,
    @external_customer_id, @external_subscription_id, @email, @name, @identifier, @status, @tracked_by, @lead_at,
    @converted_at, @metadata, @created_at, @updated_at, @attribution)
ON CONFLICT DO NOTHING;

-- name: CustomerUpdate :exec
UPDATE customers SET partner_id = @partner_id, referral_id = @referral_id, link_id = @link_id, coupon_id = @coupon_id,
    click_id = @click_id,
    tracked_by = @tracked_by, email = @email, name = @name, identifier = @identifier, status = @status,
        metadata = @metadata, updated_at = @updated_at, attribution = @attribution
WHERE id = @id AND org_id = @org_id;

-- name: CustomerPaid :exec
-- CustomerPaid is the automatic part of a sale (decisions, 85).
UPDATE customers SET status = @status, converted_at = coalesce(converted_at, @converted_at::timestamptz),
    updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: CustomerDelete :exec
DELETE FROM customers WHERE id = @id AND org_id = @org_id;

-- name: LeadKnown :one
-- LeadKnown reports whether a browser's lead is a customer of the program already, by its
-- e-mail address or its identifier, whichever visit brought them.
SELECT (EXISTS (SELECT 1 FROM customers t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND lower(t.email) = lower(sqlc.narg('email')::text))
  OR EXISTS (SELECT 1 FROM customers t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.identifier = sqlc.narg('identifier')::text))::boolean AS known;

-- name: CustomerByExternalID :one
-- CustomerByExternalID finds a payer by the processor's id.
SELECT t.* FROM customers t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.external_customer_id = @external_customer_id;

-- name: CustomerSignupCommissions :many
-- CustomerSignupCommissions locks the commissions that the customer's sign-up made.
SELECT t.* FROM commissions t WHERE t.customer_id = @customer_id AND t.program_id = @program_id AND t.org_id = @org_id
AND t.kind = 'referral' AND t.sale_id IS NULL FOR NO KEY UPDATE;

-- name: CustomerProgram :one
SELECT t.program_id FROM customers t WHERE t.id = @id AND t.org_id = @org_id;
