package portal

import (
	"slices"

	"rail/gen/db"
	"rail/server/money/rules"
	"rail/server/opt"
)

// level is the next better rate that the partner earns with more customers, and the group with that rate, "" for none.
// A group with several rates has Says, its rates in words, in place of Rate.
type level struct {
	Customers, Need int64 // the customers that the partner has, and those of the rate
	Missing         int64
	Group, Rate     string
	Says            []string
}

// level returns the partner's next level: a tier of the rate or a better group, whatever comes first. It is nil if
// there is none, or if more than the number of customers decides.
func (v *visit) level() (*level, error) {
	found, err := v.flows(rules.NewPayment)
	if err != nil {
		return nil, err
	}
	moves, err := v.moves(found)
	if err != nil {
		return nil, err
	}
	here := v.decidingOf(found, v.partner.GroupID)
	if _, tiers := nextTier(here, 0); !tiers && len(moves) == 0 { // no count is needed
		return nil, nil
	}
	customers, err := queries.PortalConvertedCount(v.Ctx(), v.portal.Pool, db.PortalConvertedCountParams{
		ProgramID: v.program.ID, OrgID: v.partner.OrgID, PartnerID: v.partner.ID,
	})
	if err != nil {
		return nil, err
	}
	tier, tiers := nextTier(here, customers)
	move, leaves := rules.NextMove(moves, v.partner.GroupID, customers)
	switch {
	case leaves && (!tiers || move.Customers <= tier.Customers):
		return v.groupLevel(here, v.decidingOf(found, &move.GroupID), move, customers)
	case tiers:
		rate := tier.In(v.Locale, rules.NewPayment, v.program.Currency)
		return newLevel(customers, tier.Customers, rate), nil
	}
	return nil, nil
}

// newLevel returns the level of a number of customers.
func newLevel(customers, need int64, rate string) *level {
	return &level{Customers: customers, Need: need, Missing: need - customers, Rate: rate}
}

// groupLevel returns the level of a group that the partner moves to; nil unless its best rate is better.
func (v *visit) groupLevel(here, there *db.Flow, move rules.Move, customers int64) (*level, error) {
	if there == nil || !rules.Better(bestOf(there), bestOf(here)) {
		return nil, nil
	}
	group, err := queries.GroupGet(v.Ctx(), v.portal.Pool, db.GroupGetParams{ID: move.GroupID, OrgID: v.partner.OrgID})
	if err != nil {
		return nil, err
	}
	l := newLevel(customers, move.Customers, "")
	l.Group = group.Name
	if string(there.Branches) == "[]" {
		l.Rate = rateOf(there).In(v.Locale, rules.NewPayment, v.program.Currency)
		return l, nil
	}
	l.Says, err = v.termsOf(*there)
	return l, err
}

// moves returns the flows that can move the partner to another group, in order; those of sign-ups only if there are
// some of payments.
func (v *visit) moves(payments []db.Flow) ([]db.Flow, error) {
	fits := func(f db.Flow) bool {
		return f.Action == rules.SwitchGroup && v.scoped(f, v.partner.GroupID)
	}
	if !slices.ContainsFunc(payments, fits) {
		return nil, nil
	}
	signups, err := v.flows(rules.NewSignup)
	out := slices.Concat(payments, signups)
	return slices.DeleteFunc(out, func(f db.Flow) bool { return !fits(f) }), err
}

// rateOf returns a flow's own rate.
func rateOf(f *db.Flow) rules.Rate {
	return rules.Rate{RateType: opt.Value(f.RateType), RateValue: opt.Value(f.RateValue)}
}

// bestOf returns the best rate of a flow, zero for no flow.
func bestOf(f *db.Flow) rules.Rate {
	if f == nil {
		return rules.Rate{}
	}
	return rules.Best(rateOf(f), f.Branches)
}

// nextTier returns the next tier of a flow; false without a flow.
func nextTier(f *db.Flow, customers int64) (rules.Tier, bool) {
	if f == nil {
		return rules.Tier{}, false
	}
	return rules.NextTier(rateOf(f), f.Branches, customers)
}
