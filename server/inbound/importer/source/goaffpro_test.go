package source_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/importtest"
	"rail/server/inbound/importer/source"
)

var goaffproAccount = source.Account{Key: importtest.GoAffProKey}

func goaffproWorld(n int) *importtest.World {
	return importtest.NewWorld(42, n, now, importtest.Shape{Param: "ref"})
}

// goaffproRows returns a world as far as the source reads it.
func goaffproRows(w *importtest.World) []source.Row {
	created := map[string]source.Row{}
	for _, p := range w.Partners {
		created[p.ID] = p
	}
	all := changed(w.Partners, func(r *source.Row) { r.ID, r.Partner.Group = number(r.ID), "" })
	all = append(all, changed(w.Links, func(r *source.Row) {
		l := r.Link
		l.CreatedAt, l.URL = created[l.PartnerID].Partner.CreatedAt, ""
		l.PartnerID = number(l.PartnerID)
		r.ID = l.PartnerID + " " + l.Value
	})...)
	return sorted(append(all, changed(w.Coupons, func(r *source.Row) {
		c := r.Coupon
		c.CreatedAt, c.ExternalID, c.Active = created[c.PartnerID].Partner.CreatedAt, "", true
		c.PartnerID = number(c.PartnerID)
		r.ID = c.PartnerID + " " + c.Code
	})...))
}

// TestGoAffPro: all rows arrive exactly, whatever fails on the way; pages can be read again.
func TestGoAffPro(t *testing.T) {
	t.Parallel()
	w := goaffproWorld(260)
	api := importtest.GoAffPro(w, importtest.Oddities{})
	requireRows(t, goaffproRows(w), rowsOf(t, open(t, "goaffpro", goaffproAccount, api, faults)))
	walk(t, open(t, "goaffpro", goaffproAccount, api, importtest.Faults{}), true)
	numbers := make([]string, len(w.Partners))
	for i, p := range w.Partners {
		numbers[i] = number(p.ID)
	}
	keepsAll(t, source.KindPartner, func(odd importtest.Oddities) (source.Source, []string) {
		return open(t, "goaffpro", goaffproAccount, importtest.GoAffPro(w, odd), importtest.Faults{}), numbers
	}, "affiliates", 999_999)
}

// TestGoAffProOddities: each has its problem, and nothing else is lost.
func TestGoAffProOddities(t *testing.T) {
	t.Parallel()
	w := goaffproWorld(60)
	api := importtest.GoAffPro(w, importtest.Oddities{Changes: []importtest.Change{
		importtest.Duplicate("affiliates", 9),
		importtest.Alter("affiliates", 0, func(o importtest.Object) { o["status"] = "frozen" }),
		importtest.Alter("affiliates", 1, func(o importtest.Object) { o["email"] = nil }),
		importtest.Alter("affiliates", 2, func(o importtest.Object) {
			o["referral_code"], o["ref_code"], o["ref_codes"] = o["ref_code"], nil, nil
		}),
	}})
	newest := func(i int) string { return number(w.Partners[len(w.Partners)-1-i].ID) }
	odd := map[string]source.Code{
		"partners " + newest(0): source.UnknownStatus, "partners " + newest(1): source.MissingMember,
	}
	got := rowsAt(t, "goaffpro", api, goaffproAccount)
	require.Equal(t, odd, problems(got))
	for i, l := range w.Links[1:] { // a second link of the third is not shown
		if first := w.Links[i].Link.PartnerID; first == l.Link.PartnerID && number(first) == newest(2) {
			odd["links "+newest(2)+" "+l.Link.Value] = ""
		}
	}
	requireRows(t, without(goaffproRows(w), odd), without(got, odd))
}

// TestGoAffProKey: a wrong key is an error.
func TestGoAffProKey(t *testing.T) {
	t.Parallel()
	api := importtest.GoAffPro(goaffproWorld(6), importtest.Oddities{})
	refusesKey(t, open(t, "goaffpro", source.Account{Key: "wrong"}, api, importtest.Faults{}))
}

// TestGoAffProSince: GoAffPro has no filter by the time of a change.
func TestGoAffProSince(t *testing.T) {
	t.Parallel()
	w := goaffproWorld(12)
	account, since := goaffproAccount, w.Now
	account.Since = &since
	requireRows(t, goaffproRows(w), rowsAt(t, "goaffpro", importtest.GoAffPro(w, importtest.Oddities{}), account))
}
