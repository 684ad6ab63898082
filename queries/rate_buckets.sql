-- name: RateTake :one
-- RateTake takes up to `granted` tokens of a key's bucket and returns the number taken and the
-- rest. tokens is the rest of a new bucket. The default time is the database's, because replicas'
-- clocks differ. If the time was set back by more than its tolerance, the bucket starts again. A
-- bucket with a debt gives none.
INSERT INTO rate_buckets AS b (id, size, tokens, granted, at)
    VALUES (@id, @size, @tokens, @granted, coalesce(sqlc.narg('at')::timestamptz, clock_timestamp()))
ON CONFLICT (id) DO UPDATE SET
    tokens = least(excluded.size, b.tokens + greatest(0, extract(epoch FROM excluded.at - b.at)) * excluded.size)
        - greatest(0, least(floor(least(excluded.size, b.tokens + greatest(0, extract(epoch
            FROM excluded.at - b.at)) * excluded.size)), excluded.granted)),
    granted = greatest(0, least(floor(least(excluded.size, b.tokens + greatest(0, extract(epoch
        FROM excluded.at - b.at)) * excluded.size)), excluded.granted)),
    size = excluded.size, at = CASE WHEN b.at > excluded.at + interval '2 seconds' THEN excluded.at ELSE greatest(b.at,
        excluded.at) END
RETURNING granted, tokens;

-- name: RateDebit :exec
-- RateDebit takes tokens of a key's bucket, even below zero.
UPDATE rate_buckets SET tokens = tokens - @owed WHERE id = @id;

-- name: RateSpend :one
-- RateSpend takes `granted` tokens of a bucket that refills within a day, in the transaction that
-- needs them, and returns the rest. If that is negative, the transaction must be rolled back.
-- tokens is the rest of a new bucket.
INSERT INTO rate_buckets AS b (id, size, tokens, granted, at)
VALUES (@id, @size, @tokens, @granted, coalesce(sqlc.narg('at')::timestamptz, clock_timestamp()))
ON CONFLICT (id) DO UPDATE SET
    tokens = least(excluded.size, b.tokens + greatest(0, extract(epoch
        FROM excluded.at - b.at)) * excluded.size / 86400) - excluded.granted,
    granted = excluded.granted, size = excluded.size, at = CASE
        WHEN b.at > excluded.at + interval '2 seconds' THEN excluded.at ELSE greatest(b.at, excluded.at) END
RETURNING tokens;

-- name: RatePurge :execrows
-- RatePurge deletes buckets that have long been full.
DELETE FROM rate_buckets WHERE id IN (SELECT r.id FROM rate_buckets r WHERE r.at < @before LIMIT @lim);
