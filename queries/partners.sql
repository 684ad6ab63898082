-- name: PartnerByIDs :many
SELECT t.* FROM partners t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: PartnerGet :one
SELECT t.* FROM partners t WHERE t.id = @id AND t.org_id = @org_id;

-- name: PartnerLock :one
-- PartnerLock reads the row for a change and locks it until the commit.
SELECT t.* FROM partners t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: PartnerInsert :execrows
-- PartnerInsert writes a row, with a new mail_token if that is empty.
INSERT INTO partners (id, org_id, program_id, group_id, email, first_name, last_name, display_name, company_name,
    website_url, country_code, language_code, handle, status, decline_reason, suspension_reason, min_payout_minor,
    terms_accepted_at, terms_version, completed_onboarding, email_first_referral, email_new_referral,
    email_payout_paid, metadata, payout_method, payout_details, created_at, updated_at, mail_token, unsubscribed_at,
    payout_details_hash, payout_details_changed_at, external_id, address, tax_id, on_leaderboard,
    ban_at, ban_reason, ban_terms)
VALUES (@id, @org_id, @program_id, @group_id, @email, @first_name, @last_name, @display_name, @company_name,
    @website_url, @country_code, @language_code, @handle, @status, @decline_reason, @suspension_reason,
    @min_payout_minor, @terms_accepted_at, @terms_version, @completed_onboarding, @email_first_referral,
    @email_new_referral, @email_payout_paid, @metadata, @payout_method, @payout_details, @created_at,
    @updated_at, coalesce(nullif(@mail_token::text, ''), replace(gen_random_uuid()::text, '-', '')), @unsubscribed_at,
    @payout_details_hash, @payout_details_changed_at, @external_id, @address, @tax_id, @on_leaderboard,
    @ban_at, @ban_reason, @ban_terms)
ON CONFLICT DO NOTHING;

-- name: PartnerUpdate :exec
UPDATE partners SET group_id = @group_id, first_name = @first_name, last_name = @last_name,
    display_name = @display_name,
    company_name = @company_name, website_url = @website_url, country_code = @country_code,
    language_code = @language_code, handle = @handle,
        status = @status,
    decline_reason = @decline_reason, suspension_reason = @suspension_reason, min_payout_minor = @min_payout_minor,
    metadata = @metadata, payout_method = @payout_method, payout_details = @payout_details,
    payout_details_hash = @payout_details_hash, payout_details_changed_at = @payout_details_changed_at,
        external_id = @external_id, address = @address, tax_id = @tax_id, updated_at = @updated_at,
    ban_at = @ban_at, ban_reason = @ban_reason, ban_terms = @ban_terms
WHERE id = @id AND org_id = @org_id;

-- name: PartnersToBan :many
-- PartnersToBan lists the partners whose scheduled ban is due, by id.
SELECT t.id, t.org_id FROM partners t WHERE t.ban_at <= @now::timestamptz AND t.id > @after ORDER BY t.id LIMIT @lim;

-- name: PartnerSetGroup :exec
-- PartnerSetGroup is the move of a flow with the action switch_group.
UPDATE partners SET group_id = @group_id, updated_at = @updated_at WHERE id = @id AND org_id = @org_id;

-- name: PartnerByEmail :one
-- PartnerByEmail ignores case, like the unique index.
SELECT t.* FROM partners t WHERE t.program_id = @program_id AND t.org_id = @org_id AND lower(t.email) = lower(@email);

-- name: PartnerByExternalID :one
SELECT t.* FROM partners t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.external_id = @external_id::text;

