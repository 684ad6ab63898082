-- A payment that was marked by hand can be undone within a day. marked_at is when it was marked, and
-- before_paid what the payout was before; both are NULL for payments that a rail or a result reported.
-- The release before survives this: it writes neither column, and its payments stay final as before.
SET LOCAL lock_timeout = '2s';

ALTER TABLE payouts ADD COLUMN marked_at timestamptz, ADD COLUMN before_paid json,
    ADD CONSTRAINT payouts_marked_check CHECK ((marked_at IS NULL) = (before_paid IS NULL) AND (marked_at IS NULL OR status = 'paid'));

CREATE OR REPLACE FUNCTION refuse_paid() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'payouts' THEN
        IF OLD.marked_at IS NOT NULL AND NEW.marked_at IS NULL AND NEW.status IN ('pending', 'processing', 'failed')
            AND (NEW.amount_minor, NEW.partner_id, NEW.currency) = (OLD.amount_minor, OLD.partner_id, OLD.currency) THEN
            RETURN NEW;
        END IF;
    ELSIF NEW.status = 'due' AND (NEW.amount_minor, NEW.partner_id, NEW.currency, NEW.payout_id)
        IS NOT DISTINCT FROM (OLD.amount_minor, OLD.partner_id, OLD.currency, OLD.payout_id)
        AND NOT EXISTS (SELECT 1 FROM payouts p WHERE p.id = OLD.payout_id AND p.status = 'paid') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% is paid', OLD.id USING ERRCODE = '23514', CONSTRAINT = TG_TABLE_NAME || '_paid_final';
END $$;
