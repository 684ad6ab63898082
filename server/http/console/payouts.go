package console

import (
	"slices"
	"time"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/opt"
)

var payoutRoutes = map[string]route{
	"GET /console/p/{program}/payouts":             {Do: batches},
	"GET /console/p/{program}/payouts/all":         {Do: payouts},
	"GET /console/p/{program}/payouts/all.csv":     {Do: payoutTable},
	"POST /console/p/{program}/payouts/paid":       {Do: askPaid},
	"POST /console/p/{program}/payouts/mark":       {Do: markAll},
	"POST /console/p/{program}/payouts/unmark":     {Do: unmarkAll},
	"POST /console/p/{program}/payouts/unpay":      {Do: unpayTicked},
	"POST /console/p/{program}/payouts/delete":     {Do: deleteTicked},
	"GET /console/p/{program}/payouts/{id}":        {Do: payout},
	"POST /console/p/{program}/payouts/{id}/paid":  {Do: markPaid},
	"POST /console/p/{program}/payouts/{id}/fail":  {Do: markFailed},
	"POST /console/p/{program}/payouts/{id}/unpay": {Do: undoPaid},
	"POST /console/p/{program}/payouts/{id}/undo":  {Do: deletePayout},
	"POST /console/p/{program}/payouts/{id}/email": {Do: emailFailure},
	"GET /console/p/{program}/payouts/run":         {Do: planRun},
	"POST /console/p/{program}/payouts/run":        {Do: makeRun},

	"GET /console/p/{program}/payouts/batches/{id}":          {Do: batch},
	"GET /console/p/{program}/payouts/batches/{id}/progress": {Do: batchProgress},
	"POST /console/p/{program}/payouts/batches/{id}/export":  {Do: exportBatch},
	"POST /console/p/{program}/payouts/batches/{id}/file":    {Do: payoutFile},
	"POST /console/p/{program}/payouts/batches/{id}/results": {Do: reportResults, File: "results"},
	"GET /console/p/{program}/payouts/batches/{id}/paid":     {Do: askCardPaid},
	"GET /console/p/{program}/payouts/batches/{id}/cancel":   {Do: cancelPage},
	"POST /console/p/{program}/payouts/batches/{id}/cancel":  {Do: cancelBatch},
}

// payoutTabs are the tabs of the pages about payouts; current is the path of one of them.
func (v *visit) payoutTabs(current string) site.Tabs {
	tabs := site.Tabs{Label: "Payouts"}
	for _, tab := range []section{
		{"/payouts", "Runs"},
		{"/payouts/all", "All payouts"},
		{"/payouts/attention", "Needs attention"},
		{"/payouts/totals", "Yearly totals"},
		{"/payouts/rails", "Rails"},
	} {
		tabs.Links = append(tabs.Links, site.Link{Path: v.at(tab.path), Name: tab.name, Current: tab.path == current})
	}
	return tabs
}

// batchRow is a run as a list has it.
type batchRow struct {
	api.PayoutBatch
	Month string
}

// batches shows the runs of a program, one a month.
func batches(v *visit) error {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	reply, err := v.console.api.ListPayoutBatchesWithResponse(v.Ctx(), &api.ListPayoutBatchesParams{
		ProgramID: v.program.ID, StartingAfter: turn.After, EndingBefore: turn.Before, Limit: new(int64(25)),
	})
	if err != nil {
		return err
	}
	list := pageOf(reply.JSON200.Data, reply.JSON200.HasMore, reply.JSON200.TotalCount)
	next, err := v.nextRun(turn)
	if err != nil {
		return err
	}
	return v.show(sheet{"payouts", "/payouts", "Payouts", struct {
		Tabs site.Tabs
		Next runPlan
		List site.Listing
	}{v.payoutTabs("/payouts"), next, among(v, turn, list, func(b api.PayoutBatch) string { return b.ID }, v.toBatchRow)}})
}

func (v *visit) toBatchRow(b api.PayoutBatch) batchRow { return batchRow{b, v.month(b.PeriodEnd)} }

// month is the month of a run in words.
func (v *visit) month(t clock.Time) string { return t.DayIn(v.Locale.Zone()).Format("January 2006") }

// payoutRow is a payout as a list has it.
type payoutRow struct {
	api.Payout
	Name   string            // the partner's
	Wanted *api.PayoutMethod // the partner's present method
}

func toPayoutRow(p api.Payout) payoutRow {
	partner := embedded(p.Partner)
	return payoutRow{p, nameOf(partner), partner.PayoutMethod}
}

// Open reports whether the payout can be marked as paid.
func (r payoutRow) Open() bool {
	switch r.Status {
	case api.PayoutStatusPending, api.PayoutStatusProcessing, api.PayoutStatusFailed:
		return true
	case api.PayoutStatusPaid, api.PayoutStatusNotEligible:
	}
	return false
}

// Way is the payout method, in words. A payout that is not eligible has none yet.
func (r payoutRow) Way() string {
	if r.Method != nil {
		return method(r.Method)
	}
	return method(r.Wanted)
}

// payoutStatuses are all states of a payout.
var payoutStatuses = []string{"pending", "processing", "paid", "failed", "not_eligible"}

