package console

import (
	"rail/gen/api"
	"rail/server/clock"
)

var setupRoutes = map[string]route{
	"GET /console/p/{program}/setup": {Do: setup},
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
	reply, err := v.console.api.RetrieveProgramStatusWithResponse(v.Ctx(), v.program.ID, nil)
	if err != nil {
		return err
	}
	checks, done := v.checks(reply.JSON200.Setup), 0
	for _, c := range checks {
		if c.Done {
			done++
		}
	}
	return v.show(sheet{"setup", "/setup", "Setup", struct {
		Checks      []check
		Done, Total int
	}{checks, done, len(checks)}})
}

// parameter returns the program's first query parameter with a tracking value.
func (v *visit) parameter() string {
	if len(v.program.URLParams) == 0 {
		return "ref"
	}
	return v.program.URLParams[0]
}

// checks returns the steps and their states.
func (v *visit) checks(s api.ProgramSetup) []check {
	return []check{
		{
			"Commission rule", "Without a rule, sales earn no commission.", s.HasFlow, nil,
			v.at("/rules"), "Create a rule",
		},
		{
			"The script on your site",
			"Tracks which partner link each visitor came from. Open a page of your site once with ?" + v.parameter() + "=test.",
			s.ScriptSeenAt != nil, s.ScriptSeenAt, v.at("/integrations"), "Copy the tag",
		},
		{
			"Your payment processor", "Sales, renewals and refunds are recorded automatically.",
			s.ProcessorConnected && s.ProcessorSeenAt != nil, s.ProcessorSeenAt, v.at("/integrations"), "Connect it",
		},
		{
			"Test purchase", "Open your site with a partner’s link and buy something. The sale appears here.",
			s.SaleSeenAt != nil, s.SaleSeenAt, v.at("/sales"), "View sales",
		},
		{"Terms", "What partners agree to.", s.HasTerms, nil, v.at("/settings"), "Add a link to your terms"},
		{
			"Mail", "Partners get invitations, decisions and payout notices by email. The operator sets RAIL_SMTP_URL.", s.HasMail, nil,
			"", "",
		},
		{"Payout method", "How your partners get their money.", s.HasPayoutMethod, nil, v.at("/settings"), "View program settings"},
		{"First partner", "The first person who refers customers to you.", s.HasPartner, nil, v.at("/partners"), "Invite a partner"},
	}
}
