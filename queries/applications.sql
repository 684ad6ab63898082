-- name: ApplicationGet :one
SELECT t.* FROM applications t WHERE t.id = @id AND t.org_id = @org_id;

-- name: ApplicationLock :one
SELECT t.* FROM applications t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: ApplicationDecide :exec
UPDATE applications SET status = @status, partner_id = @partner_id, reviewed_by_user_id = @reviewed_by_user_id,
    reviewed_at = @reviewed_at,
    rejection_reason = @rejection_reason, updated_at = @updated_at, before_decision = @before_decision
WHERE id = @id AND org_id = @org_id AND status = 'pending';

-- name: ApplicationReopen :exec
UPDATE applications SET status = 'pending', reviewed_by_user_id = NULL, reviewed_at = NULL, rejection_reason = NULL,
    before_decision = NULL, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: PartnerHasCustomerOrCommission :one
-- PartnerHasCustomerOrCommission reports whether a partner has a customer or a commission.
SELECT (EXISTS (SELECT 1 FROM customers c WHERE c.program_id = @program_id AND c.org_id = @org_id
        AND c.partner_id = @partner_id::text)
    OR EXISTS (SELECT 1 FROM commissions k WHERE k.program_id = @program_id AND k.org_id = @org_id
        AND k.partner_id = @partner_id::text))::boolean AS gained;

-- name: PartnerDecide :exec
-- PartnerDecide sets a partner's status to the decision on its application.
UPDATE partners SET status = @status, decline_reason = @decline_reason, updated_at = @updated_at
    WHERE id = @id AND org_id = @org_id;

-- name: PartnerReapply :exec
-- PartnerReapply makes a declined partner pending, with the values of the new application.
UPDATE partners SET status = 'pending', decline_reason = NULL, group_id = @group_id, first_name = @first_name,
    last_name = @last_name,
    website_url = @website_url, country_code = @country_code, language_code = @language_code,
    terms_accepted_at = @terms_accepted_at, terms_version = @terms_version, handle = @handle, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: ProgramRevenue :one
-- ProgramRevenue sums a program's revenue in its currency since a time, net of refunds, for the
-- plan's revenue limit.
SELECT coalesce(sum(s.amount_minor), 0)::bigint AS revenue_minor FROM sales s
WHERE s.program_id = @program_id AND s.org_id = @org_id AND s.currency = @currency AND s.occurred_at >= @since
    AND s.refunded_at IS NULL;