-- name: PartnerStats :many
-- PartnerStats reads the money from the balance in the program's currency, whose buckets contain
-- all earnings that were not rejected or voided. It counts clicks like ClickTotal.
WITH mine AS MATERIALIZED (
    SELECT t.id, t.program_id FROM partners t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id
), covered AS MATERIALIZED (
    SELECT c.program_id, c.span, c.start, c.from_at, c.to_at FROM report_covered c
        WHERE c.program_id = ANY (ARRAY(SELECT k.program_id FROM mine k)) AND c.org_id = @org_id
), gaps AS MATERIALIZED (
    SELECT c.program_id, coalesce(lag(c.to_at) OVER (PARTITION BY c.program_id ORDER BY c.from_at), '-infinity')
        AS after, c.from_at AS before FROM covered c
    UNION ALL
    SELECT o.id, coalesce((SELECT max(c.to_at) FROM covered c WHERE c.program_id = o.id), '-infinity'), 'infinity'
        FROM programs o WHERE o.id IN (SELECT k.program_id FROM mine k) AND o.org_id = @org_id
), counts AS MATERIALIZED (
    SELECT x.owner_id, sum(x.total) FILTER (WHERE x.list <> 'customers') AS referrals,
        sum(x.total) FILTER (WHERE x.list = 'customers') AS customers FROM tally_sums x
    WHERE x.program_id = ANY (ARRAY(SELECT k.program_id FROM mine k)) AND x.org_id = @org_id AND x.list IN ('referrals',
        'forgotten_referrals', 'customers') AND x.owner_id = ANY (@ids::text[]) GROUP BY 1
), parts AS (
    SELECT k.id, s.clicks FROM mine k JOIN covered c ON c.program_id = k.program_id CROSS JOIN LATERAL (
        SELECT x.clicks FROM report_sums x WHERE x.program_id = k.program_id AND x.org_id = @org_id
            AND x.dimension = 'partner' AND x.span = c.span AND x.start = c.start
          AND x.partner_id = k.id OFFSET 0) s
    UNION ALL
    SELECT k.id, (SELECT sum(x.clicks) FROM clicks_counted x WHERE x.org_id = @org_id AND x.program_id = k.program_id
        AND x.partner_id = k.id
        AND x.created_at >= g.after AND x.created_at < g.before)
    FROM mine k JOIN gaps g ON g.program_id = k.program_id WHERE g.after < g.before
)
SELECT p.id,
    (SELECT coalesce(sum(a.clicks), 0) FROM parts a WHERE a.id = p.id)::bigint AS clicks,
    coalesce(n.referrals, 0)::bigint AS referrals, coalesce(n.customers, 0)::bigint AS customers,
    coalesce(t.pending_minor + t.due_minor + t.paid_minor, 0)::bigint AS commissions_minor,
        coalesce(t.paid_minor, 0)::bigint AS paid_minor
FROM partners p JOIN programs g ON g.id = p.program_id LEFT JOIN counts n ON n.owner_id = p.id
    LEFT JOIN balance_sums t ON t.program_id = p.program_id AND t.partner_id = p.id AND t.currency = g.currency
WHERE p.id = ANY (@ids::text[]) AND p.org_id = @org_id;

-- name: PartnerLockKey :one
-- PartnerLockKey also prevents new references to the partner while it is being deleted.
SELECT t.* FROM partners t WHERE t.id = @id AND t.org_id = @org_id FOR UPDATE;

-- name: PartnerOpenPayouts :many
-- PartnerOpenPayouts locks unpaid payouts, so that no rail takes them while the partner is being
-- deleted.
SELECT x.status FROM payouts x WHERE x.program_id = @program_id AND x.org_id = @org_id AND x.partner_id = @partner_id
    AND x.status <> 'paid'
ORDER BY x.id FOR NO KEY UPDATE;

-- The parts of a partner's deletion, in the order in which they run
-- (decisions, 56). Clicks, referrals, links, tags, balances, applications and
-- sign-in links go with the row itself.

-- name: PartnerCommissions :many
SELECT t.* FROM commissions t WHERE t.partner_id = @partner_id AND t.program_id = @program_id AND t.org_id = @org_id
    ORDER BY t.created_at, t.id;

-- name: PartnerLedgerRemove :exec
-- PartnerLedgerRemove moves all buckets of the partner to removed: ledger rows are never deleted,
-- and the ledger still sums to zero.
INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket,
    amount_minor, created_at)
