package handlers

import (
	"context"
	"encoding/base64"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/opt"
	"rail/server/program/partner"
	"rail/server/work"
)

// ListPartnerNotes lists the notes about a program's partners, newest first.
func (s *Server) ListPartnerNotes(ctx context.Context,
	r api.ListPartnerNotesRequestObject) (api.ListPartnerNotesResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.PartnerNoteList{
		PartnerID:    p.PartnerID,
		CreatedAfter: q.date("created_after", p.CreatedAfter), CreatedBefore: q.date("created_before", p.CreatedBefore),
	}, toPartnerNote)
	return api.ListPartnerNotes200JSONResponse(out), err
}

// RetrievePartnerNote returns one note.
func (s *Server) RetrievePartnerNote(ctx context.Context,
	r api.RetrievePartnerNoteRequestObject) (api.RetrievePartnerNoteResponseObject, error) {
	n, err := partner.NoteByID(ctx, work.From(ctx), r.ID)
	return api.RetrievePartnerNote200JSONResponse(toPartnerNote(n)), err
}

// RetrievePartnerNoteFile returns the file of a note with its content.
func (s *Server) RetrievePartnerNoteFile(ctx context.Context,
	r api.RetrievePartnerNoteFileRequestObject) (api.RetrievePartnerNoteFileResponseObject, error) {
	n, content, err := partner.NoteContent(ctx, work.From(ctx), r.ID)
	return api.RetrievePartnerNoteFile200JSONResponse{
		Object:    "partner_note_file",
		NoteID:    n.ID,
		Name:      opt.Value(n.FileName),
		SizeBytes: opt.Value(n.FileSize),
		Content:   base64.StdEncoding.EncodeToString(content),
	}, err
}

// CreatePartnerNote writes a note about a partner.
func (s *Server) CreatePartnerNote(ctx context.Context,
	r api.CreatePartnerNoteRequestObject) (api.CreatePartnerNoteResponseObject, error) {
	b := r.Body
	in := partner.Note{ProgramID: b.ProgramID, PartnerID: b.PartnerID, Text: b.Text}
	if b.File != nil {
		in.File = &partner.NoteFile{Name: b.File.Name, Content: b.File.Content}
	}
	n, err := partner.AddNote(ctx, work.From(ctx), in)
	return api.CreatePartnerNote201JSONResponse(toPartnerNote(n)), err
}

// UpdatePartnerNote replaces the text of a note.
func (s *Server) UpdatePartnerNote(ctx context.Context,
	r api.UpdatePartnerNoteRequestObject) (api.UpdatePartnerNoteResponseObject, error) {
	n, err := partner.ChangeNote(ctx, work.From(ctx), r.ID, r.Body.Text)
	return api.UpdatePartnerNote200JSONResponse(toPartnerNote(n)), err
}

// DeletePartnerNote removes a note.
func (s *Server) DeletePartnerNote(ctx context.Context,
	r api.DeletePartnerNoteRequestObject) (api.DeletePartnerNoteResponseObject, error) {
	err := partner.DeleteNote(ctx, work.From(ctx), r.ID)
	return api.DeletePartnerNote200JSONResponse{ID: r.ID, Object: "partner_note", Deleted: true}, err
}

func toPartnerNote(n db.PartnerNote) api.PartnerNote {
	out := api.PartnerNote{
		ID: n.ID, Object: "partner_note", ProgramID: n.ProgramID, PartnerID: n.PartnerID, Text: n.Text, AuthorID: n.AuthorID,
		AuthorName: n.AuthorName, CreatedAt: n.CreatedAt, UpdatedAt: n.CreatedAt,
	}
	opt.Change(&out.UpdatedAt, n.UpdatedAt)
	if n.FileName != nil {
		out.File = &api.PartnerNoteFile{Name: *n.FileName, SizeBytes: opt.Value(n.FileSize)}
	}
	return out
}
