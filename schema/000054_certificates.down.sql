SET LOCAL lock_timeout = '2s';

DROP TABLE certificates;
