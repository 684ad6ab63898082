package sample

import (
	"context"
	"encoding/json"

	"github.com/oapi-codegen/nullable"

	"rail/gen/db"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/program"
	"rail/server/program/flow"
	"rail/server/program/group"
	"rail/server/work"
)

const (
	// addOn is a product without a commission, for sales with a warning.
	addOn = "prod_ai_pack"
	// termsVersion is the version of the program's terms.
	termsVersion = "2025-09"
)

// program adds the program with its groups and tags. It is active, but pays out manually: the sample must not
// send money.
func (b *builder) program(ctx context.Context, u *work.Unit) error {
	p, err := program.Create(ctx, u, program.Input{
		Name: "Northwind Notes", WebsiteURL: site, Currency: currency, TermsURL: new(site + "/affiliate-terms"),
		Settings: program.Settings{
			URLParams: []string{"ref", "via"}, PayoutMethods: []string{"paypal", "wise"},
			CookieDays: new(int64(cookieDays)), HoldingPeriodDays: new(int64(holdingDays)), MinPayoutMinor: new(int64(5000)),
			PayoutTerm: new(db.PayoutTermNet30), CommissionOnNetRevenue: new(true),
		},
	})
	if err != nil {
		return err
	}
	b.programID = p.ID
	return queries.SampleTerms(ctx, u.Tx, db.SampleTermsParams{
		TermsVersion: new(termsVersion), ID: p.ID, OrgID: p.OrgID,
	})
}

// groups adds groups and tags.
func (b *builder) groups(ctx context.Context, u *work.Unit) error {
	first, err := queries.GroupDefault(ctx, u.Tx, db.GroupDefaultParams{ProgramID: b.programID, OrgID: u.OrgID})
	if err != nil {
		return err
	}
	b.defaultGroup = first.ID
	if _, err := group.Update(ctx, u, first.ID, group.Changes{
		LandingURL: nullable.NewNullableWithValue(site + "/partners/default"),
	}); err != nil {
		return err
	}
	for _, g := range []struct {
		id                      *string
		name, page, description string
		private                 bool
	}{
		{&b.creators, "Creators", "creators", "Video makers, newsletters and podcasts.", false},
		{&b.vips, "VIP Partners", "vip", "For the partners who bring the most.", true},
	} {
		added, err := group.Create(ctx, u, group.Input{
			ProgramID: b.programID, Name: g.name, Description: &g.description, LandingURL: new(site + "/partners/" + g.page),
			IsPrivate: g.private,
		})
		if err != nil {
			return err
		}
		*g.id = added.ID
	}
	for _, t := range [][2]string{
		{"YouTube", "#DC2626"}, {"Newsletter", "#2563EB"}, {"Blog", "#059669"}, {"Podcast", "#7C3AED"}, {"Agency", "#D97706"},
		{"Student ambassador", "#0891B2"},
	} {
		tag, err := group.CreateTag(ctx, u, group.TagInput{ProgramID: b.programID, Name: t[0], Color: &t[1]})
		if err != nil {
			return err
		}
		b.tagIDs = append(b.tagIDs, tag.ID)
	}
	return nil
}

// percent returns a branch with a rate in basis points; conditions is a JSON array.
func percent(label, conditions string, value int64) flow.BranchInput {
	return flow.BranchInput{
		Label: &label, Conditions: json.RawMessage(conditions), RateType: string(rules.RatePercent), RateValue: value,
	}
}

// isAddOn returns the branch that pays nothing on the add-on. It comes first, since the first matching branch
// decides.
func isAddOn() flow.BranchInput {
	return percent("Nothing on the AI pack", `[{"field":"sale.product_id","operator":"eq","value":"`+addOn+`"}]`, 0)
}

// annual returns the branch for yearly plans.
func annual(value int64) flow.BranchInput {
	return percent("Annual bonus", `[{"field":"sale.interval","operator":"eq","value":"year"}]`, value)
}

// firstYear returns the branch for a customer's first twelve months.
func firstYear(value int64) flow.BranchInput {
	return percent("First year", `[{"field":"customer.months_since_conversion","operator":"lt","value":12}]`, value)
}

// flows adds the flows. Lower priorities come first, so a group's flow precedes the standard one.
func (b *builder) flows(ctx context.Context, u *work.Unit) error {
	for i, f := range []struct {
		name, description, group string
		trigger                  db.FlowTrigger
		rate                     rules.Rate
		approval                 db.ApprovalMode
		delay                    *int64
		priority                 int64
		status                   db.FlowStatus
		branches                 []flow.BranchInput
	}{
		{
			"VIP partners", "35 % for as long as the customer stays.", b.vips, rules.NewPayment,
			rules.Rate{RateType: rules.RatePercent, RateValue: 3500}, rules.ApproveImmediately, nil, 10, db.FlowStatusActive,
			[]flow.BranchInput{isAddOn(), annual(4000)},
		},
		{
			"Creators", "30 % in a customer's first year, 15 % after.", b.creators, rules.NewPayment,
			rules.Rate{RateType: rules.RatePercent, RateValue: 1500}, rules.ApproveImmediately, nil, 20, db.FlowStatusActive,
			[]flow.BranchInput{isAddOn(), firstYear(3000)},
		},
		{
			"Standard", "25 % on annual plans, 20 % in the first year, 10 % after.", "", rules.NewPayment,
			rules.Rate{RateType: rules.RatePercent, RateValue: 1000}, rules.ApproveAfterDays, new(int64(14)), 100,
			db.FlowStatusActive, []flow.BranchInput{isAddOn(), annual(2500), firstYear(2000)},
		},
		{
			"Sign-up bounty", "1.50 USD for each new account, reviewed manually.", b.creators, rules.NewSignup,
			rules.Rate{RateType: rules.RateFixed, RateValue: 150}, rules.ApproveManually, nil, 50, db.FlowStatusActive, nil,
		},
		{
			"Black Friday", "40 % on everything, for one week in November.", "", rules.NewPayment,
			rules.Rate{RateType: rules.RatePercent, RateValue: 4000}, rules.ApproveImmediately, nil, 1, db.FlowStatusInactive,
			nil,
		},
	} {
		if _, err := flow.Create(ctx, at(u, b.start.Days(int64(i))), flow.New{
			ProgramID: b.programID, Name: f.name, Description: &f.description, GroupID: opt.OrNil(f.group),
			Trigger: new(string(f.trigger)), RateType: new(string(f.rate.RateType)), RateValue: &f.rate.RateValue,
			ApprovalMode: new(string(f.approval)), ApprovalDelayDays: f.delay, Priority: &f.priority,
			Status: new(string(f.status)), Branches: f.branches,
		}); err != nil {
			return err
		}
	}
	return nil
}
