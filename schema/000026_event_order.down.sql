SET LOCAL lock_timeout = '2s';

LOCK TABLE events, webhook_deliveries, webhook_leases IN ACCESS EXCLUSIVE MODE;
DROP INDEX events_order_idx;
DROP INDEX webhook_deliveries_line_idx;
CREATE INDEX events_order_idx ON events (program_id, created_xid, seq);
CREATE INDEX webhook_deliveries_line_idx ON webhook_deliveries (endpoint_id, event_xid, event_seq) WHERE next_attempt_at IS NOT NULL;
ALTER TABLE webhook_leases DROP COLUMN quick, DROP COLUMN served_at;
