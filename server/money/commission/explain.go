package commission

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/locale/currency"
	"rail/server/money/rules"
	"rail/server/opt"
)

// Explanation explains a commission in two sentences: its amount, and why its partner earned it. Partner is ""
// if the commission has no customer, or the customer belongs to another partner now.
type Explanation struct{ Amount, Partner string }

// Explain explains commissions of an organization, by their ids, in the API's words.
func Explain(ctx context.Context, tx db.DBTX, org string, ids []string) (map[string]Explanation, error) {
	return explain(ctx, tx, org, ids, ofAPI)
}

// explain explains commissions in some words.
func explain(
	ctx context.Context, tx db.DBTX, org string, ids []string, in func(db.CommissionReasonsRow) words,
) (map[string]Explanation, error) {
	rows, err := queries.CommissionReasons(ctx, tx, db.CommissionReasonsParams{Ids: ids, OrgID: org})
	if err != nil {
		return nil, err
	}
	out := make(map[string]Explanation, len(rows))
	for _, r := range rows {
		w := in(r)
		amount, err := amountOf(r, w)
		if err != nil {
			return nil, fmt.Errorf("commission %s: %w", r.ID, err)
		}
		out[r.ID] = Explanation{amount + correctionOf(r, w), w.partner(r)}
	}
	return out, nil
}

// words are those of a reader: the API's clients, or the people at its pages.
type words interface {
	money(minor int64, code string) string
	day(day time.Time) string
	// rate explains how a rate gives an amount from a base.
	rate(rate rules.Rate, base int64, code string) string
	// by names the flow and the branch that a rate comes from, "" for a deleted flow.
	by(flow string, branches []byte, branch *string) (string, error)
	// partner explains how the customer was attributed.
	partner(r db.CommissionReasonsRow) string
	rule() string // a flow
	// refunded and clawback explain clawbacks: for a refund of the sale, and by hand.
	refunded() string
	clawback() string
}

// apiWords are the API's words, with days as dates of ISO 8601.
type apiWords struct{}

func ofAPI(db.CommissionReasonsRow) words { return apiWords{} }

func (apiWords) money(minor int64, code string) string { return Money(minor, code) }
func (apiWords) day(day time.Time) string              { return day.Format(time.DateOnly) }
func (apiWords) rule() string                          { return "flow" }
func (apiWords) refunded() string                      { return "Takes back the commission of a refunded sale." }
func (apiWords) clawback() string                      { return "Taken back manually." }

func (apiWords) rate(rate rules.Rate, base int64, code string) string { return Words(rate, base, code) }

func (apiWords) by(flow string, branches []byte, branch *string) (string, error) {
	if flow == "" {
		return "by a deleted flow", nil
	}
	by, err := By(flow, branches, branch)
	return "by " + by, err
}

// amountOf explains how the amount was computed.
func amountOf(r db.CommissionReasonsRow, w words) (string, error) {
	switch {
	case r.Follows && r.Kind == db.CommissionKindReward:
		return "Returns the amount that a refund of the sale took.", nil
	case r.Kind == db.CommissionKindReward:
		return "Granted manually.", nil
	case r.Kind == db.CommissionKindClawback && r.SaleID != nil:
		return w.refunded(), nil
	case r.Kind == db.CommissionKindClawback:
		return w.clawback(), nil
	case r.RateType == nil || r.RateValue == nil:
		return "Imported, so its rate is unknown.", nil
	}
	how := w.rate(rules.Rate{RateType: *r.RateType, RateValue: *r.RateValue}, opt.Value(r.RevenueMinor),
		opt.Value(r.SaleCurrency))
	by, err := w.by(opt.Value(r.FlowName), r.Branches, r.FlowBranchID)
	if err != nil {
		return "", err
	}
	out := strings.ToUpper(how[:1]) + how[1:]
	switch {
	case r.ShrunkMinor == 0:
	case *r.RateType == rules.RatePercent: // a refund lowers the base of the percentage
		out += ", the rest after refunds"
	default:
		out += ", less " + w.money(r.ShrunkMinor, r.Currency) + " for refunds"
	}
	return out + ", " + by + ".", nil
}

