package console_test

import (
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/team"
)

// agent is an MCP client with an API key.
type agent struct {
	*fixture
	key string
}

// call calls an operation of a tool and returns the result.
func (a agent) call(tool, operation string, arguments M) M {
	a.T.Helper()
	got := a.Must(200, a.Do("POST", "/mcp?write", a.key, M{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": M{"name": tool, "arguments": M{"operation": operation, "arguments": arguments}},
	}, "Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2025-11-25",
		"Mcp-Session-Id", "rail-dGVzdGVyIDEuMg"))
	result, ok := got.Body["result"].(M)
	require.True(a.T, ok, "%s", got.Raw)
	out, _ := result["structuredContent"].(M)
	return out
}

// asks prepares an operation and returns the path of the page on which a person confirms it.
func (a agent) asks(tool, operation string, arguments M) string {
	a.T.Helper()
	got := a.call(tool, operation, arguments)
	require.Equal(a.T, "prepared", got["status"], "%v", got)
	link, err := url.Parse(got["confirm_url"].(string))
	require.NoError(a.T, err)
	return link.Path
}

// newAgent is a client with a key that may write.
func (s *fixture) newAgent() agent {
	return agent{s, s.NewKey(s.Org, true, "read", "commissions:write")}
}

var shownAmount = regexp.MustCompile(`name="amount" value="([^"]*)"`)

// confirms sends the form of a page, with the amount that it shows.
func (p *person) confirms(link string, more ...string) apitest.Answer {
	p.T.Helper()
	if shown := shownAmount.FindSubmatch(p.ask("GET", link, nil).Raw); shown != nil {
		more = append(more, "amount", string(shown[1]))
	}
	return p.send(link, more...)
}

// TestConfirmRefund: an agent's refund waits for a person, who sees what it is. It happens once, and the audit log names
// the person and the client.
func TestConfirmRefund(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	partner := s.Partner(s.program, M{"first_name": "Ada", "last_name": "Lovelace"})
	sale := s.Sale(s.program, s.Customer(s.program, partner), M{"amount_minor": 10000}).String("id")
	link := s.newAgent().asks("sales", "refundSale", M{"id": sale, "amount_minor": 4000})
	left := func() int64 { return s.Must(200, s.Get("/v1/sales/"+sale)).Int("amount_minor") }
	page := s.owner.page(link)
	for _, text := range []string{
		"Refund a sale", "40.00 USD", "Ada Lovelace", sale, "tester 1.2, with the API key that ends in", "Confirm",
	} {
		require.Contains(t, page, text)
	}
	require.EqualValues(t, 10000, left(), "nothing happened before")
	viewer := s.person(s.Org, team.Viewer)
	require.Contains(t, viewer.page(link), "Your role cannot do this")
	viewer.says(403, "Your role cannot do this", viewer.confirms(link))
	require.EqualValues(t, 10000, left())

	require.Contains(t, s.owner.done(s.owner.confirms(link)), "Done")
	require.EqualValues(t, 6000, left())
	require.Contains(t, s.owner.page(link), "It was confirmed before, and happened once.")
	s.owner.says(200, "happened once", s.owner.confirms(link))
	require.EqualValues(t, 6000, left())
	entry := s.Must(200, s.Get("/v1/audit_log_entries?program_id="+s.program+"&limit=1")).Data()[0]
	require.Equal(t, []any{"person", s.owner.ID, "tester 1.2"}, []any{entry["actor_type"], entry["actor_id"], entry["client"]})
	require.Contains(t, s.owner.page("/log"), "tester 1.2")
}

// TestConfirmTogether: of two people who confirm at once, one does it.
func TestConfirmTogether(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	partner := s.Partner(s.program)
	link := s.newAgent().asks("commissions", "createCommission", M{
		"program_id": s.program, "partner_id": partner, "amount_minor": 700, "reason": "Bonus",
	})
	other := s.person(s.Org, team.Owner)
	var all sync.WaitGroup
	for _, p := range []*person{s.owner, other, s.owner, other} {
		all.Go(func() { p.confirms(link) })
	}
	all.Wait()
	require.Len(t, s.Must(200, s.Get("/v1/commissions?program_id="+s.program)).Data(), 1)
}

// TestConfirmRepeated: equal calls within ten minutes, or with one key, make links of one operation, which happens once.
func TestConfirmRepeated(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	bonus := M{"program_id": s.program, "partner_id": s.Partner(s.program), "amount_minor": 700, "reason": "Bonus"}
	ai := s.newAgent()
	first, second := ai.asks("commissions", "createCommission", bonus), ai.asks("commissions", "createCommission", bonus)
	s.owner.done(s.owner.confirms(first))
	s.owner.says(200, "happened once", s.owner.confirms(second))
	require.Len(t, s.Must(200, s.Get("/v1/commissions?program_id="+s.program)).Data(), 1)
	s.Clock.Advance(20 * time.Minute)
	s.owner.done(s.owner.confirms(ai.asks("commissions", "createCommission", bonus)))
	require.Len(t, s.Must(200, s.Get("/v1/commissions?program_id="+s.program)).Data(), 2)
}

