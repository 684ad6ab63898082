SET LOCAL lock_timeout = '2s';

ALTER TABLE programs DROP COLUMN lead_match_days, DROP COLUMN time_zone, DROP COLUMN coupon_beats_link,
    DROP COLUMN ignore_late_clicks;
