package commission

import (
	"context"
	"encoding/json"
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
	exception, err := exceptionOf(branches, branch)
	if exception != "" {
		exception += " in "
	}
	return "because of " + exception + "the rule “" + flow + "”", err
}

// exceptionOf names the exception that a branch is; "" for none.
func exceptionOf(branches []byte, id *string) (string, error) {
	if id == nil {
		return "", nil
	}
	var all []struct {
		ID    string  `json:"id"`
		Label *string `json:"label"`
	}
	err := json.Unmarshal(branches, &all)
	for i, b := range all {
		switch {
		case b.ID == *id && b.Label != nil:
			return "the exception “" + *b.Label + "”", err
		case b.ID == *id:
			return fmt.Sprintf("exception %d", i+1), err
		}
	}
	return "a deleted exception", err
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
	}
	return "Your integration credited this customer to " + r.PartnerName + on
}
