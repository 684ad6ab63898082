-- The outbox, campaigns and sequences.
SET LOCAL lock_timeout = '2s';

CREATE TABLE mails (
    id              text COLLATE "C" NOT NULL,
    org_id          text COLLATE "C" NOT NULL,
    purpose         text COLLATE "C" NOT NULL,
    key             text COLLATE "C" NOT NULL,
    recipient       text NOT NULL,
    subject         text NOT NULL,
    body            text NOT NULL,
    status          text COLLATE "C" NOT NULL,
    attempts        integer NOT NULL DEFAULT 0,
    error           text,
    next_attempt_at timestamptz,
    taken_at        timestamptz,
    sent_at         timestamptz,
    created_at      timestamptz NOT NULL,
    partner_id      text COLLATE "C",
    campaign_id     text COLLATE "C",
    sequence_id     text COLLATE "C",
    position        bigint,
    plain           text,
    program_id      text COLLATE "C",
    foot            text,
    language        text COLLATE "C",
    placeholders    json,
    CONSTRAINT mails_pkey PRIMARY KEY (id),
    CONSTRAINT mails_org_fkey FOREIGN KEY (org_id) REFERENCES organizations (id),
    CONSTRAINT mails_status_check CHECK (status IN ('queued', 'sending', 'sent', 'failed')),
    CONSTRAINT mails_next_check CHECK ((status = 'queued') = (next_attempt_at IS NOT NULL))
);
CREATE INDEX mails_sending_idx ON mails (taken_at) WHERE status = 'sending';
CREATE INDEX mails_created_idx ON mails (created_at);
CREATE INDEX mails_queued_idx ON mails ((partner_id IS NOT NULL), next_attempt_at, id) WHERE status = 'queued';
CREATE INDEX mails_partner_idx ON mails (partner_id) WHERE status = 'queued' AND partner_id IS NOT NULL;
CREATE INDEX mails_campaign_idx ON mails (campaign_id) WHERE campaign_id IS NOT NULL
    AND status IN ('queued', 'sending');
CREATE UNIQUE INDEX mails_purpose_key ON mails (org_id, purpose, key, lower(recipient));
CREATE INDEX mails_failed_list_idx ON mails (org_id, created_at, id) WHERE status = 'failed';
CREATE INDEX mails_sign_in_idx ON mails (org_id, lower(recipient), created_at) WHERE purpose = 'portal_sign_in';
-- Whether a mail was sent since others began to fail.
CREATE INDEX mails_sent_idx ON mails (sent_at) WHERE sent_at IS NOT NULL;

-- Unsubscribed addresses of deleted partners: a digest of program and email, for a partner who returns.
CREATE TABLE mail_unsubscribes (
    org_id          text COLLATE "C" NOT NULL,
    program_id      text COLLATE "C" NOT NULL,
    email_hash      bytea NOT NULL,
    unsubscribed_at timestamptz NOT NULL,
    CONSTRAINT mail_unsubscribes_pkey PRIMARY KEY (program_id, email_hash),
    CONSTRAINT mail_unsubscribes_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id)
);

-- key names a charge or a customer, as in inbox_waits. A row without an opt-out keeps an older event from changing
-- it.
CREATE TABLE opt_outs (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    opted_out  boolean NOT NULL,
    at         timestamptz NOT NULL,
    CONSTRAINT opt_outs_pkey PRIMARY KEY (program_id, key),
    CONSTRAINT opt_outs_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id)
);
CREATE INDEX opt_outs_purge_idx ON opt_outs (at) WHERE NOT opted_out OR key LIKE 'charge %';

-- group_ids, tag_ids and statuses are the audience. An empty list does not filter, except that empty statuses mean
-- active partners. started_at is the time of the first count. A recipient that is neither sent, failed nor skipped
-- waits.
CREATE TABLE campaigns (
    id             text COLLATE "C" NOT NULL,
    org_id         text COLLATE "C" NOT NULL,
    program_id     text COLLATE "C" NOT NULL,
    name           text NOT NULL,
    subject        text NOT NULL,
    body           text NOT NULL,
    group_ids      text[] COLLATE "C" NOT NULL,
    tag_ids        text[] COLLATE "C" NOT NULL,
    statuses       text[] COLLATE "C" NOT NULL,
    status         text COLLATE "C" NOT NULL,
    scheduled_at   timestamptz,
    started_at     timestamptz,
    sent_at        timestamptz,
    total          bigint NOT NULL DEFAULT 0,
    sent           bigint NOT NULL DEFAULT 0,
    failed         bigint NOT NULL DEFAULT 0,
    skipped        bigint NOT NULL DEFAULT 0,
    opened         bigint NOT NULL DEFAULT 0,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    audience_after text COLLATE "C",
    partner_ids    text[] COLLATE "C" NOT NULL DEFAULT '{}',
    CONSTRAINT campaigns_pkey PRIMARY KEY (id),
    CONSTRAINT campaigns_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT campaigns_status_check CHECK (status IN ('draft', 'scheduled', 'sending', 'paused', 'sent')),
    CONSTRAINT campaigns_scheduled_check CHECK (status <> 'scheduled' OR scheduled_at IS NOT NULL),
    CONSTRAINT campaigns_started_check CHECK (status NOT IN ('sending', 'sent') OR started_at IS NOT NULL),
    CONSTRAINT campaigns_sent_at_check CHECK ((status = 'sent') = (sent_at IS NOT NULL)),
    CONSTRAINT campaigns_counts_check CHECK (sent >= 0 AND failed >= 0 AND skipped >= 0
        AND sent + failed + skipped <= total AND opened BETWEEN 0 AND total),
    CONSTRAINT campaigns_drained_check CHECK (status <> 'sent' OR sent + failed + skipped = total)
);
CREATE INDEX campaigns_list_idx ON campaigns (program_id, created_at DESC, id DESC);
CREATE INDEX campaigns_scheduled_idx ON campaigns (scheduled_at, id) WHERE status = 'scheduled';
CREATE INDEX campaigns_sending_idx ON campaigns (id) WHERE status = 'sending';

-- One row for each matching partner: queued waits, mailed is in the outbox. The id of a deleted partner stays, as in
-- the ledger.
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
CREATE INDEX campaign_recipients_waiting_idx ON campaign_recipients (campaign_id, status, partner_id)
    WHERE status IN ('queued', 'mailed');

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
    idle_after      text COLLATE "C",
    CONSTRAINT sequences_pkey PRIMARY KEY (id),
    CONSTRAINT sequences_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT sequences_status_check CHECK (status IN ('active', 'paused')),
    CONSTRAINT sequences_trigger_check CHECK (trigger IN ('approved', 'idle', 'first_commission')),
    CONSTRAINT sequences_trigger_days_check CHECK ((trigger = 'idle') = (trigger_days IS NOT NULL)
        AND trigger_days BETWEEN 1 AND 365)
);
CREATE INDEX sequences_list_idx ON sequences (program_id, created_at DESC, id DESC);

-- position counts from 0. delay_days run from the step before, for the first from the enrolment.
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

-- A partner enters a sequence once. position is the next step, next_at its time; both are null after the last step.
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
    CONSTRAINT sequence_enrolments_partner_fkey FOREIGN KEY (program_id, partner_id)
        REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT sequence_enrolments_completed_check CHECK ((next_at IS NULL) = (completed_at IS NOT NULL))
);
CREATE INDEX sequence_enrolments_due_idx ON sequence_enrolments (sequence_id, next_at, partner_id)
    WHERE next_at IS NOT NULL;
CREATE INDEX sequence_enrolments_partner_idx ON sequence_enrolments (program_id, partner_id);
