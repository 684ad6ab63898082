package console_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/paypaltest"
	"rail/server/harness/pgtest"
	"rail/server/money/payout/rails"
	"rail/server/secret"
	"rail/server/team"
)

// TestSendPayouts: a card whose method a rail pays can be sent, after the sum was typed. A wrong sum sends nothing, and
// the rail's payouts cannot be marked by hand.
func TestSendPayouts(t *testing.T) {
	t.Parallel()
	c := clock.NewManual(apitest.Start)
	fake := paypaltest.Start(t, paypaltest.Config{Clock: c})
	base := apitest.On(t, pgtest.DSN(t), c, func(cfg *config.Config) { cfg.PayPalURL = fake.URL() })
	s := newSiteOf(base, base.Program())
	s.Flow(s.program)
	ada, _ := s.earns("Ada Lovelace", "paypal", 10000)
	grace, _ := s.earns("Grace Hopper", "wise", 20000)
	p := s.person(s.Org, team.Finance)
	run := p.send("/payouts/run", "period_end", "2026-09-01").Header.Get("Location")
	require.NotContains(t, p.page(run), "Send with PayPal", "no rail is connected")
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	rail, err := (&rails.Service{Keeper: keeper, Clock: c, PayPalURL: fake.URL()}).Connect(t.Context(), s.ownerUnit(), rails.PayPal{
		ProgramID: s.program, Live: true, ClientID: "client", Secret: "secret",
	})
	require.NoError(t, err)
	page := p.page(run)
	require.Contains(t, page, "Send with PayPal")
	require.NotContains(t, page, "Send with Wise")
	ask := p.page(run + "/send?rail=" + rail.ID + "&currency=USD")
	for _, text := range []string{"Send 1 payout by PayPal?", "20.00 USD", "Ada Lovelace", "Type the sum to confirm", "about 0.40 USD in all"} {
		require.Contains(t, ask, text)
	}
	require.NotContains(t, ask, "Grace Hopper")
	typed := func(amount string) apitest.Answer {
		return p.send(run+"/send", "rail_id", rail.ID, "currency", "USD", "confirm_count", "1", "amount", amount, "proof", password)
	}
	p.says(400, "This is not the sum of the payouts.", typed("20.01"))
	p.says(400, "Type the sum as it is shown", typed("much"))
	viewer := s.person(s.Org, team.Viewer)
	viewer.says(403, "Your role cannot do this", viewer.send(run+"/send", "rail_id", rail.ID, "currency", "USD", "confirm_count", "1", "amount", "20.00"))
	require.Equal(t, "pending", s.payoutOf(ada).String("status"))
	require.Equal(t, "1 payout is on the way: 20.00 USD. This page shows when each is paid.", p.done(typed("20.00")))
	page = p.page(run)
	for _, text := range []string{"1 on the way by PayPal", "/progress", "To 1 partner by PayPal", "This updates by itself"} {
		require.Contains(t, page, text)
	}
	require.NotContains(t, page, "Upload result", "no file has the payout")
	require.Contains(t, p.page(run+"/progress"), "0 of 2 paid")
	log := s.owner.page("/log")
	for _, text := range []string{"September 2026", "Payment rail"} {
		require.Contains(t, log, text)
	}
	sent := s.payoutOf(ada).String("id")
	require.NotContains(t, p.page("/payouts/"+sent), "Was it paid?")
	for range 3 {
		c.Advance(10 * time.Minute)
		apitest.RunJob(t, s.Server, "send-payouts")
	}
	page = p.page("/payouts/" + sent)
	require.Contains(t, page, "Sent by")
	require.Contains(t, page, "Fee")
	require.Equal(t, []string{"paid", "pending"}, []string{s.payoutOf(ada).String("status"), s.payoutOf(grace).String("status")})
	require.NotContains(t, p.page(run), "Send with PayPal")
}
