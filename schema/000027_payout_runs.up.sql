-- A batch of many partners is made in pages, each a transaction of its own; what is
-- left of it is a run.
-- The release before survives this: it neither reads nor writes what is new, and what
-- it makes of a month's batch meanwhile is run once more.
SET LOCAL lock_timeout = '2s';

LOCK TABLE commissions, payout_batches IN SHARE ROW EXCLUSIVE MODE;

-- What a batch was asked to collect and has not yet, from the partner after
-- after_id on. One run stands for all requests that ask the same: again tells that
-- one came meanwhile, which wants the partners from the first on once more.
CREATE TABLE payout_runs (
    id             text COLLATE "C" NOT NULL,
    org_id         text COLLATE "C" NOT NULL,
    program_id     text COLLATE "C" NOT NULL,
    batch_id       text COLLATE "C" NOT NULL,
    group_id       text COLLATE "C" NOT NULL, -- empty for all of the program
    ignore_minimum boolean NOT NULL,
    automatic      boolean NOT NULL,
    again          boolean NOT NULL DEFAULT false,
    period_end     timestamptz NOT NULL,
    after_id       text COLLATE "C" NOT NULL,
    created_at     timestamptz NOT NULL,
    CONSTRAINT payout_runs_pkey PRIMARY KEY (id),
    CONSTRAINT payout_runs_asked_key UNIQUE (program_id, batch_id, group_id, ignore_minimum),
    CONSTRAINT payout_runs_batch_fkey FOREIGN KEY (program_id, batch_id) REFERENCES payout_batches (program_id, id)
);

-- When the month's automatic run began that has gone through all partners. Batches
-- that were run after their month had ended are taken for such, of old, so that an
-- upgrade makes no payout anew that somebody has deleted.
ALTER TABLE payout_batches ADD COLUMN auto_run_at timestamptz;
UPDATE payout_batches SET auto_run_at = 'epoch' WHERE updated_at >= (period_month + interval '1 month') AT TIME ZONE 'UTC';

-- What a batch has to look at: a partner's commissions that are on their way and
-- in no payout.
CREATE INDEX commissions_to_collect_idx ON commissions (program_id, partner_id, status) WHERE payout_id IS NULL AND status IN ('pending', 'approved', 'due');
