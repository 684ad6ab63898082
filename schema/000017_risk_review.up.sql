-- What a review of the risk checks found.
SET LOCAL lock_timeout = '2s';

-- payout_details_changed_at is when a partner came to be paid to another place: a
-- flag that was closed before that settles nothing about the new one.
ALTER TABLE partners ADD COLUMN payout_details_changed_at timestamptz;

-- The hashes tell the place now, and not how it was spelled: the risk sweep makes
-- them anew. An empty hash is of details that name no place.
UPDATE partners SET payout_details_hash = NULL WHERE payout_details_hash IS NOT NULL;
