package console_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/paypaltest"
	"rail/server/harness/pgtest"
	"rail/server/team"
)

// newWithRail starts a server whose programs can be connected to a fake PayPal.
func newWithRail(t *testing.T, program ...apitest.M) (*fixture, *paypaltest.Server) {
	t.Helper()
	c := clock.NewManual(apitest.Start)
	fake := paypaltest.Start(t, paypaltest.Config{Clock: c})
	base := apitest.On(t, pgtest.DSN(t), c, apitest.Loopback, func(cfg *config.Config) { cfg.PayPalURL = fake.URL() })
	s := newSiteOf(base, base.Program(program...))
	s.Flow(s.program)
	return s, fake
}

// TestRails: an owner connects PayPal and a service, limits and disconnects them; other roles cannot.
func TestRails(t *testing.T) {
	t.Parallel()
	s, _ := newWithRail(t, apitest.M{"auto_payouts_enabled": true})
	p := s.owner
	require.Contains(t, p.page("/payouts/rails"), "Connect PayPal")
	p.says(400, "secret", p.send("/payouts/rails/paypal", "client_id", "client"))
	p.says(400, "That is wrong. Nothing was done.", p.send("/payouts/rails/paypal", "client_id", "client", "secret", "secret"))
	require.Contains(t, p.page("/payouts/rails"), "Connect PayPal")
	p.says(400, "PayPal refused the account", p.send("/payouts/rails/paypal", "client_id", "client", "secret", "wrong", "proof", password))
	require.Contains(t, p.done(p.send("/payouts/rails/paypal", "client_id", "client", "secret", "secret", "proof", password)),
		"PayPal is connected")
	page := p.page("/payouts/rails")
	id := regexp.MustCompile(`/hooks/paypal/(prl_[0-9a-z]+)`).FindStringSubmatch(page)[1]
	require.NotContains(t, page, `value="secret"`)
	require.Equal(t, "The connection works.", p.done(p.send("/payouts/rails/"+id+"/check")))

	p.says(400, "Fill in both limits", p.send("/payouts/rails/"+id+"/limits", "batch", "10.00"))
	p.says(400, "Type an amount", p.send("/payouts/rails/"+id+"/limits", "batch", "-1", "day", "5"))
	p.says(400, "That is wrong. Nothing was done.", p.send("/payouts/rails/"+id+"/limits", "batch", "10.00", "day", "25.00"))
	require.Nil(t, s.rail(id).Body["automatic_batch_minor"])
	require.Contains(t, p.done(p.send("/payouts/rails/"+id+"/limits", "batch", "10.00", "day", "25.00", "proof", password)),
		"without a confirmation")
	require.Equal(t, []int64{1000, 2500}, []int64{s.rail(id).Int("automatic_batch_minor"), s.rail(id).Int("automatic_day_minor")})
	require.Contains(t, p.page("/payouts/rails"), `value="25.00"`)
	p.says(400, "That is wrong.", p.send("/payouts/rails/"+id+"/limits", "batch", "9.00", "day", "25.01", "proof", "no"))
	p.done(p.send("/payouts/rails/"+id+"/limits", "batch", "9.00", "day", "25.00")) // lower
	require.Contains(t, p.done(p.send("/payouts/rails/"+id+"/limits")), "Nothing is sent without")

	p.says(400, "That is wrong.", p.send("/payouts/rails/webhook", "url", "http://127.0.0.1/pay", "methods", "wise"))
	p.says(400, "not public", p.send("/payouts/rails/webhook", "url", "http://10.0.0.1/", "methods", "wise", "proof", password))
	answer := p.unescaped(p.Must(200, p.send("/payouts/rails/webhook", "url", "http://127.0.0.1/pay", "methods", "wise",
		"methods", "wire", "proof", password)))
	require.Regexp(t, "whsec_", answer)
	require.NotRegexp(t, "whsec_", p.page("/payouts/rails"))
	require.Contains(t, p.page("/payouts/rails"), "Wise, Wire")

	finance := s.person(s.Org, team.Finance)
	require.NotContains(t, finance.page("/payouts/rails"), "Disconnect")
	finance.says(403, "Your role cannot do this", finance.send("/payouts/rails/"+id+"/disconnect"))
	viewer := s.person(s.Org, team.Viewer)
	viewer.says(403, "Your role cannot do this", viewer.ask("GET", viewer.full("/payouts/rails"), nil))
	stranger := s.person(s.NewOrg("Other"), team.Owner)
	stranger.Must(404, stranger.send("/payouts/rails/"+id+"/disconnect"))
	require.Contains(t, p.done(p.send("/payouts/rails/"+id+"/disconnect")), "The rail is disconnected")
	require.Equal(t, "disconnected", s.rail(id).String("status"))
}

