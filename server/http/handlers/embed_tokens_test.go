package handlers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestCreateEmbedToken: a token is for one partner of the program. The request names the partner by
// its id, or names the merchant's user, who is enrolled once.
func TestCreateEmbedToken(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Must(200, s.Post("/v1/programs/"+program+"/portal", M{"embed_hosts": []string{"app.acme.example"}}))
	partner := s.Partner(program)
	token := s.Must(201, s.Post("/v1/embed_tokens", M{"program_id": program, "partner_id": partner}))
	require.Equal(t, partner, token.String("partner_id"))
	require.Equal(t, "https://rail.example/embed/"+token.String("token"), token.String("url"))
	own := M{"program_id": program, "partner": M{"email": "ada@example.com", "first_name": "Ada"}}
	first, second := s.Must(201, s.Post("/v1/embed_tokens", own)), s.Must(201, s.Post("/v1/embed_tokens", own))
	require.Equal(t, first.String("partner_id"), second.String("partner_id"))
	require.NotEqual(t, first.String("token"), second.String("token"))
	require.Equal(t, "Ada", s.Get("/v1/partners/"+first.String("partner_id")).String("first_name"))
	require.True(t, strings.HasPrefix(first.String("partner_id"), "part_"))
	s.Refused(404, "resource_not_found", "partner.group_id", s.Post("/v1/embed_tokens", M{
		"program_id": program, "partner": M{"email": "bob@example.com", "group_id": "grp_01kb2m4q8e7v9t3n5x6c0d1f2g"},
	}))
}
