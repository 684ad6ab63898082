package source_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/importtest"
	"rail/server/inbound/importer/source"
)

// reordered exchanges an object of the first page with one of the second before the second page is read, so that the
// list shows one twice and one never, so many times.
func reordered(list string, times int) importtest.Change {
	return func(name string, read int, objects []importtest.Object) []importtest.Object {
		if name == list && read == 2 && times > 0 {
			times--
			objects = slices.Clone(objects)
			objects[10], objects[140] = objects[140], objects[10]
		}
		return objects
	}
}

// TestTotals: a list with fewer objects than its total is read again. If that does not help, it is a problem.
func TestTotals(t *testing.T) {
	t.Parallel()
	for product, of := range map[string]struct {
		account source.Account
		serve   func(*importtest.World, importtest.Oddities) http.Handler
	}{
		"rewardful": {source.Account{Key: importtest.RewardfulKey}, importtest.Rewardful},
		"goaffpro":  {goaffproAccount, importtest.GoAffPro},
		"refersion": {refersionAccount, importtest.Refersion},
	} {
		for times, want := range map[int]map[string]source.Code{
			0: {}, 1: {}, 2: {}, 99: {"partners list of partners": source.MissingMember},
		} {
			odd := importtest.Oddities{Changes: []importtest.Change{reordered("affiliates", times)}}
			api := of.serve(refersionWorld(150), odd)
			all := rowsOf(t, only{open(t, product, of.account, api, importtest.Faults{}), "affiliates"})
			all = slices.DeleteFunc(all, func(r source.Row) bool { return r.Kind != source.KindPartner })
			require.Equal(t, want, problems(all), "%s %d", product, times)
			require.Len(t, all, 150)
		}
	}
}

// TestTotalsOfTwo: a process that has not read the beginning of a list does not know the number of its objects.
func TestTotalsOfTwo(t *testing.T) {
	t.Parallel()
	odd := importtest.Oddities{Changes: []importtest.Change{reordered("affiliates", 99)}}
	api := importtest.Refersion(refersionWorld(150), odd)
	one := open(t, "refersion", refersionAccount, api, importtest.Faults{}).Lists()[0]
	other := open(t, "refersion", refersionAccount, api, importtest.Faults{}).Lists()[0]
	last := read(t, other, read(t, one, "").Next)
	require.Empty(t, last.Next)
	require.Empty(t, problems(last.Rows))
}
