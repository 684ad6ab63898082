-- name: CustomerByIDs :many
-- CustomerByIDs returns customers by their ids. asked is the id in ids: that of a merged
-- customer returns its survivor.
SELECT sqlc.embed(t), a.asked::text AS asked FROM (
    SELECT x.id AS asked, coalesce(m.customer_id, x.id) AS id
    FROM unnest(@ids::text[]) x(id) LEFT JOIN customer_merges m ON m.id = x.id AND m.org_id = @org_id) a
JOIN customers t ON t.id = a.id WHERE t.org_id = @org_id;

-- name: CustomerGet :one
SELECT t.* FROM customers t WHERE t.id = @id AND t.org_id = @org_id;

-- name: CustomerLock :one
-- CustomerLock reads the row for a change and locks it until the commit.
SELECT t.* FROM customers t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: CustomerInsert :exec
INSERT INTO customers (id, org_id, program_id, partner_id, referral_id, link_id, coupon_id, click_id, processor,
    external_customer_id, external_subscription_id, email, name, identifier, status, tracked_by, lead_at,
    converted_at, metadata, created_at, updated_at, attribution, self_referral, other_routes, source, medium, campaign,
    referrer, country, device)
VALUES (@id, @org_id, @program_id, @partner_id, @referral_id, @link_id, @coupon_id, @click_id, @processor,
    @external_customer_id, @external_subscription_id, @email, @name, @identifier, @status, @tracked_by, @lead_at,
    @converted_at, @metadata, @created_at, @updated_at, @attribution, @self_referral, @other_routes, @source, @medium,
    @campaign, @referrer, @country, @device);

-- name: CustomerUpdate :exec
UPDATE customers SET partner_id = @partner_id, referral_id = @referral_id, link_id = @link_id, coupon_id = @coupon_id,
    click_id = @click_id,
    tracked_by = @tracked_by, email = @email, name = @name, identifier = @identifier, status = @status,
        metadata = @metadata, updated_at = @updated_at, attribution = @attribution, self_referral = @self_referral,
    external_customer_id = @external_customer_id, processor = @processor, lead_at = @lead_at,
    converted_at = @converted_at, external_subscription_id = @external_subscription_id, other_routes = @other_routes,
    source = @source, medium = @medium, campaign = @campaign, referrer = @referrer, country = @country, device = @device
WHERE id = @id AND org_id = @org_id;

-- name: CustomerSetPaid :exec
-- CustomerSetPaid is the automatic part of a sale (decisions, 85).
UPDATE customers SET status = @status, converted_at = coalesce(converted_at, @converted_at::timestamptz),
    updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: CustomerDelete :exec
DELETE FROM customers WHERE id = @id AND org_id = @org_id;

-- name: LeadExists :one
-- LeadExists reports whether a browser's lead is already a customer of the program, by its email
-- address or its identifier, from any visit.
SELECT (EXISTS (SELECT 1 FROM customers t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND lower(t.email) = lower(sqlc.narg('email')::text))
  OR EXISTS (SELECT 1 FROM customers t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.identifier = sqlc.narg('identifier')::text))::boolean AS known;

-- name: CustomerByExternalID :one
-- CustomerByExternalID finds a payer by any of its ids at processors.
SELECT t.* FROM customers t WHERE t.org_id = @org_id AND t.id = (SELECT x.customer_id FROM customer_external_ids x
    WHERE x.program_id = @program_id AND x.org_id = @org_id AND x.external_customer_id = @external_customer_id);

-- name: ExternalIDAdd :execrows
-- ExternalIDAdd attaches an id, unless a customer of the program has it.
INSERT INTO customer_external_ids (program_id, org_id, external_customer_id, customer_id, processor, created_at)
VALUES (@program_id, @org_id, @external_customer_id, @customer_id, @processor, @created_at)
ON CONFLICT DO NOTHING;

-- name: ExternalIDRemove :execrows
DELETE FROM customer_external_ids WHERE program_id = @program_id AND org_id = @org_id
    AND external_customer_id = @external_customer_id AND customer_id = @customer_id;

-- name: ExternalIDs :many
-- ExternalIDs returns the ids of customers, the first one of each first.
SELECT t.* FROM customer_external_ids t WHERE t.customer_id = ANY (@customer_ids::text[]) AND t.org_id = @org_id
ORDER BY t.customer_id, t.created_at, t.external_customer_id;

-- name: CustomerSurvivor :one
-- CustomerSurvivor reads the customer that a merged one was merged into.
SELECT t.* FROM customers t JOIN customer_merges m ON m.customer_id = t.id
WHERE m.id = @id AND m.org_id = @org_id AND t.org_id = @org_id;

-- name: CustomerMergedInto :one
-- CustomerMergedInto finds the customer that a merged one was merged into.
SELECT t.customer_id FROM customer_merges t WHERE t.id = @id AND t.org_id = @org_id;

