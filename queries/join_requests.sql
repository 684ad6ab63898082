-- name: JoinProgram :one
-- JoinProgram is not bound to an organization: it finds the program of a join page by its id or its
-- subdomain; of several, the oldest.
SELECT t.* FROM programs t WHERE t.id = @name OR t.subdomain = @name
ORDER BY (t.id = @name) DESC, t.created_at, t.id LIMIT 1;

-- name: JoinGroup :one
-- JoinGroup finds a group by its slug or its id.
SELECT t.* FROM groups t WHERE t.program_id = @program_id AND t.org_id = @org_id AND (t.slug = @name OR t.id = @name)
ORDER BY (t.id = @name) DESC LIMIT 1;

-- name: JoinCounts :one
-- JoinCounts counts limited rows, under the program's lock, and waiting ones up to 1,000.
SELECT (SELECT count(*) FROM join_requests t WHERE t.program_id = @program_id AND t.org_id = @org_id
        AND t.address_hash = @address_hash AND t.created_at > @hour_ago) AS from_address,
    (SELECT count(*) FROM join_requests t WHERE t.program_id = @program_id AND t.org_id = @org_id
        AND lower(t.email) = lower(@email) AND t.created_at > @day_ago) AS mails,
    (SELECT count(*) FROM (SELECT 1 FROM join_requests t WHERE t.program_id = @program_id AND t.org_id = @org_id
        AND t.application IS NOT NULL AND t.expires_at > @now LIMIT 1000) x) AS waiting;

-- name: JoinRequestInsert :exec
INSERT INTO join_requests (token_hash, org_id, program_id, email, address_hash, application, language, created_at,
    expires_at)
VALUES (@token_hash, @org_id, @program_id, @email, @address_hash, @application, @language, @created_at, @expires_at);

-- name: JoinRequestFind :one
-- JoinRequestFind is not bound to an organization: the token identifies it.
SELECT sqlc.embed(t), sqlc.embed(p), o.flow_quota, o.revenue_meter_minor, o.fraud_monitoring
FROM join_requests t JOIN programs p ON p.id = t.program_id JOIN organizations o ON o.id = t.org_id
WHERE t.token_hash = @token_hash AND t.expires_at > @now;

-- name: JoinRequestLock :one
SELECT t.* FROM join_requests t WHERE t.token_hash = @token_hash AND t.org_id = @org_id
    AND t.expires_at > @now FOR UPDATE;

-- name: JoinRequestConfirm :exec
-- JoinRequestConfirm clears the application, which now has its own row.
UPDATE join_requests SET application = NULL, application_id = @application_id, confirmed_at = @confirmed_at,
    expires_at = @expires_at
WHERE token_hash = @token_hash AND org_id = @org_id;

-- name: JoinRequestsPurge :execrows
DELETE FROM join_requests WHERE token_hash IN (
    SELECT t.token_hash FROM join_requests t WHERE t.expires_at <= @now ORDER BY t.expires_at LIMIT @lim
    FOR UPDATE SKIP LOCKED);
