-- name: ProgramGet :one
SELECT t.* FROM programs t WHERE t.id = @id AND t.org_id = @org_id;

-- name: ProgramLock :one
-- ProgramLock serializes writers that count, so that quotas and batches are exact.
SELECT t.* FROM programs t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: ProgramExists :one
-- ProgramExists answers one row for a program of the organization.
SELECT t.id FROM programs t WHERE t.id = @id AND t.org_id = @org_id;

-- name: ProgramInsert :exec
INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, custom_domain,
    terms_url, terms_version,
    cookie_days, url_params, commission_on_net_revenue, holding_period_days, min_payout_minor, payout_term,
        payout_methods,
    block_self_referrals, blocked_countries, require_tax_forms, auto_payouts_enabled, processor, created_at, updated_at,
        enrols_first_commission, attribution_model, click_on_redirect, commission_net_of_fee,
        auto_enrol_customers, lead_match_days, time_zone, coupon_beats_link, ignore_late_clicks, zone_changed_at,
        min_paying_customers, statement_prefix, statement_seller, self_billing, vat_rate_bps, agent_limit_minor,
        agent_day, agent_granted_minor, auto_payouts_since)
VALUES (@id, @org_id, @name, @product_name, @website_url, @currency, @status, @subdomain, @custom_domain, @terms_url,
    @terms_version,
    @cookie_days, @url_params, @commission_on_net_revenue, @holding_period_days, @min_payout_minor, @payout_term,
        @payout_methods,
    @block_self_referrals, @blocked_countries, @require_tax_forms, @auto_payouts_enabled, @processor, @created_at,
        @updated_at, @enrols_first_commission, @attribution_model, @click_on_redirect, @commission_net_of_fee,
        @auto_enrol_customers, @lead_match_days, @time_zone, @coupon_beats_link, @ignore_late_clicks, @zone_changed_at,
        @min_paying_customers, @statement_prefix, @statement_seller, @self_billing, @vat_rate_bps, @agent_limit_minor,
        @agent_day, @agent_granted_minor, @auto_payouts_since);

-- name: ProgramUpdate :exec
-- ProgramUpdate does not change the currency, in which fixed rates and the minimum are stored.
UPDATE programs SET name = @name, product_name = @product_name, website_url = @website_url, status = @status,
    terms_url = @terms_url, terms_version = @terms_version,
    cookie_days = @cookie_days, commission_on_net_revenue = @commission_on_net_revenue,
        holding_period_days = @holding_period_days,
    min_payout_minor = @min_payout_minor, payout_term = @payout_term, payout_methods = @payout_methods,
    url_params = @url_params, block_self_referrals = @block_self_referrals,
    blocked_countries = @blocked_countries, require_tax_forms = @require_tax_forms,
    attribution_model = @attribution_model, click_on_redirect = @click_on_redirect,
    commission_net_of_fee = @commission_net_of_fee, auto_enrol_customers = @auto_enrol_customers,
    lead_match_days = @lead_match_days, time_zone = @time_zone, coupon_beats_link = @coupon_beats_link,
    ignore_late_clicks = @ignore_late_clicks, min_paying_customers = @min_paying_customers,
    zone_changed_at = @zone_changed_at, statement_prefix = @statement_prefix,
    statement_seller = @statement_seller, self_billing = @self_billing, vat_rate_bps = @vat_rate_bps,
    agent_limit_minor = @agent_limit_minor, auto_payouts_enabled = @auto_payouts_enabled,
    auto_payouts_since = @auto_payouts_since, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: ProgramAgentGrant :execrows
-- ProgramAgentGrant counts an agent's manual commission on the program's day that begins at day, unless the sum of the
-- day would exceed the program's limit. A request of the day before that comes late counts on the later day.
UPDATE programs SET agent_day = greatest(agent_day, sqlc.arg(day)::timestamptz),
    agent_granted_minor = CASE WHEN agent_day >= sqlc.arg(day) THEN agent_granted_minor ELSE 0 END + @amount_minor::bigint
