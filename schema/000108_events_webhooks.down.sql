SET LOCAL lock_timeout = '2s';
DROP TABLE webhook_leases;
DROP TABLE webhook_deliveries;
DROP TABLE webhook_endpoints;
DROP TABLE events;
