package handlers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func TestPublishableKeys(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	key := s.Must(201, s.Post("/v1/publishable_keys", M{
		"program_id": program, "allowed_hosts": []string{"Shop.Example", "*.shop.example", "localhost:3000", "shop.example"},
	}))
	require.Regexp(t, `^rail_pub_[0-9A-Za-z]{32}$`, key.String("key"))
	require.Contains(t, key.String("tag"), `data-rail="`+key.String("key")+`"`)
	require.ElementsMatch(t, []any{"shop.example", "*.shop.example", "localhost:3000"}, key.Body["allowed_hosts"])
	require.Equal(t, []any{false, nil}, []any{key.Body["allow_leads"], key.Body["last_used_at"]})
	path := "/v1/publishable_keys/" + key.String("id")
	require.Equal(t, key.Body, s.Must(200, s.Get(path)).Body)
	s.Refused(404, "resource_not_found", "program_id", s.Get(path+"?program_id="+s.Program()))

	changed := s.Must(200, s.Post(path, M{"allow_leads": true}))
	require.Equal(t, []any{true, key.Body["allowed_hosts"]}, []any{changed.Body["allow_leads"], changed.Body["allowed_hosts"]})
	changed = s.Must(200, s.Post(path, M{"program_id": program, "allowed_hosts": []string{"Other.Example", "other.example"}}))
	require.Equal(t, []any{true, []any{"other.example"}, key.String("key"), key.String("tag")}, []any{
		changed.Body["allow_leads"], changed.Body["allowed_hosts"], changed.String("key"), changed.String("tag"),
	})
	require.Equal(t, changed.Body, s.Must(200, s.Get(path)).Body)
	s.Refused(400, "parameter_invalid", "allowed_hosts[0]", s.Post(path, M{"allowed_hosts": []string{"*.co.uk"}}))
	s.Refused(400, "parameter_invalid", "allowed_hosts", s.Post(path, M{"allowed_hosts": []string{}}))
	s.Refused(404, "resource_not_found", "program_id", s.Post(path, M{"program_id": s.Program()}))

	require.Equal(t, true, s.Must(200, s.Delete(path)).Body["deleted"])
	s.Refused(404, "resource_not_found", "", s.Post(path, M{"allow_leads": true}))
	s.Refused(404, "resource_not_found", "", s.Get(path))
	s.Refused(404, "resource_not_found", "", s.Delete(path))
	require.Empty(t, s.Must(200, s.Get("/v1/publishable_keys?program_id="+program)).Data())
	s.Refused(404, "resource_not_found", "", s.Delete("/v1/publishable_keys/pub_none"))
	s.Refused(404, "resource_not_found", "program_id",
		s.Post("/v1/publishable_keys", M{"program_id": "prg_none", "allowed_hosts": []string{"a.example"}}))
	for host, param := range map[string]string{
		"https://shop.example": "allowed_hosts[0]", "*.co.uk": "allowed_hosts[0]", "*": "allowed_hosts[0]",
		"a..example": "allowed_hosts[0]", "a.example:0": "allowed_hosts[0]", "a.example:70000": "allowed_hosts[0]",
		"*.127.0.0.1": "allowed_hosts[0]", "-a.example": "allowed_hosts[0]", "": "allowed_hosts[0]",
	} {
		s.Refused(400, "parameter_invalid", param,
			s.Post("/v1/publishable_keys", M{"program_id": program, "allowed_hosts": []string{host}}))
	}
	s.Refused(400, "parameter_invalid", "allowed_hosts",
		s.Post("/v1/publishable_keys", M{"program_id": program, "allowed_hosts": []string{}}))
}
