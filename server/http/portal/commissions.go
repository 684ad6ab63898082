package portal

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/list"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/problem"
)

// states are those of a commission, in the order of its life.
var states = []db.CommissionStatus{
	db.CommissionStatusPending, db.CommissionStatusApproved, db.CommissionStatusDue, db.CommissionStatusPaid,
	db.CommissionStatusVoided, db.CommissionStatusRejected,
}

// commissionFilter holds the filters of the list and the place of the page.
type commissionFilter struct {
	Status, PayoutID *string
	From, Before     *clock.Time
	site.Turn
}

// commissionRow is a commission as its partner sees it.
type commissionRow struct {
	db.Commission
	At                  clock.Time // the day that reports count it by
	Customer, Rule, Via string
	SaleMinor           *int64
	SaleCurrency        string
	Reason              string // why it is in its state
	Since               *clock.Time
}

// commissionPage holds the data of the list of commissions.
type commissionPage struct {
	site.Listing
	Sums    []db.PortalCommissionSumsRow
	Filters site.Filters
	Table   string // the address of the same as a table
}

// commissions lists the partner's commissions, the newest sale first.
func commissions(v *visit) error {
	a, wrong := v.commissionFilterOf()
	var err error
	if a.Turn, err = v.turn(); err != nil {
		return err
	}
	rows, err := v.commissionRows(a, perPage+1)
	if err != nil {
		return err
	}
	sums, err := v.sums(a)
	if err != nil {
		return err
	}
	found := list.Page[commissionRow]{Rows: rows, HasMore: len(rows) > perPage}
	for _, s := range sums {
		found.Total += s.Commissions
	}
	switch {
	case found.HasMore && a.Turn.Before != nil: // the extra row is the newest
		found.Rows = rows[1:]
	case found.HasMore:
		found.Rows = rows[:perPage]
	}
	id := func(k commissionRow) string { return k.ID }
	at := v.Request().URL
	data := commissionPage{
		Listing: site.Listed(at, a.Turn, found, id, found.Rows), Sums: sums, Filters: v.commissionFilters(wrong),
		Table: "/portal/commissions.csv?" + at.RawQuery,
	}
	return v.show(http.StatusOK, "commissions", "/portal/commissions", "Commissions", data)
}

// commissionFilterOf reads the filters from the address. A day that is none is a fault of its
// field, and filters nothing.
func (v *visit) commissionFilterOf() (a commissionFilter, wrong site.Faults) {
	wrong = site.Faults{}
	if status := v.QueryParam("status"); slices.Contains(states, db.CommissionStatus(status)) {
		a.Status = &status
	}
	for name, to := range map[string]**clock.Time{"from": &a.From, "to": &a.Before} {
		value := v.QueryParam(name)
		if value == "" {
			continue
		}
		day, err := time.Parse(time.DateOnly, value)
		if err != nil {
			wrong[name] = v.Locale.T("Enter a valid date.")
			continue
		}
		if name == "to" { // the day itself is meant, too
			day = day.AddDate(0, 0, 1)
		}
		*to = new(clock.Midnight(day, v.Locale.Zone()))
	}
	return a, wrong
}

// commissionFilters is the form above the list.
func (v *visit) commissionFilters(wrong site.Faults) site.Filters {
	at, l := v.Request().URL, v.Locale
	form := site.Form{Errors: wrong, Values: map[string]string{
		"status": v.QueryParam("status"), "from": v.QueryParam("from"), "to": v.QueryParam("to"),
	}}
	all := []site.Option{{Label: l.T("All")}}
	for _, s := range states {
		all = append(all, site.Option{Value: string(s), Label: l.T(site.Words(string(s), vocabulary))})
	}
	status := site.NewInput(form, "status", l.T("Status"), "", "select", "", 0).Of(all)
	status.Filters = true
	f := site.Filters{Path: at.Path, Label: l.T("Commissions"), Inputs: []site.Input{
		status, site.NewInput(form, "from", l.T("Sold from"), "", "date", "off", 0),
		site.NewInput(form, "to", l.T("Sold until"), "", "date", "off", 0),
	}}
	for _, i := range f.Inputs {
		if i.Value == "" {
			continue
		}
		value := i.Value
		if i.Name == "status" {
			value = l.Said(site.Words(i.Value, vocabulary))
		}
		f.Clear = at.Path
		f.Chips = append(f.Chips, site.Chip{Text: i.Label + ": " + value, Without: site.Without(at, i.Name)})
	}
	return f
}

