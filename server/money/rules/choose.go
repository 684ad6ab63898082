package rules

// Choice is the flow and the rate for an event. RateValue is basis points or minor units, by RateType. BranchID
// is nil if the flow's own rate applies (decisions, 3.4).
type Choice struct {
	FlowID            string
	BranchID          *string
	RateType          RateType
	RateValue         int64
	ApprovalMode      ApprovalMode
	ApprovalDelayDays *int64
}

// Choose returns the rate of the flow that pays: the first in order whose trigger and scope fit, with its first
// matching branch, else its own rate. It returns false if no flow fits. A rate of 0 is a choice too and does not
// fall through to the next flow (decisions, 134). The flows must be active and may come in any order.
func Choose(flows []Flow, f *Facts) (Choice, bool) {
	flow := first(flows, func(x *Flow) bool { return x.answers(f, GenerateCommission) })
	if flow == nil {
		return Choice{}, false
	}
	c := Choice{
		FlowID: flow.ID, RateType: flow.RateType, RateValue: flow.RateValue,
		ApprovalMode: flow.ApprovalMode, ApprovalDelayDays: flow.ApprovalDelayDays,
	}
	if b := flow.branch(readingOf(f)); b != nil {
		id := b.ID
		c.BranchID, c.RateType, c.RateValue = &id, b.RateType, b.RateValue
	}
	return c, true
}

// Switch is a change of group decided by a flow.
type Switch struct {
	FlowID        string
	TargetGroupID string
}

// SwitchTarget returns the group that the partner moves to after the event: the target of the first switch_group
// flow in order that fires, which needs no branches, or any matching branch. If the partner is in that group
// already, nothing changes (decisions, 131).
func SwitchTarget(flows []Flow, f *Facts) (Switch, bool) {
	r := readingOf(f)
	flow := first(flows, func(x *Flow) bool {
		return x.TargetGroupID != nil && x.answers(f, SwitchGroup) && (len(x.Branches) == 0 || x.branch(r) != nil)
	})
	if flow == nil {
		return Switch{}, false
	}
	return Switch{FlowID: flow.ID, TargetGroupID: *flow.TargetGroupID}, true
}

// first returns the first flow that fits, in the order of Less. It compares the order first, since that is
// cheaper than conditions.
func first(flows []Flow, fits func(*Flow) bool) *Flow {
	var least *Flow
	for i := range flows {
		if x := &flows[i]; (least == nil || Less(*x, *least)) && fits(x) {
			least = x
		}
	}
	return least
}

// answers reports whether the flow performs action for this event and partner, without regard to conditions.
func (f *Flow) answers(facts *Facts, action Action) bool {
	return f.Action == action && f.Trigger == facts.trigger() && Applies(*f, facts.Partner.ID, facts.Partner.GroupID)
}

// branch returns the first branch that matches, nil if none does.
func (f *Flow) branch(r *reading) *Branch {
	for i := range f.Branches {
		if f.Branches[i].Conditions.items.match(r) {
			return &f.Branches[i]
		}
	}
	return nil
}
