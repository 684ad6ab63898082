-- programs_list_idx serves the page and the count.

-- name: ProgramPage :many
SELECT t.* FROM programs t
WHERE t.org_id = @org_id
  AND (sqlc.narg('after_at')::timestamptz IS NULL OR (t.created_at, t.id) < (sqlc.narg('after_at')::timestamptz, sqlc.narg('after_id')::text))
  AND (sqlc.narg('before_at')::timestamptz IS NULL OR (t.created_at, t.id) > (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::text))
ORDER BY CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.created_at END,
         CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.id END,
         t.created_at DESC, t.id DESC
LIMIT @lim;

-- name: ProgramCount :one
SELECT count(*) FROM programs t WHERE t.org_id = @org_id;

-- name: ProgramCursor :one
SELECT t.created_at, t.id FROM programs t WHERE t.id = @id AND t.org_id = @org_id;

-- name: ProgramGet :one
SELECT t.* FROM programs t WHERE t.id = @id AND t.org_id = @org_id;

-- name: ProgramLock :one
SELECT t.* FROM programs t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: ProgramExists :one
-- ProgramExists answers one row for a program of the organization.
SELECT t.id FROM programs t WHERE t.id = @id AND t.org_id = @org_id;

-- name: ProgramInsert :exec
INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, custom_domain, terms_url, terms_version,
    cookie_days, url_params, commission_on_net_revenue, holding_period_days, min_payout_minor, payout_term, payout_methods,
    block_self_referrals, blocked_countries, require_tax_forms, auto_payouts_enabled, processor, created_at, updated_at, enrols_first_commission)
VALUES (@id, @org_id, @name, @product_name, @website_url, @currency, @status, @subdomain, @custom_domain, @terms_url, @terms_version,
    @cookie_days, @url_params, @commission_on_net_revenue, @holding_period_days, @min_payout_minor, @payout_term, @payout_methods,
    @block_self_referrals, @blocked_countries, @require_tax_forms, @auto_payouts_enabled, @processor, @created_at, @updated_at, @enrols_first_commission);

-- name: ProgramUpdate :exec
UPDATE programs SET name = @name, product_name = @product_name, website_url = @website_url, status = @status, terms_url = @terms_url,
    cookie_days = @cookie_days, commission_on_net_revenue = @commission_on_net_revenue, holding_period_days = @holding_period_days,
    min_payout_minor = @min_payout_minor, payout_term = @payout_term, block_self_referrals = @block_self_referrals,
    blocked_countries = @blocked_countries, require_tax_forms = @require_tax_forms, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: ProgramStats :many
-- ProgramStats counts with one index-only scan a counter. Money is the
-- program's currency, net of refunds and voids (decisions, 33).
SELECT p.id,
    (SELECT count(*) FROM partners x WHERE x.program_id = p.id) AS partners,
    (SELECT count(*) FROM partners x WHERE x.program_id = p.id AND x.status = 'active') AS active_partners,
    (SELECT count(*) FROM clicks x WHERE x.program_id = p.id) AS clicks,
    (SELECT count(*) FROM referrals x WHERE x.program_id = p.id) AS referrals,
    (SELECT count(*) FROM customers x WHERE x.program_id = p.id) AS customers,
    (SELECT coalesce(sum(x.amount_minor), 0)::bigint FROM sales x WHERE x.program_id = p.id AND x.currency = p.currency AND x.refunded_at IS NULL) AS sales_minor,
    (SELECT coalesce(sum(x.amount_minor), 0)::bigint FROM commissions x WHERE x.program_id = p.id AND x.currency = p.currency AND x.status NOT IN ('rejected', 'voided')) AS commissions_minor
FROM programs p WHERE p.id = ANY (@ids::text[]) AND p.org_id = @org_id;
