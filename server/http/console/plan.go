package console

var planRoutes = map[string]route{"GET /console/p/{program}/plan": {Do: plan}}

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
		revenue = v.Locale.Money(now.RevenueMeterMinor, v.program.Currency)
	}
	flows := unlimited
	if now.FlowQuota > 0 {
		flows = v.Locale.Count(now.FlowQuota)
	}
	return v.show(sheet{"plan", "/plan", "Plan", []limitRow{
		{"Active rules", "The number of active rules in a program.", flows, own.FlowQuota != nil},
		{
			"Monthly revenue", "Once a program’s monthly revenue exceeds this, applications can’t be approved.", revenue,
			own.RevenueMeterMinor != nil,
		},
		{"Risk checks", "Whether Rail checks for fraud.", monitoring, own.FraudMonitoring != nil},
	}})
}

// unlimited is the absence of a limit in words.
const unlimited = "No limit"
