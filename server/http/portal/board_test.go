package portal_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// ranks returns the lines of the leaderboard on a page, each a rank, a name and a number.
func ranks(page string) (out []string) {
	line := regexp.MustCompile(`(?s)<tr( class="mine")?><td><span class="place[^"]*">(\d+)</span></td><th scope="row">(.*?)</th><td class="number">(\d+)</td>`)
	for _, m := range line.FindAllStringSubmatch(page, -1) {
		name, _, _ := strings.Cut(m[3], " <span")
		mine := ""
		if m[1] != "" {
			mine = " (mine)"
		}
		out = append(out, fmt.Sprint(m[2], " ", html.UnescapeString(name), " ", m[4], mine))
	}
	return out
}

// TestLeaderboard ranks partners by the customers of the month, by first name and initial, without partners that
// opted out or are not active, and only if at least five are left.
func TestLeaderboard(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	sells := func(partner string, customers int) {
		for range customers {
			s.Sale(program, s.Customer(program, partner))
		}
	}
	names := []M{
		{"first_name": "Ada", "last_name": "Lovelace"}, {"first_name": "Grace", "last_name": "Hopper"},
		{"first_name": "Jo"}, {"company_name": "Neumann GmbH"}, {"company_name": "Secret Inc"},
	}
	var partners []string
	for i, name := range names {
		partners = append(partners, s.Partner(program, name))
		sells(partners[i], []int{1, 3, 3, 2, 1}[i])
	}
	s.Must(200, s.Post("/v1/partners/"+partners[3], M{"display_name": "Mary von Neumann"}))
	late := s.Partner(program, M{"first_name": "Late"})
	ada, newcomer := signIn(s, partners[0]), signIn(s, late)
	require.NotContains(t, ada.get("/portal"), "Leaderboard", "it is off")
	require.NotContains(t, ada.get("/portal/settings"), "Leaderboard")
	s.Must(200, s.Post("/v1/programs/"+program+"/portal", M{"leaderboard": true}))

	page := ada.get("/portal")
	found := ranks(page)
	require.ElementsMatch(t, []string{"1 Grace H. 3", "1 Jo 3"}, found[:2])
	require.Equal(t, "3 Mary N. 2", found[2])
	require.ElementsMatch(t, []string{"4 Ada L. 1 (mine)", "4 A partner 1"}, found[3:])
	for _, secret := range []string{"Lovelace</th>", "Hopper", "Secret", "Neumann"} {
		require.NotContains(t, page, secret)
	}
	page = newcomer.get("/portal")
	require.Len(t, ranks(page), 5)
	require.Contains(t, page, "Bring a customer this month to appear here.")

	sells(late, 1)
	require.Len(t, ranks(newcomer.get("/portal")), 5, "the ranking is a minute old")
	s.Clock.Advance(2 * time.Minute)
	require.Len(t, ranks(newcomer.get("/portal")), 6)
	grace := signIn(s, partners[1])
	grace.moved("/portal/settings?done=leaderboard", grace.send("/portal/settings/leaderboard"))
	require.Equal(t, M{"on_leaderboard": false}, lastAudit(s, program))
	require.NotContains(t, ada.get("/portal"), "Grace", "at once")
	require.Contains(t, grace.get("/portal"), "You don’t take part.")
	s.Must(200, s.Post("/v1/partners/"+partners[2]+"/ban", M{"reason": "Spam"}))
	require.NotContains(t, ada.get("/portal"), "Leaderboard", "four are too few")
	grace.moved("/portal/settings?done=leaderboard", grace.send("/portal/settings/leaderboard", "on_leaderboard", "on"))
	s.Clock.Advance(2 * time.Minute)
	require.Equal(t, "1 Grace H. 3 (mine)", ranks(grace.get("/portal"))[0])
	s.Clock.Advance(31 * 24 * time.Hour)
	require.Empty(t, ranks(signIn(s, late).get("/portal")), "another month")
}

// lastAudit returns what the last entry of the audit log has changed.
func lastAudit(s *apitest.Server, program string) M {
	return s.Must(200, s.Get("/v1/audit_log_entries?program_id="+program)).Data()[0]["after"].(M)
}

// TestLeaderboardOfMany shows ten partners, and the reader below them.
func TestLeaderboardOfMany(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Must(200, s.Post("/v1/programs/"+program+"/portal", M{"leaderboard": true}))
	for i := range 12 {
		partner := s.Partner(program, M{"first_name": fmt.Sprint("P", i)})
		for range 2 {
			s.Sale(program, s.Customer(program, partner))
		}
	}
	me := s.Partner(program, M{"first_name": "Me"})
	s.Sale(program, s.Customer(program, me))
	found := ranks(signIn(s, me).get("/portal"))
	require.Len(t, found, 11)
	require.Equal(t, "13 Me 1 (mine)", found[10])
}
