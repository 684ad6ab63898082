package handlers_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func TestResources(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "G"})).String("id")
	tag := s.Must(201, s.Post("/v1/tags", M{"program_id": program, "name": "T"})).String("id")
	add := func(title string, more M) apitest.Answer {
		body := M{"program_id": program, "title": title, "url": "https://brand.example/" + title}
		maps.Copy(body, more)
		return s.Must(201, s.Post("/v1/resources", body))
	}
	logo := add("logo", M{"folder": "Brand", "group_ids": []string{group, group}, "tag_ids": []string{tag}})
	require.Equal(t, []any{"link", "Brand", []any{group}, []any{tag}, int64(0), true, s.Clock.Now().String()},
		[]any{
			logo.String("kind"), logo.String("folder"), logo.Body["group_ids"], logo.Body["tag_ids"], logo.Int("position"),
			logo.Body["published"], logo.String("published_at"),
		})
	second := add("second", M{"folder": "Brand", "published": false})
	require.EqualValues(t, 1, second.Int("position"))
	require.Nil(t, second.Body["published_at"])
	top := add("top", nil)
	other := add("other", M{"folder": "Ads"})
	order := func() (out []string) {
		for _, r := range s.Must(200, s.Get("/v1/resources?program_id="+program)).Data() {
			out = append(out, r["title"].(string))
		}
		return out
	}
	require.Equal(t, []string{"top", "other", "logo", "second"}, order(), "what is in no folder comes first")
	moved := s.Must(200, s.Post("/v1/resources/"+top.String("id"), M{"folder": "Brand", "title": "moved"}))
	require.EqualValues(t, 2, moved.Int("position"), "at the end of the new folder")
	require.Equal(t, []string{"other", "logo", "second", "moved"}, order())
	s.Must(200, s.Post("/v1/resources/"+other.String("id"), M{"folder": nil, "published": false}))
	require.Equal(t, []string{"other", "logo", "second", "moved"}, order())
	published := s.Must(200, s.Post("/v1/resources/"+second.String("id"), M{"published": true}))
	require.Equal(t, s.Clock.Now().String(), published.String("published_at"))

	s.Must(200, s.Delete("/v1/tags/"+tag))
	got := s.Must(200, s.Get("/v1/resources/"+logo.String("id")))
	require.Equal(t, []any{[]any{}, false}, []any{got.Body["tag_ids"], got.Body["published"]},
		"meant for that tag alone: now for nobody, not for everybody")
	s.Must(200, s.Post("/v1/resources/"+logo.String("id"), M{"published": true}))
	s.Must(200, s.Delete("/v1/groups/"+group))
	require.Equal(t, false, s.Get("/v1/resources/" + logo.String("id")).Body["published"])
	_, err := s.Pool.Exec(t.Context(), "UPDATE resources SET kind = 'file' WHERE id = $1", logo.String("id"))
	require.NoError(t, err)
	s.Refused(400, "parameter_invalid", "url", s.Post("/v1/resources/"+logo.String("id"), M{"url": "https://x.example"}))
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{"title": ""}, 400, "parameter_invalid", "title"},
		{M{"url": "javascript:alert(1)"}, 400, "parameter_invalid", "url"},
		{M{"folder": ""}, 400, "parameter_invalid", "folder"},
		{M{"group_ids": []string{"grp_none"}}, 404, "resource_not_found", "group_ids[0]"},
		{M{"tag_ids": []string{tag}}, 404, "resource_not_found", "tag_ids[0]"},
		{M{"program_id": "prg_none"}, 404, "resource_not_found", "program_id"},
		{M{"position": 1}, 400, "parameter_unknown", "position"},
	} {
		body := M{"program_id": program, "title": "x", "url": "https://x.example"}
		maps.Copy(body, c.body)
		s.Refused(c.status, c.code, c.param, s.Post("/v1/resources", body))
	}
	s.Must(200, s.Delete("/v1/resources/"+logo.String("id")))
	s.Refused(404, "resource_not_found", "", s.Get("/v1/resources/"+logo.String("id")))
}