// payouts shows all payouts of a program.
func payouts(v *visit) error {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	partner, err := v.askedPartner()
	if err != nil {
		return err
	}
	list, err := v.payoutsOf(api.ListPayoutsParams{
		StartingAfter: turn.After, EndingBefore: turn.Before, PartnerID: partner,
		Status: enums[api.PayoutStatus](v, "status"),
	}, turn)
	if err != nil {
		return err
	}
	rows, _ := list.Rows.([]payoutRow)
	return v.show(sheet{"payout-list", "/payouts", "All payouts", struct {
		Tabs    site.Tabs
		Columns columns
		Filters site.Filters
		List    site.Listing
		Open    bool // a row can be changed
	}{
		v.payoutTabs("/payouts/all"), v.columns(payoutColumns), v.filters("Payouts", v.search("partner", "Partner", "lookup"),
			v.filter("status", "State", listed(payoutStatuses...))), list, slices.ContainsFunc(rows, payoutRow.Open),
	}})
}

// payoutsOf are payouts of the program with their partners' names.
func (v *visit) payoutsOf(p api.ListPayoutsParams, turn site.Turn) (site.Listing, error) {
	p.ProgramID, p.Limit, p.Expand = v.program.ID, new(int64(rowsOfPage)), []api.PayoutExpand{api.PayoutExpandPartner}
	reply, err := v.console.api.ListPayoutsWithResponse(v.Ctx(), &p)
	if err != nil {
		return site.Listing{}, err
	}
	list := pageOf(reply.JSON200.Data, reply.JSON200.HasMore, reply.JSON200.TotalCount)
	return among(v, turn, list, func(p api.Payout) string { return p.ID }, toPayoutRow), nil
}

func payoutTable(v *visit) error {
	query, err := v.fileQuery([]string{"partner"}, "status", "batch_id")
	if err != nil {
		return err
	}
	return v.chosenFile("listPayouts", "payouts", query, payoutColumns)
}

// payout shows one payout with the commissions in it.
func payout(v *visit) error {
	id := v.PathValue("id")
	reply, err := v.console.api.RetrievePayoutWithResponse(v.Ctx(), id, &api.RetrievePayoutParams{
		ProgramID: &v.program.ID, Expand: []api.PayoutExpand{api.PayoutExpandPartner},
	})
	if err != nil {
		return err
	}
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	inside, err := v.commissionsOf(api.ListCommissionsParams{
		PayoutID: &id, StartingAfter: turn.After, EndingBefore: turn.Before,
	}, turn)
	if err != nil {
		return err
	}
	p := toPayoutRow(*reply.JSON200)
	return v.show(sheet{"payout", "/payouts", "Payout to " + p.Name, struct {
		payoutRow
		Month       string
		Commissions site.Listing
		Today       string
		Undoable    bool
	}{p, v.month(p.PeriodEnd), inside, v.Today().Format(time.DateOnly), v.undoablePaid(p.Payout)}})
}

// markFailed marks a payout as failed.
func markFailed(v *visit) error {
	body := v.body("markPayoutFailed")
	if err := v.send("markPayoutFailed", body, nil, v.PathValue("id")); err != nil {
		return v.again(err, payout)
	}
	return v.done(v.at("/payouts/"+v.PathValue("id")),
		"The payout has failed. Export it again, mark it as paid, or delete it.")
}

// undoPaid takes back a payment that was marked by hand.
func undoPaid(v *visit) error {
	if err := v.send("undoPayoutPaid", v.body("undoPayoutPaid"), nil, v.PathValue("id")); err != nil {
		return v.again(err, payout)
	}
	return v.done(v.at("/payouts/"+v.PathValue("id")), "The payout is no longer marked as paid; its commissions are due again.")
}

func deletePayout(v *visit) error {
	if err := v.send("deletePayout", nil, nil, v.PathValue("id")); err != nil {
		return v.again(err, payout)
	}
	return v.done(v.at("/payouts"), "The payout is deleted; its commissions are due again.")
}

// deleteTicked deletes the ticked payouts.
func deleteTicked(v *visit) error {
	return v.changePayouts("payout is deleted", "payouts are deleted", func(id string) error {
		return v.send("deletePayout", nil, nil, id)
	})
}

// unpayTicked undoes the payments of the ticked payouts.
func unpayTicked(v *visit) error {
	return v.changePayouts("payout is no longer paid", "payouts are no longer paid", func(id string) error {
		return v.send("undoPayoutPaid", map[string]any{"reason": takenBack}, nil, id)
	})
}

// changePayouts changes the ticked payouts and goes back to their run, or to the list.
func (v *visit) changePayouts(one, several string, change func(id string) error) error {
	back, show := v.origin()
	notice, err := v.each(one, several, change)
	if err != nil {
		return v.againAt(back, err, show)
	}
	return v.done(back, notice)
}

// origin returns the page on which payouts were ticked: that of a run, or the list.
func (v *visit) origin() (path string, show action) {
	id := v.value("batch")
	if id == "" {
		return v.at("/payouts/all"), payouts
	}
	return v.at("/payouts/batches/" + id), func(v *visit) error {
		v.Request().SetPathValue("id", id)
		return batch(v)
	}
}

// emailFailure mails the partner why its payout has failed.
func emailFailure(v *visit) error {
	id := v.PathValue("id")
	list, show := v.origin()
	back := list
	if v.value("batch") == "" {
		back = v.at("/payouts/" + id)
	}
	if err := v.send("emailPayoutFailure", nil, nil, id); err != nil {
		return v.againAt(list, err, show)
	}
	return v.done(back, "The partner gets an email with the reason and a link to the payout details.")
}

// method is a way to pay in words.
func method(m *api.PayoutMethod) string {
	if m == nil {
		return "No method"
	}
	return site.Words(string(opt.Value(m)), vocabulary)
}
