package partner

import (
	"context"
	"encoding/base64"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/locale/plain"
	"rail/server/problem"
	"rail/server/work"
)

const (
	// maxNotes bounds the notes of a partner.
	maxNotes = 500
	// maxNoteFile is the maximum size of a note's file in bytes: a request has 1 MiB, and base64 takes a third more.
	maxNoteFile = 700 << 10
	// maxNoteFiles bounds the files of all notes of a partner together.
	maxNoteFiles = 20 << 20
)

// Note is a note on a partner, to add.
type Note struct {
	ProgramID, PartnerID, Text string
	File                       *NoteFile
}

// NoteFile is a note's file; Content is in base64.
type NoteFile struct{ Name, Content string }

// AddNote adds a note on a partner (decisions, 263).
func AddNote(ctx context.Context, u *work.Unit, in Note) (db.PartnerNote, error) {
	n := db.PartnerNote{
		ID: u.NewID(ident.PartnerNote), OrgID: u.OrgID, ProgramID: in.ProgramID, PartnerID: in.PartnerID, Text: in.Text,
		AuthorID: u.Actor.ID, CreatedAt: u.Now,
	}
	content, err := attach(&n, in.File)
	if err != nil {
		return n, err
	}
	if err := u.Check(ctx, in.ProgramID, work.ProgramRef("program_id", &in.ProgramID),
		work.PartnerRef("partner_id", &in.PartnerID)); err != nil {
		return n, err
	}
	if err := room(ctx, u, n); err != nil {
		return n, err
	}
	if n.AuthorName, err = nameOf(ctx, u); err != nil {
		return n, err
	}
	if err := queries.PartnerNoteInsert(ctx, u.Later(), db.PartnerNoteInsertParams(n)); err != nil || n.FileName == nil {
		return n, err
	}
	return n, queries.PartnerNoteFileInsert(ctx, u.Later(), db.PartnerNoteFileInsertParams{
		ID: n.ID, OrgID: n.OrgID, ProgramID: n.ProgramID, Content: content,
	})
}

// attach sets the file's name and size, and returns its content.
func attach(n *db.PartnerNote, f *NoteFile) ([]byte, error) {
	if f == nil {
		return nil, nil
	}
	content, err := base64.StdEncoding.DecodeString(f.Content)
	if err != nil {
		return nil, problem.Invalid("file.content", "file.content must be base64.")
	}
	if len(content) > maxNoteFile {
		return nil, problem.Invalid("file.content", "file.content must have at most %d bytes.", maxNoteFile)
	}
	n.FileName, n.FileSize = new(plain.Name(f.Name)), new(int64(len(content)))
	return content, nil
}

// room refuses a note beyond a partner's limits. The lock serializes a partner's notes.
func room(ctx context.Context, u *work.Unit, n db.PartnerNote) error {
	if _, err := Lock(ctx, u, n.PartnerID); err != nil {
		return work.Found(err, "partner_id")
	}
	sum, err := queries.PartnerNotesSum(ctx, u.Tx, db.PartnerNotesSumParams{
		ProgramID: n.ProgramID, OrgID: n.OrgID, PartnerID: n.PartnerID,
	})
	switch {
	case err != nil:
		return err
	case sum.Notes >= maxNotes:
		return problem.New(problem.PartnerNoteLimit, "The partner has %d notes already.", maxNotes)
	case n.FileSize != nil && sum.Bytes+*n.FileSize > maxNoteFiles:
		return problem.New(problem.PartnerNoteLimit, "The partner's files would have more than %d bytes together.", maxNoteFiles)
	}
	return nil
}

// nameOf returns the caller's name; nil for an API key.
func nameOf(ctx context.Context, u *work.Unit) (*string, error) {
	if u.Actor.Kind != work.Person {
		return nil, nil //nolint:nilnil // a key has no name
	}
	person, err := queries.UserGet(ctx, u.Tx, db.UserGetParams{OrgID: u.OrgID, ID: u.Actor.ID})
	return &person.Name, err
}

// NoteByID returns a note, restricted to the unit's program if it has one.
func NoteByID(ctx context.Context, u *work.Unit, id string) (db.PartnerNote, error) {
	n, err := queries.PartnerNoteGet(ctx, u.Short(), db.PartnerNoteGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return n, err
	}
	return n, u.CheckProgram(n.ProgramID)
}

// NoteContent returns a note with its file's content; it is a 404 without a file.
func NoteContent(ctx context.Context, u *work.Unit, id string) (db.PartnerNote, []byte, error) {
	n, err := NoteByID(ctx, u, id)
	if err != nil {
		return n, nil, err
	}
	content, err := queries.PartnerNoteFile(ctx, u.DB(), db.PartnerNoteFileParams{ID: n.ID, OrgID: n.OrgID})
	return n, content, err
}

// ChangeNote replaces the text of a note and makes the caller its author (decisions, 363). Without a text
// nothing changes.
func ChangeNote(ctx context.Context, u *work.Unit, id string, text *string) (db.PartnerNote, error) {
	n, err := queries.PartnerNoteGet(ctx, u.Tx, db.PartnerNoteGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return n, err
	}
	if err := u.CheckProgram(n.ProgramID); err != nil || text == nil {
		return n, err
	}
	if n.AuthorName, err = nameOf(ctx, u); err != nil {
		return n, err
	}
	n.Text, n.AuthorID, n.UpdatedAt = *text, u.Actor.ID, &u.Now
	return n, queries.PartnerNoteUpdate(ctx, u.Later(), db.PartnerNoteUpdateParams{
		Text: n.Text, AuthorID: n.AuthorID, AuthorName: n.AuthorName, UpdatedAt: n.UpdatedAt, ID: n.ID, OrgID: n.OrgID,
	})
}

// DeleteNote removes a note and its file.
func DeleteNote(ctx context.Context, u *work.Unit, id string) error {
	n, err := queries.PartnerNoteGet(ctx, u.Tx, db.PartnerNoteGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return err
	}
	if err := u.CheckProgram(n.ProgramID); err != nil {
		return err
	}
	return queries.PartnerNoteDelete(ctx, u.Later(), db.PartnerNoteDeleteParams{ID: n.ID, OrgID: n.OrgID})
}
