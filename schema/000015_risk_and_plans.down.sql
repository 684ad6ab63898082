ALTER TABLE organizations DROP COLUMN fraud_monitoring, DROP COLUMN revenue_meter_minor, DROP COLUMN flow_quota;
DROP TABLE partner_addresses;
ALTER TABLE partners DROP COLUMN payout_details_hash;
