DROP INDEX mails_sign_in_idx;
