package join

import (
	"encoding/json"
	"slices"
	"strconv"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/locale/currency"
	"rail/server/money/rules"
	"rail/server/opt"
)

// calculator holds the data of the earnings calculator.
type calculator struct {
	Customers            int64
	Amount               string // what a customer pays a month, as it is typed
	Rate, Result         string // the rate in words, and the earnings of a month
	Currency, Percent    string
	FixedMinor, PerMinor int64 // the rate for the script: minor units a payment, or basis points
	Digits               int   // of the currency
}

// The bounds of the visitor's values are those of the settings.
const (
	maxCustomers = 10_000
	maxPaid      = 1_000_000_000
)

// calculator returns the calculator with the visitor's values, or else the program's; nil if the program has none, or
// no rate.
func (v *visit) calculator() (*calculator, error) {
	first := v.settings.Calculator
	if first == nil {
		return nil, nil
	}
	rate, err := v.monthlyRate(first.AmountMinor)
	if err != nil || rate.RateValue == 0 {
		return nil, err
	}
	customers, paid := first.Customers, first.AmountMinor
	if n, err := strconv.ParseInt(v.QueryParam("customers"), 10, 64); err == nil && n >= 1 && n <= maxCustomers {
		customers = n
	}
	if n, ok := currency.Minor(v.QueryParam("amount"), v.program.Currency); ok && n >= 1 && n <= maxPaid {
		paid = n
	}
	c := &calculator{
		Customers: customers,
		Amount:    currency.Decimal(paid, v.program.Currency),
		Rate:      rate.In(v.Locale, db.FlowTriggerNewPayment, v.program.Currency),
		Currency:  v.program.Currency,
		Digits:    currency.Digits(v.program.Currency),
	}
	each := rate.RateValue
	if rate.RateType == rules.RatePercent {
		c.PerMinor, each = rate.RateValue, rules.Percent(paid, rate.RateValue)
	} else {
		c.FixedMinor = rate.RateValue
	}
	c.Result = v.Locale.Money(customers*each, v.program.Currency)
	return c, nil
}

// monthlyRate returns the rate of a customer's second monthly payment for the group's partners: that of the first flow
// for payments, or of its first branch whose conditions match.
func (v *visit) monthlyRate(paid int64) (rules.Rate, error) {
	list, err := queries.FlowsActive(v.Ctx(), v.pages.Pool, db.FlowsActiveParams{
		ProgramID: v.program.ID, OrgID: v.program.OrgID, Trigger: db.FlowTriggerNewPayment,
	})
	if err != nil {
		return rules.Rate{}, err
	}
	group, err := v.joined()
	at := slices.IndexFunc(list, func(f db.Flow) bool {
		general := f.Action == db.FlowActionGenerateCommission && f.PartnerID == nil
		return general && (f.GroupID == nil || *f.GroupID == group)
	})
	if err != nil || at < 0 {
		return rules.Rate{}, err
	}
	var branches []struct {
		rules.Rate
		Conditions json.RawMessage `json:"conditions"`
	}
	err = json.Unmarshal(list[at].Branches, &branches)
	facts := v.monthlyFacts(paid, group)
	for _, b := range branches {
		when, wrong := rules.ParseConditions(b.Conditions, rules.NewPayment)
		if wrong == nil && when.Match(&facts) {
			return b.Rate, err
		}
	}
	return rules.Rate{RateType: opt.Value(list[at].RateType), RateValue: opt.Value(list[at].RateValue)}, err
}

// monthlyFacts returns the facts of a new partner's customer who pays a monthly subscription the second time.
func (v *visit) monthlyFacts(paid int64, group string) rules.Facts {
	first := clock.At(v.Now.AddDate(0, -1, 0))
	return rules.Facts{
		ProgramCurrency: v.program.Currency,
		Sale: &rules.SaleFacts{
			AmountMinor:    paid,
			NetAmountMinor: paid,
			Currency:       v.program.Currency,
			BillingType:    "subscription",
			Interval:       new("month"),
			OccurredAt:     v.Now,
		},
		Customer: rules.CustomerFacts{
			ConvertedAt: &first,
			LeadAt:      &first,
			TrackedBy:   "link",
			Counters:    &rules.CustomerCounters{SalesCount: 2, TotalPaidMinor: 2 * paid},
		},
		Partner: rules.PartnerFacts{
			GroupID: &group,
			Counters: &rules.PartnerCounters{
				LeadsCount: 1, CustomersCount: 1, SalesCount: 2, RevenueMinor: 2 * paid,
			},
		},
	}
}

// joined returns the id of the group that applicants join: that of the address, or the default one.
func (v *visit) joined() (string, error) {
	if v.group != nil {
		return v.group.ID, nil
	}
	g, err := queries.GroupDefault(v.Ctx(), v.pages.Pool, db.GroupDefaultParams{
		ProgramID: v.program.ID, OrgID: v.program.OrgID,
	})
	return g.ID, err
}
