-- Events are written in the transaction of the change that they tell.

-- name: EventsInsert :exec
-- EventsInsert writes the events of one request in their order.
INSERT INTO events (id, org_id, program_id, type, partner_id, subject_id, request_id, body, created_at)
SELECT unnest(@ids::text[]), @org_id, unnest(@program_ids::text[]), unnest(@types::text[]), nullif(unnest(@partner_ids::text[]), ''),
    unnest(@subject_ids::text[]), nullif(@request_id::text, ''), unnest(@bodies::text[]), @created_at;

-- name: AuditInsert :exec
INSERT INTO audit_log_entries (id, org_id, program_id, action, target_id, api_key_id, request_id, reason, before, after, created_at)
VALUES (@id, @org_id, @program_id, @action, @target_id, @api_key_id, @request_id, @reason, @before, @after, @created_at);

-- name: RiskFlagOpen :execrows
INSERT INTO risk_flags (id, org_id, program_id, partner_id, customer_id, kind, severity, status, evidence, created_at)
VALUES (@id, @org_id, @program_id, @partner_id, @customer_id, @kind, @severity, 'open', @evidence, @created_at)
ON CONFLICT DO NOTHING;
