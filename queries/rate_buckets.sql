-- name: RateTake :one
-- RateTake takes up to `granted` tokens of a key's bucket and returns how many it
-- got, and what is left. tokens is what is left of a bucket that is new. The time is
-- the database's unless given: replicas' clocks differ. One that was set back by more
-- than it may waver begins anew. A bucket that owes tokens gives none.
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

-- name: RateOwe :exec
-- RateOwe takes tokens of a key's bucket, also those that are not there: the bucket
-- owes them.
UPDATE rate_buckets SET tokens = tokens - @owed WHERE id = @id;

-- name: RateSpend :one
-- RateSpend takes `granted` tokens of a bucket that fills within a day, in the
-- transaction of what they are for, and returns what is left; below 0 it was not
-- enough, and the transaction must end without a commit. tokens is what is left of a
-- bucket that is new.
INSERT INTO rate_buckets AS b (id, size, tokens, granted, at)
VALUES (@id, @size, @tokens, @granted, coalesce(sqlc.narg('at')::timestamptz, clock_timestamp()))
ON CONFLICT (id) DO UPDATE SET
    tokens = least(excluded.size, b.tokens + greatest(0, extract(epoch
        FROM excluded.at - b.at)) * excluded.size / 86400) - excluded.granted,
    granted = excluded.granted, size = excluded.size, at = CASE
        WHEN b.at > excluded.at + interval '2 seconds' THEN excluded.at ELSE greatest(b.at, excluded.at) END
RETURNING tokens;

-- name: RatePurge :execrows
-- RatePurge forgets buckets that have long been full.
DELETE FROM rate_buckets WHERE id IN (SELECT r.id FROM rate_buckets r WHERE r.at < @before LIMIT @lim);
