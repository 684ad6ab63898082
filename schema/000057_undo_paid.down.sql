SET LOCAL lock_timeout = '2s';

CREATE OR REPLACE FUNCTION refuse_paid() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is paid', OLD.id USING ERRCODE = '23514', CONSTRAINT = TG_TABLE_NAME || '_paid_final';
END $$;
ALTER TABLE payouts DROP COLUMN marked_at, DROP COLUMN before_paid;