// commissionRows reads commissions, the newest sale first.
func (v *visit) commissionRows(a commissionFilter, limit int) ([]commissionRow, error) {
	for _, id := range []*string{a.After, a.Turn.Before} {
		if id == nil {
			continue
		}
		k, err := queries.CommissionGet(v.Ctx(), v.portal.Pool, db.CommissionGetParams{ID: *id, OrgID: v.partner.OrgID})
		if errors.Is(err, pgx.ErrNoRows) || err == nil && k.PartnerID != v.partner.ID {
			return nil, problem.NotFound("")
		}
		if err != nil {
			return nil, err
		}
	}
	found, err := queries.PortalCommissions(v.Ctx(), v.portal.Pool, db.PortalCommissionsParams{
		OrgID: v.partner.OrgID, ProgramID: v.program.ID, PartnerID: v.partner.ID, Status: a.Status, PayoutID: a.PayoutID,
		FromAt: a.From, BeforeAt: a.Before, After: a.After, Before: a.Turn.Before,
		Lim: int32(limit),
	})
	rows := make([]commissionRow, len(found))
	for i, k := range found {
		rows[i] = v.commissionOf(k)
	}
	return rows, err
}

// sums counts the commissions that are meant, and adds them up.
func (v *visit) sums(a commissionFilter) ([]db.PortalCommissionSumsRow, error) {
	return queries.PortalCommissionSums(v.Ctx(), v.portal.Pool, db.PortalCommissionSumsParams{
		OrgID: v.partner.OrgID, ProgramID: v.program.ID, PartnerID: v.partner.ID, Status: a.Status, PayoutID: a.PayoutID,
		FromAt: a.From, BeforeAt: a.Before,
	})
}

// commissionOf is a commission in the partner's language.
func (v *visit) commissionOf(k db.PortalCommissionsRow) commissionRow {
	out := commissionRow{
		Commission:   k.Commission,
		At:           k.At,
		SaleMinor:    k.SaleMinor,
		SaleCurrency: opt.Value(k.SaleCurrency),
	}
	if k.Commission.CustomerID != nil {
		out.Customer = mask(k.Email, k.Name)
	}
	out.Rule, out.Via = v.rule(k.Commission, out.SaleCurrency), v.via(k)
	out.Reason, out.Since = v.reason(k)
	return out
}

// rule describes the basis of the amount and the rate.
func (v *visit) rule(k db.Commission, saleCurrency string) string {
	l := v.Locale
	switch {
	case k.Kind == db.CommissionKindReward:
		return l.T("Granted by the program")
	case k.Kind == db.CommissionKindClawback && k.SaleID != nil:
		return l.T("Taken back: the sale was refunded after the payout")
	case k.Kind == db.CommissionKindClawback:
		return l.T("Taken back by the program")
	case k.RateType == nil || k.RateValue == nil:
		return ""
	}
	how := l.T("A fixed amount")
	if *k.RateType == rules.RatePercent {
		how = l.T("%s of %s", l.Percent(*k.RateValue), l.Money(opt.Value(k.RevenueMinor), saleCurrency))
	}
	switch {
	case k.ShrunkMinor == 0:
		return how
	case *k.RateType == rules.RatePercent: // a refund lowers what the percentage is of
		return l.T("%s (after refunds)", how)
	}
	return l.T("%s, less %s for refunds", how, l.Money(k.ShrunkMinor, k.Currency))
}

// via describes the link or coupon that brought the customer.
func (v *visit) via(k db.PortalCommissionsRow) string {
	switch {
	case k.LinkName != "":
		return v.Locale.T("Link %s", k.LinkName)
	case k.CouponCode != nil:
		return v.Locale.T("Coupon %s", *k.CouponCode)
	case k.Clicked:
		return v.Locale.T("Your link")
	case k.TrackedBy == string(db.TrackedByManual), k.TrackedBy == string(db.TrackedByAPI):
		return v.Locale.T("The program")
	case k.TrackedBy == string(db.TrackedByAgent):
		return v.Locale.T("AI assistant")
	}
	return ""
}

// reason says why a commission is in its state, and since when or from when on that holds.
func (v *visit) reason(row db.PortalCommissionsRow) (string, *clock.Time) {
	l, k := v.Locale, row.Commission
	switch k.Status {
	case db.CommissionStatusPending:
		return l.T("awaiting approval"), nil
	case db.CommissionStatusApproved:
		if k.MatureAt != nil {
			return l.T("payable from %s", l.Day(k.MatureAt.Time)), nil
		}
	case db.CommissionStatusDue:
		switch {
		case row.PayoutDueAt != nil:
			return l.T("is in the payout of %s", l.Day(row.PayoutDueAt.Time)), nil
		case k.AmountMinor < 0:
			return l.T("will be deducted from your next earnings"), nil
		}
		return l.T("goes into your next payout"), nil
	case db.CommissionStatusPaid:
		return "", row.PayoutPaidAt
	case db.CommissionStatusVoided, db.CommissionStatusRejected:
		return l.Said(site.Words(opt.Value(k.VoidReason), vocabulary)), k.VoidedAt
	}
	return "", nil
}
