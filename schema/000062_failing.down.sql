SET LOCAL lock_timeout = '2s';

DROP INDEX mails_sent_idx;
DROP TABLE backup_mark;
