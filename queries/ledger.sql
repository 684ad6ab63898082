-- The append-only ledger and the balances folded from it.

-- name: LedgerAppend :exec
-- LedgerAppend writes entries of any organizations, in arrays like EventsInsert.
INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket,
    amount_minor, created_at)
SELECT unnest(@org_ids::text[]), unnest(@program_ids::text[]), unnest(@partner_ids::text[]),
    unnest(@commission_ids::text[]), unnest(@currencies::text[]), unnest(@from_buckets::text[]),
    unnest(@to_buckets::text[]), unnest(@amounts::bigint[]), unnest(@created_ats::timestamptz[]);

-- name: LedgerRemove :exec
-- LedgerRemove moves all money of commissions, which are about to be deleted, from its buckets to removed.
INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket,
    amount_minor, created_at)
SELECT @org_id, b.program_id, b.partner_id, b.commission_id, b.currency, b.bucket, 'removed', sum(b.amount), @created_at
FROM (
    SELECT l.program_id, l.partner_id, l.commission_id, l.currency, l.to_bucket AS bucket, l.amount_minor AS amount
    FROM ledger_entries l WHERE l.commission_id = ANY (@ids::text[]) AND l.org_id = @org_id
    UNION ALL
    SELECT l.program_id, l.partner_id, l.commission_id, l.currency, l.from_bucket, -l.amount_minor
    FROM ledger_entries l WHERE l.commission_id = ANY (@ids::text[]) AND l.org_id = @org_id
) b WHERE b.bucket NOT IN ('source', 'removed')
GROUP BY 2, 3, 4, 5, 6 HAVING sum(b.amount) <> 0;

-- name: BalanceEnsure :exec
-- BalanceEnsure inserts the row that lists read; it neither changes nor waits for an existing one.
INSERT INTO balances (id, org_id, program_id, partner_id, currency, updated_at)
VALUES (@id, @org_id, @program_id, @partner_id, @currency, @updated_at)
ON CONFLICT DO NOTHING;

-- name: BalanceGet :one
-- BalanceGet is one row of BalancePage.
SELECT t.id, t.partner_id, t.program_id, t.currency, t.pending_minor::bigint AS pending_minor,
    t.due_minor::bigint AS due_minor, t.paid_minor::bigint AS paid_minor,
    t.updated_at::timestamptz AS updated_at
FROM balance_sums t
WHERE t.id = @id AND t.org_id = @org_id;

-- name: BalanceTotals :many
-- BalanceTotals sums the balances of a program's partners, exact to the last commit.
SELECT t.currency, sum(t.pending_minor)::bigint AS pending_minor, sum(t.due_minor)::bigint AS due_minor,
    sum(t.paid_minor)::bigint AS paid_minor
FROM balance_sums t WHERE t.program_id = @program_id AND t.org_id = @org_id GROUP BY t.currency ORDER BY t.currency;

-- name: LedgerMark :one
-- LedgerMark is a place in the ledger: when no transaction older than xid runs, all entries up to
-- id are visible.
SELECT coalesce((SELECT max(l.id) FROM ledger_entries l), 0)::bigint AS id,
    pg_snapshot_xmin(pg_current_snapshot())::xid8 AS horizon,
    pg_snapshot_xmax(pg_current_snapshot())::xid8 AS xid;

-- name: BalancesStale :many
-- BalancesStale lists the balances that a fold of a range of the ledger would change, with the last
-- entry of the range. An empty row marks the range itself, so that a range without changes is
-- passed too.
WITH stretch AS (
    SELECT e.id, e.program_id, e.partner_id, e.currency, e.created_xid
    FROM ledger_entries e WHERE e.id > @after_id ORDER BY e.id LIMIT @lim
)
SELECT ''::text AS balance_id, coalesce(max(s.id), 0)::bigint AS last_id FROM stretch s
UNION ALL
SELECT DISTINCT b.id, 0::bigint FROM stretch s
JOIN balances b ON b.program_id = s.program_id AND b.partner_id = s.partner_id AND b.currency = s.currency
WHERE s.created_xid >= b.folded_xid AND s.created_xid < pg_snapshot_xmin(pg_current_snapshot());

-- name: BalanceFold :exec
-- BalanceFold adds to the row every entry of a transaction older than the oldest running one; such
-- entries are final.
UPDATE balances t SET
    pending_minor = t.pending_minor + coalesce(o.pending, 0),
    due_minor = t.due_minor + coalesce(o.due, 0),
    paid_minor = t.paid_minor + coalesce(o.paid, 0),
    updated_at = greatest(t.updated_at, o.at),
    folded_xid = o.horizon
FROM balances b CROSS JOIN LATERAL (
    SELECT pg_snapshot_xmin(pg_current_snapshot()) AS horizon,
        sum(CASE WHEN l.to_bucket = 'pending' THEN l.amount_minor
            WHEN l.from_bucket = 'pending' THEN -l.amount_minor END) AS pending,
        sum(CASE WHEN l.to_bucket = 'due' THEN l.amount_minor
            WHEN l.from_bucket = 'due' THEN -l.amount_minor END) AS due,
        sum(CASE WHEN l.to_bucket = 'paid' THEN l.amount_minor
            WHEN l.from_bucket = 'paid' THEN -l.amount_minor END) AS paid,
        max(l.created_at) AS at
    FROM ledger_entries l WHERE l.partner_id = b.partner_id AND l.currency = b.currency
        AND l.created_xid >= b.folded_xid AND l.created_xid < pg_snapshot_xmin(pg_current_snapshot())
) o
WHERE b.id = @id AND t.id = b.id AND t.folded_xid = b.folded_xid;

-- name: BalancesUnfold :execrows
-- BalancesUnfold resets the rows that another cluster has folded, after a logical restore, because
-- their mark is invalid here. They are folded again from the complete ledger.
WITH emptied AS (
    UPDATE balances SET pending_minor = 0, due_minor = 0, paid_minor = 0, folded_xid = '0'
    WHERE folded_xid > pg_snapshot_xmax(pg_current_snapshot()) RETURNING id
)
UPDATE ledger_mark SET after_id = 0 WHERE EXISTS (SELECT 1 FROM emptied);

-- name: LedgerFolded :one
-- LedgerFolded records the entry up to which the ledger is folded.
SELECT m.after_id FROM ledger_mark m;

-- name: LedgerSetFolded :exec
UPDATE ledger_mark SET after_id = @after_id WHERE after_id < @after_id;
