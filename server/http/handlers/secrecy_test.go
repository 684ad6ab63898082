package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestNothingSecretIsLoggedOrStored: a canary in every secret and personal field is in no line of
// the log. Keys, sign-in tokens and visitors' addresses are in no row of the database.
func TestNothingSecretIsLoggedOrStored(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program, M{
		"email": "canary-partner@example.com", "handle": "canary-handle", "metadata": M{"note": "canary-meta"},
	})
	s.Must(200, s.Post("/v1/partners/"+partner, M{
		"payout_method": "paypal", "payout_details": M{"account": "canary-account"},
	}))
	click := s.Click(program, "canary-handle", M{
		"ip": "198.51.100.77", "user_agent": "canary-agent", "visitor_token": "canary-visitor-token",
	})
	s.Must(201, s.Post("/v1/customers", M{
		"program_id": program, "click_id": click.String("id"), "email": "canary-customer@example.com", "name": "canary-name",
	}))
	link := s.Must(200, s.Do(http.MethodPost, "/v1/partners/"+partner+"/sso", s.Key, nil, "Idempotency-Key", "canary-key"))
	token := link.String("url")[strings.LastIndex(link.String("url"), "/")+1:]
	s.Get("/v1/partners?program_id=" + program + "&email=canary-partner@example.com&search=canary-search")
	s.Post("/v1/customers", `{"program_id":"`+program+`","partner_id":"`+partner+`","email":"canary-broken`)
	s.Post("/v1/tags", M{"program_id": program, "name": "canary-name", "color": 5})
	log := s.Log()
	require.Contains(t, log, "createPartnerSSO", "the log is there")
	for _, secret := range []string{"canary", s.Key, s.Key[10:30], token, "198.51.100.77", "Bearer"} {
		require.NotContains(t, log, secret)
	}
	stored := dump(t, s)
	require.Contains(t, stored, "canary-partner@example.com", "the dump is there")
	for _, secret := range []string{s.Key, token, "198.51.100.77", "canary-visitor-token", "canary-account"} {
		require.NotContains(t, stored, secret)
	}
}

// dump returns every row of the database as text.
func dump(t *testing.T, s *apitest.Server) string {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(),
		"SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace")
	require.NoError(t, err)
	var tables []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		tables = append(tables, name)
	}
	require.NoError(t, rows.Err())
	var all strings.Builder
	for _, name := range tables {
		var text string
		require.NoError(t,
			s.Pool.QueryRow(t.Context(),
				fmt.Sprintf("SELECT coalesce(string_agg(x::text, E'\\n'), '') FROM %s x", name)).Scan(&text))
		all.WriteString(text)
	}
	return all.String()
}
