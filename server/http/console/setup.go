package console

import (
	"rail/gen/api"
	"rail/server/clock"
)

var setupRoutes = map[string]route{
	"GET /console/p/{program}/setup": {do: setup},
}

// check is a step of the set-up.
type check struct {
	Name, Text string
	Done       bool
	At         *clock.Time // when it was last seen to work
	Path, Link string      // where the step is taken
}

// setup shows the setup checklist of a program.
func setup(v *visit) error {
	reply, err := v.console.api.RetrieveProgramStatusWithResponse(v.ctx(), v.program.ID, nil)
	if err != nil {
		return err
	}
	checks, done := v.checks(reply.JSON200.Setup), 0
	for _, c := range checks {
		if c.Done {
			done++
		}
	}
	return v.show(sheet{"setup", "/setup", "Set-up", struct {
		Checks      []check
		Done, Total int
	}{checks, done, len(checks)}})
}

// checks returns the steps and their states.
func (v *visit) checks(s api.ProgramSetup) []check {
	return []check{
		{
			"A rule that pays", "Without a rule no sale makes a commission.", s.HasFlow, nil,
			v.at("/rules"), "Make a rule",
		},
		{
			"The script on your site", "It tells Rail who came by which link. Load a page of your site once with ?via=test.",
			s.ScriptSeenAt != nil, s.ScriptSeenAt, v.at("/integrations"), "Copy the tag",
		},
		{
			"Your payment processor", "Sales, renewals and refunds then record themselves.",
			s.ProcessorConnected && s.ProcessorSeenAt != nil, s.ProcessorSeenAt, v.at("/integrations"), "Connect it",
		},
		{
			"A purchase, from end to end", "Open your site by a partner’s link and buy something. The sale then shows here.",
			s.SaleSeenAt != nil, s.SaleSeenAt, v.at("/sales"), "Look at sales",
		},
		{"Terms", "What partners agree to.", s.HasTerms, nil, v.at("/settings"), "Name their address"},
		{
			"Mail", "Invitations, decisions and payouts are told by mail. The operator sets RAIL_SMTP_URL.", s.HasMail, nil,
			"", "",
		},
		{"A way to pay", "How your partners get their money.", s.HasPayoutMethod, nil, v.at("/settings"), "Look at the program"},
		{"The first partner", "Somebody who sends you customers.", s.HasPartner, nil, v.at("/partners"), "Invite somebody"},
	}
}