// TestConfirmShownAmount: a person confirms the amount that the page showed, and no other.
func TestConfirmShownAmount(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	link := s.newAgent().asks("commissions", "createCommission", M{
		"program_id": s.program, "partner_id": s.Partner(s.program), "amount_minor": 700, "reason": "Bonus",
	})
	for _, amount := range []string{"", "70 USD", "700 EUR"} {
		s.owner.says(409, "The amount has changed", s.owner.send(link, "amount", amount))
	}
	require.Empty(t, s.Must(200, s.Get("/v1/commissions?program_id="+s.program)).Data())
}

// TestSwitchAutoPayouts: a manager cannot switch automatic payouts on, but can switch them off.
func TestSwitchAutoPayouts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	manager := s.person(s.Org, team.Manager)
	enabled := func() any { return s.Must(200, s.Get("/v1/programs/"+s.program)).Body["auto_payouts_enabled"] }
	on := []string{"boxes", "auto_payouts_enabled", "auto_payouts_enabled", "on"}
	manager.says(403, "Your role cannot do this", manager.send("/settings", on...))
	require.Equal(t, false, enabled())
	s.owner.done(s.owner.send("/settings", on...))
	require.Equal(t, true, enabled())
	manager.done(manager.send("/settings", append(on, "name", "Renamed")...))
	require.Equal(t, true, enabled())
	manager.done(manager.send("/settings", "boxes", "auto_payouts_enabled"))
	require.Equal(t, false, enabled())
}

// TestConfirmLinks: a changed, foreign or expired link, one of a revoked key, and one whose amount has changed do
// nothing, and the page explains it.
func TestConfirmLinks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	sale := s.Sale(s.program, s.Customer(s.program, s.Partner(s.program)), M{"amount_minor": 10000}).String("id")
	ai := s.newAgent()
	link := ai.asks("sales", "refundSale", M{"id": sale})
	flipped := link[:len(link)-3] + map[bool]string{true: "A", false: "B"}[link[len(link)-3] != 'A'] + link[len(link)-2:]
	foreign := s.person(s.NewOrg("Other"), team.Owner)
	for _, c := range []struct {
		by         *person
		link, text string
		status     int
	}{
		{s.owner, flipped, "It is damaged, or belongs to another organization.", 404},
		{s.owner, "/console/confirm/x", "It is damaged", 404},
		{s.owner, link + strings.Repeat("A", 2000), "It is damaged", 404},
		{foreign, link, "It is damaged, or belongs to another organization.", 404},
	} {
		c.by.says(c.status, c.text, c.by.ask("GET", c.link, nil))
		c.by.says(c.status, c.text, c.by.confirms(c.link))
	}
	s.Must(200, s.Post("/v1/sales/"+sale+"/refund", M{"amount_minor": 1000}))
	s.owner.says(409, "The amount has changed", s.owner.confirms(link))
	link = ai.asks("sales", "refundSale", M{"id": sale})
	s.Clock.Advance(time.Hour)
	s.owner.says(410, "This link has expired", s.owner.confirms(link))
	token, id := s.NewKeyWith(s.Org, true, 1000, "write")
	link = agent{s, token}.asks("sales", "refundSale", M{"id": sale})
	s.owner.done(s.owner.send("/keys/" + id + "/revoke"))
	s.owner.says(410, "The API key was revoked", s.owner.confirms(link))
	link = ai.asks("partners", "deletePartner", M{"id": s.Partner(s.program)})
	s.owner.done(s.owner.confirms(link))
	s.owner.says(410, "The object is gone", s.owner.ask("GET", link, nil))
	require.EqualValues(t, 9000, s.Must(200, s.Get("/v1/sales/"+sale)).Int("amount_minor"))
}

// TestConfirmPayouts: a person shows again who they are before an operation on payouts.
func TestConfirmPayouts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	s.earns("Ada Lovelace", "paypal", 10000)
	ai := s.newAgent() // its key has no scope for payouts
	link := ai.asks("payouts", "createPayoutBatch", M{"program_id": s.program, "period_end": "2026-09-01"})
	finance := s.person(s.Org, team.Finance)
	require.Contains(t, finance.page(link), "Your password")
	finance.says(400, "That is wrong. Nothing was done.", finance.confirms(link, "proof", "guess"))
	require.Empty(t, s.Must(200, s.Get("/v1/payout_batches?program_id="+s.program)).Data())
	finance.done(finance.confirms(link, "proof", password))
	require.Len(t, s.Must(200, s.Get("/v1/payout_batches?program_id="+s.program)).Data(), 1)
}

// TestConfirmHostileNames: the page shows a hostile name as text.
func TestConfirmHostileNames(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	name := `<script>alert(1)</script> Confirm this: it is safe`
	partner := s.Partner(s.program, M{"first_name": name})
	link := s.newAgent().asks("commissions", "createCommission", M{
		"program_id": s.program, "partner_id": partner, "amount_minor": 100, "reason": name,
	})
	raw := string(s.Must(200, s.owner.ask("GET", link, nil)).Raw)
	require.NotContains(t, raw, "<script>alert")
	require.Contains(t, html.UnescapeString(raw), name)
	require.Contains(t, raw, "1.00 USD")
}

// TestConfirmLarge: arguments that do not fit into an address are refused.
func TestConfirmLarge(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	letters := make([]string, 600)
	for i := range letters {
		letters[i] = apitest.Unique("word")
	}
	got := s.newAgent().call("programs", "updateProgram", M{"id": s.program, "website_url": "https://shop.example/" +
		strings.Join(letters, "")[:2000]})
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	require.Contains(t, string(raw), "too large")
}
