-- Mails to many partners: campaigns go to an audience once, sequences follow a
-- trigger step by step. Who has unsubscribed gets neither.
SET LOCAL lock_timeout = '2s';

-- mail_token is what the unsubscribe address of a partner's mails carries; it
-- never changes, so that the address in an old mail goes on working.
ALTER TABLE partners
    ADD COLUMN mail_token text COLLATE "C" NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', ''),
    ADD COLUMN unsubscribed_at timestamptz;
CREATE UNIQUE INDEX partners_mail_token_key ON partners (mail_token);

-- Whether a sale has to look for sequences that a first commission starts.
ALTER TABLE programs ADD COLUMN enrols_first_commission boolean NOT NULL DEFAULT false;

-- group_ids, tag_ids and statuses are the audience; an empty list asks for
-- nothing, but empty statuses mean active partners. started_at is when the
-- audience was first counted. What is neither sent, failed nor skipped waits.
CREATE TABLE campaigns (
    id           text COLLATE "C" NOT NULL,
    org_id       text COLLATE "C" NOT NULL,
    program_id   text COLLATE "C" NOT NULL,
    name         text NOT NULL,
    subject      text NOT NULL,
    body         text NOT NULL,
    group_ids    text[] COLLATE "C" NOT NULL,
    tag_ids      text[] COLLATE "C" NOT NULL,
    statuses     text[] COLLATE "C" NOT NULL,
    status       text COLLATE "C" NOT NULL,
    scheduled_at timestamptz,
    started_at   timestamptz,
    sent_at      timestamptz,
    total        bigint NOT NULL DEFAULT 0,
    sent         bigint NOT NULL DEFAULT 0,
    failed       bigint NOT NULL DEFAULT 0,
    skipped      bigint NOT NULL DEFAULT 0,
    opened       bigint NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    CONSTRAINT campaigns_pkey PRIMARY KEY (id),
    CONSTRAINT campaigns_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT campaigns_status_check CHECK (status IN ('draft', 'scheduled', 'sending', 'paused', 'sent')),
    CONSTRAINT campaigns_scheduled_check CHECK (status <> 'scheduled' OR scheduled_at IS NOT NULL),
    CONSTRAINT campaigns_started_check CHECK (status NOT IN ('sending', 'sent') OR started_at IS NOT NULL),
    CONSTRAINT campaigns_sent_at_check CHECK ((status = 'sent') = (sent_at IS NOT NULL)),
    CONSTRAINT campaigns_counts_check CHECK (sent >= 0 AND failed >= 0 AND skipped >= 0 AND sent + failed + skipped <= total AND opened BETWEEN 0 AND total),
    CONSTRAINT campaigns_drained_check CHECK (status <> 'sent' OR sent + failed + skipped = total)
);
CREATE INDEX campaigns_list_idx ON campaigns (program_id, created_at DESC, id DESC);
CREATE INDEX campaigns_scheduled_idx ON campaigns (scheduled_at, id) WHERE status = 'scheduled';
CREATE INDEX campaigns_sending_idx ON campaigns (id) WHERE status = 'sending';

-- One row a partner that matched. queued waits, mailed is in the outbox. The id
-- of a partner who was deleted stays, like in the ledger.
CREATE TABLE campaign_recipients (
    campaign_id text COLLATE "C" NOT NULL,
    partner_id  text COLLATE "C" NOT NULL,
    org_id      text COLLATE "C" NOT NULL,
    program_id  text COLLATE "C" NOT NULL,
    status      text COLLATE "C" NOT NULL,
    opened_at   timestamptz,
    CONSTRAINT campaign_recipients_pkey PRIMARY KEY (campaign_id, partner_id),
    CONSTRAINT campaign_recipients_campaign_fkey FOREIGN KEY (campaign_id) REFERENCES campaigns (id) ON DELETE CASCADE,
    CONSTRAINT campaign_recipients_status_check CHECK (status IN ('queued', 'mailed', 'sent', 'failed', 'skipped'))
);
CREATE INDEX campaign_recipients_waiting_idx ON campaign_recipients (campaign_id, status, partner_id) WHERE status IN ('queued', 'mailed');

