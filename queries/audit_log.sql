-- audit_log_entries_list_idx and audit_log_entries_target_idx serve the list.

-- name: AuditLogPage :many
SELECT t.* FROM audit_log_entries t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND (sqlc.narg('target_id')::text IS NULL OR t.target_id = sqlc.narg('target_id')::text)
  AND (sqlc.narg('action')::text IS NULL OR t.action = sqlc.narg('action')::text)
  AND (sqlc.narg('after_at')::timestamptz IS NULL OR (t.created_at, t.id) < (sqlc.narg('after_at')::timestamptz, sqlc.narg('after_id')::text))
  AND (sqlc.narg('before_at')::timestamptz IS NULL OR (t.created_at, t.id) > (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::text))
ORDER BY CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.created_at END,
         CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.id END,
         t.created_at DESC, t.id DESC
LIMIT @lim;

-- name: AuditLogCount :one
-- AuditLogCount counts up to a bound, above which TallyTotal is asked.
SELECT count(*) FROM (SELECT 1 FROM audit_log_entries t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND (sqlc.narg('target_id')::text IS NULL OR t.target_id = sqlc.narg('target_id')::text)
  AND (sqlc.narg('action')::text IS NULL OR t.action = sqlc.narg('action')::text)
  LIMIT @most) few;

-- name: AuditLogCursor :one
SELECT t.created_at, t.id FROM audit_log_entries t
WHERE t.id = @id AND t.program_id = @program_id AND t.org_id = @org_id
  AND (sqlc.narg('target_id')::text IS NULL OR t.target_id = sqlc.narg('target_id')::text)
  AND (sqlc.narg('action')::text IS NULL OR t.action = sqlc.narg('action')::text);
