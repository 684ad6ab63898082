package console

import (
	"net/url"
	"time"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/ident"
	"rail/server/opt"
)

// A run is made on one page: it shows who gets what up to a day, and who does not and why, before its button makes the
// payouts. The run's own page has the files by which they are paid.

// runLine is a partner's line in the preview of a run.
type runLine struct {
	api.PayoutPreviewLine
	Method string
}

// runTotal is a sum of such lines.
type runTotal struct {
	api.PayoutPreviewTotal
	Method, Path string
}

// runPlan is the preview of a run.
type runPlan struct {
	*api.PayoutPreview
	Pays, Stays []runTotal
	Count       int64  // payouts that would be created
	Due         string // their sums
	DueToday    string // what would be paid up to today, if nothing is paid up to the day of the preview
	UseToday    string // the address of the page with today
	Lines       []runLine
	Tabs        site.Tabs
	Groups      []site.Option
	End         string     // the day up to which commissions are collected
	Fields      url.Values // of the form that makes the payouts
	Month       string
	Older       string // more of the lines
	Sample      bool   // the program's partners are never paid
	Unpaid      bool   // the lines are the unpaid ones
}

// runFields are the parameters of a run.
var runFields = []string{"period_end", "group_id", "partner", "ignore_minimum"}

// runDay is the default day up to which commissions are collected: the last of the month before.
func (v *visit) runDay() string {
	return clock.MonthOf(v.Today()).AddDate(0, 0, -1).Format(time.DateOnly)
}

// asks reads the parameters of a run from the page's address, with the default day.
func (v *visit) asks() {
	v.Form = site.Posted(v.QueryParams())
	if v.value("period_end") == "" {
		v.Form["period_end"] = []string{v.runDay()}
	}
}

// previewed asks the API what the run of the form would do.
func (v *visit) previewed(outcome api.PayoutPreviewOutcome, limit int) (*api.PayoutPreview, error) {
	body := v.body("previewPayoutBatch")
	if name := v.value("partner"); name != "" {
		p, err := v.whichPartner(name)
		if err != nil {
			return nil, err
		}
		body["partner_id"] = p.ID
	}
	if outcome != "" {
		body["outcome"] = outcome
	}
	if after := v.value("after"); after != "" {
		body["starting_after"] = after
	}
	body["limit"] = limit
	var p api.PayoutPreview
	return &p, v.send("previewPayoutBatch", body, &p)
}

// outcomes are the parts of a preview, in the order of their tabs.
var outcomes = []struct {
	of   api.PayoutPreviewOutcome
	name string
}{
	{api.PayoutPreviewOutcomePayout, "To pay"},
	{api.PayoutPreviewOutcomeNotEligible, "Not eligible"},
	{api.PayoutPreviewOutcomeNextMonth, "Next month"},
	{api.PayoutPreviewOutcomeNothingDue, "Nothing due"},
}

// planRun shows who would get what, and who would not and why, with the button that makes the payouts.
func planRun(v *visit) error {
	outcome := outcomes[0].of
	for _, o := range outcomes {
		if v.QueryParam("outcome") == string(o.of) {
			outcome = o.of
		}
	}
	v.asks()
	groups, err := v.groupChoices()
	if err != nil {
		return err
	}
	plan := runPlan{PayoutPreview: &api.PayoutPreview{}}
	// After a refused form, the page asks for the period alone.
	if v.fault == nil {
		p, err := v.previewed(outcome, 50)
		if err == nil && v.QueryParam("outcome") == "" && len(p.Totals) > 0 && p.Totals[0].Outcome != outcome {
			outcome = p.Totals[0].Outcome // no partner is paid: the page opens with the reasons
			p, err = v.previewed(outcome, 50)
		}
		if err != nil {
			return v.again(err, planRun)
		}
		if plan, err = v.plan(p); err != nil {
			return err
		}
		plan.list(v, outcome)
	}
	plan.Groups, plan.End = noneFirst("All partners", groups), v.value("period_end")
	return v.show(sheet{"payout-run", "/payouts", "Payout run", plan})
}

// nextRun sums up the next run for the payouts page; the zero value on older pages of the list.
func (v *visit) nextRun(turn site.Turn) (runPlan, error) {
	if turn.After != nil || turn.Before != nil {
		return runPlan{}, nil
	}
	v.asks()
	defer func() { v.Form = nil }()
	p, err := v.previewed(api.PayoutPreviewOutcomePayout, 1)
	if _, ok := refused(err); ok {
		return runPlan{}, nil
	}
	if err != nil {
		return runPlan{}, err
	}
	return v.plan(p)
}