CREATE TABLE sequences (
    id              text COLLATE "C" NOT NULL,
    org_id          text COLLATE "C" NOT NULL,
    program_id      text COLLATE "C" NOT NULL,
    name            text NOT NULL,
    status          text COLLATE "C" NOT NULL,
    trigger         text COLLATE "C" NOT NULL,
    trigger_days    bigint,
    idle_checked_at timestamptz,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    CONSTRAINT sequences_pkey PRIMARY KEY (id),
    CONSTRAINT sequences_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT sequences_status_check CHECK (status IN ('active', 'paused')),
    CONSTRAINT sequences_trigger_check CHECK (trigger IN ('approved', 'idle', 'first_commission')),
    CONSTRAINT sequences_trigger_days_check CHECK ((trigger = 'idle') = (trigger_days IS NOT NULL) AND trigger_days BETWEEN 1 AND 365)
);
CREATE INDEX sequences_list_idx ON sequences (program_id, created_at DESC, id DESC);

-- position counts from 0; delay_days run from the step before, for the first
-- from the enrolment.
CREATE TABLE sequence_steps (
    sequence_id text COLLATE "C" NOT NULL,
    position    bigint NOT NULL,
    org_id      text COLLATE "C" NOT NULL,
    program_id  text COLLATE "C" NOT NULL,
    delay_days  bigint NOT NULL,
    subject     text NOT NULL,
    body        text NOT NULL,
    CONSTRAINT sequence_steps_pkey PRIMARY KEY (sequence_id, position),
    CONSTRAINT sequence_steps_sequence_fkey FOREIGN KEY (sequence_id) REFERENCES sequences (id) ON DELETE CASCADE,
    CONSTRAINT sequence_steps_delay_days_check CHECK (delay_days BETWEEN 0 AND 365)
);

-- A partner is in a sequence once, forever. position is the step to come, next_at
-- when; both end with the last step.
CREATE TABLE sequence_enrolments (
    sequence_id  text COLLATE "C" NOT NULL,
    partner_id   text COLLATE "C" NOT NULL,
    org_id       text COLLATE "C" NOT NULL,
    program_id   text COLLATE "C" NOT NULL,
    position     bigint NOT NULL,
    next_at      timestamptz,
    enrolled_at  timestamptz NOT NULL,
    completed_at timestamptz,
    CONSTRAINT sequence_enrolments_pkey PRIMARY KEY (sequence_id, partner_id),
    CONSTRAINT sequence_enrolments_sequence_fkey FOREIGN KEY (sequence_id) REFERENCES sequences (id) ON DELETE CASCADE,
    CONSTRAINT sequence_enrolments_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT sequence_enrolments_completed_check CHECK ((next_at IS NULL) = (completed_at IS NOT NULL))
);
CREATE INDEX sequence_enrolments_due_idx ON sequence_enrolments (sequence_id, next_at, partner_id) WHERE next_at IS NOT NULL;
CREATE INDEX sequence_enrolments_partner_idx ON sequence_enrolments (program_id, partner_id);

-- A mail with a partner_id is one of many and can be unsubscribed from; what tells
-- of something goes before it.
ALTER TABLE mails ADD COLUMN partner_id text COLLATE "C", ADD COLUMN campaign_id text COLLATE "C";
DROP INDEX mails_queued_idx;
CREATE INDEX mails_queued_idx ON mails ((partner_id IS NOT NULL), next_attempt_at, id) WHERE status = 'queued';
CREATE INDEX mails_partner_idx ON mails (partner_id) WHERE status = 'queued' AND partner_id IS NOT NULL;
CREATE INDEX mails_campaign_idx ON mails (campaign_id) WHERE status = 'queued' AND campaign_id IS NOT NULL;
