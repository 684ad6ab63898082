package commission

import (
	"context"
	"fmt"
	"time"

	"rail/gen/db"
	"rail/server/locale"
	"rail/server/money/rules"
)

// ExplainOnPage explains commissions of an organization, by their ids, in the words of the pages for people: flows are
// rules, branches are exceptions, and figures and days are those of a locale.
func ExplainOnPage(
	ctx context.Context, tx db.DBTX, org string, ids []string, l *locale.Locale,
) (map[string]Explanation, error) {
	return explain(ctx, tx, org, ids, func(db.CommissionReasonsRow) words { return pageWords{l} })
}

// pageWords are the words of pages for people.
type pageWords struct{ locale *locale.Locale }

func (w pageWords) money(minor int64, code string) string { return w.locale.Money(minor, code) }
func (w pageWords) day(day time.Time) string              { return w.locale.Date(day) }
func (pageWords) rule() string                            { return "rule" }
func (pageWords) refunded() string                        { return "Reverses the commission on a refunded sale." }
func (pageWords) clawback() string                        { return "Clawed back manually." }

func (w pageWords) rate(rate rules.Rate, base int64, code string) string {
	if rate.RateType != rules.RatePercent {
		return "a fixed amount"
	}
	return w.locale.Percent(rate.RateValue) + " of " + w.money(base, code)
}

func (pageWords) by(flow string, branches []byte, branch *string) (string, error) {
	if flow == "" {
		return "because of a deleted rule", nil
	}
	rule := "the rule “" + flow + "”"
	if branch == nil {
		return "because of " + rule, nil
	}
	label, number, err := branchOf(branches, *branch)
	exception := "a deleted exception"
	switch {
	case label != nil:
		exception = "the exception “" + *label + "”"
	case number > 0:
		exception = fmt.Sprintf("exception %d", number)
	}
	return "because of " + exception + " in " + rule, err
}

func (w pageWords) partner(r db.CommissionReasonsRow) string {
	if r.CustomerID == nil {
		return ""
	}
	on := broughtOn(r, w)
	switch {
	case r.LinkValue != nil:
		return "The customer clicked " + r.PartnerName + "’s link “" + *r.LinkValue + "”" + on
	case r.ClickedAt != nil:
		return "The customer clicked " + r.PartnerName + "’s link" + on
	case r.CouponCode != nil:
		return "The customer used " + r.PartnerName + "’s coupon " + *r.CouponCode + on
	case r.TrackedBy == string(db.TrackedByManual):
		return "The customer was credited to " + r.PartnerName + " manually."
	case r.TrackedBy == string(db.TrackedByAgent):
		return "An AI assistant named " + r.PartnerName + " for this customer" + on
	}
	return "Your integration credited this customer to " + r.PartnerName + on
}
