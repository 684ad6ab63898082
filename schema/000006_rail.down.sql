DROP INDEX payouts_in_flight_idx, payouts_to_send_idx;
ALTER TABLE payouts DROP CONSTRAINT payouts_rail_check, DROP COLUMN submissions, DROP COLUMN checked_at, DROP COLUMN rail;
