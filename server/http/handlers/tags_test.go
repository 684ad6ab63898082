package handlers_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func TestTags(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	tag := s.Must(201, s.Post("/v1/tags", M{"program_id": program, "name": "VIP"}))
	require.True(t, strings.HasPrefix(tag.String("id"), "tag_"))
	require.Equal(t, M{
		"id": tag.String("id"), "object": "tag", "program_id": program, "name": "VIP", "color": "#64748B",
		"created_at": "2026-09-01T12:00:00.000Z", "updated_at": "2026-09-01T12:00:00.000Z",
	}, tag.Body)
	path := "/v1/tags/" + tag.String("id")
	require.Equal(t, tag.Body, s.Must(200, s.Get(path)).Body)
	require.Equal(t, tag.Body, s.Must(200, s.Get(path+"?program_id="+program)).Body)
	s.Refused(404, "resource_not_found", "program_id", s.Get(path+"?program_id="+s.Program()))
	s.Clock.Advance(time.Second)
	renamed := s.Must(200, s.Post(path, M{"name": "vip"}))
	require.Equal(t, "vip", renamed.String("name"), "its own name in another case")
	require.Equal(t, "#64748B", renamed.String("color"), "what is absent stays")
	require.Equal(t, "2026-09-01T12:00:01.000Z", renamed.String("updated_at"))
	require.Equal(t, "2026-09-01T12:00:00.000Z", renamed.String("created_at"))
	require.Equal(t, "#aBcDeF", s.Must(200, s.Post(path, M{"color": "#aBcDeF"})).String("color"))
	other := s.Must(201, s.Post("/v1/tags", M{"program_id": program, "name": "Other", "color": "#000000"}))
	require.Equal(t, "#000000", other.String("color"))

	for _, name := range []string{"vip", "VIP", "Vip"} {
		taken := s.Refused(409, "tag_name_taken", "name", s.Post("/v1/tags", M{"program_id": program, "name": name}))
		require.Equal(t, s.Get(path).Body, taken.Body["existing"])
		taken = s.Refused(409, "tag_name_taken", "name", s.Post("/v1/tags/"+other.String("id"), M{"name": name}))
		require.Equal(t, s.Get(path).Body, taken.Body["existing"])
	}
	s.Must(201, s.Post("/v1/tags", M{"program_id": s.Program(), "name": "vip"})) // names are unique within a program

	partner := s.Partner(program)
	s.Must(200, s.Post("/v1/partners/"+partner, M{"tag_ids": []string{tag.String("id"), other.String("id")}}))
	require.Equal(t, M{"id": tag.String("id"), "object": "tag", "deleted": true}, s.Must(200, s.Delete(path)).Body)
	s.Refused(404, "resource_not_found", "", s.Get(path))
	s.Refused(404, "resource_not_found", "", s.Delete(path))
	s.Refused(404, "resource_not_found", "", s.Post(path, M{"name": "again"}))
	left := s.Must(200, s.Get("/v1/partners/"+partner+"?include=tags"))
	require.Equal(t, []any{other.Body}, left.Body["tags"], "a deleted tag leaves its partners")
	require.EqualValues(t, 1, s.Get("/v1/tags?program_id="+program).Int("total_count"))
	s.Must(201, s.Post("/v1/tags", M{"program_id": program, "name": "VIP"})) // the name is free again
	for _, kind := range s.EventTypes(program) {
		require.NotContains(t, kind, "tag")
	}
}

func TestTagRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	tag := s.Must(201, s.Post("/v1/tags", M{"program_id": program, "name": "one"})).String("id")
	before := apitest.Rows(s, s.Org)
	create := func(more M) apitest.Answer {
		body := M{"program_id": program, "name": "two"}
		maps.Copy(body, more)
		return s.Post("/v1/tags", body)
	}
	for _, c := range []struct {
		body  M
		param string
	}{
		{M{"name": ""}, "name"}, {M{"name": nil}, "name"}, {M{"name": 1}, "name"},
		{M{"name": strings.Repeat("é", 256)}, "name"},
		{M{"color": "red"}, "color"}, {M{"color": "#12345"}, "color"}, {M{"color": "#12345G"}, "color"},
		{M{"color": "123456"}, "color"},
		{M{"color": nil}, "color"}, {M{"color": ""}, "color"}, {M{"color": "#1234567"}, "color"},
	} {
		s.Refused(400, "parameter_invalid", c.param, create(c.body))
		s.Refused(400, "parameter_invalid", c.param, s.Post("/v1/tags/"+tag, c.body))
	}
	s.Refused(400, "parameter_invalid", "program_id", create(M{"program_id": tag}))
	s.Refused(404, "resource_not_found", "program_id", create(M{"program_id": "prg_none"}))
	s.Refused(400, "parameter_missing", "program_id", s.Post("/v1/tags", M{"name": "x"}))
	s.Refused(400, "parameter_missing", "name", s.Post("/v1/tags", M{"program_id": program}))
	s.Refused(400, "parameter_unknown", "created_at", create(M{"created_at": "2026-09-01T12:00:00Z"}))
	s.Refused(400, "invalid_expand", "expand[]", s.Get("/v1/tags/"+tag+"?expand=program"))
	s.Refused(400, "invalid_include", "include[]", s.Get("/v1/tags?program_id="+program+"&include=stats"))
	require.Equal(t, before, apitest.Rows(s, s.Org), "a refusal changes nothing")
	s.Must(201, create(M{"name": strings.Repeat("é", 255)}))
}
