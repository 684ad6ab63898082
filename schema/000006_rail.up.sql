-- A payout that a payment rail has in flight: which rail, and when it was last
-- asked.
SET LOCAL lock_timeout = '2s';

ALTER TABLE payouts ADD COLUMN rail text COLLATE "C", ADD COLUMN checked_at timestamptz,
    ADD CONSTRAINT payouts_rail_check CHECK (status <> 'processing' OR rail IS NOT NULL);
CREATE INDEX payouts_to_send_idx ON payouts (due_at, id) WHERE status = 'pending' AND method IS NOT NULL;
CREATE INDEX payouts_in_flight_idx ON payouts (rail, checked_at, id) WHERE status = 'processing';
