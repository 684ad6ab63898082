package rules

import (
	"cmp"

	"rail/gen/db"
	"rail/server/clock"
)

// Trigger is the event that a flow answers.
type Trigger = db.FlowTrigger

// The triggers: a sale, or a customer who signs up.
const (
	NewPayment = db.FlowTriggerNewPayment
	NewSignup  = db.FlowTriggerNewSignup
)

// Action is the effect of a flow.
type Action = db.FlowAction

// The actions: pay a commission, or move the partner to another group.
const (
	GenerateCommission = db.FlowActionGenerateCommission
	SwitchGroup        = db.FlowActionSwitchGroup
)

// RateType is the unit of a rate's value.
type RateType = db.RateType

// The rate types: basis points of a sale, or minor units of the program's currency.
const (
	RatePercent = db.RateTypePercent
	RateFixed   = db.RateTypeFixed
)

// Rate is a rate alone, such as a link's rate_override (decisions, 77).
type Rate struct {
	RateType  RateType `json:"rate_type"`
	RateValue int64    `json:"rate_value"`
}

// Flow is an active commission rule, with the fields that choosing needs. At most one of GroupID and PartnerID
// is set; neither means the whole program. For the action switch_group, the rate is empty and TargetGroupID set
// (decisions, 129-131).
type Flow struct {
	ID                string
	GroupID           *string
	PartnerID         *string
	Trigger           Trigger
	Action            Action
	TargetGroupID     *string
	RateType          RateType
	RateValue         int64
	ApprovalMode      ApprovalMode
	ApprovalDelayDays *int64
	Priority          int64
	CreatedAt         clock.Time
	Branches          []Branch
}

// Branch is a rate with the conditions under which it replaces the flow's rate.
type Branch struct {
	ID         string
	Conditions Conditions
	RateType   RateType
	RateValue  int64
}

// Less is the order in which flows run: priority, lowest first, then partner
// before group before program, then the oldest, then the id (decisions, 133).
func Less(a, b Flow) bool { return compareFlows(a, b) < 0 }

// compareFlows is Less for sorting.
func compareFlows(a, b Flow) int {
	return cmp.Or(
		cmp.Compare(a.Priority, b.Priority),
		cmp.Compare(a.breadth(), b.breadth()),
		a.CreatedAt.Compare(b.CreatedAt.Time),
		cmp.Compare(a.ID, b.ID),
	)
}

// breadth grows with the number of partners in the flow's scope.
func (f Flow) breadth() int {
	switch {
	case f.PartnerID != nil:
		return 0
	case f.GroupID != nil:
		return 1
	}
	return 2
}

// Applies reports whether the flow's scope includes the partner; groupID is nil for a partner without a group
// (decisions, 134).
func Applies(f Flow, partnerID string, groupID *string) bool {
	if f.PartnerID != nil && *f.PartnerID != partnerID {
		return false
	}
	return f.GroupID == nil || groupID != nil && *f.GroupID == *groupID
}

// NeedsOf returns which costly facts the flows' conditions read, so that the caller reads no others.
func NeedsOf(flows []Flow) Needs {
	var n Needs
	for _, f := range flows {
		for _, b := range f.Branches {
			n |= b.Conditions.Needs()
		}
	}
	return n
}
