// Package quota has the limits of an organization: the operator's defaults for the whole server, and an
// organization's own.
package quota

// Plan has the effective limits. 0 is no limit.
type Plan struct {
	// FlowQuota bounds the active flows of a program.
	FlowQuota int64
	// RevenueMeterMinor is the monthly revenue of a program, in minor units of its currency, above which no
	// application is approved.
	RevenueMeterMinor int64
	// FraudMonitoring turns the risk checks on.
	FraudMonitoring bool
}

// Own has an organization's own limits; nil is the server's default, and 0 is no limit even if the server has
// one.
type Own struct {
	FlowQuota         *int64
	RevenueMeterMinor *int64
	FraudMonitoring   *bool
}

// With returns the limits of an organization on a server with the defaults p.
func (p Plan) With(o Own) Plan {
	set(&p.FlowQuota, o.FlowQuota)
	set(&p.RevenueMeterMinor, o.RevenueMeterMinor)
	set(&p.FraudMonitoring, o.FraudMonitoring)
	return p
}

func set[T any](into *T, own *T) {
	if own != nil {
		*into = *own
	}
}
