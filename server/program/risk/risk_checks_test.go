package risk_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
)

// TestRiskChecks: suspicious clicks and customers are flagged once per cause, with evidence.
// Without monitoring nothing is flagged.
func TestRiskChecks(t *testing.T) {
	t.Parallel()
	run := func(options ...apitest.Option) []string {
		s := apitest.New(t, options...)
		program := s.Program(M{"block_self_referrals": false})
		ada := s.Partner(program, M{"handle": "ada", "email": "ada@studio.example"})
		free := s.Partner(program, M{"email": "bob@gmail.com"})
		for range 2 {
			s.Click(program, "ada", M{"landing_url": "https://shop.example/?ref=ada&gclid=x"})
		}
		s.Click(program, "ada", M{"landing_url": "https://shop.example/click?ref=ada"})
		s.Customer(program, ada, M{"email": "eve@Studio.example"})
		s.Customer(program, ada, M{"email": "x@mailinator.com"})
		s.Customer(program, ada, M{"email": "ada+shop@studio.example"})
		s.Customer(program, free, M{"email": "carol@gmail.com"})
		for _, domain := range []string{"yahoo.co.in", "hotmail.es", "live.com.au", "privaterelay.appleid.com", "gmx.at"} {
			s.Customer(program, s.Partner(program, M{"email": "dan@" + domain}), M{"email": "carol@" + domain})
		}
		var out []string
		for _, f := range s.Must(200, s.Get("/v1/risk_flags?program_id="+program)).Data() {
			evidence := f["evidence"].(M)
			require.Equal(t, f["kind"], evidence["check"])
			require.NotEmpty(t, evidence["summary"])
			require.Equal(t, ada, f["partner"].(M)["id"])
			out = append(out, f["severity"].(string)+" "+f["kind"].(string))
		}
		require.Equal(t, len(out), apitest.Tally(s, program, "risk_flag.created"))
		return out
	}
	require.ElementsMatch(t,
		[]string{"high self_referral", "medium self_referral_domain", "medium disposable_email", "low paid_traffic"}, run())
	require.Empty(t, run(func(c *config.Config) { c.FraudMonitoring = false }))
}

// TestPaidShortLink: a click from an advertisement flags the short link's address. The next click
// does not open a dismissed flag again.
func TestPaidShortLink(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	slug := s.Must(201,
		s.Post("/v1/links",
			M{
				"program_id": program, "partner_id": partner, "destination_url": "https://shop.example/p?q=%zz",
			})).String("short_slug")
	flags := func() []M { return s.Get("/v1/risk_flags?program_id=" + program + "&status=open").Data() }
	s.Must(302, apitest.Follow(s, "GET", slug+"?cl=1"))
	require.Empty(t, flags())
	s.Must(302, apitest.Follow(s, "GET", slug+"?gclid=abc"))
	require.Len(t, flags(), 1)
	require.Equal(t, "gclid", flags()[0]["evidence"].(M)["parameter"])
	s.Must(200, s.Post("/v1/risk_flags/"+flags()[0]["id"].(string)+"/resolve", M{
		"status": "dismissed", "note": "Agreed.",
	}))
	s.Must(302, apitest.Follow(s, "GET", slug+"?msclkid=abc"))
	require.Empty(t, flags())
	s.Clock.Advance(30 * 24 * time.Hour)
	s.Must(302, apitest.Follow(s, "GET", slug+"?gclid=abc"))
	require.Len(t, flags(), 1)
}

// TestHoldOnHighRisk: if the operator enables the hold, a partner with an open high flag is left
// out of payouts until the flag is closed.
func TestHoldOnHighRisk(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.HoldOnHighRisk = true })
	e := s.Earner(M{"block_self_referrals": false})
	s.Flow(e.ProgramID)
	partner := s.Partner(e.ProgramID, M{"email": "ada@studio.example"})
	s.Sale(e.ProgramID, s.Customer(e.ProgramID, partner, M{"email": "ada@studio.example"}), M{"amount_minor": 10000})
	e.Batch(201)
	require.Equal(t, "risk_review", e.Payouts("")[0].String("reason"))
	f := s.Get("/v1/risk_flags?program_id=" + e.ProgramID).Data()[0]["id"].(string)
	s.Must(200, s.Post("/v1/risk_flags/"+f+"/resolve", M{"note": "Known."}))
	e.Batch(200)
	require.Equal(t, "pending", e.Payouts("")[0].String("status"))
	e.Tallied(t)
}
