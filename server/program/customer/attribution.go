package customer

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"time"

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

// otherRoutesOf returns the other routes in a customer's row.
func otherRoutesOf(k db.Customer) (o tracking.OtherRoutes, err error) {
	if k.OtherRoutes == nil {
		return o, nil
	}
	return o, json.Unmarshal(k.OtherRoutes, &o)
}

// storeOtherRoutes sets the other routes in a customer's row.
func storeOtherRoutes(k *db.Customer, o tracking.OtherRoutes) error {
	k.OtherRoutes = nil
	if reflect.ValueOf(o).IsZero() {
		return nil
	}
	text, err := json.Marshal(o)
	k.OtherRoutes = text
	return err
}

// noteVisit adds the visit of a customer to its other routes, before another route replaces it: an earlier click, or
// the coupon of a first payment.
func noteVisit(k *db.Customer, couponID *string) error {
	o, err := otherRoutesOf(*k)
	if err != nil {
		return err
	}
	if couponID != nil {
		o.AddPaid(*couponID)
	}
	if k.ClickID != nil {
		o.Add(tracking.Route{ClickID: k.ClickID})
	} else {
		o.Add(tracking.Route{ReferralID: k.ReferralID})
	}
	return storeOtherRoutes(k, o)
}

// apart is how far a customer's arrival and its sign-up are apart at least, for its row to have both: events of
// processors may be read long after.
const apart = time.Minute

// noteRoutes stores the other routes of a new attribution by r: a named click that the program's model replaced, and
// the routes named beside r.
func noteRoutes(k *db.Customer, r tracking.Route, a tracking.Attribution, others ...tracking.Route) error {
	var o tracking.OtherRoutes
	if r.ClickID != nil && a.Click != nil && a.Click.ID != *r.ClickID {
		o.Add(r)
	}
	for _, other := range others {
		o.Add(other)
	}
	if !r.At.IsZero() && r.At.Sub(k.LeadAt.Time).Abs() > apart {
		o.At = &r.At
	}
	return storeOtherRoutes(k, o)
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
