-- The sample program is loaded and removed as a whole. Its rows are loaded by COPY, so this file
-- has only the other statements.

-- name: SampleLockOrganization :one
-- SampleLockOrganization lets one load or removal run at a time.
SELECT t.id FROM organizations t WHERE t.id = @org_id FOR UPDATE;

-- name: SamplePrograms :many
-- SamplePrograms lists, and locks against new rows, the sample programs of an
-- organization.
SELECT t.id FROM programs t WHERE t.org_id = @org_id AND starts_with(t.id, 'sample_') ORDER BY t.id FOR UPDATE;

-- name: SampleLockPartners :many
SELECT t.id FROM partners t WHERE t.program_id = @program_id AND t.org_id = @org_id ORDER BY t.id FOR UPDATE;

-- name: SampleLedgerRemove :exec
-- SampleLedgerRemove moves all buckets of the program's commissions to removed, like the deletion
-- of a partner.
INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket,
    amount_minor, created_at)
SELECT x.org_id, x.program_id, x.partner_id, x.commission_id, x.currency, x.bucket, 'removed', sum(x.amount)::bigint,
    @created_at
FROM (
    SELECT l.org_id, l.program_id, l.partner_id, l.commission_id, l.currency, l.to_bucket AS bucket,
        l.amount_minor AS amount
    FROM ledger_entries l WHERE l.program_id = @program_id AND l.org_id = @org_id
    UNION ALL
    SELECT l.org_id, l.program_id, l.partner_id, l.commission_id, l.currency, l.from_bucket AS bucket,
        -l.amount_minor AS amount
    FROM ledger_entries l WHERE l.program_id = @program_id AND l.org_id = @org_id
) x WHERE x.bucket NOT IN ('source', 'removed')
GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(x.amount) <> 0;

-- name: SampleDeleteProgram :exec
DELETE FROM programs p WHERE p.id = @id AND p.org_id = @org_id;
