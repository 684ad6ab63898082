SET LOCAL lock_timeout = '2s';

DROP TABLE audit_mark;
