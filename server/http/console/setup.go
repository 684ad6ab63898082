package console

import (
	"rail/gen/api"
	"rail/server/clock"
	"rail/server/program/tracking"
)

var setupRoutes = map[string]route{
	"GET /console/p/{program}/setup":       {Do: setup},
	"GET /console/p/{program}/setup/steps": {Do: setupSteps},
}

// check is a step of the set-up.
type check struct {
	Name, Text string
	Done       bool
	At         *clock.Time // when it was last seen to work
	Path, Link string      // where the step is taken
	Detail     string      // for the operator of the server
	Next       bool        // the first step that is left
}

// setupData holds the steps of the set-up.
type setupData struct {
	Checks      []check
	Done, Total int
	Steps       string // the address of the part that the script asks for again
	MovesIn     bool   // the person may import from another program
	Connects    bool   // no processor is connected yet, and the person may connect one
}

// setup shows the setup checklist of a program.
func setup(v *visit) error {
	status, err := v.status()
	if err != nil {
		return err
	}
	return v.show(sheet{"setup", "/setup", "Setup", v.setupData(status.Setup)})
}

// setupSteps answers the steps alone, for the script that ticks them off.
func setupSteps(v *visit) error {
	status, err := v.status()
	if err != nil {
		return err
	}
	return v.part("setup-steps", v.setupData(status.Setup))
}

// status reads the open tasks and the set-up of the program.
func (v *visit) status() (*api.ProgramStatusReport, error) {
	reply, err := v.console.api.RetrieveProgramStatusWithResponse(v.Ctx(), v.program.ID, nil)
	if err != nil {
		return nil, err
	}
	return reply.JSON200, nil
}

// setupData counts the steps, and notes whether all are done.
func (v *visit) setupData(s api.ProgramSetup) setupData {
	d := setupData{
		Checks: v.checks(s), Steps: v.at("/setup/steps"), MovesIn: v.movesIn(),
		Connects: !s.ProcessorConnected && v.session.User.Role.ManagesPeople(),
	}
	d.Total = len(d.Checks)
	for i, c := range d.Checks {
		if c.Done {
			d.Done++
		} else if i == d.Done {
			d.Checks[i].Next = true
		}
	}
	v.noteSetup(d.Done == d.Total)
	return d
}

// noteSetup notes whether the set-up of the program is done, so that no page's menu has to ask.
func (v *visit) noteSetup(done bool) {
	if done {
		v.console.setUp.Store(v.program.ID, true)
	} else {
		v.console.setUp.Delete(v.program.ID)
	}
}

// hidesSetup reports whether the set-up of a program has left the menu: it was done when a page last looked.
func (v *visit) hidesSetup(program string) bool {
	_, done := v.console.setUp.Load(program)
	return done
}

// setupAtHome returns the steps that the home page shows in place of figures. It returns nil if all are done, if a
// partner has brought a sale, or if the person asks for figures.
func (v *visit) setupAtHome(s api.ProgramSetup) *setupData {
	d := v.setupData(s)
	if d.Done == d.Total || s.SaleSeenAt != nil || len(v.QueryParams()) > 0 {
		return nil
	}
	return &d
}

// checks returns the steps and their states.
func (v *visit) checks(s api.ProgramSetup) []check {
	return []check{
		{
			Name: "Commission rule", Text: "Without a rule, sales earn no commission.", Done: s.HasFlow,
			Path: v.at("/rules"), Link: "Create a rule",
		},
		{
			Name: "The script on your site",
			Text: "Tracks which partner link each visitor came from. Open a page of your site once with ?" +
				tracking.Param(v.program) + "=test.",
			Done: s.ScriptSeenAt != nil, At: s.ScriptSeenAt, Path: v.at("/integrations"), Link: "Copy the tag",
		},
		{
			Name: "Your payment processor", Text: "Sales, renewals and refunds are recorded automatically.",
			Done: s.ProcessorConnected && s.ProcessorSeenAt != nil, At: s.ProcessorSeenAt,
			Path: v.at("/integrations/connect"), Link: "Connect it",
		},
		{
			Name: "Test purchase",
			Text: "See what a purchase would earn, then open your site with a partner’s link and buy something. The sale appears here.",
			Done: s.SaleSeenAt != nil, At: s.SaleSeenAt, Path: v.at("/test-purchase"), Link: "Send a test purchase",
		},
		{
			Name: "Terms", Text: "What partners agree to.", Done: s.HasTerms, Path: v.at("/settings"),
			Link: "Add a link to your terms",
		},
		{
			Name: "Email", Text: "Partners get invitations, decisions and payout notices by email. " +
				"Without email, nobody can apply to the program. " +
				"Ask the operator of your server to turn it on.",
			Done: s.HasMail, Detail: "Set RAIL_SMTP_URL to the address of your mail server, and restart Rail.",
		},
		{
			Name: "Payout method", Text: "How your partners get their money.", Done: s.HasPayoutMethod,
			Path: v.at("/settings"), Link: "Choose payout methods",
		},
		{
			Name: "First partner", Text: "The first person who refers customers to you.", Done: s.HasPartner,
			Path: v.at("/partners"), Link: "Invite a partner",
		},
	}
}
