DROP TABLE webhook_leases, webhook_deliveries, webhook_endpoints;
DROP INDEX events_created_idx;
ALTER TABLE events DROP COLUMN partner_body;
