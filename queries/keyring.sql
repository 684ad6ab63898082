-- The server's secret keys on which the database depends, and the values that they sealed.

-- name: KeyFingerprints :many
SELECT * FROM key_fingerprints ORDER BY used_since, fingerprint;

-- name: KeyFingerprintsLock :exec
-- KeyFingerprintsLock is a separate statement, because the next read must follow the lock, in a
-- later snapshot.
SELECT pg_advisory_xact_lock(hashtextextended('key-fingerprints', 0));

-- name: KeyFingerprintUse :exec
INSERT INTO key_fingerprints (fingerprint, used_since) VALUES (@fingerprint, @now)
ON CONFLICT (fingerprint) DO UPDATE SET replaced_at = NULL;

-- name: KeyFingerprintsReplace :exec
-- KeyFingerprintsReplace records that no value depends on any other key.
UPDATE key_fingerprints SET replaced_at = @now WHERE fingerprint <> @current AND replaced_at IS NULL;

-- name: APIKeysExist :one
SELECT EXISTS (SELECT 1 FROM api_keys k);

-- name: SealedValues :many
-- SealedValues returns one value of each kind and secret key, with its place and the number of such
-- values. Values of version 1 do not name their key.
WITH sealed AS NOT MATERIALIZED (
    SELECT 'payout details'::text AS kind, 'payout_details/' || p.id AS place, p.payout_details AS value FROM partners p
    UNION ALL SELECT 'webhook secret', 'webhook_endpoints.secret/' || e.id, e.secret FROM webhook_endpoints e
    UNION ALL SELECT 'previous webhook secret', 'webhook_endpoints.previous_secret/' || e.id, e.previous_secret
        FROM webhook_endpoints e
    UNION ALL SELECT 'processor secret', 'processor_connections.secret/' || c.id, c.secret FROM processor_connections c
    UNION ALL SELECT 'processor key', 'processor_connections.api_key/' || c.id, c.api_key FROM processor_connections c
    UNION ALL SELECT 'import key', 'imports.api_key/' || m.id, m.api_key FROM imports m
    UNION ALL SELECT 'payout rail', 'payout_rails.credentials/' || r.id, r.credentials FROM payout_rails r
    UNION ALL SELECT 'statement key', 'statement_keys.private_key/' || k.id, k.private_key FROM statement_keys k
    UNION ALL SELECT 'second factor', 'users.totp/' || u.id, u.totp_secret FROM users u
    UNION ALL SELECT 'pending second factor', 'users.totp/' || u.id, u.totp_pending FROM users u
    UNION ALL SELECT 'inbox event', 'inbox_events.payload/' || b.id, b.payload FROM inbox_events b
    UNION ALL SELECT 'stored answer', 'idempotency/' || i.org_id || '/' || i.key, i.body FROM idempotency_keys i
    UNION ALL SELECT 'certificate', 'certificates/' || c.name, c.content FROM certificates c
), heads AS (
    SELECT s.kind, min(s.place) AS place, count(*) AS n FROM sealed s WHERE length(s.value) > 0
    GROUP BY s.kind, substring(s.value FROM 1 FOR CASE get_byte(s.value, 0) WHEN 1 THEN 1 ELSE 5 END)
)
SELECT h.kind::text AS kind, h.place::text AS place, h.n::bigint AS n, s.value::bytea AS value
FROM heads h JOIN sealed s ON s.kind = h.kind AND s.place = h.place ORDER BY h.kind, h.place;
