SET LOCAL lock_timeout = '2s';

DROP TABLE key_fingerprints;
