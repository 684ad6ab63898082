package handlers_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func TestPartnerNotes(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ada, bob := s.Partner(program), s.Partner(program)
	add := func(partner, text string, more M) apitest.Answer {
		body := M{"program_id": program, "partner_id": partner, "text": text}
		maps.Copy(body, more)
		return s.Post("/v1/partner_notes", body)
	}
	file := M{"name": "Vertrag 1.pdf", "content": base64.StdEncoding.EncodeToString([]byte("%PDF \x00\xff"))}
	first := s.Must(201, add(ada, "Met at the fair.\nCalls back.", M{"file": file}))
	require.Equal(t, M{"name": "Vertrag 1.pdf", "size_bytes": json.Number("7")}, first.Body["file"])
	require.Regexp(t, "^key_", first.String("author_id"))
	require.Nil(t, first.Body["author_name"])
	second := s.Must(201, add(ada, "Nothing new.", nil))
	require.Nil(t, second.Body["file"])
	s.Must(201, add(bob, "Another's.", M{"file": nil}))
	list := s.Must(200, s.Get("/v1/partner_notes?program_id="+program+"&partner_id="+ada))
	require.EqualValues(t, 2, list.Int("total_count"))
	require.EqualValues(t, 3, s.Get("/v1/partner_notes?program_id="+program).Int("total_count"))
	require.Equal(t, first.Body, s.Must(200, s.Get("/v1/partner_notes/"+first.String("id"))).Body)

	got := s.Must(200, s.Get("/v1/partner_notes/"+first.String("id")+"/file"))
	require.Equal(t, []string{"Vertrag 1.pdf", file["content"].(string)}, []string{got.String("name"), got.String("content")})
	s.Refused(404, "resource_not_found", "", s.Get("/v1/partner_notes/"+second.String("id")+"/file"))
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{"text": ""}, 400, "parameter_invalid", "text"},
		{M{"text": strings.Repeat("ä", 4001)}, 400, "parameter_invalid", "text"},
		{M{"file": M{"name": "a/b", "content": ""}}, 400, "parameter_invalid", "file.name"},
		{M{"file": M{"name": "a\nb", "content": ""}}, 400, "parameter_invalid", "file.name"},
		{M{"file": M{"name": "a", "content": "?"}}, 400, "parameter_invalid", "file.content"},
		{M{"file": M{"name": "a", "content": strings.Repeat("A", 955740)}}, 400, "parameter_invalid", "file.content"},
		{M{"file": M{"name": "a"}}, 400, "parameter_missing", "file.content"},
		{M{"partner_id": "part_none"}, 404, "resource_not_found", "partner_id"},
		{M{"program_id": "prg_none"}, 404, "resource_not_found", "program_id"},
		{M{"program_id": s.Program()}, 400, "invalid_reference", "partner_id"},
	} {
		s.Refused(c.status, c.code, c.param, add(ada, "x", c.body))
	}
	require.Equal(t, M{"id": first.String("id"), "object": "partner_note", "deleted": true},
		s.Must(200, s.Delete("/v1/partner_notes/"+first.String("id"))).Body)
	s.Refused(404, "resource_not_found", "", s.Delete("/v1/partner_notes/"+first.String("id")))
	s.Must(200, s.Delete("/v1/partners/"+ada))
	s.Refused(404, "resource_not_found", "", s.Get("/v1/partner_notes/"+second.String("id")))
}

// TestUpdatePartnerNote: a new text changes the author, and the file stays.
func TestUpdatePartnerNote(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	note := s.Must(201, s.Post("/v1/partner_notes", M{
		"program_id": program, "partner_id": s.Partner(program), "text": "Agreed on 25 %.", "file": M{"name": "x", "content": "eA=="},
	}))
	url := "/v1/partner_notes/" + note.String("id")
	require.Equal(t, note.String("created_at"), note.String("updated_at"))
	s.Clock.Advance(time.Hour)
	require.Equal(t, note.Body, s.Must(200, s.Post(url, M{})).Body, "nothing given, nothing changed")
	other := s.NewKey(s.Org, true, "partners:write")
	changed := s.Must(200, s.Do("POST", url, other, M{"program_id": program, "text": "Agreed on 30 %."}))
	require.Equal(t, "Agreed on 30 %.", changed.String("text"))
	require.NotEqual(t, note.String("author_id"), changed.String("author_id"))
	require.Equal(t, note.String("created_at"), changed.String("created_at"))
	require.Greater(t, changed.String("updated_at"), changed.String("created_at"))
	require.Equal(t, note.Body["file"], changed.Body["file"])
	require.Equal(t, changed.Body, s.Must(200, s.Get(url)).Body)
	s.Refused(400, "parameter_invalid", "text", s.Post(url, M{"text": ""}))
	s.Refused(404, "resource_not_found", "program_id", s.Post(url, M{"program_id": s.Program(), "text": "x"}))
	s.Refused(404, "resource_not_found", "", s.Post("/v1/partner_notes/note_none", M{"text": "x"}))
}

// TestPartnerNoteLimit: the number of notes and their total size are limited, even for concurrent
// requests.
func TestPartnerNoteLimit(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	many, large := s.Partner(program), s.Partner(program)
	write := func(partner string, bytes int) apitest.Answer {
		return s.Post("/v1/partner_notes", M{"program_id": program, "partner_id": partner, "text": "x", "file": M{
			"name": "x", "content": base64.StdEncoding.EncodeToString(make([]byte, bytes)),
		}})
	}
	_, err := s.Pool.Exec(t.Context(),
		`INSERT INTO partner_notes (id, org_id, program_id, partner_id, author_id, text, created_at)
		SELECT 'note_' || g, $1, $2, $3, 'key_1', 'x', now() FROM generate_series(1, 499) g`, s.Org, program, many)
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(),
		`INSERT INTO partner_notes (id, org_id, program_id, partner_id, author_id, text, file_name, file_size, created_at)
		VALUES ('note_large', $1, $2, $3, 'key_1', 'x', 'x', $4, now())`, s.Org, program, large, 20<<20-700<<10)
	require.NoError(t, err)
	for _, c := range []struct {
		partner string
		bytes   int
	}{{many, 0}, {large, 700 << 10}} {
		answers := make(chan apitest.Answer, 4)
		for range cap(answers) {
			go func() { answers <- write(c.partner, c.bytes) }()
		}
		taken := 0
		for range cap(answers) {
			if a := <-answers; a.Status == 201 {
				taken++
			} else {
				s.Refused(409, "partner_note_limit", "", a)
			}
		}
		require.Equal(t, 1, taken)
	}
	s.Must(201, write(large, 0))
}
