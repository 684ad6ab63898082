-- The row counts of long lists (schema/000020_tallies.up.sql).

-- name: TallyTotal :one
-- TallyTotal counts the rows of a list, of a program or of an owner.
SELECT coalesce(sum(t.total), 0)::bigint AS total FROM tally_sums t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.list = @list
    AND t.owner_id = coalesce(sqlc.narg('owner_id')::text, '')
  AND (sqlc.narg('statuses')::text[] IS NULL OR t.status = ANY (sqlc.narg('statuses')::text[]))
  AND (sqlc.narg('kinds')::text[] IS NULL OR t.kind = ANY (sqlc.narg('kinds')::text[]));

-- name: TallyOwners :many
-- TallyOwners counts the rows of a list by owner. It reads all unfolded differences once, for any
-- number of owners.
SELECT t.owner_id::text AS owner_id, sum(t.total)::bigint AS total FROM tally_sums t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.list = @list AND t.owner_id = ANY (@owner_ids::text[])
    GROUP BY 1;

-- name: TallyLock :one
-- TallyLock lets one replica fold at a time.
SELECT pg_try_advisory_xact_lock(hashtextextended('tallies', 0));

-- name: TallyFold :one
-- TallyFold moves the next differences into the tallies and counts them. The array avoids a nested
-- loop after the table was analyzed while empty.
WITH gone AS (
    DELETE FROM tally_entries e WHERE e.id = ANY (ARRAY(SELECT k.id FROM tally_entries k ORDER BY k.program_id, k.list,
        k.id LIMIT @lim))
    RETURNING e.org_id, e.program_id, e.list, e.owner_ids, e.status, e.kind, e.difference
), sums AS (
    SELECT g.org_id, g.program_id, g.list, o.owner_id::text AS owner_id, g.status, g.kind,
        sum(g.difference)::bigint AS difference
    FROM gone g CROSS JOIN LATERAL unnest(array_append(g.owner_ids, '')) o(owner_id)
    GROUP BY 1, 2, 3, 4, 5, 6
), changed AS (
    UPDATE tallies t SET total = t.total + s.difference FROM sums s
    WHERE t.program_id = s.program_id AND t.list = s.list AND t.owner_id = s.owner_id AND t.status = s.status
        AND t.kind = s.kind
    RETURNING t.program_id, t.list, t.owner_id, t.status, t.kind
), made AS (
    INSERT INTO tallies (org_id, program_id, list, owner_id, status, kind, total)
    SELECT s.org_id, s.program_id, s.list, s.owner_id, s.status, s.kind, s.difference FROM sums s
    WHERE s.difference <> 0 AND (s.program_id, s.list, s.owner_id, s.status, s.kind) NOT IN (SELECT c.program_id,
        c.list, c.owner_id, c.status, c.kind FROM changed c)
)
SELECT count(*) FROM gone;

-- name: TallyForget :exec
-- TallyForget removes zero tallies; TallyLock comes first.
DELETE FROM tallies WHERE total = 0;
