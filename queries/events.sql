-- Events are written in the transaction of the change that they tell.

-- name: EventsInsert :exec
-- EventsInsert writes the events of one request in their order, and a delivery
-- for each endpoint that takes them at this moment.
WITH e AS (
    INSERT INTO events (id, org_id, program_id, type, partner_id, subject_id, request_id, body, partner_body, created_at)
    SELECT unnest(@ids::text[]), @org_id, unnest(@program_ids::text[]), unnest(@types::text[]), nullif(unnest(@partner_ids::text[]), ''),
        unnest(@subject_ids::text[]), nullif(@request_id::text, ''), unnest(@bodies::text[]), nullif(unnest(@partner_bodies::text[]), ''), @created_at
    RETURNING id, org_id, program_id, type, partner_id, seq, created_xid, created_at
)
INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_xid, event_seq, status, next_attempt_at, created_at)
SELECT 'whd_' || substr(e.id, 5) || w.number, e.org_id, e.program_id, w.id, e.id, e.type, e.created_xid, e.seq, 'pending', e.created_at, e.created_at
FROM e JOIN webhook_endpoints w ON w.program_id = e.program_id AND w.org_id = e.org_id
WHERE w.enabled AND (w.event_types = '{}' OR e.type = ANY (w.event_types))
  AND (w.partner_id IS NULL OR w.partner_id = e.partner_id AND split_part(e.type, '.', 1) IN ('referral', 'commission', 'payout'));

-- name: AuditInsert :exec
INSERT INTO audit_log_entries (id, org_id, program_id, action, target_id, api_key_id, request_id, reason, before, after, created_at)
VALUES (@id, @org_id, @program_id, @action, @target_id, @api_key_id, @request_id, @reason, @before, @after, @created_at);

-- name: RiskFlagOpen :execrows
-- RiskFlagOpen opens nothing where the same flag is open, or was closed after
-- created_at: whoever closed it saw what this one would tell.
INSERT INTO risk_flags (id, org_id, program_id, partner_id, customer_id, kind, severity, status, evidence, created_at)
SELECT @id::text, @org_id, @program_id::text, sqlc.narg('partner_id')::text, sqlc.narg('customer_id')::text, @kind::text, @severity::text, 'open', @evidence::json, @created_at::timestamptz
WHERE NOT EXISTS (
    SELECT 1 FROM risk_flags f WHERE f.program_id = @program_id AND f.org_id = @org_id AND f.partner_id = sqlc.narg('partner_id')::text AND f.kind = @kind
      AND f.customer_id IS NOT DISTINCT FROM sqlc.narg('customer_id')::text AND f.resolved_at > @created_at)
ON CONFLICT DO NOTHING;
