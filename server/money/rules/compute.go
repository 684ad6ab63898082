package rules

import "strings"

// The codes of warnings on a sale without a commission, in the order in which they are tested (decisions, 93).
const (
	WarnNoPartner        = "no_partner_attributed"
	WarnCurrencyMismatch = "fixed_rate_currency_mismatch"
	WarnNoCommission     = "no_commission_from_rules"
	WarnSelfReferral     = "self_referral"
)

// Compute returns the commission in minor units and its currency. A link's rate override replaces the chosen
// rate. A percentage is taken of base and paid in the sale's currency; a fixed rate is in the program's currency
// and pays nothing for a sale in another. If nothing is paid, the amount is 0, the currency is empty and the
// warning gives the reason (decisions, 95, 96 and 3.4).
//
// At a sign-up, base is 0 and saleCurrency is the program's.
func Compute(c Choice, override *Rate, base int64,
	saleCurrency, programCurrency string) (amount int64, currency, warning string) {
	rate := Rate{RateType: c.RateType, RateValue: c.RateValue}
	if override != nil {
		rate = *override
	}
	amount = rate.RateValue
	if rate.RateType == RatePercent {
		amount = Percent(base, rate.RateValue)
	} else if !strings.EqualFold(saleCurrency, programCurrency) {
		return 0, "", WarnCurrencyMismatch
	}
	if amount == 0 {
		return 0, "", WarnNoCommission
	}
	return amount, saleCurrency, ""
}
