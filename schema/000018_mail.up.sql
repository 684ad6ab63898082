-- Mails to many, in sizes that no single statement can do and through changes
-- while they are on their way.
SET LOCAL lock_timeout = '2s';

-- audience_after is the partner up to whom a campaign's audience is written down,
-- idle_after the one up to whom an idle sequence has looked; null when it is done.
ALTER TABLE campaigns ADD COLUMN audience_after text COLLATE "C";
ALTER TABLE sequences ADD COLUMN idle_after text COLLATE "C";

-- A mail of a sequence knows its step, so that it can go back to it. plain is the
-- text where it is not the Markdown itself.
ALTER TABLE mails ADD COLUMN sequence_id text COLLATE "C", ADD COLUMN position bigint, ADD COLUMN plain text;
UPDATE mails SET sequence_id = split_part(key, ' ', 1), position = split_part(key, ' ', 2)::bigint
WHERE purpose = 'sequence' AND status IN ('queued', 'sending');
DROP INDEX mails_campaign_idx;
CREATE INDEX mails_campaign_idx ON mails (campaign_id) WHERE campaign_id IS NOT NULL AND status IN ('queued', 'sending');

-- One mailbox is one, whatever the case of its letters. What went twice before
-- stays, told apart by its own id.
ALTER TABLE mails DROP CONSTRAINT mails_purpose_key;
UPDATE mails m SET key = m.key || ' ' || m.id
FROM (SELECT id, row_number() OVER (PARTITION BY org_id, purpose, key, lower(recipient) ORDER BY id) AS n FROM mails) x
WHERE x.id = m.id AND x.n > 1;
CREATE UNIQUE INDEX mails_purpose_key ON mails (org_id, purpose, key, lower(recipient));

-- Who had unsubscribed when its partner was deleted: the digest of program and
-- e-mail, for when the partner comes back.
CREATE TABLE mail_unsubscribes (
    org_id          text COLLATE "C" NOT NULL,
    program_id      text COLLATE "C" NOT NULL,
    email_hash      bytea NOT NULL,
    unsubscribed_at timestamptz NOT NULL,
    CONSTRAINT mail_unsubscribes_pkey PRIMARY KEY (program_id, email_hash),
    CONSTRAINT mail_unsubscribes_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id)
);
