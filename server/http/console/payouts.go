package console

import (
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
	"POST /console/p/{program}/payouts/paid":       {Do: payTicked},
	"POST /console/p/{program}/payouts/delete":     {Do: deleteTicked},
	"GET /console/p/{program}/payouts/{id}":        {Do: payout},
	"POST /console/p/{program}/payouts/{id}/paid":  {Do: markPaid},
	"POST /console/p/{program}/payouts/{id}/fail":  {Do: markFailed},
	"POST /console/p/{program}/payouts/{id}/unpay": {Do: undoPaid},
	"POST /console/p/{program}/payouts/{id}/undo":  {Do: deletePayout},
	"GET /console/p/{program}/payouts/run":         {Do: planRun},
	"GET /console/p/{program}/payouts/run/preview": {Do: previewRun},
	"GET /console/p/{program}/payouts/run/confirm": {Do: confirmRun},
	"POST /console/p/{program}/payouts/run":        {Do: makeRun},

	"GET /console/p/{program}/payouts/batches/{id}":          {Do: batch},
	"POST /console/p/{program}/payouts/batches/{id}/export":  {Do: exportBatch},
	"POST /console/p/{program}/payouts/batches/{id}/file":    {Do: payoutFile},
	"POST /console/p/{program}/payouts/batches/{id}/results": {Do: reportResults, File: "results"},
	"GET /console/p/{program}/payouts/batches/{id}/cancel":   {Do: cancelPage},
	"POST /console/p/{program}/payouts/batches/{id}/cancel":  {Do: cancelBatch},
}

// payoutTabs are the tabs of runs and of all payouts.
func (v *visit) payoutTabs(all bool) site.Tabs {
	return site.Tabs{Label: "Payouts", Links: []site.Link{
		{Path: v.at("/payouts"), Name: "Runs", Current: !all},
		{Path: v.at("/payouts/all"), Name: "All payouts", Current: all},
	}}
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
	return v.show(sheet{"payouts", "/payouts", "Payouts", struct {
		Tabs site.Tabs
		List site.Listing
	}{v.payoutTabs(false), among(v, turn, list, func(b api.PayoutBatch) string { return b.ID }, v.toBatchRow)}})
}

func (v *visit) toBatchRow(b api.PayoutBatch) batchRow { return batchRow{b, v.month(b.PeriodEnd)} }

// month is the month of a run in words.
func (v *visit) month(t clock.Time) string { return t.DayIn(v.Locale.Zone()).Format("January 2006") }

// payoutRow is a payout as a list has it.
type payoutRow struct {
	api.Payout
	Name string // the partner's
}

func toPayoutRow(p api.Payout) payoutRow { return payoutRow{p, nameOf(embedded(p.Partner))} }

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
	return v.show(sheet{"payout-list", "/payouts", "All payouts", struct {
		Tabs    site.Tabs
		Filters site.Filters
		List    site.Listing
	}{
		v.payoutTabs(true), v.filters("Payouts", v.search("partner", "Partner", "lookup"),
			v.filter("status", "State", listed(payoutStatuses...))), list,
	}})
}

// payoutsOf are payouts of the program with their partners' names.
func (v *visit) payoutsOf(p api.ListPayoutsParams, turn site.Turn) (site.Listing, error) {
	p.ProgramID, p.Limit, p.Expand = v.program.ID, new(int64(30)), []api.PayoutExpand{api.PayoutExpandPartner}
	reply, err := v.console.api.ListPayoutsWithResponse(v.Ctx(), &p)
	if err != nil {
		return site.Listing{}, err
	}
	list := pageOf(reply.JSON200.Data, reply.JSON200.HasMore, reply.JSON200.TotalCount)
	return among(v, turn, list, func(p api.Payout) string { return p.ID }, toPayoutRow), nil
}

func payoutTable(v *visit) error {
	query := v.query("status", "batch_id")
	query.Set("program_id", v.program.ID)
	partner, err := v.askedPartner()
	if err != nil {
		return err
	}
	if partner != nil {
		query.Set("partner_id", *partner)
	}
	return v.table("listPayouts", "payouts", query)
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
		Undoable    bool // was paid within a day; the API knows whether by hand
	}{
		p, v.month(p.PeriodEnd), inside, v.Today().Format(time.DateOnly),
		p.Status == api.PayoutStatusPaid && v.Now.Sub(p.UpdatedAt.Time) <= 24*time.Hour,
	}})
}

// markPaid marks a payout as paid by hand.
func markPaid(v *visit) error {
	body := v.body("markPayoutPaid")
	// The form has a day: today is now, and an earlier one its noon.
	if day, ok := body["paid_at"].(string); ok {
		delete(body, "paid_at")
		if date, err := time.Parse(time.DateOnly, day); err != nil {
			body["paid_at"] = day // refused by the API
		} else if !date.Equal(v.Today()) {
			body["paid_at"] = clock.Midnight(date, v.Locale.Zone()).Plus(12 * time.Hour)
		}
	}
	if err := v.send("markPayoutPaid", body, nil, v.PathValue("id")); err != nil {
		return v.again(err, payout)
	}
	return v.done(v.at("/payouts/"+v.PathValue("id")), "The payout is paid.")
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
	return v.done(v.at("/payouts/"+v.PathValue("id")), "The payment is undone; the commissions are due again.")
}

func deletePayout(v *visit) error {
	if err := v.send("deletePayout", nil, nil, v.PathValue("id")); err != nil {
		return v.again(err, payout)
	}
	return v.done(v.at("/payouts"), "The payout is deleted; its commissions are due again.")
}

// payTicked marks the ticked payouts as paid.
func payTicked(v *visit) error {
	return v.changePayouts("payout is paid", "payouts are paid", "markPayoutPaid")
}

// deleteTicked deletes the ticked payouts.
func deleteTicked(v *visit) error {
	return v.changePayouts("payout is deleted", "payouts are deleted", "deletePayout")
}

// changePayouts changes the ticked payouts and goes back to their run, or to the list.
func (v *visit) changePayouts(one, several, operation string) error {
	show := payouts
	back := v.at("/payouts/all")
	if id := v.value("batch"); id != "" {
		back = v.at("/payouts/batches/" + id)
		show = func(v *visit) error { v.Request().SetPathValue("id", id); return batch(v) }
	}
	notice, err := v.each(one, several, func(id string) error {
		if operation == "deletePayout" {
			return v.send(operation, nil, nil, id)
		}
		return v.send(operation, v.body(operation), nil, id)
	})
	if err != nil {
		return v.again(err, show)
	}
	return v.done(back, notice)
}

// method is a way to pay in words.
func method(m *api.PayoutMethod) string {
	if m == nil {
		return "None"
	}
	return site.Words(string(opt.Value(m)), vocabulary)
}