WHERE id = @id AND org_id = @org_id AND CASE WHEN agent_day >= sqlc.arg(day) THEN agent_granted_minor ELSE 0 END
    + @amount_minor <= agent_limit_minor;

-- name: ZoneIsValid :one
-- ZoneIsValid reports whether PostgreSQL can compute with a time zone.
SELECT zone_known(@zone::text);

-- name: ProgramStats :many
-- ProgramStats adds the sums of reports to the rows of the gaps, like ClickTotal; partners and
-- referrals are from the tallies. Money is the program's currency, net of refunds and voids
-- (decisions, 33).
WITH covered AS MATERIALIZED (
    SELECT c.program_id, c.span, c.start, c.from_at, c.to_at FROM report_covered c
        WHERE c.program_id = ANY (@ids::text[]) AND c.org_id = @org_id
), gaps AS MATERIALIZED (
    SELECT c.program_id, coalesce(lag(c.to_at) OVER (PARTITION BY c.program_id ORDER BY c.from_at), '-infinity')
        AS after, c.from_at AS before FROM covered c
    UNION ALL
    SELECT o.id, coalesce((SELECT max(c.to_at) FROM covered c WHERE c.program_id = o.id), '-infinity'), 'infinity'
        FROM programs o WHERE o.id = ANY (@ids::text[]) AND o.org_id = @org_id
), parts AS (
    SELECT c.program_id, s.currency, s.clicks, s.leads, s.revenue_minor, s.commissions_minor FROM covered c CROSS
        JOIN LATERAL (
        SELECT x.currency, x.clicks, x.leads, x.revenue_minor, x.commissions_minor FROM report_sums x
        WHERE x.program_id = c.program_id AND x.org_id = @org_id AND x.dimension = 'total' AND x.span = c.span
            AND x.start = c.start OFFSET 0) s
    UNION ALL
    SELECT g.program_id, f.currency, f.clicks, f.leads, f.revenue_minor, f.commissions_minor FROM gaps g CROSS
        JOIN LATERAL (
        SELECT x.currency, x.clicks, x.leads, x.revenue_minor, x.commissions_minor FROM report_facts x
        WHERE x.program_id = g.program_id AND x.at >= g.after AND x.at < g.before OFFSET 0) f
    WHERE g.after < g.before
), sums AS (
    SELECT a.program_id, sum(a.clicks)::bigint AS clicks, sum(a.leads)::bigint AS leads,
        sum(a.revenue_minor) FILTER (WHERE a.currency = o.currency)::bigint AS sales_minor,
            sum(a.commissions_minor) FILTER (WHERE a.currency = o.currency)::bigint AS commissions_minor
    FROM parts a JOIN programs o ON o.id = a.program_id AND o.org_id = @org_id GROUP BY a.program_id
)
SELECT p.id, coalesce(n.partners, 0)::bigint AS partners, coalesce(n.active_partners, 0)::bigint AS active_partners,
    coalesce(s.clicks, 0)::bigint AS clicks, coalesce(n.referrals, 0)::bigint AS referrals,
    coalesce(s.leads, 0)::bigint AS customers, coalesce(s.sales_minor, 0)::bigint AS sales_minor,
        coalesce(s.commissions_minor, 0)::bigint AS commissions_minor
FROM programs p LEFT JOIN sums s ON s.program_id = p.id LEFT JOIN (
    SELECT y.program_id, sum(y.total) FILTER (WHERE y.list = 'partners') AS partners,
        sum(y.total) FILTER (WHERE y.list = 'partners' AND y.status = 'active') AS active_partners,
        sum(y.total) FILTER (WHERE y.list <> 'partners') AS referrals FROM tally_sums y
    WHERE y.program_id = ANY (@ids::text[]) AND y.org_id = @org_id
        AND y.list IN ('partners', 'referrals', 'forgotten_referrals')
        AND y.owner_id = '' GROUP BY 1) n ON n.program_id = p.id
WHERE p.id = ANY (@ids::text[]) AND p.org_id = @org_id;

