-- name: PartnerNoteGet :one
SELECT t.* FROM partner_notes t WHERE t.id = @id AND t.org_id = @org_id;

-- name: PartnerNoteInsert :exec
INSERT INTO partner_notes (id, org_id, program_id, partner_id, author_id, author_name, text, file_name, file_size,
    created_at, updated_at)
VALUES (@id, @org_id, @program_id, @partner_id, @author_id, @author_name, @text, @file_name, @file_size, @created_at,
    @updated_at);

-- name: PartnerNoteUpdate :exec
UPDATE partner_notes SET text = @text, author_id = @author_id, author_name = @author_name, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: PartnerNoteDelete :exec
DELETE FROM partner_notes WHERE id = @id AND org_id = @org_id;

-- name: PartnerNotesSum :one
-- PartnerNotesSum is the total size of the notes about a partner; the partner is locked.
SELECT count(*) AS notes, coalesce(sum(t.file_size), 0)::bigint AS bytes FROM partner_notes t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.partner_id = @partner_id;

-- name: PartnerNoteFileInsert :exec
INSERT INTO partner_note_files (id, org_id, program_id, content)
VALUES (@id, @org_id, @program_id, @content);

-- name: PartnerNoteFile :one
SELECT f.content FROM partner_note_files f WHERE f.id = @id AND f.org_id = @org_id;
