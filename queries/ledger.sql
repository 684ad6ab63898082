-- The append-only ledger and the balances that are folded from it.

-- name: LedgerAppend :exec
-- LedgerAppend writes entries, of any organizations, in arrays as EventsInsert does.
INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket,
    amount_minor, created_at)
SELECT unnest(@org_ids::text[]), unnest(@program_ids::text[]), unnest(@partner_ids::text[]),
    unnest(@commission_ids::text[]), unnest(@currencies::text[]), unnest(@from_buckets::text[]),
    unnest(@to_buckets::text[]), unnest(@amounts::bigint[]), unnest(@created_ats::timestamptz[]);

-- name: BalanceEnsure :exec
-- BalanceEnsure makes the row that lists show; it never waits for, or changes,
-- one that is there.
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

-- name: LedgerMark :one
-- LedgerMark is a place in the ledger: once no transaction older than xid runs,
-- every entry up to id that there will ever be can be seen.
SELECT coalesce((SELECT max(l.id) FROM ledger_entries l), 0)::bigint AS id,
    pg_snapshot_xmin(pg_current_snapshot())::xid8 AS horizon,
    pg_snapshot_xmax(pg_current_snapshot())::xid8 AS xid;

-- name: BalancesStale :many
-- BalancesStale lists, with the last entry looked at, the balances that a fold
-- would change for a stretch of the ledger; an empty one marks the stretch
-- itself, so that a stretch with nothing to fold is passed too.
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
-- BalanceFold moves into the row every entry of a transaction older than the
-- oldest one still running; such an entry can neither appear nor vanish later.
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
-- BalancesUnfold empties the rows that were folded by another cluster, which a
-- logical restore brings: their mark means nothing here. The ledger, which is
-- whole, fills them again, from its beginning.
WITH emptied AS (
    UPDATE balances SET pending_minor = 0, due_minor = 0, paid_minor = 0, folded_xid = '0'
    WHERE folded_xid > pg_snapshot_xmax(pg_current_snapshot()) RETURNING id
)
UPDATE ledger_mark SET after_id = 0 WHERE EXISTS (SELECT 1 FROM emptied);

-- name: LedgerFolded :one
-- LedgerFolded is the last entry up to which all were folded when a process said so.
SELECT m.after_id FROM ledger_mark m;

-- name: LedgerSetFolded :exec
UPDATE ledger_mark SET after_id = @after_id WHERE after_id < @after_id;