// list adds the lines of an outcome, and the tabs of all.
func (r *runPlan) list(v *visit, outcome api.PayoutPreviewOutcome) {
	r.Unpaid = outcome != api.PayoutPreviewOutcomePayout
	counts := map[api.PayoutPreviewOutcome]int64{}
	for _, t := range r.Totals {
		counts[t.Outcome] += t.PayoutCount
	}
	r.Tabs.Label = "Outcome"
	for _, o := range outcomes {
		link := site.Link{Path: v.with("outcome", string(o.of)), Name: o.name, Current: o.of == outcome, Count: counts[o.of]}
		if link.Count > 0 || link.Current {
			r.Tabs.Links = append(r.Tabs.Links, link)
		}
	}
	for _, l := range r.Data {
		r.Lines = append(r.Lines, runLine{l, method(l.Method)})
	}
	if r.HasMore && len(r.Data) > 0 {
		r.Older = v.with("after", r.Data[len(r.Data)-1].PartnerID)
	}
}

// with is the page's own address with one parameter changed.
func (v *visit) with(name, value string) string {
	q := v.query(append([]string{"outcome"}, runFields...)...)
	q.Set(name, value)
	return v.at("/payouts/run") + "?" + q.Encode()
}

// plan sums a preview up. If it pays nothing, it looks at today, too.
func (v *visit) plan(p *api.PayoutPreview) (runPlan, error) {
	out := runPlan{
		PayoutPreview: p, Month: v.month(p.PeriodEnd), Fields: url.Values{},
		Sample: ident.IsSample(v.program.ID),
	}
	for _, name := range runFields {
		if text := v.value(name); text != "" {
			out.Fields.Set(name, text)
		}
	}
	for _, t := range p.Totals {
		total := runTotal{PayoutPreviewTotal: t, Method: method(t.Method), Path: v.with("outcome", string(t.Outcome))}
		if t.Outcome == api.PayoutPreviewOutcomePayout {
			out.Pays = append(out.Pays, total)
			out.Count += t.PayoutCount
		} else {
			out.Stays = append(out.Stays, total)
		}
	}
	out.Due = v.due(p)
	today := v.Today().Format(time.DateOnly)
	if len(out.Pays) > 0 || v.value("period_end") >= today {
		return out, nil
	}
	return out, v.planToday(&out, today)
}

// planToday adds what would be paid up to today.
func (v *visit) planToday(out *runPlan, today string) error {
	v.Form["period_end"] = []string{today}
	p, err := v.previewed(api.PayoutPreviewOutcomePayout, 1)
	v.Form["period_end"] = []string{out.Fields.Get("period_end")}
	if err != nil {
		return err
	}
	q := v.query(runFields...)
	q.Set("period_end", today)
	out.DueToday, out.UseToday = v.due(p), v.at("/payouts/run")+"?"+q.Encode()
	return nil
}

// due returns the sums that a preview would pay, by currency; "" for none.
func (v *visit) due(p *api.PayoutPreview) string {
	var sums []api.PayoutBatchTotal
	for _, t := range p.Totals {
		switch last := len(sums) - 1; {
		case t.Outcome != api.PayoutPreviewOutcomePayout:
		case last >= 0 && sums[last].Currency == t.Currency: // sorted by currency
			sums[last].AmountMinor += t.AmountMinor
		default:
			sums = append(sums, api.PayoutBatchTotal{Currency: t.Currency, AmountMinor: t.AmountMinor})
		}
	}
	return v.sums(sums)
}

// makeRun makes the payouts.
func makeRun(v *visit) error {
	body := v.body("createPayoutBatch")
	if name := v.value("partner"); name != "" {
		p, err := v.whichPartner(name)
		if err != nil {
			return v.again(err, planRun)
		}
		body["partner_id"] = p.ID
	}
	var batch api.PayoutBatch
	if err := v.send("createPayoutBatch", body, &batch); err != nil {
		return v.again(err, planRun)
	}
	notice := v.Locale.Count(batch.PayoutCount) + oneOrMany(batch.PayoutCount, " payout is", " payouts are") + " in the run of " +
		v.month(batch.PeriodEnd) + ". No money has moved yet."
	if batch.Generating {
		notice = "The run of " + v.month(batch.PeriodEnd) + " is being created: more payouts come within minutes. Load the page again."
	}
	return v.done(v.at("/payouts/batches/"+batch.ID), notice)
}

// Why returns the reason for not paying a partner, in words.
func (t runTotal) Why() string {
	switch t.Outcome {
	case api.PayoutPreviewOutcomeNextMonth:
		return "Has a payout of this month already"
	case api.PayoutPreviewOutcomeNothingDue:
		return "Clawbacks come to as much or more"
	case api.PayoutPreviewOutcomeNotEligible, api.PayoutPreviewOutcomePayout:
	}
	return site.Words(string(opt.Value(t.Reason)), vocabulary)
}
