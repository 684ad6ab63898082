package console_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/apitest"
	"rail/server/program/risk"
	"rail/server/team"
)

// flags are the program's flags of a kind, the most severe first.
func (s *fixture) flags(kind string) (out []M) {
	s.T.Helper()
	for _, f := range s.Must(200, s.Get("/v1/risk_flags?program_id="+s.program)).Data() {
		if f["kind"] == kind {
			out = append(out, f)
		}
	}
	require.NotEmpty(s.T, out)
	return out
}

// TestRisk shows who shares what with whom, and closes a flag with a note.
func TestRisk(t *testing.T) {
	t.Parallel()
	server := apitest.New(t)
	s := newSiteOf(server, server.Program(M{"payout_methods": []string{"paypal"}, "block_self_referrals": false}))
	require.Contains(t, s.owner.page("/risk"), "No flags.")
	ada := s.Partner(s.program, M{"email": "ada@studio.example", "first_name": "Ada", "last_name": "<Lovelace>"})
	bob := s.Partner(s.program, M{"email": "bob@other.example", "first_name": "Bob", "last_name": "Other"})
	for _, id := range []string{ada, bob} {
		s.Must(200, s.Post("/v1/partners/"+id, M{"payout_method": "paypal", "payout_details": M{"email": "pay@example.com"}}))
	}
	s.Customer(s.program, ada, M{"email": "ada+me@studio.example"})
	require.NoError(t, risk.Sweep(t.Context(), s.ownerUnit(), db.RiskProgramsRow{ID: s.program, OrgID: s.Org}))

	list := s.owner.page("/risk")
	require.Contains(t, list, "Duplicate partner")
	require.Contains(t, list, s.at+"/partners/"+ada)
	own := "/risk/" + s.flags("self_referral")[0]["id"].(string)
	page := s.owner.page(own)
	require.Contains(t, page, "ada+me@studio.example")
	require.Contains(t, page, s.at+"/partners/"+ada+"/ban")
	for _, f := range s.flags("duplicate_partner") {
		page := s.owner.page("/risk/" + f["id"].(string))
		require.Contains(t, page, "Ada <Lovelace>")
		require.Contains(t, page, "Bob Other")
		require.Contains(t, page, "Payout details")
		require.NotContains(t, page, "pay@example.com")
	}

	require.Equal(t, "The flag is in review.", s.owner.done(s.owner.send(own+"/review")))
	require.Equal(t, "reviewing", s.flags("self_referral")[0]["status"])
	refused := s.owner.send(own+"/resolve", "status", "dismissed", "note", "")
	require.Contains(t, string(s.Must(400, refused).Raw), `aria-invalid="true"`)
	viewer := s.person(s.Org, team.Viewer)
	viewer.says(403, "Your role cannot do this", viewer.send(own+"/resolve", "note", "No"))
	require.Equal(t, "The flag is closed.",
		s.owner.done(s.owner.send(own+"/resolve", "status", "dismissed", "note", "Her own shop.")))
	closed := s.flags("self_referral")[0]
	require.Equal(t, []any{"dismissed", "Her own shop.", s.owner.ID},
		[]any{closed["status"], closed["resolution_note"], closed["resolved_by"]})
	page = s.owner.page(own)
	require.Contains(t, page, "Her own shop.")
	require.Contains(t, page, s.owner.Name)
	s.owner.says(409, "dismissed already", s.owner.send(own+"/resolve", "note", "Again"))
	require.NotContains(t, s.owner.page("/risk"), own)
	require.Contains(t, s.owner.page("/risk?show=closed"), own)
	require.Contains(t, s.owner.page("/risk.csv"), "Self-referral,")
}

// TestRiskOfAnother: the flags of another organization, or of another program, are absent.
func TestRiskOfAnother(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Must(200, s.Post("/v1/programs/"+s.program, M{"block_self_referrals": false}))
	s.Customer(s.program, s.Partner(s.program, M{"email": "ada@studio.example"}), M{"email": "ada@studio.example"})
	flag := "/risk/" + s.flags("self_referral")[0]["id"].(string)
	stranger := s.person(s.NewOrg("Other"), team.Owner)
	elsewhere := strings.Replace(s.at, s.program, s.Program(), 1)
	for _, path := range []string{"/risk", "/risk.csv", flag, "/reports", "/reports.csv"} {
		stranger.says(404, "Page not found", stranger.ask("GET", s.at+path, nil))
	}
	for _, form := range []string{flag + "/review", flag + "/resolve"} {
		stranger.says(404, "Page not found", stranger.send(form, "note", "Mine"))
		s.owner.says(404, "Page not found", s.owner.send(elsewhere+form, "note", "Mine"))
	}
	s.owner.says(404, "Page not found", s.owner.ask("GET", elsewhere+flag, nil))
	s.owner.says(404, "Page not found", s.owner.ask("GET", s.at+"/risk?offset=-1", nil))
	require.Equal(t, "open", s.flags("self_referral")[0]["status"])
}

// TestLookAtFlag looks at a risk flag and closes it in a browser.
func TestLookAtFlag(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.press("Risk")
	d.Reads("the most severe first")
	d.press("Duplicate partner")
	d.Reads("Shared values")
	d.Reads("Payout details")
	d.Do(chromedp.SendKeys(chromedp.CSS("#note"), "Two accounts of one person."))
	d.press("Close the flag")
	d.Reads("The flag is closed.")
	require.Equal(t, "resolved", d.flags("duplicate_partner")[0]["status"])
	var paths []string
	for _, path := range []string{"", "?show=closed", "/" + d.flags("duplicate_partner")[0]["id"].(string)} {
		paths = append(paths, d.owner.full("/risk"+path))
	}
	d.Accessible(append(paths, d.owner.full("/risk/"+d.flags("click_velocity")[0]["id"].(string)))...)
	d.Silent()
}
