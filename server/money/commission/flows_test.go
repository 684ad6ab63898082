package commission

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/rules"
)

func groupOf(n int) *string { return new(fmt.Sprint("grp_", n)) }

// drawFlows draws active flows as FlowsForPartner lists them, all with their branches.
func drawFlows(t *rapid.T) []db.FlowsForPartnerRow {
	rows := make([]db.FlowsForPartnerRow, rapid.IntRange(0, 6).Draw(t, "flows"))
	for i := range rows {
		r := db.FlowsForPartnerRow{
			ID:           fmt.Sprint("flw_", i),
			Trigger:      rules.NewPayment,
			Action:       rules.GenerateCommission,
			ApprovalMode: rules.ApproveImmediately,
			Priority:     int64(i),
			CreatedAt:    clock.Time{},
			RateType:     new(rules.RatePercent),
			RateValue:    new(int64(i)),
		}
		if rapid.Bool().Draw(t, "switches") {
			r.Action, r.RateType, r.RateValue, r.TargetGroupID = rules.SwitchGroup, nil, nil, groupOf(i)
		}
		if rapid.Bool().Draw(t, "of a group") {
			r.GroupID = groupOf(rapid.IntRange(0, 1).Draw(t, "group"))
		}
		branches := make([]branch, rapid.IntRange(0, 2).Draw(t, "branches"))
		for n := range branches {
			product := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "product")
			branches[n] = branch{
				ID: fmt.Sprint("flb_", n), RateType: rules.RatePercent, RateValue: int64(100 + n),
				Conditions: json.RawMessage(`[{"field":"sale.product_id","operator":"eq","value":"` + product + `"}]`),
			}
		}
		r.Branches, _ = json.Marshal(branches)
		r.BranchesDigest = r.Branches // any name of the content will do
		rows[i] = r
	}
	return rows
}

// Neither the cache nor dropping flows that cannot decide changes a decision.
func TestCachedFlowsDecideAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rows := drawFlows(t)
		f := &rules.Facts{Sale: &rules.SaleFacts{ProductID: new(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "sold"))}}
		f.Partner = rules.PartnerFacts{ID: "part_1", GroupID: groupOf(rapid.IntRange(0, 1).Draw(t, "of"))}
		whole := map[version][]rules.Branch{}
		for _, r := range rows {
			branches, err := parse(r)
			require.NoError(t, err)
			whole[versionOf(r)] = branches
		}
		all := toRules(rows, whole)
		ready := map[version][]rules.Branch{}
		few := deciding(rows, f)
		for _, r := range few {
			require.NoError(t, fromCache(ready, r))
			r.Branches = []byte("null")
			require.NoError(t, fromCache(map[version][]rules.Branch{}, r), "from what is kept")
		}
		cached := toRules(few, ready)
		want, ok := rules.Choose(all, f)
		got, same := rules.Choose(cached, f)
		require.Equal(t, ok, same)
		require.Equal(t, want, got)
		to, moves := rules.SwitchTarget(all, f)
		moved, alike := rules.SwitchTarget(cached, f)
		require.Equal(t, moves, alike)
		require.Equal(t, to, moved)
	})
}

// The cache stays within its bound and keeps entries in use.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := cache{young: map[version]cacheEntry{}}
	hot := version{"hot", ""}
	c.put(hot, cacheEntry{length: 1000})
	for i := range 5000 {
		c.put(version{fmt.Sprint(i), ""}, cacheEntry{length: 16 << 10})
		_, ok := c.get(hot)
		require.True(t, ok)
		total := 0
		for _, side := range []map[version]cacheEntry{c.young, c.old} {
			for _, p := range side {
				total += p.length + entryBytes
			}
		}
		require.LessOrEqual(t, total, maxCacheBytes)
	}
	_, ok := c.get(version{"0", ""})
	require.False(t, ok)
}
