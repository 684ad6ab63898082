-- name: TaxFormGet :one
SELECT t.* FROM tax_form_statuses t WHERE t.id = @id AND t.org_id = @org_id;

-- name: TaxFormInsert :exec
INSERT INTO tax_form_statuses (id, org_id, program_id, partner_id, type, status, entity_type, country_code, signed_at,
    expires_at, created_at, updated_at)
VALUES (@id, @org_id, @program_id, @partner_id, @type, @status, @entity_type, @country_code, @signed_at, @expires_at,
    @created_at, @updated_at);

-- name: TaxFormSupersede :exec
-- TaxFormSupersede retires the current rows of a partner, of one type or of any.
UPDATE tax_form_statuses SET status = 'superseded', updated_at = @updated_at
WHERE program_id = @program_id AND org_id = @org_id AND partner_id = @partner_id AND status IN ('not_required',
    'required', 'submitted')
  AND (sqlc.narg('type')::text IS NULL OR type = sqlc.narg('type')::text);

-- name: TaxFormRetire :exec
-- TaxFormRetire retires the valid form of a partner and type, unless it was signed after the
-- expired one.
UPDATE tax_form_statuses SET status = 'superseded', updated_at = @updated_at
WHERE program_id = @program_id AND org_id = @org_id AND partner_id = @partner_id AND status = 'submitted'
    AND type = @type
  AND (signed_at > sqlc.narg('signed_at')::timestamptz) IS NOT TRUE;

-- name: TaxFormsSetStatus :exec
-- TaxFormsSetStatus changes the rows' state after a program starts or stops requiring forms.
UPDATE tax_form_statuses SET status = @status, updated_at = @updated_at
    WHERE program_id = @program_id AND org_id = @org_id AND status = @previous;

-- name: TaxFormsMissing :many
-- TaxFormsMissing lists the partners without a form and without a request for one.
SELECT p.id, p.country_code, p.company_name FROM partners p
WHERE p.program_id = @program_id AND p.org_id = @org_id AND p.status <> 'declined'
  AND NOT EXISTS (SELECT 1 FROM tax_form_statuses t WHERE t.program_id = @program_id AND t.partner_id = p.id
      AND t.status IN ('not_required', 'required', 'submitted'))
ORDER BY p.id LIMIT @lim FOR NO KEY UPDATE OF p;

-- name: TaxFormsRequire :exec
INSERT INTO tax_form_statuses (id, org_id, program_id, partner_id, type, status, created_at, updated_at)
SELECT unnest(@ids::text[]), @org_id, @program_id, unnest(@partner_ids::text[]), unnest(@types::text[]), 'required',
    @created_at, @created_at;

-- name: TaxProgramsToRequire :many
-- TaxProgramsToRequire lists programs that require forms and have partners without a row.
SELECT g.id, g.org_id FROM programs g WHERE g.require_tax_forms AND g.id > @after AND EXISTS (
    SELECT 1 FROM partners p WHERE p.program_id = g.id AND p.status <> 'declined'
      AND NOT EXISTS (SELECT 1 FROM tax_form_statuses t WHERE t.program_id = g.id AND t.partner_id = p.id
          AND t.status IN ('not_required', 'required', 'submitted')))
ORDER BY g.id LIMIT @lim;

-- name: TaxFormsExpire :many
-- TaxFormsExpire locks the next expired forms; asks reports whether their program requires a new
-- one. Other replicas skip locked ones.
UPDATE tax_form_statuses t SET status = 'expired', updated_at = @now
FROM (SELECT f.id FROM tax_form_statuses f JOIN partners p ON p.id = f.partner_id
    WHERE f.status = 'submitted' AND f.expires_at <= @now
    ORDER BY f.expires_at, f.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due,
    programs g
WHERE t.id = due.id AND g.id = t.program_id RETURNING t.org_id, t.program_id, t.partner_id, t.type,
    g.require_tax_forms AS asks;

-- name: TaxFormsValid :many
-- TaxFormsValid lists the partners with a valid form.
SELECT t.partner_id FROM tax_form_statuses t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.partner_id = ANY (@partner_ids::text[])
    AND t.status = 'submitted'
  AND (t.expires_at IS NULL OR t.expires_at > @now);
