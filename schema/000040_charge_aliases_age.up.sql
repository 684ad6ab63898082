-- Other ids of payments are removed by their age.
-- The release before survives this: it never removes any.
SET LOCAL lock_timeout = '2s';

CREATE INDEX charge_aliases_age_idx ON charge_aliases (created_at);
