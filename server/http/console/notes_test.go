package console_test

import (
	"bytes"
	"html"
	"mime/multipart"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/team"
)

var (
	noteDelete = regexp.MustCompile(`/partners/part_[0-9a-z]+/notes/note_[0-9a-z]+/delete`)
	noteFile   = regexp.MustCompile(`/partners/part_[0-9a-z]+/notes/note_[0-9a-z]+/file`)
)

// note writes a note with a file of a name; "" for none.
func (p *person) note(path, text, name, content string) apitest.Answer {
	p.T.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	token := tokens.FindStringSubmatch(string(p.ask("GET", "/console/account", nil).Raw))[1]
	for field, value := range map[string]string{"form_token": token, "once": apitest.Unique("once"), "text": text} {
		require.NoError(p.T, w.WriteField(field, value))
	}
	part, err := w.CreateFormFile("file", name) // a browser sends an empty one where none was chosen
	require.NoError(p.T, err)
	_, err = part.Write([]byte(content))
	require.NoError(p.T, err)
	require.NoError(p.T, w.Close())
	return p.ask("POST", p.full(path), body.Bytes(), "Content-Type", w.FormDataContentType())
}

// TestNotes keeps notes about a partner, and hands their files over as they came, to be kept and never to be shown.
func TestNotes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	at := "/partners/" + s.Partner(s.program) + "/notes"
	require.Contains(t, s.owner.page(at), "No notes yet.")
	require.Equal(t, "The note is added.", s.owner.done(s.owner.note(at, "Wants <b>more</b>", `a "page" ä.html`, "<script>1</script>")))
	s.owner.done(s.owner.note(at, "Only words", "", ""))
	page := s.owner.page(at)
	require.Contains(t, page, "Wants <b>more</b>")
	require.Contains(t, page, s.owner.Name)
	require.Contains(t, page, `a "page" ä.html`)
	require.Len(t, noteFile.FindAllString(page, -1), 1)
	sent := s.Must(200, s.owner.ask("GET", s.owner.full(noteFile.FindString(page)), nil))
	require.Equal(t, "<script>1</script>", string(sent.Raw))
	require.Equal(t, []string{"application/octet-stream", "nosniff"},
		[]string{sent.Header.Get("Content-Type"), sent.Header.Get("X-Content-Type-Options")})
	require.True(t, strings.HasPrefix(sent.Header.Get("Content-Disposition"), "attachment; filename"), sent.Header)

	refused := s.owner.note(at, "", "", "")
	require.Contains(t, html.UnescapeString(string(s.Must(400, refused).Raw)), `aria-invalid="true"`)
	s.owner.says(400, "This is too long.", s.owner.note(at, "Large", "large.bin", strings.Repeat("x", 800<<10)))
	s.owner.says(413, "This file is too large", s.owner.note(at, "Larger", "large.bin", strings.Repeat("x", 2<<20)))

	viewer := s.person(s.Org, team.Viewer)
	require.Contains(t, viewer.page(at), "Only words")
	require.NotContains(t, viewer.page(at), "New note")
	s.Must(403, viewer.note(at, "x", "", ""))
	s.Must(403, viewer.send(noteDelete.FindString(page)))
	for _, path := range noteDelete.FindAllString(page, -1) {
		require.Equal(t, "The note is deleted.", s.owner.done(s.owner.send(path)))
	}
	require.Contains(t, s.owner.page(at), "No notes yet.")
}
