DROP INDEX webhook_endpoints_partner_idx;
DROP INDEX magic_links_expires_idx;
DROP TABLE portal_sessions;
