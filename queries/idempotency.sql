-- The record of an Idempotency-Key is written in the transaction of its work. Work without an open
-- transaction first commits a claim: a record with the status 102.

-- name: IdempotencyLock :one
-- IdempotencyLock is a separate statement, because the row must be read after the lock is taken, in
-- a later snapshot.
SELECT pg_try_advisory_xact_lock(hashtextextended(@org_id::text || '/' || @key::text, 7));

-- name: IdempotencyGet :one
SELECT * FROM idempotency_keys WHERE org_id = @org_id AND key = @key AND created_at > @valid_since::timestamptz;

-- name: IdempotencyPut :exec
INSERT INTO idempotency_keys (org_id, key, fingerprint, status, body, created_at)
VALUES (@org_id, @key, @fingerprint, @status, @body, @created_at)
ON CONFLICT (org_id, key) DO UPDATE
SET fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body,
    created_at = excluded.created_at;

-- name: IdempotencyRelease :exec
-- IdempotencyRelease deletes a claim without an answer.
DELETE FROM idempotency_keys WHERE org_id = @org_id AND key = @key AND status = 102;

-- name: IdempotencyPurge :execrows
-- IdempotencyPurge removes at most lim expired records.
DELETE FROM idempotency_keys i USING (
    SELECT k.org_id, k.key FROM idempotency_keys k WHERE k.created_at <= @valid_since
        ORDER BY k.created_at LIMIT @lim FOR UPDATE SKIP LOCKED
) old WHERE i.org_id = old.org_id AND i.key = old.key;
