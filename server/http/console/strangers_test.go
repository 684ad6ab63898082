package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"rail/server/cli/sample"
	"rail/server/harness/apitest"
	"rail/server/http/console"
	"rail/server/secret"
	"rail/server/team"
)

// owned are the lists that have the objects which a page's address names, by the word before the id.
var owned = map[string]string{
	"partners": "partners", "groups": "groups", "tags": "tags", "customers": "customers", "sales": "sales",
	"commissions": "commissions", "payouts": "payouts", "batches": "payout_batches", "rules": "flows", "risk": "risk_flags",
	"webhooks": "webhook_endpoints", "events": "inbox_events", "connections": "processor_connections",
	"resources": "resources", "notes": "partner_notes", "mails": "campaigns", "sequences": "sequences", "applications": "applications",
}

var placeholder = regexp.MustCompile(`([a-z]+)/\{([a-z]+)\}`)

// TestRoutesOfAnotherProgram tries every route of the console on another organization's program, and on its objects through
// the caller's program: all are refused, and nothing changes.
func TestRoutesOfAnotherProgram(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	require.NoError(t, sample.Load(t.Context(), s.Pool, keeper, s.Org, s.Clock.Now()))
	victim := newSiteOf(s, s.Must(200, s.Get("/v1/programs")).Data()[0]["id"].(string))
	ids := victim.objects()
	org := s.NewOrg("Strangers")
	mine := s.Must(201, s.Do("POST", "/v1/programs", s.NewKey(org, true, "write"), M{
		"name": "Mine", "website_url": "https://mine.example", "currency": "USD",
	})).String("id")
	stranger := newSiteOf(s, mine).person(org, team.Owner)
	token := tokens.FindStringSubmatch(stranger.page("/console/account"))[1]
	before := victim.state()
	for _, pattern := range console.Patterns() {
		method, path, _ := strings.Cut(pattern, " ")
		if !strings.Contains(path, "{program}") {
			continue
		}
		full := placeholder.ReplaceAllStringFunc(path, func(part string) string {
			word, _, _ := strings.Cut(part, "/")
			if word == "p" {
				return part
			}
			return word + "/" + ids[word]
		})
		foreign := strings.ReplaceAll(full, "{program}", victim.program)
		refused := []int{http.StatusNotFound}
		if slices.Contains([]string{"results", "notes", "logo", "hero"}, path[strings.LastIndexByte(path, '/')+1:]) { // its form has a file, which this one lacks
			refused = append(refused, http.StatusBadRequest)
		}
		require.Contains(t, refused, stranger.try(method, foreign, token, ids), pattern)
		if full != path { // an object of the other's, from one's own program
			status := stranger.try(method, strings.ReplaceAll(full, "{program}", mine), token, ids)
			require.GreaterOrEqual(t, status, 400, pattern)
			require.Less(t, status, 500, pattern)
		} else if method == http.MethodPost { // with the other's objects in the form
			require.Less(t, stranger.try(method, strings.ReplaceAll(full, "{program}", mine), token, ids), 500, pattern)
		}
	}
	require.Equal(t, before, victim.state())
}

// objects are an id of each kind of object of the program.
func (s *fixture) objects() map[string]string {
	s.T.Helper()
	ids := map[string]string{}
	for word, list := range owned {
		found := s.Must(200, s.Get("/v1/"+list+"?limit=1&program_id="+s.program)).Data()
		require.NotEmpty(s.T, found, list)
		ids[word] = found[0]["id"].(string)
	}
	var key string
	require.NoError(s.T, s.Pool.QueryRow(s.T.Context(), "SELECT id FROM api_keys WHERE org_id = $1 LIMIT 1", s.Org).Scan(&key))
	ids["keys"] = key
	_, err := s.Pool.Exec(s.T.Context(),
		`INSERT INTO mails (id, org_id, purpose, key, recipient, subject, body, status, created_at)
		VALUES ('mail_failed', $1, 'payout_paid', 'x', 'gone@example.com', 'Gone', '', 'failed', now())`, s.Org)
	require.NoError(s.T, err)
	ids["failed"] = "mail_failed"
	for _, word := range []string{"connect", "deliveries", "questions"} { // of no id, or of another's that is absent already
		ids[word] = "nothing"
	}
	return ids
}

// try asks for a page, or sends it a form with the fields that the pages have, and returns the status.
func (p *person) try(method, path, token string, ids map[string]string) int {
	p.T.Helper()
	if method == http.MethodGet {
		return p.ask(method, path, nil).Status
	}
	form := url.Values{"form_token": {token}, "once": {apitest.Unique("once")}, "reason": {"Mine now"}, "name": {"Mine now"},
		"group_id": {ids["groups"]}, "tag_id": {ids["tags"]}, "tag_ids": {ids["tags"]}, "partner_id": {ids["partners"]}, "amount_minor": {"1.00"}}
	for _, id := range ids {
		form.Add("id", id)
		form.Add("ids", id)
	}
	return p.ask(method, path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded").Status
}

// state is a sum over what the organization has, table by table.
func (s *fixture) state() (out []string) {
	s.T.Helper()
	rows, err := s.Pool.Query(s.T.Context(), `SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace AND a.attname = 'org_id'
		ORDER BY 1`)
	require.NoError(s.T, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(s.T, err)
	require.Greater(s.T, len(tables), 40)
	for _, table := range tables {
		var sum string
		require.NoError(s.T, s.Pool.QueryRow(s.T.Context(), fmt.Sprintf(
			`SELECT count(*) || ' ' || coalesce(md5(string_agg(md5(t::text), '' ORDER BY t::text)), '') FROM %s t WHERE org_id = $1`, table),
			s.Org).Scan(&sum))
		out = append(out, table+" "+sum)
	}
	return out
}
