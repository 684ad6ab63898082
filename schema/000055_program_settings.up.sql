-- lead_match_days is how long a sign-up is matched to a payment by e-mail alone; NULL
-- uses cookie_days. time_zone is an IANA name.
-- The release before survives this: what it makes has the defaults.
SET LOCAL lock_timeout = '2s';

ALTER TABLE programs ADD COLUMN lead_match_days bigint,
    ADD COLUMN time_zone text COLLATE "C" NOT NULL DEFAULT 'UTC',
    ADD COLUMN coupon_beats_link boolean NOT NULL DEFAULT false,
    ADD COLUMN ignore_late_clicks boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT programs_lead_match_days_check CHECK (lead_match_days BETWEEN 1 AND 365),
    ADD CONSTRAINT programs_time_zone_check CHECK (char_length(time_zone) BETWEEN 1 AND 64);
