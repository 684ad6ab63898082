package customer

import (
	"context"
	"encoding/json"
	"strings"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/opt"
	"rail/server/program/tracking"
	"rail/server/work"
)

// Rule is the rule that attributed a customer to its partner, with the id or code that matched.
type Rule struct {
	Rule   api.AttributionRule
	Detail string
}

// At returns the rule as a customer's row stores it: the JSON of the API.
func (r Rule) At(now clock.Time) []byte {
	text, err := json.Marshal(api.CustomerAttribution{Rule: r.Rule, Detail: opt.OrNil(r.Detail), At: now})
	if err != nil {
		return nil // strings and a time always marshal
	}
	return text
}

// ruleOf returns the rule of a route.
func ruleOf(r tracking.Route, a tracking.Attribution) Rule {
	switch {
	case r.ClickID != nil:
		return Rule{api.AttributionRuleClick, *r.ClickID}
	case r.ReferralID != nil:
		return Rule{api.AttributionRuleReferral, *r.ReferralID}
	case r.CouponCode != nil || r.CouponID != nil:
		return Rule{api.AttributionRulePromotionCode, opt.Value(a.CouponID)}
	case r.Agent != nil:
		return Rule{api.AttributionRuleAgent, r.Agent.Detail}
	}
	return Rule{api.AttributionRuleAPI, a.Partner.ID}
}

// retryPayments reschedules payments that this customer may explain.
func retryPayments(ctx context.Context, u *work.Unit, k db.Customer) error {
	var keys []string
	if k.ExternalCustomerID != nil {
		keys = append(keys, work.CustomerKey(*k.ExternalCustomerID))
	}
	if k.Identifier != nil {
		keys = append(keys, work.IdentifierKey(*k.Identifier))
	}
	if k.Email != nil {
		keys = append(keys, work.EmailKey(strings.ToLower(*k.Email)))
	}
	if len(keys) == 0 {
		return nil
	}
	return u.Reschedule(ctx, k.ProgramID, keys...)
}
