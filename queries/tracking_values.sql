-- The namespace of handles, former handles and custom link values.

-- name: TrackingValueGet :one
SELECT t.* FROM tracking_values t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.value = @value;

-- name: TrackingValueClaim :execrows
-- TrackingValueClaim takes a value for a partner; it changes nothing, and
-- returns no row, where another partner or a link holds it.
INSERT INTO tracking_values (org_id, program_id, value, kind, partner_id, link_id)
VALUES (@org_id, @program_id, @value, @kind, @partner_id, @link_id)
ON CONFLICT (program_id, value) DO NOTHING;

-- name: TrackingValuesTaken :many
-- TrackingValuesTaken lists the values in use that begin with a stem.
SELECT t.value FROM tracking_values t WHERE t.program_id = @program_id AND t.org_id = @org_id
AND (t.value = @stem::text OR t.value LIKE @pattern::text);

-- name: TrackingResolve :one
-- TrackingResolve finds the active partner behind a value, its link that fits
-- the landing page best (the same page, else the oldest of that value, deleted
-- ones included), and the visitor's current referral (decisions, 65 and 68).
SELECT p.id AS partner_id,
    coalesce((SELECT l.id FROM links l WHERE l.partner_id = p.id AND l.value_key = @value
        ORDER BY (l.destination_key = @landing_key::text) DESC, l.created_at, l.id LIMIT 1), '')::text AS link_id,
    coalesce((SELECT r.id FROM referrals r WHERE r.program_id = p.program_id AND r.partner_id = p.id
        AND r.visitor = @visitor::bytea AND r.current
        AND r.expires_at > @now::timestamptz), '')::text AS referral_id
FROM tracking_values t JOIN partners p ON p.program_id = t.program_id AND p.id = t.partner_id
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.value = @value AND p.status = 'active';

-- name: TrackingValueInsert :exec
-- TrackingValueInsert takes a value that was free a moment ago; where another
-- has taken it since, tracking_values_pkey makes the whole work run again.
INSERT INTO tracking_values (org_id, program_id, value, kind, partner_id, link_id)
VALUES (@org_id, @program_id, @value, @kind, @partner_id, @link_id);

-- name: TrackingStemLock :exec
-- TrackingStemLock makes those who derive a handle from one stem take turns, so
-- that each sees what the one before took. It ends with the transaction.
SELECT pg_advisory_xact_lock(hashtextextended(@program_id::text || '/' || @stem::text, 0));
