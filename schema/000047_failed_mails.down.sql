DROP INDEX mails_failed_idx;
