package rules

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Limits of the conditions of a flow, and of a program's active flows (decisions, 232).
const (
	mostOfFlow    = 16 << 10
	mostOfProgram = 256 << 10
)

// heavy are conditions that do not match and cost most for their length, against the sale of heavyFacts.
var heavy = map[string]func(i int) string{
	"numbers":  func(int) string { return cond("sale.metadata.n", "in", "["+strings.Repeat("1,", 99)+"1]") },
	"texts":    func(int) string { return cond("sale.metadata.t", "in", "["+strings.Repeat(`"a",`, 99)+`"a"]`) },
	"ids":      func(int) string { return cond("partner.tag_ids", "in", "["+strings.Repeat(`"tag_a",`, 99)+`"tag_a"]`) },
	"keys":     func(i int) string { return cond(fmt.Sprint("sale.metadata.", i), "eq", "1") },
	"names":    func(int) string { return cond("sale.product_name", "eq", `"a"`) },
	"contains": func(int) string { return cond("sale.metadata.t", "contains", `"`+strings.Repeat("a", 40)+`b"`) },
	"short":    func(int) string { return cond("sale.metadata.t", "contains", `"aab"`) },
	"dates":    func(int) string { return cond("customer.lead_at", "lt", `"2000-01-01"`) },
}

// heavyFacts is the largest sale that the API accepts.
func heavyFacts() *Facts {
	f := sampleFacts()
	f.Sale.Metadata = json.RawMessage(`{"n":` + strings.Repeat("9", 8<<10) + `,"t":"` + strings.Repeat("a", 8<<10) + `"}`)
	f.Sale.ProductName = new(strings.Repeat("É", maxText))
	f.Partner.TagIDs = nil
	for i := range 50 {
		f.Partner.TagIDs = append(f.Partner.TagIDs, fmt.Sprintf("tag_%024d", i))
	}
	return f
}

// heavyFlows fills a program with switch_group flows that match no one but must all be evaluated, each and
// together at their limits.
func heavyFlows(t testing.TB, leaf func(i int) string) []Flow {
	var flows []Flow
	for total, n := 0, 0; ; {
		f := Flow{ID: fmt.Sprint("flw_", len(flows)), Trigger: NewPayment, Action: SwitchGroup, TargetGroupID: new("grp_b")}
		for size := 0; ; {
			var leaves []string
			for range maxLeaves / 2 {
				leaves = append(leaves, leaf(n))
				n++
			}
			raw := `[{"any":[` + strings.Join(leaves, ",") + `]}]`
			if size += len(raw); size > mostOfFlow || len(f.Branches) == 20 {
				break
			}
			if total += len(raw); total > mostOfProgram {
				return flows
			}
			c, err := ParseConditions(json.RawMessage(raw), NewPayment)
			require.Nil(t, err, raw)
			f.Branches = append(f.Branches, Branch{ID: "flb_a", Conditions: c})
		}
		flows = append(flows, f)
	}
}

// BenchmarkBounds measures a sale in a program with the largest allowed flows.
func BenchmarkBounds(b *testing.B) {
	for name, leaf := range heavy {
		b.Run(name, func(b *testing.B) {
			flows, f := heavyFlows(b, leaf), heavyFacts()
			for b.Loop() {
				_, moved := SwitchTarget(flows, f)
				require.False(b, moved)
			}
		})
	}
}

// The cache's bound counts the length of stored JSON: the parsed form must not take more than eight times as
// much. Not parallel, since it measures the whole heap.
func TestParsedSize(t *testing.T) {
	size := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for name, leaf := range heavy {
		before := size()
		flows := heavyFlows(t, leaf)
		require.Less(t, size()-before, int64(8*mostOfProgram), name)
		runtime.KeepAlive(flows)
	}
}
