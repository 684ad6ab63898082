package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
	"rail/server/harness/wait"
)

// TestSetup: the set-up is the home page until a partner's first sale, and leaves the menu with its last step.
func TestSetup(t *testing.T) {
	t.Parallel()
	api := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	s := newSiteOf(api, api.Program(M{"payout_methods": []string{"paypal"}, "url_params": []string{"via"}}))
	home := s.owner.page("")
	require.Contains(t, home, "2 of 8 steps are done")
	require.Contains(t, home, "once with ?via=test")
	require.NotContains(t, home, "Top partners")
	require.Contains(t, s.owner.page("?days=30"), "Top partners", "a person who asks for figures gets them")
	require.Contains(t, home, s.at+"/setup")
	require.NotContains(t, s.owner.page("/setup/steps"), "<html")
	key := s.Must(201, s.Post("/v1/publishable_keys", M{"program_id": s.program, "allowed_hosts": []string{"shop.example"}}))
	_, err := s.Pool.Exec(t.Context(), "UPDATE publishable_keys SET last_used_at = $1 WHERE id = $2", s.Clock.Now(), key.String("id"))
	require.NoError(t, err)
	s.Flow(s.program)
	s.Partner(s.program, M{"handle": "ann"})
	s.Must(200, s.Post("/v1/programs/"+s.program, M{"terms_url": "https://shop.example/terms"}))
	c := s.Connect(s.program)
	require.Contains(t, s.owner.page("/setup"), "6 of 8 steps are done")
	click := s.Click(s.program, "ann").String("id")
	s.Must(200, c.Send(M{
		"type": "sale", "external_charge_id": "ch_1", "external_customer_id": "c1", "click_id": click,
		"amount_minor": 4900, "currency": "USD",
	}))
	s.works()
	require.Contains(t, s.owner.page(""), "Top partners")
	require.Contains(t, s.owner.page("/setup"), "All 8 steps are done")
	require.NotContains(t, s.owner.page(""), s.at+`/setup"`, "it has left the menu")
}

// TestSetupOfMail: a marketer asks the operator; the name of the setting is a detail.
func TestSetupOfMail(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.owner.page("/setup")
	require.Contains(t, page, "Ask the operator of your server")
	require.Regexp(t, `(?s)<details><summary>For the operator</summary><p>Set RAIL_SMTP_URL`, page)
}

// TestSetupCompletes: the page notices a step without being loaded again.
func TestSetupCompletes(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	d.visit("/setup")
	d.Reads("Invite a partner")
	require.False(t, browsertest.Eval[bool](d.Tab, `!!document.querySelector('[data-unpolled]').offsetParent`))
	browsertest.Eval[string](d.Tab, `document.body.dataset.same = 'yes'`)
	d.Partner(d.program, M{"handle": "ann"})
	wait.Until(t, func() bool {
		return !browsertest.Eval[bool](d.Tab, `document.body.innerText.includes('Invite a partner')`)
	}, "the step is ticked off")
	require.Equal(t, "yes", browsertest.Eval[string](d.Tab, `document.body.dataset.same`), "the page was not loaded again")
	d.Silent()
}
