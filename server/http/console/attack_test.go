package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/http/console"
	"rail/server/team"
)

// earned has one object of each kind that the pages show, by the path before its id.
func (s *fixture) earned() map[string]string {
	s.T.Helper()
	s.Flow(s.program)
	partner, sales := s.earns("Ada Lovelace", "paypal", 10000)
	s.Must(201, s.Post("/v1/payout_batches", M{"program_id": s.program, "period_end": "2026-09-01", "ignore_minimum": true}))
	s.earns("Grace Hopper", "paypal", 30000)
	s.Customer(s.program, partner, M{"identifier": "buyer-1"})
	payout := s.payoutOf(partner)
	first := func(list string) string {
		return s.Get("/v1/" + list + "?program_id=" + s.program).Data()[0]["id"].(string)
	}
	return map[string]string{
		"commissions": first("commissions"), "customers": first("customers"), "sales": sales[0],
		"payouts": payout.String("id"), "batches": payout.String("batch_id"),
		"groups": s.Must(201, s.Post("/v1/groups", M{"program_id": s.program, "name": "Gold"})).String("id"),
		"tags":   s.Must(201, s.Post("/v1/tags", M{"program_id": s.program, "name": "Vip"})).String("id"),
	}
}

// plausible fills any form of those pages.
var plausible = []string{
	"name", "Changed", "reason", "Because.", "partner", "Grace", "amount_minor", "1.00", "format", "paypal", "currency", "USD",
	"period_end", "2026-09-01", "email", "x@shop.example", "role", "viewer",
	"to", "Grace", "since", "2026-01-01", "customer", "buyer-1", "external_customer_id", "cus_9",
}

var beforeID = regexp.MustCompile(`/([a-z]+)/\{id\}`)

// way is a route with an object of a site in its path.
type way struct{ pattern, method, path string }

// ways are the routes of a method below some parts of a program, or of the organization.
func (s *fixture) ways(method string, ids map[string]string, parts string) (out []way) {
	s.T.Helper()
	part := regexp.MustCompile(`^(/console/p/\{program\})?/(console/)?(` + parts + `)(/|$)`)
	for _, pattern := range console.Patterns() {
		of, path, _ := strings.Cut(pattern, " ")
		if of != method || !part.MatchString(path) {
			continue
		}
		id := s.owner.ID
		if found := beforeID.FindStringSubmatch(path); found != nil && ids[found[1]] != "" {
			id = ids[found[1]]
		}
		out = append(out, way{pattern, of, strings.NewReplacer("{program}", s.program, "{id}", id).Replace(path)})
	}
	require.NotEmpty(s.T, out)
	return out
}

// goes sends a plausible form, or asks for the page.
func (p *person) goes(w way, fields ...string) apitest.Answer {
	p.T.Helper()
	switch {
	case w.method == http.MethodGet:
		return p.ask("GET", w.path, nil)
	case strings.HasSuffix(w.path, "/results"):
		return p.upload(w.path, "results", "Unique ID,Status,Transaction ID,Error\npyt_1,Completed,9XY,\n")
	}
	return p.send(w.path, append(fields, plausible...)...)
}

// TestAnotherProgram: an object of another program of the same organization is absent, also where the
// form names that program.
func TestAnotherProgram(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids := s.earned()
	other := newSiteOf(s.Server, s.Program())
	other.earns("Grace Hopper", "paypal", 30000)
	p := other.owner
	undo := way{"", "POST", other.at + "/payouts/" + ids["payouts"] + "/undo"}
	require.Equal(t, 404, p.goes(undo).Status)
	for _, method := range []string{"GET", "POST"} {
		for _, w := range other.ways(method, ids, "commissions|customers|sales|payouts|groups|tags") {
			if strings.Contains(w.pattern, "{id}") {
				require.Equal(t, 404, p.goes(w, "program_id", s.program).Status, w.pattern)
			}
		}
	}
	for path, id := range map[string]string{
		"/payouts/unpay": ids["payouts"], "/payouts/delete": ids["payouts"], "/commissions/approve": ids["commissions"],
	} {
		notice := p.done(p.send(path, "program_id", s.program, "id", id))
		require.Contains(t, notice, "0 ", path)
		require.Contains(t, notice, "1 was refused", path)
	}
	p.Must(404, p.send("/payouts/paid", "program_id", s.program, "id", ids["payouts"]))
	p.Must(404, p.send("/payouts/mark", "program_id", s.program, "payout_ids", ids["payouts"]))
	p.done(p.send("/groups", "program_id", s.program, "name", "Made here"))
	list := func(program string) string { return string(s.Get("/v1/groups?program_id=" + program).Raw) }
	require.NotContains(t, list(s.program), "Made here")
	require.Contains(t, list(other.program), "Made here")
}

