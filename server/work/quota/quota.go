// Package quota is what an organization may use: limits that the operator sets for
// the whole server, and that each organization can have of its own.
package quota

// Plan is the limits in force. A number of 0 is no limit.
type Plan struct {
	// FlowQuota bounds the active flows of a program.
	FlowQuota int64
	// RevenueMeterMinor is the month's revenue of a program, in minor units of its
	// currency, above which no application is approved.
	RevenueMeterMinor int64
	// FraudMonitoring turns the risk checks on.
	FraudMonitoring bool
}

// Own is what an organization has of its own; nil is the server's default, and a
// number of 0 is no limit although the server has one.
type Own struct {
	FlowQuota         *int64
	RevenueMeterMinor *int64
	FraudMonitoring   *bool
}

// With returns the limits of an organization on a server whose defaults are p.
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
