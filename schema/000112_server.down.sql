SET LOCAL lock_timeout = '2s';
DROP TRIGGER processor_connections_live ON processor_connections;
DROP TRIGGER payout_rails_live ON payout_rails;
DROP TRIGGER api_keys_live ON api_keys;
DROP FUNCTION refuse_live();
DROP TABLE test_clock;
DROP TABLE backup_mark;
DROP TABLE certificates;
DROP TABLE rate_buckets;
