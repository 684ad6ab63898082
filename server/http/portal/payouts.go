package portal

import (
	"net/http"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/http/site/statementpdf"
	"rail/server/list"
	"rail/server/money/payout"
	"rail/server/problem"
)

// countedPayout is a payout with the number of its commissions.
type countedPayout struct {
	db.Payout
	CommissionCount int64
	Failure         string // why it failed, for the partner; "" if unknown
}

// Sent reports whether a rail has the payout, and it is not paid yet.
func (p countedPayout) Sent() bool {
	return p.Status == db.PayoutStatusProcessing && p.SubmittedAt != nil
}

// payouts lists the partner's payouts with the number of their commissions.
func payouts(v *visit) error {
	t, err := v.turn()
	if err != nil {
		return err
	}
	found, err := list.Of(v.Ctx(), v.unit(), v.listRequest(t), db.PayoutList{PartnerID: &v.partner.ID})
	if err != nil {
		return err
	}
	rows, err := v.countCommissions(found.Rows)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "payouts", "/portal/payouts", "Payouts",
		site.Listed(v.Request().URL, t, found, func(p db.Payout) string { return p.ID }, rows))
}

// countCommissions counts the commissions of each payout.
func (v *visit) countCommissions(found []db.Payout) ([]countedPayout, error) {
	if len(found) == 0 {
		return nil, nil
	}
	in := db.Scope{ProgramID: v.program.ID, OrgID: v.partner.OrgID}
	id := func(p db.Payout) string { return p.ID }
	counted, err := list.CountBy(v.Ctx(), v.portal.Pool, "commissions", in, ids(found, id))
	rows := make([]countedPayout, len(found))
	for i, p := range found {
		rows[i] = countedPayout{p, counted[p.ID], payout.PartnerReason(v.Locale, p)}
	}
	return rows, err
}

// statementRows is how many commissions the statement of a payout lists; its table has more.
const statementRows = 1000

// payoutPage holds the data of a payout's page and its statement.
type payoutPage struct {
	db.Payout
	Rows []commissionRow
	Sums []db.PortalCommissionSumsRow
	// Rest is how many commissions there are that are not listed.
	Rest int64
	// Older is the address of the next page, "" for none.
	Older, Newer string
	Printable    bool // in the letters that a PDF here has
	Title        string
	Number       string // of the signed statement, "" for none
	Failure      string // why it failed, for the partner; "" if unknown
	Facts        []statementpdf.Fact
	Notes        []string
}

// onePayout shows a payout with its commissions, a page at a time.
func onePayout(v *visit) error {
	t, err := v.turn()
	if err != nil {
		return err
	}
	data, err := v.payoutPage(t, perPage+1)
	if err != nil {
		return err
	}
	found := list.Page[commissionRow]{Rows: data.Rows, HasMore: len(data.Rows) > perPage}
	switch {
	case found.HasMore && t.Before != nil: // the extra row is the newest
		found.Rows = data.Rows[1:]
	case found.HasMore:
		found.Rows = data.Rows[:perPage]
	}
	listing := site.Listed(v.Request().URL, t, found, func(k commissionRow) string { return k.ID }, found.Rows)
	data.Rows, data.Older, data.Newer = found.Rows, listing.Older, listing.Newer
	return v.show(http.StatusOK, "payout", "/portal/payouts", "Payout", data)
}

// payoutPage loads the payout in the address, with at most that many commissions. Another partner's payout is a 404.
func (v *visit) payoutPage(t site.Turn, rows int) (data payoutPage, err error) {
	of := db.PayoutGetParams{ID: v.QueryParam("id"), OrgID: v.partner.OrgID}
	if data.Payout, err = queries.PayoutGet(v.Ctx(), v.portal.Pool, of); err != nil {
		return data, err
	}
	if data.PartnerID != v.partner.ID {
		return data, problem.NotFound("")
	}
	data.Failure = payout.PartnerReason(v.Locale, data.Payout)
	a := commissionFilter{PayoutID: &data.ID, Turn: t}
	if data.Rows, err = v.commissionRows(a, rows); err != nil {
		return data, err
	}
	data.Printable = v.printable(data.Rows)
	if err = v.issued(&data); err != nil {
		return data, err
	}
	data.Sums, err = v.sums(a)
	for _, s := range data.Sums {
		data.Rest += s.Commissions
	}
	data.Rest -= int64(len(data.Rows))
	return data, err
}

// payoutTable answers with the commissions of a payout as a table.
func payoutTable(v *visit) error {
	data, err := v.payoutPage(site.Turn{}, 0)
	if err != nil {
		return err
	}
	return v.table("payout-"+data.PeriodMonth.Format("2006-01")+"-"+data.Currency, commissionFilter{PayoutID: &data.ID})
}

// statement shows a payout as a page to print.
func statement(v *visit) error {
	data, err := v.payoutPage(site.Turn{}, statementRows)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "statement", "/portal/payouts", "Payout statement", data)
}
