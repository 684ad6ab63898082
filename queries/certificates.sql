-- The data that servers need to obtain certificates, sealed.

-- name: Certificate :one
SELECT c.content FROM certificates c WHERE c.name = @name;

-- name: CertificatePut :exec
INSERT INTO certificates (name, content, updated_at) VALUES (@name, @content, @now)
ON CONFLICT (name) DO UPDATE SET content = excluded.content, updated_at = excluded.updated_at;

-- name: CertificateDelete :exec
DELETE FROM certificates WHERE name = @name;

-- name: CertificateList :many
-- CertificateList returns all: there are a few for each host of the service.
SELECT c.name, c.content FROM certificates c ORDER BY c.name;

-- name: CertificateReseal :exec
UPDATE certificates SET content = @content WHERE name = @name AND content = @was;
