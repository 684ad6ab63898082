-- The sample program comes and goes as one set; its rows are copied in, not
-- inserted, so only what surrounds the copies is here.

-- name: SampleLockOrganization :one
-- SampleLockOrganization lets one load or removal run at a time.
SELECT t.id FROM organizations t WHERE t.id = @org_id FOR UPDATE;

-- name: SamplePrograms :many
-- SamplePrograms lists, and locks against new rows, the sample programs of an
-- organization.
SELECT t.id FROM programs t WHERE t.org_id = @org_id AND t.id LIKE 'sample\_%' ORDER BY t.id FOR UPDATE;

-- name: SampleLoaded :one
-- SampleLoaded leaves out a program that was emptied but had to stay.
SELECT EXISTS (SELECT 1 FROM partners p WHERE p.org_id = @org_id AND p.program_id = ANY (@program_ids::text[]));

-- name: SampleLockPartners :many
SELECT t.id FROM partners t WHERE t.program_id = @program_id AND t.org_id = @org_id ORDER BY t.id FOR UPDATE;

-- name: SampleLedgerRemove :exec
-- SampleLedgerRemove moves what every commission of the program has in any
-- bucket to removed, as the deletion of a partner does.
INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket, amount_minor, created_at)
SELECT x.org_id, x.program_id, x.partner_id, x.commission_id, x.currency, x.bucket, 'removed', sum(x.amount)::bigint, @created_at
FROM (
    SELECT l.org_id, l.program_id, l.partner_id, l.commission_id, l.currency, l.to_bucket AS bucket, l.amount_minor AS amount
    FROM ledger_entries l WHERE l.partner_id IN (SELECT p.id FROM partners p WHERE p.program_id = @program_id AND p.org_id = @org_id)
    UNION ALL
    SELECT l.org_id, l.program_id, l.partner_id, l.commission_id, l.currency, l.from_bucket AS bucket, -l.amount_minor AS amount
    FROM ledger_entries l WHERE l.partner_id IN (SELECT p.id FROM partners p WHERE p.program_id = @program_id AND p.org_id = @org_id)
) x WHERE x.bucket NOT IN ('source', 'removed')
GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(x.amount) <> 0;

-- name: SampleTables :many
-- SampleTables lists the tables whose rows belong to a program.
SELECT c.relname::text AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.attname = 'program_id' AND NOT a.attisdropped
ORDER BY 1;

-- name: SampleReferences :many
-- SampleReferences lists which table refers to which.
SELECT DISTINCT f.relname::text AS from_table, t.relname::text AS to_table
FROM pg_constraint k JOIN pg_class f ON f.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid
WHERE k.contype = 'f' AND f.oid <> t.oid AND f.relnamespace = 'public'::regnamespace
ORDER BY 1, 2;

-- name: SampleDeleteProgram :execrows
-- SampleDeleteProgram spares a program of which the audit log tells, since
-- that log cannot be rewritten.
DELETE FROM programs WHERE id = @id AND org_id = @org_id
    AND NOT EXISTS (SELECT 1 FROM audit_log_entries a WHERE a.program_id = @id AND a.org_id = @org_id);

-- name: SamplePauseProgram :exec
UPDATE programs SET status = 'paused', updated_at = @updated_at WHERE id = @id AND org_id = @org_id;