// TestRoleForms: what a role may not do, no form does.
func TestRoleForms(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids := s.earned()
	for role, parts := range map[team.Role]string{
		team.Viewer:  "commissions|customers|sales|payouts|groups|tags|settings|keys|team|new",
		team.Finance: "groups|tags|settings|keys|team|new",
		team.Manager: "payouts|keys|team",
	} {
		p := s.person(s.Org, role)
		for _, w := range s.ways("POST", ids, parts) {
			id := ids["commissions"]
			if strings.Contains(w.path, "/payouts/") {
				id = ids["payouts"]
			}
			require.Equal(t, 403, p.goes(w, "id", id, "scopes", "read").Status, "%s %s", role, w.pattern)
		}
	}
}

// TestNoToken: no form at all is read without its token.
func TestNoToken(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, pattern := range console.Patterns() {
		path, posted := strings.CutPrefix(pattern, "POST ")
		if !posted {
			continue
		}
		path = strings.NewReplacer("{program}", s.program, "{id}", "x", "{token}", "x").Replace(path)
		a := s.owner.ask("POST", path, "name=x", "Content-Type", "application/x-www-form-urlencoded")
		if a.Status == 400 { // a form with a file is of another type
			s.owner.says(400, "This form cannot be read", a)
			continue
		}
		s.owner.says(403, "This was not sent from your page", a)
	}
}

// odd are texts that no field is meant for.
var odd = []string{
	"\x00", "\xff\xfe", "99999999999999999999999999", "1e400", "a\r\nSet-Cookie: x=y",
}

// TestOddForms: whatever is in a form or an address, it is refused, and never a fault of the server.
func TestOddForms(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids := s.earned()
	ids["team"] = s.person(s.Org, team.Viewer).ID
	named := regexp.MustCompile(`[a-z_]+`)
	nested := "metadata." + strings.Repeat("a.", 10_500)
	for _, w := range s.ways("POST", ids, "commissions|customers|sales|payouts|groups|tags|settings|keys|team|new|account") {
		if strings.HasSuffix(w.path, "/sessions") || strings.HasSuffix(w.path, "/results") {
			continue
		}
		for _, text := range odd {
			fields := []string{"boxes", text, "lists", text, "scopes", text, "id", text, "cookie_days", text, "address", text}
			for i := 0; i < len(plausible); i += 2 {
				fields = append(fields, named.FindString(plausible[i]), text)
			}
			require.Less(t, s.owner.send(w.path, fields...).Status, 500, "%s %q", w.pattern, text)
		}
		require.Less(t, s.owner.send(w.path, nested, "x", "boxes", nested[:4000], "id", "x").Status, 500, w.pattern)
		if strings.Contains(w.pattern, "{id}") {
			broken := strings.Replace(w.pattern[len("POST "):], "{program}", s.program, 1)
			for _, id := range []string{"%00", "%ff", "a%2Fb"} {
				a := s.owner.send(strings.Replace(broken, "{id}", id, 1), plausible...)
				require.Less(t, a.Status, 500, "%s %s", w.pattern, id)
			}
		}
	}
	long := "otpauth://totp/Rail:x?secret=" + strings.Repeat("A", 4000)
	p := s.person(s.Org, team.Owner)
	for _, address := range []string{long, "https://evil.example/?secret=AAAA", "otpauth://totp/x"} {
		a := p.send("/console/account/factor/confirm", "code", "123456", "address", address)
		require.Equal(t, 400, a.Status)
		require.NotContains(t, string(a.Raw), `class="qr"`)
	}
}
