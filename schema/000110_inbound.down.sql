SET LOCAL lock_timeout = '2s';
DROP TABLE inbox_waits;
DROP TABLE inbox_events;
DROP TABLE processor_connections;
