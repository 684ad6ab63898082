SET LOCAL lock_timeout = '2s';
DROP TABLE backup_mark;
DROP TABLE certificates;
DROP TABLE rate_buckets;