-- name: CustomersWithSameIdentity :many
-- CustomersWithSameIdentity finds the oldest other customers with an identifier or an email, which is
-- in lower case.
(SELECT t.id, 'identifier' AS match FROM customers t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.identifier = sqlc.narg('identifier')::text AND t.id <> @id ORDER BY t.created_at, t.id LIMIT 1)
UNION ALL
(SELECT t.id, 'email' AS match FROM customers t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND lower(t.email) = sqlc.narg('email')::text AND t.id <> @id ORDER BY t.created_at, t.id LIMIT 1);

-- name: DuplicateAdd :exec
-- DuplicateAdd records a pair that shares a value, once for each of the two.
INSERT INTO customer_duplicates (customer_id, other_id, match, org_id, program_id)
VALUES (@customer_id, @other_id, @match, @org_id, @program_id), (@other_id, @customer_id, @match, @org_id, @program_id)
ON CONFLICT DO NOTHING;

-- name: DuplicatesClear :exec
-- DuplicatesClear deletes the pairs of a customer whose values have changed.
DELETE FROM customer_duplicates t WHERE t.org_id = @org_id
    AND (t.customer_id = @customer_id OR t.other_id = @customer_id);

-- name: Duplicates :many
-- Duplicates returns up to 20 pairs of each customer.
SELECT d.customer_id, d.other_id, d.match FROM unnest(@customer_ids::text[]) c(id) CROSS JOIN LATERAL (
    SELECT t.customer_id, t.other_id, t.match FROM customer_duplicates t
    WHERE t.customer_id = c.id AND t.org_id = @org_id ORDER BY t.other_id, t.match LIMIT 20) d;

-- name: CustomerSignupCommissions :many
-- CustomerSignupCommissions locks the commissions of the customers' sign-ups, and of the
-- customers that were merged into them.
SELECT t.* FROM commissions t WHERE t.customer_id IN (
    SELECT unnest(@customer_ids::text[])
    UNION ALL SELECT m.id FROM customer_merges m WHERE m.customer_id = ANY (@customer_ids::text[])
        AND m.org_id = @org_id)
AND t.program_id = @program_id AND t.org_id = @org_id
AND t.kind = 'referral' AND t.sale_id IS NULL ORDER BY t.created_at, t.id FOR NO KEY UPDATE OF t;

-- name: SignupPartnersLock :exec
-- SignupPartnersLock locks the partners of the commissions that CustomerSignupCommissions locks.
SELECT 1 FROM partners p WHERE p.org_id = @org_id AND p.id IN (
    SELECT t.partner_id FROM commissions t WHERE t.customer_id IN (
        SELECT @customer_id::text
        UNION ALL SELECT m.id FROM customer_merges m WHERE m.customer_id = @customer_id AND m.org_id = @org_id)
    AND t.program_id = @program_id AND t.org_id = @org_id AND t.kind = 'referral' AND t.sale_id IS NULL)
ORDER BY p.id FOR NO KEY UPDATE;

-- name: CustomerProgram :one
SELECT t.program_id FROM customers t WHERE t.id = @id AND t.org_id = @org_id;

-- name: ExternalIDsMove :exec
UPDATE customer_external_ids SET customer_id = @to_id WHERE customer_id = @from_id AND org_id = @org_id;

-- name: MergesMove :exec
-- MergesMove redirects the merges into a customer to another.
UPDATE customer_merges SET customer_id = @to_id WHERE customer_id = @from_id AND org_id = @org_id;

-- name: MergeAdd :exec
INSERT INTO customer_merges (id, org_id, program_id, customer_id, created_at)
VALUES (@id, @org_id, @program_id, @customer_id, @created_at);

-- name: CommissionsOfCustomerMove :exec
-- CommissionsOfCustomerMove moves the commissions of a customer to another, except paid ones and a
-- second one of a sign-up.
UPDATE commissions t SET customer_id = @to_id WHERE t.org_id = @org_id AND t.status <> 'paid'
    AND t.customer_id = @from_id AND t.id IN (
    SELECT k.id FROM commissions k WHERE k.sale_id = ANY (@sale_ids::text[]) AND k.org_id = @org_id
    UNION ALL SELECT k.id FROM commissions k WHERE k.customer_id = @from_id AND k.org_id = @org_id
        AND k.kind = 'referral' AND k.sale_id IS NULL
        AND NOT EXISTS (SELECT 1 FROM commissions x WHERE x.customer_id = @to_id AND x.kind = 'referral'
            AND x.sale_id IS NULL AND x.org_id = @org_id)
    UNION ALL SELECT k.id FROM commissions k WHERE k.program_id = @program_id AND k.org_id = @org_id
        AND k.kind <> 'referral');

-- name: RiskFlagsMove :exec
-- RiskFlagsMove moves the flags of a customer to another, unless that has the same flag open.
UPDATE risk_flags t SET customer_id = @to_id WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.customer_id = @from_id AND NOT EXISTS (SELECT 1 FROM risk_flags x WHERE x.program_id = @program_id
        AND x.org_id = @org_id AND x.kind = t.kind AND x.partner_id IS NOT DISTINCT FROM t.partner_id
        AND x.customer_id = @to_id AND x.status IN ('open', 'reviewing'));
