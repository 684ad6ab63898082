package console

import (
	"net/url"
	"strings"
	"time"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/opt"
)

// A run takes four steps, of which the third makes the payouts: which period; who gets what, and who
// does not and why; the confirmation; and the files by which they are paid.

// runSteps returns the steps of a run. Earlier steps link back with the query of the plan; without a query they have
// no links.
func (v *visit) runSteps(at int, query string) site.Steps {
	steps := site.Steps{Label: "Payout run", At: at, Links: []site.Link{
		{Name: "Period"}, {Name: "Who gets what"}, {Name: "Confirm"}, {Name: "Pay"},
	}}
	if query != "" {
		steps.Links[0].Path, steps.Links[1].Path = v.at("/payouts/run")+query, v.at("/payouts/run/preview")+query
	}
	return steps
}

// planRun asks for which period and for whom.
func planRun(v *visit) error {
	v.Form = site.Posted(v.QueryParams())
	groups, err := v.groupChoices()
	if err != nil {
		return err
	}
	return v.show(sheet{"payout-run", "/payouts", "Payout run", struct {
		Steps  site.Steps
		End    string // the last day of the month before
		Groups []site.Option
	}{v.runSteps(0, ""), clock.MonthOf(v.Today()).AddDate(0, 0, -1).Format(time.DateOnly), noneFirst("All partners", groups)}})
}

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
	Steps       site.Steps
	Pays, Stays []runTotal
	Lines       []runLine
	Tabs        site.Tabs
	Query       string // of the next step
	Older       string // more of the lines
	Sample      bool   // the program's partners are never paid
	Unpaid      bool   // the lines are the unpaid ones
}

// previewed asks the API what the run of the address would do.
func (v *visit) previewed(outcome api.PayoutPreviewOutcome) (*api.PayoutPreview, error) {
	v.Form = site.Posted(v.QueryParams())
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
	body["limit"] = 50
	var p api.PayoutPreview
	return &p, v.send("previewPayoutBatch", body, &p)
}

// outcomes are the parts of a preview, in the order of their tabs.
var outcomes = []struct {
	of   api.PayoutPreviewOutcome
	name string
}{
	{api.PayoutPreviewOutcomePayout, "Paid"},
	{api.PayoutPreviewOutcomeNotEligible, "Not eligible"},
	{api.PayoutPreviewOutcomeNextMonth, "Next month"},
	{api.PayoutPreviewOutcomeNothingDue, "Nothing due"},
}

// previewRun shows who would get what, and who would not and why.
func previewRun(v *visit) error {
	asked := outcomes[0].of
	for _, o := range outcomes {
		if v.QueryParam("outcome") == string(o.of) {
			asked = o.of
		}
	}
	p, err := v.previewed(asked)
	if err != nil {
		return v.again(err, planRun)
	}
	plan := v.plan(p, 1)
	plan.Unpaid = asked != api.PayoutPreviewOutcomePayout
	counts := map[api.PayoutPreviewOutcome]int64{}
	for _, t := range p.Totals {
		counts[t.Outcome] += t.PayoutCount
	}
	plan.Tabs.Label = "Outcome"
	for _, o := range outcomes {
		link := site.Link{Path: v.with("outcome", string(o.of)), Name: o.name, Current: o.of == asked, Count: counts[o.of]}
		if link.Count > 0 || link.Current {
			plan.Tabs.Links = append(plan.Tabs.Links, link)
		}
	}
	for _, l := range p.Data {
		plan.Lines = append(plan.Lines, runLine{l, method(l.Method)})
	}
	if p.HasMore && len(p.Data) > 0 {
		plan.Older = v.with("after", p.Data[len(p.Data)-1].PartnerID)
	}
	return v.show(sheet{"payout-preview", "/payouts", "Who gets what", plan})
}

// with is the page's own address with one parameter changed.
func (v *visit) with(name, value string) string {
	q := v.query("period_end", "group_id", "partner", "ignore_minimum", "outcome")
	q.Set(name, value)
	return v.Request().URL.Path + "?" + q.Encode()
}

// plan sums a preview up.
func (v *visit) plan(p *api.PayoutPreview, step int) runPlan {
	query := "?" + v.query("period_end", "group_id", "partner", "ignore_minimum").Encode()
	out := runPlan{
		PayoutPreview: p, Steps: v.runSteps(step, query), Query: query, Sample: strings.HasPrefix(v.program.ID, "sample_"),
	}
	for _, t := range p.Totals {
		total := runTotal{PayoutPreviewTotal: t, Method: method(t.Method), Path: v.with("outcome", string(t.Outcome))}
		if t.Outcome == api.PayoutPreviewOutcomePayout {
			out.Pays = append(out.Pays, total)
		} else {
			out.Stays = append(out.Stays, total)
		}
	}
	return out
}

// confirmRun shows the sums once more, with the button that makes the payouts.
func confirmRun(v *visit) error {
	p, err := v.previewed(api.PayoutPreviewOutcomePayout)
	if err != nil {
		return v.again(err, planRun)
	}
	plan := v.plan(p, 2)
	// The form's own fields are those of the operation.
	fields := url.Values{"period_end": {v.value("period_end")}}
	for _, name := range []string{"group_id", "partner", "ignore_minimum"} {
		if text := v.value(name); text != "" {
			fields.Set(name, text)
		}
	}
	return v.show(sheet{"payout-confirm", "/payouts", "Confirm the run", struct {
		runPlan
		Fields url.Values
		Month  string
	}{plan, fields, v.month(p.PeriodEnd)}})
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
	var made api.PayoutBatch
	if err := v.send("createPayoutBatch", body, &made); err != nil {
		return v.again(err, planRun)
	}
	notice := v.Locale.Count(made.PayoutCount) + oneOrMany(made.PayoutCount, " payout is", " payouts are") + " in the run of " +
		v.month(made.PeriodEnd) + ". No money has moved yet."
	if made.Generating {
		notice = "The run of " + v.month(made.PeriodEnd) + " is being made: more payouts come within minutes. Load the page again."
	}
	return v.done(v.at("/payouts/batches/"+made.ID), notice)
}

// Reason is why a partner is not paid, in words.
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
