SET LOCAL lock_timeout = '2s';
DROP TABLE sequence_enrolments;
DROP TABLE sequence_steps;
DROP TABLE sequences;
DROP TABLE campaign_recipients;
DROP TABLE campaigns;
DROP TABLE opt_outs;
DROP TABLE mail_unsubscribes;
DROP TABLE mails;
