package console

import (
	"encoding/base64"
	"mime"
	"net/http"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/problem"
)

var noteRoutes = map[string]route{
	"POST /console/p/{program}/partners/{id}/notes":               {Do: createNote, File: "file"},
	"POST /console/p/{program}/partners/{id}/notes/{note}/delete": {Do: deleteNote},
	"GET /console/p/{program}/partners/{id}/notes/{note}/file":    {Do: noteFile},
}

// maxNoteFile is the largest file of a note, in bytes (decisions, 263).
const maxNoteFile = 700 << 10

// notesOf is a page of the notes about a partner.
func (v *visit) notesOf(partner string) (site.Listing, error) {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return site.Listing{}, err
	}
	reply, err := v.console.api.ListPartnerNotesWithResponse(v.Ctx(), &api.ListPartnerNotesParams{
		ProgramID: v.program.ID, PartnerID: &partner, StartingAfter: turn.After, EndingBefore: turn.Before,
	})
	if err != nil {
		return site.Listing{}, err
	}
	list := reply.JSON200
	return site.Listed(v.Request().URL, turn, pageOf(list.Data, list.HasMore, list.TotalCount),
		func(n api.PartnerNote) string { return n.ID }, list.Data), nil
}

// createNote notes something about the partner, with the file that was chosen.
func createNote(v *visit) error {
	body := v.ofPartner("createPartnerNote")
	if len(v.Upload.Body) > maxNoteFile { // as a request it would be refused for its size, without naming the file
		large := problem.Invalid("file.content", "file.content must have at most %d bytes.", maxNoteFile)
		return v.again(large, func(v *visit) error { return v.showPartner("notes", "") })
	}
	if v.Upload.Name != "" {
		body["file"] = map[string]any{"name": v.Upload.Name, "content": base64.StdEncoding.EncodeToString(v.Upload.Body)}
	}
	return v.partnerForm("createPartnerNote", body, "notes", "The note is added.")
}

func deleteNote(v *visit) error {
	if err := v.send("deletePartnerNote", nil, nil, v.PathValue("note")); err != nil {
		return err
	}
	return v.done(v.at("/partners/"+v.PathValue("id")+"/notes"), "The note is deleted.")
}

// noteFile sends a note's file to be kept: whatever it is, no browser shows or runs it here.
func noteFile(v *visit) error {
	reply, err := v.console.api.RetrievePartnerNoteFileWithResponse(v.Ctx(), v.PathValue("note"),
		&api.RetrievePartnerNoteFileParams{ProgramID: &v.program.ID})
	if err != nil {
		return err
	}
	content, err := base64.StdEncoding.DecodeString(reply.JSON200.Content)
	if err != nil {
		return err
	}
	v.Response().Header().Set("Content-Disposition",
		mime.FormatMediaType("attachment", map[string]string{"filename": reply.JSON200.Name}))
	v.Response().Header().Set("X-Content-Type-Options", "nosniff")
	return v.Blob(http.StatusOK, "application/octet-stream", content)
}

// NoteFile is the field for a note's file.
func (f frame) NoteFile() site.Input {
	in := f.Line("file", "file", "A file", "").Maybe().Says("Of any kind, at most 700 KiB.")
	if in.Error = f.FaultOf("file.content"); in.Error == "" {
		in.Error = f.FaultOf("file.name")
	}
	return in
}
