-- When a visitor last came back by a link within the hour, which is no second click, and
-- the click that it came back to: the last link used counts, whichever was clicked first.
-- The release before survives this: it neither reads nor writes the columns.
SET LOCAL lock_timeout = '2s';

ALTER TABLE referrals ADD COLUMN returned_at timestamptz, ADD COLUMN returned_click_id text COLLATE "C";
