-- customers_list_idx and one index a filter serve the page and the count.
-- Every list is bound to the organization by the one-time check of its program;
-- the page runs in either direction (LIMIT is one more than asked for).

-- name: CustomerPage :many
SELECT t.* FROM customers t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('status')::text IS NULL OR t.status = sqlc.narg('status')::text)
  AND (sqlc.narg('status_in')::text[] IS NULL OR t.status = ANY (sqlc.narg('status_in')::text[]))
  AND (sqlc.narg('email')::text IS NULL OR lower(t.email) = sqlc.narg('email')::text)
  AND (sqlc.narg('external_customer_id')::text IS NULL OR t.external_customer_id = sqlc.narg('external_customer_id')::text)
  AND (sqlc.narg('after_at')::timestamptz IS NULL OR (t.created_at, t.id) < (sqlc.narg('after_at')::timestamptz, sqlc.narg('after_id')::text))
  AND (sqlc.narg('before_at')::timestamptz IS NULL OR (t.created_at, t.id) > (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::text))
ORDER BY CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.created_at END,
         CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.id END,
         t.created_at DESC, t.id DESC
LIMIT @lim;

-- name: CustomerCount :one
-- CustomerCount counts up to a bound, above which TallyTotal is asked.
SELECT count(*) FROM (SELECT 1 FROM customers t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('status')::text IS NULL OR t.status = sqlc.narg('status')::text)
  AND (sqlc.narg('status_in')::text[] IS NULL OR t.status = ANY (sqlc.narg('status_in')::text[]))
  AND (sqlc.narg('email')::text IS NULL OR lower(t.email) = sqlc.narg('email')::text)
  AND (sqlc.narg('external_customer_id')::text IS NULL OR t.external_customer_id = sqlc.narg('external_customer_id')::text)
  LIMIT @most) few;

-- name: CustomerCursor :one
-- CustomerCursor applies the filters by identity only: a row whose state has left
-- the filter still marks its place, so that a walk goes on while rows change.
SELECT t.created_at, t.id FROM customers t
WHERE t.id = @id AND t.program_id = @program_id AND t.org_id = @org_id
  AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text);

-- name: CustomerByIDs :many
SELECT t.* FROM customers t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: CustomerGet :one
SELECT t.* FROM customers t WHERE t.id = @id AND t.org_id = @org_id;

-- name: CustomerLock :one
-- CustomerLock reads the row for a change; nobody else changes it until the commit.
SELECT t.* FROM customers t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: CustomerInsert :execrows
INSERT INTO customers (id, org_id, program_id, partner_id, referral_id, link_id, coupon_id, click_id, processor,
    external_customer_id, external_subscription_id, email, name, identifier, status, tracked_by, lead_at,
    converted_at, metadata, created_at, updated_at)
VALUES (@id, @org_id, @program_id, @partner_id, @referral_id, @link_id, @coupon_id, @click_id, @processor,
    @external_customer_id, @external_subscription_id, @email, @name, @identifier, @status, @tracked_by, @lead_at,
    @converted_at, @metadata, @created_at, @updated_at)
ON CONFLICT DO NOTHING;

-- name: CustomerUpdate :exec
UPDATE customers SET partner_id = @partner_id, referral_id = @referral_id, link_id = @link_id, coupon_id = @coupon_id, click_id = @click_id,
    tracked_by = @tracked_by, email = @email, name = @name, identifier = @identifier, status = @status, metadata = @metadata, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: CustomerPaid :exec
-- CustomerPaid is the automatic part of a sale (decisions, 85).
UPDATE customers SET status = @status, converted_at = coalesce(converted_at, @converted_at::timestamptz), updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: CustomerDelete :exec
DELETE FROM customers WHERE id = @id AND org_id = @org_id;

-- name: CustomerByExternalID :one
SELECT t.* FROM customers t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.external_customer_id = @external_customer_id;

-- name: CustomerSignupCommissions :many
-- CustomerSignupCommission is the commission that the customer's signup made.
SELECT t.* FROM commissions t WHERE t.customer_id = @customer_id AND t.program_id = @program_id AND t.org_id = @org_id
AND t.kind = 'referral' AND t.sale_id IS NULL FOR NO KEY UPDATE;

-- name: CustomerProgram :one
SELECT t.program_id FROM customers t WHERE t.id = @id AND t.org_id = @org_id;
