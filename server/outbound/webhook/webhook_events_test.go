package webhook_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestFollowEvents: a follower receives the events in order, each once, with the same body as
// webhooks, from its first call on.
func TestFollowEvents(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Partner(program)
	begun := s.Must(200, s.Get("/v1/events"))
	require.Empty(t, begun.Data(), "what happened before is not told")
	require.Equal(t, true, begun.Body["caught_up"])
	after := begun.String("cursor")
	other := s.Program()
	partners := []string{s.Partner(program), s.Partner(other), s.Partner(program)}
	var bodies []string
	for range partners {
		page := s.Must(200, s.Get("/v1/events?limit=1&after="+after))
		require.Len(t, page.Data(), 1)
		require.Equal(t, false, page.Body["caught_up"])
		after = page.String("cursor")
		e := page.Data()[0]
		require.Equal(t, "affiliate.created", e["type"])
		require.Contains(t, e["request_body"], partners[len(bodies)])
		bodies = append(bodies, e["request_body"].(string))
	}
	var stored []string
	rows, err := s.Pool.Query(t.Context(), "SELECT body FROM events WHERE org_id = $1 ORDER BY seq DESC LIMIT 3", s.Org)
	require.NoError(t, err)
	for rows.Next() {
		var body string
		require.NoError(t, rows.Scan(&body))
		stored = append([]string{body}, stored...)
	}
	require.Equal(t, stored, bodies)
	end := s.Must(200, s.Get("/v1/events?after="+after))
	require.Empty(t, end.Data())
	require.Equal(t, true, end.Body["caught_up"])
	require.Equal(t, after, end.String("cursor"))
	one := s.Must(200, s.Get("/v1/events?program_id="+other+"&after="+begun.String("cursor")))
	require.Len(t, one.Data(), 1, "of one program")
	require.Equal(t, other, one.Data()[0]["program_id"])
}

// TestRetrieveEvent: the retrieved event equals the followed event.
func TestRetrieveEvent(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	after := s.Must(200, s.Get("/v1/events")).String("cursor")
	s.Partner(program)
	followed := s.Must(200, s.Get("/v1/events?after="+after)).Data()[0]
	url := "/v1/events/" + followed["id"].(string)
	require.Equal(t, followed, s.Must(200, s.Get(url+"?program_id="+program)).Body)
	s.Refused(404, "resource_not_found", "program_id", s.Get(url+"?program_id="+s.Program()))
	s.Refused(404, "resource_not_found", "", s.Get("/v1/events/evt_none"))
	stranger := s.NewKey(s.NewOrg("Stranger"), true, "read")
	s.Refused(404, "resource_not_found", "", s.Do("GET", url, stranger, nil))
}

// TestFollowEventsRefused: a cursor is refused if it belongs to another organization or does not
// come from the server.
func TestFollowEventsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	own := s.Must(200, s.Get("/v1/events")).String("cursor")
	stranger := s.NewKey(s.NewOrg("Stranger"), true, "read")
	foreign := s.Must(200, s.Do("GET", "/v1/events", stranger, nil)).String("cursor")
	for _, after := range []string{foreign, "x", own[1:], own + "AA"} {
		s.Refused(400, "parameter_invalid", "after", s.Get("/v1/events?after="+after))
	}
	s.Refused(404, "resource_not_found", "program_id", s.Do("GET", "/v1/events?program_id="+s.Program(), stranger, nil))
	s.Partner(s.Program())
	seen := s.Must(200, s.Do("GET", "/v1/events?after="+foreign, stranger, nil))
	require.Empty(t, seen.Data(), "nobody sees another's events")
}
