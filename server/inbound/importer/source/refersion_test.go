package source_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/importtest"
	"rail/server/inbound/importer/source"
)

var refersionAccount = source.Account{Key: importtest.RefersionKey}

func refersionWorld(n int) *importtest.World {
	return importtest.NewWorld(41, n, now, importtest.Shape{Param: "rfsn"})
}

// refersionRows returns a world as far as Refersion can show it.
func refersionRows(w *importtest.World) []source.Row {
	var all []source.Row
	for _, p := range changed(w.Partners, func(r *source.Row) {
		r.Partner.CountryCode, r.Partner.CreatedAt = "", clock.Time{}
	}) {
		all = append(all, p)
		for _, value := range []string{strconv.Itoa(37_000_000+importtest.Numeric(p.ID)) + "." + p.ID, p.ID} {
			all = append(all, source.Row{Kind: source.KindLink, ID: p.ID + " " + value, Link: &source.Link{
				PartnerID: p.ID, Param: "rfsn", Value: value,
			}})
		}
	}
	return sorted(all)
}

// TestRefersion: all rows arrive exactly, whatever fails on the way; pages can be read again.
func TestRefersion(t *testing.T) {
	t.Parallel()
	w := refersionWorld(60)
	got := rowsOf(t, open(t, "refersion", refersionAccount, importtest.Refersion(w, importtest.Oddities{}), faults))
	requireRows(t, refersionRows(w), got)
	api := importtest.Refersion(w, importtest.Oddities{})
	walk(t, open(t, "refersion", refersionAccount, api, importtest.Faults{}), true)
	odd := importtest.Oddities{PastEnd: true}
	requireRows(t, refersionRows(w), rowsAt(t, "refersion", importtest.Refersion(w, odd), refersionAccount))
}

// TestRefersionPages: no affiliate is lost while affiliates come and go.
func TestRefersionPages(t *testing.T) {
	t.Parallel()
	w := refersionWorld(260)
	keepsAll(t, source.KindPartner, func(odd importtest.Oddities) (source.Source, []string) {
		s := open(t, "refersion", refersionAccount, importtest.Refersion(w, odd), importtest.Faults{})
		return only{s, "affiliates"}, ids(w.Partners)
	}, "affiliates", "late")
}

// TestRefersionOddities: each has its problem, and nothing else is lost.
func TestRefersionOddities(t *testing.T) {
	t.Parallel()
	w := refersionWorld(60)
	api := importtest.Refersion(w, importtest.Oddities{Changes: []importtest.Change{
		importtest.Duplicate("affiliates", 9),
		importtest.Alter("affiliates", 0, func(o importtest.Object) { o["status"] = "FROZEN" }),
		importtest.Alter("affiliates", 1, func(o importtest.Object) { o["email"] = nil }),
	}})
	newest := func(i int) string { return "partners " + w.Partners[len(w.Partners)-1-i].ID }
	odd := map[string]source.Code{newest(0): source.UnknownStatus, newest(1): source.MissingMember}
	got := rowsAt(t, "refersion", api, refersionAccount)
	require.Equal(t, odd, problems(got))
	requireRows(t, without(refersionRows(w), odd), without(got, odd))
}

// TestRefersionKey: a wrong key is an error.
func TestRefersionKey(t *testing.T) {
	t.Parallel()
	api := importtest.Refersion(refersionWorld(6), importtest.Oddities{})
	refusesKey(t, open(t, "refersion", source.Account{Key: "rf-public:wrong"}, api, importtest.Faults{}))
}

// TestRefersionSince: Refersion has no filter by the time of a change.
func TestRefersionSince(t *testing.T) {
	t.Parallel()
	w := refersionWorld(12)
	since := w.Now
	account := source.Account{Key: importtest.RefersionKey, Since: &since}
	requireRows(t, refersionRows(w), rowsAt(t, "refersion", importtest.Refersion(w, importtest.Oddities{}), account))
}