func (s *fixture) rail(id string) apitest.Answer {
	s.T.Helper()
	return s.Must(200, s.Get("/v1/payout_rails/"+id))
}

// TestPayoutAttention: the page lists what a person should look at; money that came back is owed again once.
func TestPayoutAttention(t *testing.T) {
	t.Parallel()
	s, fake := newWithRail(t)
	p := s.owner
	require.Contains(t, p.page("/payouts/attention"), "No payout needs attention")
	ada, _ := s.earns("Ada Lovelace", "paypal", 10000)
	s.earns("Grace Hopper", "paypal", 20000)
	p.done(p.send("/payouts/rails/paypal", "client_id", "client", "secret", "secret", "proof", password))
	id := regexp.MustCompile(`/hooks/paypal/(prl_[0-9a-z]+)`).FindStringSubmatch(p.page("/payouts/rails"))[1]
	run := p.send("/payouts/run", "period_end", "2026-09-01").Header.Get("Location")
	back := s.payoutOf(ada).String("id")
	fake.SetFate(back, paypaltest.Becomes(paypaltest.Success, time.Minute).Then(paypaltest.Refunded, 24*time.Hour))
	typed := func(proof string) apitest.Answer {
		return p.send(run+"/send", "rail_id", id, "currency", "USD", "confirm_count", "2", "amount", "60.00", "proof", proof)
	}
	require.Contains(t, p.page(run+"/send?rail="+id+"&currency=USD"), "Your password")
	p.says(400, "That is wrong. Nothing was done.", typed("not the password"))
	require.Empty(t, fake.Paid())
	p.done(typed(password))
	for _, by := range []time.Duration{time.Minute, 10 * time.Minute, 49 * time.Hour} {
		s.Clock.Advance(by)
		apitest.RunJob(t, s.Server, "send-payouts")
	}
	p = s.person(s.Org, team.Owner) // the first session is over
	page := p.page("/payouts/attention")
	for _, text := range []string{"1 payout needs attention", "Ada Lovelace", "Returned", "manual commission"} {
		require.Contains(t, page, text)
	}
	require.Contains(t, p.page(""), "1 payout needs attention")
	require.Contains(t, p.page("/payouts/"+back), "Owe 20.00 USD again")
	manager := s.person(s.Org, team.Manager)
	manager.says(403, "Your role cannot do this", manager.send("/payouts/"+back+"/again"))
	stranger := s.person(s.NewOrg("Other"), team.Owner)
	stranger.Must(404, stranger.send("/payouts/"+back+"/again"))
	p.Must(404, p.send("/payouts/pyt_none/again"))
	_, err := s.Pool.Exec(t.Context(), "ALTER TABLE commissions ADD CONSTRAINT broken CHECK (kind <> 'reward') NOT VALID")
	require.NoError(t, err)
	p.Must(500, p.send("/payouts/"+back+"/again"))
	require.Contains(t, p.page("/payouts/"+back), "Owe 20.00 USD again", "it can be tried again")
	_, err = s.Pool.Exec(t.Context(), "ALTER TABLE commissions DROP CONSTRAINT broken")
	require.NoError(t, err)
	require.Contains(t, p.done(p.send("/payouts/"+back+"/again")), "20.00 USD is owed to the partner again")
	p.says(409, "needs no attention", p.send("/payouts/"+back+"/again"))
	owed := s.Must(200, s.Get("/v1/commissions?program_id="+s.program+"&partner_id="+ada+"&status=approved,due")).Data()
	require.Len(t, owed, 1)
	require.Equal(t, "2000", owed[0]["amount_minor"].(interface{ String() string }).String())
	require.NotContains(t, p.page("/payouts/attention"), "Ada Lovelace")
}

// TestRailsAccessible checks the accessibility of the pages about rails.
func TestRailsAccessible(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.PayoutRail(d.program, db.PayoutRailStatusActive, "paypal")
	_, err := d.Pool.Exec(t.Context(), `UPDATE payout_rails SET last_error = 'PayPal gave no answer', automatic_batch_minor = 5,
		automatic_day_minor = 5`)
	require.NoError(t, err)
	_, err = d.Pool.Exec(t.Context(), `UPDATE payouts SET attention = 'returned', attention_text = 'It came back.',
		attention_at = paid_at WHERE status = 'paid'`)
	require.NoError(t, err)
	back := d.fixture.Must(200, d.Get("/v1/payouts?attention=returned&program_id="+d.program)).Data()[0]["id"].(string)
	d.Accessible(d.at+"/payouts/rails", d.at+"/payouts/attention", d.at+"/payouts/"+back)
	d.Silent()
}
