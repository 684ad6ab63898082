-- The sample program is loaded by the rules and removed as a whole. This file has the statements for removing it,
-- and those for states that a program has only after something was sent, which a sample never does.

-- name: SampleLockOrganization :one
-- SampleLockOrganization lets one load or removal run at a time.
SELECT t.id FROM organizations t WHERE t.id = @org_id FOR NO KEY UPDATE;

-- name: SamplePrograms :many
-- SamplePrograms lists, and locks against new rows, the sample programs of an
-- organization.
SELECT t.id FROM programs t WHERE t.org_id = @org_id AND starts_with(t.id, 'sample_') ORDER BY t.id FOR UPDATE;

-- name: SampleLockPartners :many
SELECT t.id FROM partners t WHERE t.program_id = @program_id AND t.org_id = @org_id ORDER BY t.id FOR UPDATE;

-- name: SampleLedgerRemove :exec
-- SampleLedgerRemove moves all buckets of the program's commissions to removed, like the deletion
-- of a partner.
INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket,
    amount_minor, created_at)
SELECT x.org_id, x.program_id, x.partner_id, x.commission_id, x.currency, x.bucket, 'removed', sum(x.amount)::bigint,
    @created_at
FROM (
    SELECT l.org_id, l.program_id, l.partner_id, l.commission_id, l.currency, l.to_bucket AS bucket,
        l.amount_minor AS amount
    FROM ledger_entries l WHERE l.program_id = @program_id AND l.org_id = @org_id
    UNION ALL
    SELECT l.org_id, l.program_id, l.partner_id, l.commission_id, l.currency, l.from_bucket AS bucket,
        -l.amount_minor AS amount
    FROM ledger_entries l WHERE l.program_id = @program_id AND l.org_id = @org_id
) x WHERE x.bucket NOT IN ('source', 'removed')
GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(x.amount) <> 0;

-- name: SampleDeleteProgram :exec
DELETE FROM programs p WHERE p.id = @id AND p.org_id = @org_id;

-- name: SampleTerms :exec
-- SampleTerms sets the processor of a program and the version of its terms.
UPDATE programs SET processor = 'stripe', terms_version = @terms_version WHERE id = @id AND org_id = @org_id;

-- name: SampleFiles :exec
-- SampleFiles turns the links to archives into files.
UPDATE resources SET kind = 'file' WHERE program_id = @program_id AND org_id = @org_id AND url LIKE '%.zip';

-- name: SampleApprove :exec
-- SampleApprove approves commissions at the end of their approval delay, as the job does for all programs.
UPDATE commissions SET status = 'approved', approved_at = approve_at, updated_at = approve_at
WHERE program_id = @program_id AND org_id = @org_id AND status = 'pending' AND approve_at <= @now;

-- name: SampleMature :many
-- SampleMature makes commissions due at the end of their holding period, as the job does for all programs.
UPDATE commissions t SET status = 'due', updated_at = greatest(t.approved_at, t.mature_at)
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.status = 'approved' AND t.mature_at <= @now RETURNING t.*;

-- name: SampleExpireRefunds :exec
-- SampleExpireRefunds ends the wait of refunds whose sale has not arrived, as the job does for all programs.
UPDATE refunds SET status = 'unmatched', updated_at = @now
WHERE program_id = @program_id AND org_id = @org_id AND status = 'waiting' AND created_at <= @before;

-- name: SampleSubscribe :exec
-- SampleSubscribe gives each paying customer a subscription with its number.
UPDATE customers SET external_subscription_id = 'sub_' || substr(external_customer_id, 5)
WHERE program_id = @program_id AND org_id = @org_id AND converted_at IS NOT NULL;

-- name: SampleSignupCommission :one
-- SampleSignupCommission returns the pending commission of a customer's sign-up.
SELECT k.id FROM commissions k WHERE k.customer_id = @customer_id AND k.org_id = @org_id AND k.program_id = @program_id
    AND k.sale_id IS NULL AND k.status = 'pending';

-- name: SampleSendRecipients :exec
-- SampleSendRecipients ends the mails of a campaign as if all had been sent. Three of five recipients have opened
-- theirs, some minutes apart.
UPDATE campaign_recipients r SET status = 'sent',
    opened_at = CASE WHEN n.n % 5 < 3 THEN a.at + n.n * interval '1 minute' END
FROM (SELECT @at::timestamptz AS at) a CROSS JOIN (SELECT x.partner_id, row_number() OVER (ORDER BY x.partner_id) AS n FROM campaign_recipients x
    WHERE x.campaign_id = @campaign_id AND x.org_id = @org_id) n
WHERE r.campaign_id = @campaign_id AND r.org_id = @org_id AND r.partner_id = n.partner_id;

-- name: SampleSendCampaign :exec
-- SampleSendCampaign ends the campaign of these mails.
UPDATE campaigns c SET status = 'sent', sent_at = @sent_at, updated_at = @updated_at, audience_after = NULL,
    total = n.total, sent = n.total, opened = n.opened
FROM (SELECT count(*) AS total, count(r.opened_at) AS opened FROM campaign_recipients r
    WHERE r.campaign_id = @id AND r.org_id = @org_id) n
WHERE c.id = @id AND c.org_id = @org_id;

-- name: SampleFinishSequence :exec
-- SampleFinishSequence ends a sequence for its partners, two weeks after its begin.
UPDATE sequence_enrolments SET position = @steps, next_at = NULL, completed_at = enrolled_at + interval '14 days'
WHERE sequence_id = @sequence_id AND org_id = @org_id;

-- name: SampleDelivery :exec
-- SampleDelivery adds a delivery of an event that does not exist.
INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_seq, status, attempts,
    response_code, error, duration_ms, last_attempt_at, next_attempt_at, finished_at, created_at)
VALUES (@id, @org_id, @program_id, @endpoint_id, @event_id, @event_type, 0, @status, @attempts, @response_code, @error,
    @duration_ms, @last_attempt_at, @next_attempt_at, @finished_at, @created_at);