SELECT x.org_id, x.program_id, x.partner_id, x.commission_id, x.currency, x.bucket, 'removed', x.amount, @created_at
FROM (
    SELECT l.org_id, l.program_id, l.partner_id, l.commission_id, l.currency, b.bucket, sum(b.amount)::bigint AS amount
    FROM ledger_entries l, LATERAL (VALUES (l.from_bucket, -l.amount_minor), (l.to_bucket, l.amount_minor)) b(bucket,
        amount)
    WHERE l.partner_id = @partner_id AND l.org_id = @org_id AND b.bucket NOT IN ('source', 'removed')
    GROUP BY 1, 2, 3, 4, 5, 6
) x WHERE x.amount <> 0;

-- name: PartnerDeleteCommissions :exec
DELETE FROM commissions WHERE partner_id = @partner_id AND program_id = @program_id AND org_id = @org_id;

-- name: PartnerDeletePayouts :exec
DELETE FROM payouts WHERE partner_id = @partner_id AND program_id = @program_id AND org_id = @org_id;

-- name: PartnerLeaveSales :exec
-- PartnerLeaveSales keeps sales as revenue of the merchant.
UPDATE sales SET partner_id = NULL, updated_at = @updated_at WHERE partner_id = @partner_id AND program_id = @program_id
    AND org_id = @org_id;

-- name: PartnerLeaveCoupons :exec
UPDATE coupons SET partner_id = NULL, updated_at = @updated_at
    WHERE partner_id = @partner_id AND program_id = @program_id AND org_id = @org_id;

-- name: PartnerDeleteCustomers :exec
DELETE FROM customers WHERE partner_id = @partner_id AND program_id = @program_id AND org_id = @org_id;

-- name: PartnerDeleteFlows :many
-- PartnerDeleteFlows returns the flows for the events rule.deleted.
DELETE FROM flows WHERE partner_id = @partner_id AND program_id = @program_id AND org_id = @org_id RETURNING id, name;

-- name: PartnerDelete :exec
DELETE FROM partners WHERE id = @id AND org_id = @org_id;

-- name: PartnerSessionsEnd :exec
DELETE FROM portal_sessions WHERE program_id = @program_id AND org_id = @org_id AND partner_id = @partner_id;

-- name: MagicLinkVoid :exec
-- MagicLinkVoid deletes a partner's unused links, mailed ones only if asked to.
DELETE FROM magic_links WHERE program_id = @program_id AND org_id = @org_id AND partner_id = @partner_id
    AND used_at IS NULL AND (NOT mailed OR @mailed::boolean);

-- name: MagicLinkInsert :exec
INSERT INTO magic_links (token_hash, org_id, program_id, partner_id, created_at, expires_at, mailed, email)
VALUES (@token_hash, @org_id, @program_id, @partner_id, @created_at, @expires_at, @mailed, @email);

-- name: ApplicationInsert :exec
INSERT INTO applications (id, org_id, program_id, group_id, partner_id, email, answers, source, status,
    reviewed_by_user_id, reviewed_at, rejection_reason, created_at, updated_at, before_decision)
VALUES (@id, @org_id, @program_id, @group_id, @partner_id, @email, @answers, @source, @status, @reviewed_by_user_id,
    @reviewed_at, @rejection_reason, @created_at, @updated_at, @before_decision);

-- name: PartnerPrograms :many
SELECT t.id, t.program_id FROM partners t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: PartnerProgram :one
SELECT t.program_id FROM partners t WHERE t.id = @id AND t.org_id = @org_id;

-- name: PartnerLockCustomers :exec
-- PartnerLockCustomers locks the partner's customers before the partner itself,
-- in the order in which a sale locks the two.
SELECT t.id FROM customers t WHERE t.program_id = (SELECT p.program_id FROM partners p
    WHERE p.id = @partner_id AND p.org_id = @org_id)
    AND t.org_id = @org_id AND t.partner_id = @partner_id ORDER BY t.id FOR UPDATE;
