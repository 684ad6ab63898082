-- Events are in the order of their numbers (queries/events.sql), and places of a
-- sender go by how an endpoint has answered: quick tells whether its last attempt
-- succeeded and soon, served_at when it last had its turn.
-- The release before survives this: it sorts what an index gave it in order, and
-- writes and reads event_xid and created_xid, which keep their defaults. Events
-- that it writes may be passed by later ones while it runs; none is lost.
SET LOCAL lock_timeout = '2s';

LOCK TABLE events, webhook_deliveries, webhook_leases IN ACCESS EXCLUSIVE MODE;
DROP INDEX events_order_idx;
DROP INDEX webhook_deliveries_line_idx;
CREATE INDEX events_order_idx ON events (org_id, seq);
CREATE INDEX webhook_deliveries_line_idx ON webhook_deliveries (endpoint_id, event_seq, id) WHERE next_attempt_at IS NOT NULL;
ALTER TABLE webhook_leases ADD COLUMN quick boolean NOT NULL DEFAULT false, ADD COLUMN served_at timestamptz;
