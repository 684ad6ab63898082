-- name: RiskFlagList :many
-- RiskFlagList lists the highest severity first, the newest first within one: the flags
-- after or before a flag, or from an offset. The flag of a merged customer names its
-- survivor.
SELECT sqlc.embed(f), p.email AS partner_email, p.handle AS partner_handle, p.display_name AS partner_display_name,
    coalesce(p.status, '')::text AS partner_status, c.id AS named_customer_id, c.email AS customer_email,
    c.name AS customer_name, coalesce(c.status, '')::text AS customer_status
FROM risk_flags f LEFT JOIN partners p ON p.id = f.partner_id AND p.org_id = @org_id
    LEFT JOIN customer_merges m ON m.id = f.customer_id AND m.org_id = @org_id
    LEFT JOIN customers c ON c.id = coalesce(m.customer_id, f.customer_id) AND c.org_id = @org_id
WHERE f.program_id = @program_id AND f.org_id = @org_id
  AND (sqlc.narg('partner_id')::text IS NULL OR f.partner_id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('status_in')::text[] IS NULL OR f.status = ANY (sqlc.narg('status_in')::text[]))
  AND (sqlc.narg('created_after')::timestamptz IS NULL OR f.created_at >= sqlc.narg('created_after')::timestamptz)
  AND (sqlc.narg('created_before')::timestamptz IS NULL OR f.created_at < sqlc.narg('created_before')::timestamptz)
  AND (sqlc.narg('after_rank')::integer IS NULL
    OR CASE f.severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END >= sqlc.narg('after_rank')::integer
    AND (CASE f.severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END > sqlc.narg('after_rank')::integer
        OR (f.created_at, f.id) < (sqlc.narg('after_at')::timestamptz, sqlc.narg('after_id')::text)))
  AND (sqlc.narg('before_rank')::integer IS NULL
    OR CASE f.severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END <= sqlc.narg('before_rank')::integer
    AND (CASE f.severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END < sqlc.narg('before_rank')::integer
        OR (f.created_at, f.id) > (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::text)))
ORDER BY CASE WHEN sqlc.narg('before_rank')::integer IS NOT NULL
        THEN CASE f.severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END END DESC,
    CASE WHEN sqlc.narg('before_rank')::integer IS NOT NULL THEN f.created_at END,
    CASE WHEN sqlc.narg('before_rank')::integer IS NOT NULL THEN f.id END,
    CASE f.severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END, f.created_at DESC, f.id DESC
LIMIT @lim OFFSET @skip;

-- name: RiskFlagCursor :one
-- RiskFlagCursor reads the place of a flag in RiskFlagList.
SELECT CASE f.severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END::integer AS rank, f.created_at, f.id
FROM risk_flags f WHERE f.id = @id AND f.program_id = @program_id AND f.org_id = @org_id
  AND (sqlc.narg('partner_id')::text IS NULL OR f.partner_id = sqlc.narg('partner_id')::text);

-- name: RiskFlagTotal :one
-- RiskFlagTotal counts what RiskFlagList pages through.
SELECT count(*) FROM risk_flags f
WHERE f.program_id = @program_id AND f.org_id = @org_id
  AND (sqlc.narg('partner_id')::text IS NULL OR f.partner_id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('status_in')::text[] IS NULL OR f.status = ANY (sqlc.narg('status_in')::text[]))
  AND (sqlc.narg('created_after')::timestamptz IS NULL OR f.created_at >= sqlc.narg('created_after')::timestamptz)
  AND (sqlc.narg('created_before')::timestamptz IS NULL OR f.created_at < sqlc.narg('created_before')::timestamptz);

-- name: RiskFlagGet :one
-- RiskFlagGet reads a flag with its partner and customer, if they exist.
SELECT sqlc.embed(f), p.email AS partner_email, p.handle AS partner_handle, p.display_name AS partner_display_name,
    coalesce(p.status, '')::text AS partner_status, c.id AS named_customer_id, c.email AS customer_email,
    c.name AS customer_name, coalesce(c.status, '')::text AS customer_status
FROM risk_flags f LEFT JOIN partners p ON p.id = f.partner_id AND p.org_id = @org_id
    LEFT JOIN customer_merges m ON m.id = f.customer_id AND m.org_id = @org_id
    LEFT JOIN customers c ON c.id = coalesce(m.customer_id, f.customer_id) AND c.org_id = @org_id
WHERE f.id = @id AND f.org_id = @org_id;

-- name: RiskFlagLock :one
-- RiskFlagLock locks the flag for a decision, so that one of two reviewers decides.
SELECT f.* FROM risk_flags f WHERE f.id = @id AND f.org_id = @org_id FOR NO KEY UPDATE;

-- name: RiskFlagDecide :exec
UPDATE risk_flags SET status = @status, resolved_at = @resolved_at, resolved_by = @resolved_by,
    resolution_note = @resolution_note WHERE id = @id AND org_id = @org_id;

-- name: RiskDismissedSince :one
-- RiskDismissedSince reports whether a partner's flag of a kind was dismissed since a time.
SELECT EXISTS (SELECT 1 FROM risk_flags f
    WHERE f.program_id = @program_id AND f.org_id = @org_id AND f.partner_id = @partner_id AND f.kind = @kind
        AND f.status = 'dismissed' AND f.resolved_at > @since);

-- name: RiskPartnersFlagged :many
-- RiskPartnersFlagged lists the partners with an open flag of high severity.
SELECT DISTINCT f.partner_id::text AS partner_id FROM risk_flags f
WHERE f.program_id = @program_id AND f.org_id = @org_id AND f.partner_id = ANY (@partner_ids::text[])
    AND f.severity = 'high' AND f.status IN ('open', 'reviewing');

-- name: RiskFlagOfDispute :many
-- RiskFlagOfDispute finds the flag of a dispute, by its id at the processor.
SELECT f.* FROM risk_flags f WHERE f.program_id = @program_id AND f.org_id = @org_id AND f.partner_id = @partner_id
    AND f.kind = 'dispute' AND f.evidence->>'dispute_id' = @dispute_id::text ORDER BY f.created_at, f.id;

-- name: RiskOwnCustomers :many
-- RiskOwnCustomers returns customers of a partner whose email address, or identifier in that form,
-- belongs to the mailbox of an address in the form of normalEmail.
SELECT DISTINCT c.id FROM customers c CROSS JOIN LATERAL (SELECT
    split_part(regexp_replace(lower(v.address), '@[^@]*$', ''), '+', 1) AS local,
    regexp_replace(lower(v.address), '^.*@', '') AS domain
    FROM unnest(ARRAY[c.email, c.identifier]) v(address) WHERE v.address LIKE '%@%') e
WHERE c.program_id = @program_id AND c.org_id = @org_id AND c.partner_id = @partner_id AND @mailbox::text =
    CASE WHEN e.domain IN ('gmail.com', 'googlemail.com') THEN replace(e.local, '.', '') || '@gmail.com'
        ELSE e.local || '@' || e.domain END
ORDER BY c.id LIMIT 20;

-- name: CustomersMarkSelfReferral :exec
-- CustomersMarkSelfReferral marks customers that are their own partner. It skips customers locked by a
-- payment, which locks the customer before the partner.
UPDATE customers k SET self_referral = true WHERE k.org_id = @org_id AND k.id IN (
    SELECT c.id FROM customers c WHERE c.id = ANY (@ids::text[]) AND c.org_id = @org_id FOR NO KEY UPDATE SKIP LOCKED);
