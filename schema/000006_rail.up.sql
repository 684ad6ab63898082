-- A payout that a payment rail has in flight: which rail, when it was last
-- asked, and how often the payout was submitted to it.
SET LOCAL lock_timeout = '2s';

ALTER TABLE payouts ADD COLUMN rail text COLLATE "C", ADD COLUMN checked_at timestamptz, ADD COLUMN submissions integer NOT NULL DEFAULT 0,
    ADD CONSTRAINT payouts_rail_check CHECK (status <> 'processing' OR rail IS NOT NULL);
CREATE INDEX payouts_to_send_idx ON payouts (due_at, id) WHERE status = 'pending' AND method IS NOT NULL;
CREATE INDEX payouts_in_flight_idx ON payouts (rail, checked_at, id) WHERE status = 'processing';
