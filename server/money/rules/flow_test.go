package rules

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLess(t *testing.T) {
	t.Parallel()
	old, young := when("2026-01-01"), when("2026-01-02")
	ascending := []Flow{
		{ID: "flw_z", Priority: 1, CreatedAt: young},
		{ID: "flw_y", Priority: 2, PartnerID: new("part_a"), CreatedAt: young},
		{ID: "flw_x", Priority: 2, GroupID: new("grp_a"), CreatedAt: young},
		{ID: "flw_w", Priority: 2, CreatedAt: old},
		{ID: "flw_a", Priority: 2, CreatedAt: young},
		{ID: "flw_b", Priority: 2, CreatedAt: young},
	}
	for i := range ascending {
		for j := range ascending {
			require.Equal(t, i < j, Less(ascending[i], ascending[j]), "%d %d", i, j)
		}
	}
}

func TestApplies(t *testing.T) {
	t.Parallel()
	require.True(t, Applies(Flow{}, "part_a", nil))
	require.True(t, Applies(Flow{PartnerID: new("part_a")}, "part_a", nil))
	require.False(t, Applies(Flow{PartnerID: new("part_b")}, "part_a", nil))
	require.True(t, Applies(Flow{GroupID: new("grp_a")}, "part_a", new("grp_a")))
	require.False(t, Applies(Flow{GroupID: new("grp_a")}, "part_a", new("grp_b")))
	require.False(t, Applies(Flow{GroupID: new("grp_a")}, "part_a", nil))
}

