package portal

import (
	"cmp"
	"slices"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/money/payout"
	"rail/server/opt"

	"rail/server/list"
)

// currencies bounds the balances on the overview, one of each currency.
const currencies = 100

// balance holds a partner's balance in a currency and the next payout.
type balance struct {
	db.BalancePageRow
	Next, Aside string // a sentence on the next payout, and one on its condition
	Path        string // where the partner can do something about it
	// Sum is the amount of the next payout, and Least the minimum; 0 for none.
	Sum, Least int64
}

// Short reports whether the next payout waits for the minimum.
func (p balance) Short() bool { return p.Least > 0 && p.Sum < p.Least }

// Has is the part of the minimum that is reached, for a <progress>.
func (p balance) Has() int64 { return max(p.Sum, 0) }

// balances are the partner's balances, the program's own currency first. open has the open payouts by currency.
func (v *visit) balances(open map[string]db.Payout) ([]balance, error) {
	all := list.In(v.program.ID, new(int64(currencies)), nil, nil)
	found, err := list.Of(v.Ctx(), v.unit(), all, db.BalanceList{PartnerID: &v.partner.ID})
	if err != nil || len(found.Rows) == 0 {
		return nil, err
	}
	slices.SortStableFunc(found.Rows, func(a, b db.BalancePageRow) int {
		return cmp.Compare(own(b, v.program.Currency), own(a, v.program.Currency))
	})
	// The present month is paid by a batch that ends with it.
	ahead := *v
	ahead.Now = clock.Midnight(clock.MonthOf(v.Today()).AddDate(0, 1, 0), v.Locale.Zone()).Plus(-time.Microsecond)
	next, due, err := payout.Next(v.Ctx(), ahead.unit(), v.program, v.partner)
	out := make([]balance, len(found.Rows))
	for i, b := range found.Rows {
		none := v.Locale.T("No commissions are ready yet for the payout of %s.", v.Locale.Day(due.Time))
		out[i] = balance{BalancePageRow: b, Next: none}
		of := func(l payout.Line) bool { return l.Currency == b.Currency }
		if at := slices.IndexFunc(next, of); at >= 0 {
			v.predict(&out[i], next[at], due)
		}
		if p, ok := open[b.Currency]; ok {
			out[i].Aside, out[i].Path, out[i].Least = out[i].Next, "/portal/payout?id="+p.ID, 0
			out[i].Next = v.underway(p)
		}
	}
	return out, err
}

// own ranks a balance: 1 for the program's own currency, 0 for another.
func own(b db.BalancePageRow, currency string) int {
	if b.Currency == currency {
		return 1
	}
	return 0
}

// underway is the sentence on an open payout.
func (v *visit) underway(p db.Payout) string {
	sum := v.Locale.Money(p.AmountMinor, p.Currency)
	switch {
	case p.Status == db.PayoutStatusProcessing && opt.Value(p.Attention) == payout.Unclaimed:
		return v.Locale.T("%s was sent, but not claimed yet. Look for an email from the payment service and claim it; "+
			"otherwise it goes back.", sum)
	case p.Status == db.PayoutStatusProcessing && opt.Value(p.Attention) == payout.OnHold:
		return v.Locale.T("%s was sent. The payment service is reviewing it.", sum)
	case p.Status == db.PayoutStatusProcessing:
		return v.Locale.T("%s is on its way. It usually arrives within three days.", sum)
	}
	return v.Locale.T("%s is scheduled for %s.", sum, v.Locale.Day(p.DueAt.Time))
}

// unpaid returns the open payouts by currency, the one due first, and the failed ones: their money is in no later
// payout.
func (v *visit) unpaid() (open map[string]db.Payout, failed []db.Payout, err error) {
	latest := list.In(v.program.ID, new(int64(currencies)), nil, nil)
	found, err := list.Of(v.Ctx(), v.unit(), latest, db.PayoutList{
		PartnerID: &v.partner.ID, Status: []string{
			string(db.PayoutStatusPending), string(db.PayoutStatusProcessing), string(db.PayoutStatusFailed),
		},
	})
	open = map[string]db.Payout{}
	for _, p := range found.Rows {
		if p.Status == db.PayoutStatusFailed {
			failed = append(failed, p)
		} else if first, ok := open[p.Currency]; !ok || p.DueAt.Before(first.DueAt.Time) {
			open[p.Currency] = p
		}
	}
	return open, failed, err
}

// predict predicts the next batch's payout.
func (v *visit) predict(p *balance, l payout.Line, due clock.Time) {
	day := v.Locale.Day(due.Time)
	p.Sum = l.AmountMinor
	sum := v.Locale.Money(l.AmountMinor, l.Currency)
	switch {
	case l.Outcome == payout.Carried:
		p.Next = v.Locale.T("No payout is planned: clawbacks are deducted from your earnings first.")
	case l.Outcome == payout.NextMonth:
		p.Next = v.Locale.T("%s goes into the following payout.", sum)
	case l.Reason == "below_minimum":
		p.Least = payout.Minimum(v.program, v.partner)
		p.Next = v.Locale.T("%s of %s minimum payout.", sum, v.Locale.Money(p.Least, l.Currency))
		p.Aside = v.Locale.T("%s to go. Your balance carries over to next month.",
			v.Locale.Money(p.Least-l.AmountMinor, l.Currency))
	case l.Outcome == payout.NotEligible:
		p.Next = v.Locale.T("About %s, planned for %s.", sum, day)
		p.Aside = v.Locale.Said(site.Words(l.Reason, vocabulary))
		if l.Reason == "no_payout_method" {
			p.Path = "/portal/settings#payout"
		}
	default:
		p.Next = v.Locale.T("About %s, planned for %s.", sum, day)
		p.Aside = v.Locale.T("New sales and refunds may still change it.")
		if !v.program.AutoPayoutsEnabled {
			p.Aside = v.Locale.T("The program starts payouts manually, so the date may differ.")
		}
	}
}
