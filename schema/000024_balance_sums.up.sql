-- Balances as readers see them: each row with the entries of transactions that were
-- not finished when it was folded.
SET LOCAL lock_timeout = '2s';

CREATE VIEW balance_sums AS
SELECT t.id, t.org_id, t.program_id, t.partner_id, t.currency,
    (t.pending_minor + coalesce(o.pending, 0))::bigint AS pending_minor,
    (t.due_minor + coalesce(o.due, 0))::bigint AS due_minor,
    (t.paid_minor + coalesce(o.paid, 0))::bigint AS paid_minor,
    greatest(t.updated_at, o.at)::timestamptz AS updated_at
FROM balances t LEFT JOIN LATERAL (
    SELECT sum(CASE WHEN l.to_bucket = 'pending' THEN l.amount_minor WHEN l.from_bucket = 'pending' THEN -l.amount_minor END) AS pending,
        sum(CASE WHEN l.to_bucket = 'due' THEN l.amount_minor WHEN l.from_bucket = 'due' THEN -l.amount_minor END) AS due,
        sum(CASE WHEN l.to_bucket = 'paid' THEN l.amount_minor WHEN l.from_bucket = 'paid' THEN -l.amount_minor END) AS paid,
        max(l.created_at) AS at
    FROM ledger_entries l WHERE l.partner_id = t.partner_id AND l.currency = t.currency AND l.created_xid >= t.folded_xid
) o ON true;
