package sample

import (
	"encoding/json"
	"fmt"

	"rail/server/ident"
	"rail/server/money/rules"
	"rail/server/opt"
)

// addOn is a product without a commission, for sales with a warning.
const addOn = "prod_ai_pack"

// program adds the program with its groups and tags. It is active, but pays out manually: the sample must not
// send money.
func (b *builder) program() {
	at := b.start
	b.sheets.programs.rows = append(b.sheets.programs.rows, []any{
		b.orgID, b.programID, "Northwind Notes", "Northwind Notes", site, currency, "active", "northwind-notes",
		site + "/affiliate-terms", "2025-09",
		int64(cookieDays), []string{"ref", "via"}, true, int64(holdingDays), int64(5000), "net_30",
		[]string{"paypal", "wise"}, true,
		[]string{}, false, false, "stripe", at, at,
	})
	b.defaultGroup = b.group("Default", "default", "", false, true)
	b.creators = b.group("Creators", "creators", "Video makers, newsletters and podcasts.", false, false)
	b.vips = b.group("VIP Partners", "vip", "By invitation, for the partners who bring the most.", true, false)
	for _, t := range [][2]string{
		{"YouTube", "#DC2626"}, {"Newsletter", "#2563EB"}, {"Blog", "#059669"}, {"Podcast", "#7C3AED"}, {"Agency", "#D97706"},
		{"Student ambassador", "#0891B2"},
	} {
		id := ident.NewSample(ident.Tag)
		b.tagIDs = append(b.tagIDs, id)
		b.add(b.sheets.tags, id, t[0], t[1], at, at)
	}
}

// group adds a group and returns its id. standard marks the default group.
func (b *builder) group(name, slug, description string, private, standard bool) string {
	id := ident.NewSample(ident.Group)
	landing := site + "/partners/" + slug
	b.add(b.sheets.groups, id, name, slug, opt.OrNil(description), landing, private, standard, b.start, b.start)
	return id
}

// branch is the stored form of a flow's branch, as in the column flows.branches.
type branch struct {
	ID         string          `json:"id"`
	Label      string          `json:"label"`
	Conditions json.RawMessage `json:"conditions"`
	RateType   rules.RateType  `json:"rate_type"`
	RateValue  int64           `json:"rate_value"`
}

// percent returns a branch with a rate in basis points; conditions is a JSON array.
func percent(label, conditions string, value int64) branch {
	return branch{ident.NewSample(ident.Branch), label, json.RawMessage(conditions), rules.RatePercent, value}
}

// isAddOn returns the branch that pays nothing on the add-on. It comes first, since the first matching branch
// decides.
func isAddOn() branch {
	return percent("Nothing on the AI pack", `[{"field":"sale.product_id","operator":"eq","value":"`+addOn+`"}]`, 0)
}

// annual returns the branch for yearly plans.
func annual(value int64) branch {
	return percent("Annual bonus", `[{"field":"sale.interval","operator":"eq","value":"year"}]`, value)
}

// firstYear returns the branch for a customer's first twelve months.
func firstYear(value int64) branch {
	return percent("First year", `[{"field":"customer.months_since_conversion","operator":"lt","value":12}]`, value)
}

// flow is a flow with the fields that the rules do not need: its texts and its stored branches.
type flow struct {
	rules.Flow
	name, description, status string
	branches                  []branch
}

// flowRows adds the flows and keeps the active ones for computing sales. Lower priorities come first, so a
// group's flow precedes the standard one.
func (b *builder) flowRows() error {
	for i, f := range []flow{
		{rules.Flow{
			GroupID: &b.vips, Trigger: rules.NewPayment, RateType: rules.RatePercent, RateValue: 3500,
			ApprovalMode: rules.ApproveImmediately, Priority: 10,
		},
			"VIP partners", "35 % for as long as the customer stays.", "active", []branch{isAddOn(), annual(4000)}},
		{rules.Flow{
			GroupID: &b.creators, Trigger: rules.NewPayment, RateType: rules.RatePercent, RateValue: 1500,
			ApprovalMode: rules.ApproveImmediately, Priority: 20,
		},
			"Creators", "30 % in a customer's first year, 15 % after.", "active", []branch{isAddOn(), firstYear(3000)}},
		{rules.Flow{
			Trigger: rules.NewPayment, RateType: rules.RatePercent, RateValue: 1000, ApprovalMode: rules.ApproveAfterDays,
			ApprovalDelayDays: new(int64(14)), Priority: 100,
		},
			"Standard", "25 % on annual plans, 20 % in the first year, 10 % after.", "active",
			[]branch{isAddOn(), annual(2500), firstYear(2000)}},
		{rules.Flow{
			GroupID: &b.creators, Trigger: rules.NewSignup, RateType: rules.RateFixed, RateValue: 150,
			ApprovalMode: rules.ApproveManually, Priority: 50,
		},
			"Sign-up bounty", "1.50 USD for each new account, looked at by hand.", "active", nil},
		{rules.Flow{
			Trigger: rules.NewPayment, RateType: rules.RatePercent, RateValue: 4000, ApprovalMode: rules.ApproveImmediately,
			Priority: 1,
		},
			"Black Friday", "40 % on everything, for one week in November.", "inactive", nil},
	} {
		f.ID, f.Action, f.CreatedAt = ident.NewSample(ident.Flow), rules.GenerateCommission, b.start.Days(int64(i))
		if err := b.flow(f); err != nil {
			return fmt.Errorf("flow %s: %w", f.name, err)
		}
	}
	return nil
}

// flow adds a flow. Its conditions are parsed as in a request, so that the sample cannot contain invalid ones.
func (b *builder) flow(f flow) error {
	// The column allows no NULL, and nil would be stored as null.
	if f.branches == nil {
		f.branches = []branch{}
	}
	for _, x := range f.branches {
		conditions, wrong := rules.ParseConditions(x.Conditions, f.Trigger)
		if wrong != nil {
			return wrong
		}
		f.Branches = append(f.Branches, rules.Branch{
			ID: x.ID, Conditions: conditions, RateType: x.RateType, RateValue: x.RateValue,
		})
	}
	stored, err := json.Marshal(f.branches)
	if err != nil {
		return err
	}
	b.add(b.sheets.flows, f.ID, f.name, f.description, f.GroupID, string(f.Trigger), string(f.Action), string(f.RateType),
		f.RateValue,
		string(f.ApprovalMode), f.ApprovalDelayDays, f.Priority, f.status, stored, f.CreatedAt, f.CreatedAt)
	switch {
	case f.status != "active":
	case f.Trigger == rules.NewPayment:
		b.payment = append(b.payment, f.Flow)
	default:
		b.signup = append(b.signup, f.Flow)
	}
	return nil
}
