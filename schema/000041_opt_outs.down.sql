SET LOCAL lock_timeout = '2s';

DROP INDEX risk_flags_open_key;
-- One flag a customer: that of the first dispute stays open.
UPDATE risk_flags t SET status = 'resolved', resolved_at = t.created_at
WHERE t.status IN ('open', 'reviewing') AND t.kind = 'dispute' AND EXISTS (SELECT 1 FROM risk_flags f
    WHERE f.program_id = t.program_id AND f.kind = t.kind AND f.partner_id IS NOT DISTINCT FROM t.partner_id
        AND f.customer_id IS NOT DISTINCT FROM t.customer_id AND f.status IN ('open', 'reviewing') AND f.id < t.id);
CREATE UNIQUE INDEX risk_flags_open_key ON risk_flags (program_id, kind, coalesce(partner_id, ''), coalesce(customer_id, '')) WHERE status IN ('open', 'reviewing');

ALTER TABLE refunds DROP COLUMN level_minor;
DROP TABLE opt_outs;