-- name: ProgramBalances :many
-- ProgramBalances sums the balances of a program by currency, the largest first. They are as old as their last fold.
SELECT b.currency, sum(b.pending_minor)::bigint AS pending_minor, sum(b.due_minor)::bigint AS due_minor,
    count(*) FILTER (WHERE b.due_minor > 0) AS partner_count
FROM balances b WHERE b.program_id = @program_id AND b.org_id = @org_id
GROUP BY b.currency HAVING sum(b.pending_minor) <> 0 OR sum(b.due_minor) <> 0
ORDER BY sum(b.pending_minor) + sum(b.due_minor) DESC, b.currency LIMIT 20;

-- name: ProgramStatus :one
-- ProgramStatus counts the open tasks of a program, each up to 1,000, and reports the state of its
-- setup.
SELECT
    (SELECT count(*) FROM (SELECT 1 FROM applications a WHERE a.program_id = p.id AND a.org_id = p.org_id
        AND a.status = 'pending' LIMIT 1000) x) AS applications,
    (SELECT count(*) FROM (SELECT 1 FROM risk_flags f WHERE f.program_id = p.id AND f.org_id = p.org_id
        AND f.status IN ('open', 'reviewing') LIMIT 1000) x) AS risk_flags,
    (SELECT count(*) FROM (SELECT 1 FROM mails m WHERE m.org_id = p.org_id AND m.status = 'failed'
        AND m.created_at > @since LIMIT 1000) x) AS failed_mails,
    (SELECT count(*) FROM (SELECT 1 FROM webhook_endpoints w WHERE w.program_id = p.id AND w.org_id = p.org_id
        AND NOT w.enabled LIMIT 1000) x) AS disabled_endpoints,
    (SELECT count(*) FROM (SELECT 1 FROM payouts y WHERE y.program_id = p.id AND y.org_id = p.org_id
        AND y.attention IS NOT NULL LIMIT 1000) x) AS payouts_to_check,
    (SELECT count(*) FROM (SELECT 1 FROM inbox_events i WHERE i.program_id = p.id AND i.org_id = p.org_id
        AND i.reason_code = 'no_partner' AND i.created_at > @since LIMIT 1000) x) AS payments_without_partner,
    (SELECT count(*) FROM (SELECT 1 FROM inbox_events i WHERE i.program_id = p.id AND i.org_id = p.org_id
        AND i.status = 'failed' AND i.created_at > @since LIMIT 1000) x) AS failed_events,
    script.last_used_at AS script_seen_at,
    EXISTS (SELECT FROM processor_connections c WHERE c.program_id = p.id AND c.org_id = p.org_id
        AND c.status = 'active') AS processor_connected,
    processor.last_event_at AS processor_seen_at,
    sale.created_at AS sale_seen_at,
    EXISTS (SELECT FROM flows f WHERE f.program_id = p.id AND f.org_id = p.org_id AND f.status = 'active') AS has_flow,
    (p.terms_url IS NOT NULL)::boolean AS has_terms,
    (p.payout_methods <> '{}')::boolean AS has_payout_method,
    EXISTS (SELECT FROM partners t WHERE t.program_id = p.id AND t.org_id = p.org_id AND t.status = 'active')
        AS has_partner
FROM programs p
LEFT JOIN LATERAL (SELECT k.last_used_at FROM publishable_keys k WHERE k.program_id = p.id AND k.org_id = p.org_id
    AND k.revoked_at IS NULL AND k.last_used_at IS NOT NULL ORDER BY k.last_used_at DESC LIMIT 1) script ON true
LEFT JOIN LATERAL (SELECT c.last_event_at FROM processor_connections c WHERE c.program_id = p.id
    AND c.org_id = p.org_id AND c.status = 'active' AND c.last_event_at IS NOT NULL
    ORDER BY c.last_event_at DESC LIMIT 1) processor ON true
LEFT JOIN sales sale ON sale.org_id = p.org_id AND sale.id = (SELECT s.id FROM sales s WHERE s.program_id = p.id
    AND s.org_id = p.org_id AND s.partner_id IS NOT NULL ORDER BY s.created_at DESC, s.id DESC LIMIT 1)
WHERE p.id = @id AND p.org_id = @org_id;