// correctionOf describes the last correction of the amount: the new amount, the actor and
// the reason. It is "" without a correction. An entry that was dropped from the audit log leaves no actor and no reason.
func correctionOf(r db.CommissionReasonsRow, w words) string {
	if r.CorrectedToMinor == nil || r.CorrectedAt == nil {
		return ""
	}
	by := cmp.Or(opt.Value(r.CorrectorName), correctors[opt.Value(r.CorrectorType)])
	if by != "" {
		by = " by " + by
	}
	why := "."
	if r.CorrectionReason != nil {
		why = ": " + *r.CorrectionReason
	}
	return fmt.Sprintf(" Corrected to %s on %s%s%s", w.money(*r.CorrectedToMinor, r.Currency),
		w.day(r.CorrectedAt.DayIn(clock.StoredZone(r.TimeZone))), by, why)
}

// correctors names actors that are not people.
var correctors = map[db.ActorType]string{
	db.ActorTypeAPIKey: "an API key", db.ActorTypeOperator: "the operator", db.ActorTypeProcessor: "a payment processor",
}

// broughtOn returns the day on which the customer was attributed.
func broughtOn(r db.CommissionReasonsRow, w words) string {
	return " on " + w.day(cmp.Or(r.ClickedAt, r.LeadAt).DayIn(clock.StoredZone(r.TimeZone))) + "."
}

func (w apiWords) partner(r db.CommissionReasonsRow) string {
	if r.CustomerID == nil {
		return ""
	}
	on := broughtOn(r, w)
	switch {
	case r.LinkValue != nil:
		return "The customer came by the link " + *r.LinkValue + on
	case r.ClickedAt != nil:
		return "The customer came by the partner's handle" + on
	case r.CouponCode != nil:
		return "The customer used the coupon " + *r.CouponCode + on
	case r.TrackedBy == string(db.TrackedByManual):
		return "The customer was assigned to the partner manually."
	case r.TrackedBy == string(db.TrackedByAgent):
		return "The customer came through an AI assistant that named the partner" + on
	}
	return "The customer was reported as the partner's" + on
}

// Words explains how a rate gives an amount, from a base in minor units of a currency.
func Words(rate rules.Rate, base int64, code string) string {
	if rate.RateType != rules.RatePercent {
		return "a fixed amount"
	}
	percent := fmt.Sprintf("%d.%02d", rate.RateValue/100, rate.RateValue%100)
	return strings.TrimSuffix(strings.TrimRight(percent, "0"), ".") + " % of " + Money(base, code)
}

// By names the flow, or its branch, that a rate comes from.
func By(flow string, branches []byte, branchID *string) (string, error) {
	if branchID == nil {
		return "the flow " + flow, nil
	}
	label, number, err := branchOf(branches, *branchID)
	switch {
	case label != nil:
		return "the branch " + *label + " of the flow " + flow, err
	case number > 0:
		return fmt.Sprintf("branch %d of the flow %s", number, flow), err
	}
	return "a deleted branch of the flow " + flow, err
}

// branchOf returns the label of a branch, nil for none, and its number, 0 if it is deleted.
func branchOf(branches []byte, id string) (label *string, number int, err error) {
	var all []struct {
		ID    string  `json:"id"`
		Label *string `json:"label"`
	}
	err = json.Unmarshal(branches, &all)
	for i, b := range all {
		if b.ID == id {
			return b.Label, i + 1, err
		}
	}
	return nil, 0, err
}

// Money formats an amount in minor units for people, such as 10.00 USD.
func Money(minor int64, code string) string { return currency.Decimal(minor, code) + " " + code }