// pays is a flow for payments with branches.
func pays(id string, priority int64, branches ...Branch) Flow {
	return Flow{
		ID: id, Priority: priority, Trigger: NewPayment, Action: GenerateCommission,
		RateType: RatePercent, RateValue: 2000, ApprovalMode: ApproveImmediately, Branches: branches,
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	no := Branch{"flb_no", parsed(t, first1), RatePercent, 1}
	yes := Branch{"flb_yes", parsed(t, cond("sale.amount_minor", "gt", "1")), RateFixed, 0}
	last := Branch{"flb_last", Conditions{}, RatePercent, 3}
	f := sampleFacts()
	c, ok := Choose([]Flow{pays("flw_b", 2, last), pays("flw_a", 1, no, yes, last)}, f)
	require.True(t, ok)
	require.Equal(t,
		Choice{FlowID: "flw_a", BranchID: new("flb_yes"), RateType: RateFixed, ApprovalMode: ApproveImmediately}, c)

	c, ok = Choose([]Flow{pays("flw_a", 1, no), pays("flw_b", 2, last)}, f)
	require.True(t, ok)
	require.Equal(t, Choice{FlowID: "flw_a", RateType: RatePercent, RateValue: 2000, ApprovalMode: ApproveImmediately}, c)

	signup, switches := pays("flw_s", 1), pays("flw_g", 1)
	signup.Trigger, switches.Action = NewSignup, SwitchGroup
	_, ok = Choose([]Flow{signup, switches}, f)
	require.False(t, ok)
	f.Sale = nil
	c, ok = Choose([]Flow{signup, switches}, f)
	require.True(t, ok)
	require.Equal(t, "flw_s", c.FlowID)
}

func TestCompute(t *testing.T) {
	t.Parallel()
	percent, fixed := Choice{RateType: RatePercent, RateValue: 2000}, Choice{RateType: RateFixed, RateValue: 700}
	for _, c := range []struct {
		choice   Choice
		override *Rate
		base     int64
		sale     string
		amount   int64
		currency string
		warning  string
	}{
		{percent, nil, 4999, "USD", 1000, "USD", ""},
		{percent, nil, 4999, "EUR", 1000, "EUR", ""},
		{percent, nil, 2, "USD", 0, "", WarnNoCommission},
		{fixed, nil, 1, "USD", 700, "USD", ""},
		{fixed, nil, 1, "EUR", 0, "", WarnCurrencyMismatch},
		{Choice{RateType: RateFixed}, nil, 1, "EUR", 0, "", WarnCurrencyMismatch},
		{Choice{RateType: RateFixed}, nil, 1, "USD", 0, "", WarnNoCommission},
		{fixed, &Rate{RatePercent, 5000}, 100, "EUR", 50, "EUR", ""},
		{percent, &Rate{RateFixed, 9}, 100, "USD", 9, "USD", ""},
		{percent, &Rate{RateFixed, 9}, 100, "EUR", 0, "", WarnCurrencyMismatch},
		{percent, &Rate{RatePercent, 0}, 100, "USD", 0, "", WarnNoCommission},
	} {
		amount, currency, warning := Compute(c.choice, c.override, c.base, c.sale, "USD")
		require.Equal(t, c.amount, amount)
		require.Equal(t, c.currency, currency)
		require.Equal(t, c.warning, warning)
	}
}

func TestSwitchTarget(t *testing.T) {
	t.Parallel()
	move := func(id, target string, priority int64, branches ...Branch) Flow {
		f := pays(id, priority, branches...)
		f.Action, f.TargetGroupID = SwitchGroup, new(target)
		return f
	}
	no := Branch{ID: "flb_no", Conditions: parsed(t, first1)}
	yes := Branch{ID: "flb_yes"}
	f := sampleFacts()
	s, ok := SwitchTarget([]Flow{
		pays("flw_p", 0), move("flw_c", "grp_c", 3), move("flw_b", "grp_b", 2, no, yes), move("flw_a", "grp_a", 1, no),
	}, f)
	require.True(t, ok)
	require.Equal(t, Switch{"flw_b", "grp_b"}, s)
	_, ok = SwitchTarget([]Flow{pays("flw_p", 0), move("flw_a", "grp_a", 1, no)}, f)
	require.False(t, ok)
	s, ok = SwitchTarget([]Flow{move("flw_c", "grp_c", 3)}, f)
	require.True(t, ok)
	require.Equal(t, "grp_c", s.TargetGroupID)
}

func drawFlow(t *rapid.T, n int, branch Conditions) Flow {
	f := pays(string(rune('a'+n)), rapid.Int64Range(0, 2).Draw(t, "priority"))
	f.CreatedAt = when("2026-01-01").Days(rapid.Int64Range(0, 1).Draw(t, "age"))
	f.Trigger = rapid.SampledFrom([]Trigger{NewPayment, NewPayment, NewSignup}).Draw(t, "trigger")
	f.Action = rapid.SampledFrom([]Action{GenerateCommission, GenerateCommission, SwitchGroup}).Draw(t, "action")
	switch rapid.IntRange(0, 2).Draw(t, "scope") {
	case 1:
		f.GroupID = new(rapid.SampledFrom([]string{"grp_a", "grp_b"}).Draw(t, "group"))
	case 2:
		f.PartnerID = new(rapid.SampledFrom([]string{"part_a", "part_b"}).Draw(t, "partner"))
	}
	if rapid.Bool().Draw(t, "branch") {
		f.Branches = []Branch{{ID: "flb_x", Conditions: branch, RateType: RateFixed, RateValue: 1}}
	}
	return f
}

// The model drops what does not fit and sorts the rest by a list of keys.
func modelChoose(flows []Flow, f *Facts) *Flow {
	rest := slices.DeleteFunc(slices.Clone(flows), func(x Flow) bool {
		outside := x.PartnerID != nil && *x.PartnerID != "part_a" || x.GroupID != nil && *x.GroupID != "grp_a"
		return x.Action != GenerateCommission || (x.Trigger == NewPayment) != (f.Sale != nil) || outside
	})
	slices.SortFunc(rest, func(a, b Flow) int {
		return slices.Compare(keys(a), keys(b))
	})
	if len(rest) == 0 {
		return nil
	}
	return &rest[0]
}

func keys(f Flow) []int64 {
	scope := int64(2)
	if f.GroupID != nil {
		scope = 1
	}
	if f.PartnerID != nil {
		scope = 0
	}
	return []int64{f.Priority, scope, f.CreatedAt.Unix(), int64(f.ID[0])}
}

func TestChooseAgainstModel(t *testing.T) {
	t.Parallel()
	matching, failing := parsed(t, cond("partner.sales_count", "eq", "3")), parsed(t, first1)
	rapid.Check(t, func(t *rapid.T) {
		var flows []Flow
		for n := range rapid.IntRange(0, 6).Draw(t, "flows") {
			flows = append(flows, drawFlow(t, n, rapid.SampledFrom([]Conditions{matching, failing}).Draw(t, "conditions")))
		}
		f := sampleFacts()
		if rapid.Bool().Draw(t, "signup") {
			f.Sale = nil
		}
		want := modelChoose(flows, f)
		got, ok := Choose(rapid.Permutation(flows).Draw(t, "order"), f)
		require.Equal(t, want != nil, ok)
		if !ok {
			return
		}
		require.Equal(t, want.ID, got.FlowID)
		hit := len(want.Branches) > 0 && want.Branches[0].Conditions.Needs() != 0
		require.Equal(t, hit, got.BranchID != nil)
		require.Equal(t, cmp.Compare(got.RateValue, 1) == 0, hit)
	})
}
