package console

var planRoutes = map[string]route{"GET /console/p/{program}/plan": {do: plan}}

// limitRow is a limit of the plan in words.
type limitRow struct {
	Name, Means, Value string
	Own                bool // set for this organization, and not for the whole server
}

// plan shows the limits in force. The operator sets them.
func plan(v *visit) error {
	own := v.actor.Plan
	now := v.console.Plan.With(own)
	monitoring := "Off"
	if now.FraudMonitoring {
		monitoring = "On"
	}
	revenue := unlimited
	if now.RevenueMeterMinor > 0 {
		revenue = v.locale.Money(now.RevenueMeterMinor, v.program.Currency)
	}
	flows := unlimited
	if now.FlowQuota > 0 {
		flows = v.locale.Count(now.FlowQuota)
	}
	return v.show(sheet{"plan", "/plan", "Plan", []limitRow{
		{"Rules that work", "How many rules of a program may be active at once.", flows, own.FlowQuota != nil},
		{
			"Revenue in a month", "What a program may take in a month before no further application is approved.", revenue,
			own.RevenueMeterMinor != nil,
		},
		{"Risk checks", "Whether Rail looks for partners who cheat.", monitoring, own.FraudMonitoring != nil},
	}})
}

// unlimited is the absence of a limit in words.
const unlimited = "No limit"
