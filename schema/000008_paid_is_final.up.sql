-- What is paid stays as it was paid, whoever tries to change it.
SET LOCAL lock_timeout = '2s';

CREATE FUNCTION refuse_paid() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is paid', OLD.id USING ERRCODE = '23514', CONSTRAINT = TG_TABLE_NAME || '_paid_final';
END $$;
CREATE TRIGGER payouts_paid_final BEFORE UPDATE ON payouts FOR EACH ROW
    WHEN (OLD.status = 'paid' AND (NEW.status, NEW.amount_minor, NEW.partner_id, NEW.currency, NEW.paid_at) IS DISTINCT FROM (OLD.status, OLD.amount_minor, OLD.partner_id, OLD.currency, OLD.paid_at))
    EXECUTE FUNCTION refuse_paid();
CREATE TRIGGER commissions_paid_final BEFORE UPDATE ON commissions FOR EACH ROW
    WHEN (OLD.status = 'paid' AND (NEW.status, NEW.amount_minor, NEW.partner_id, NEW.currency, NEW.payout_id) IS DISTINCT FROM (OLD.status, OLD.amount_minor, OLD.partner_id, OLD.currency, OLD.payout_id))
    EXECUTE FUNCTION refuse_paid();
