SET LOCAL lock_timeout = '2s';

ALTER TABLE referrals DROP COLUMN returned_at, DROP COLUMN returned_click_id;
