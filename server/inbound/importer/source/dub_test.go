package source_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/importtest"
	"rail/server/inbound/importer/source"
)

var dubAccount = source.Account{Key: importtest.DubKey}

func dubWorld(n int) *importtest.World {
	return importtest.NewWorld(37, n, now, importtest.Shape{Param: "via", OneCurrency: true})
}

// dubRows returns a world as far as Dub can show it.
func dubRows(w *importtest.World) []source.Row {
	sales := map[string]string{} // commission by sale
	for _, k := range w.Commissions {
		sales[k.Commission.SaleID] = k.ID
	}
	return sorted(changed(w.Rows(), func(r *source.Row) {
		switch r.Kind {
		case source.KindLink:
			r.Link.CreatedAt = clock.Time{}
		case source.KindCoupon:
			r.Coupon.ExternalID, r.Coupon.Active, r.Coupon.CreatedAt = "", true, clock.Time{}
		case source.KindCustomer:
			r.Customer.ExternalIDs = []string{"user-" + r.Customer.ExternalIDs[0], r.Customer.ExternalIDs[0]}
			r.Customer.CouponID = ""
		case source.KindSale:
			r.ID, r.Sale.Recurring = sales[r.ID], false
		case source.KindCommission:
			r.Commission.SaleID, r.Commission.MatureAt, r.Commission.PayoutID = r.ID, nil, ""
		case source.KindPayout:
			r.Payout.Method = ""
		}
	}))
}

// TestDub: all rows arrive exactly, whatever fails on the way.
func TestDub(t *testing.T) {
	t.Parallel()
	w := dubWorld(60)
	got := rowsOf(t, open(t, "dub", dubAccount, importtest.Dub(w, importtest.Oddities{}), faults))
	requireRows(t, dubRows(w), got)
	requireMoney(t, w, got)
}

// TestDubPages: pages can be read again, past the end, and while objects come and go.
func TestDubPages(t *testing.T) {
	t.Parallel()
	w := dubWorld(260)
	want := dubRows(w)
	walk(t, open(t, "dub", dubAccount, importtest.Dub(w, importtest.Oddities{}), importtest.Faults{}), true)
	requireRows(t, want, rowsAt(t, "dub", importtest.Dub(w, importtest.Oddities{PastEnd: true}), dubAccount))

	for list, rows := range map[string][]source.Row{
		"partners": w.Partners, "customers": w.Customers, "commissions": w.Commissions, "payouts": w.Payouts,
	} {
		keepsAll(t, rows[0].Kind, func(odd importtest.Oddities) (source.Source, []string) {
			return only{open(t, "dub", dubAccount, importtest.Dub(w, odd), importtest.Faults{}), list}, ids(rows)
		}, list, "late")
	}
}

// TestDubOddities: each has its problem, and nothing else is lost.
func TestDubOddities(t *testing.T) {
	t.Parallel()
	w := dubWorld(60)
	newest := func(rows []source.Row, i int) string { return rows[len(rows)-1-i].ID }
	api := importtest.Dub(w, importtest.Oddities{Changes: []importtest.Change{
		importtest.Duplicate("commissions", 0),
		importtest.Duplicate("partners", 4),
		importtest.Alter("partners", 0, func(o importtest.Object) { o["status"] = "frozen" }),
		importtest.Alter("partners", 1, func(o importtest.Object) { delete(o, "email") }),
		importtest.Alter("customers", 0, func(o importtest.Object) { o["partner"] = nil }),
		importtest.Alter("commissions", 5, func(o importtest.Object) { o["earnings"] = "many" }),
		importtest.Alter("commissions", 6, func(o importtest.Object) { o["status"] = "escrow" }),
		importtest.Alter("commissions", 7, func(o importtest.Object) { o["amount"] = nil }),
		importtest.Alter("payouts", 0, func(o importtest.Object) { o["status"] = "lost" }),
		importtest.Alter("payouts", 1, func(o importtest.Object) { delete(o, "id") }),
	}})
	got := rowsAt(t, "dub", api, dubAccount)
	odd := map[string]source.Code{
		"partners " + newest(w.Partners, 0):       source.UnknownStatus,
		"partners " + newest(w.Partners, 1):       source.MissingMember,
		"customers " + newest(w.Customers, 0):     source.MissingMember,
		"commissions " + newest(w.Commissions, 4): source.MissingMember,
		"commissions " + newest(w.Commissions, 5): source.UnknownStatus,
		"sales " + newest(w.Commissions, 6):       source.MissingMember,
		"payouts " + newest(w.Payouts, 0):         source.UnknownStatus,
	}
	found := problems(got)
	for id, code := range found { // the one without an id
		if len(odd) < len(found) && code == source.MissingMember && odd[id] == "" {
			odd[id] = code
		}
	}
	require.Equal(t, odd, found)
	odd["payouts "+newest(w.Payouts, 1)] = source.MissingMember
	odd["sales "+newest(w.Commissions, 4)], odd["sales "+newest(w.Commissions, 5)] = "", ""
	odd["commissions "+newest(w.Commissions, 6)] = "" // it has no sale
	requireRows(t, without(dubRows(w), odd), without(got, odd))
}

// TestDubForms: amounts as text, amounts with decimals and related objects as ids are read.
func TestDubForms(t *testing.T) {
	t.Parallel()
	w := dubWorld(12)
	api := importtest.Dub(w, importtest.Oddities{Changes: []importtest.Change{
		func(_ string, _ int, objects []importtest.Object) []importtest.Object {
			for i, o := range objects {
				if partner, ok := o["partner"].(importtest.Object); ok {
					o["partner"] = partner["id"]
				}
				for _, name := range []string{"amount", "earnings"} {
					if cents, ok := o[name].(int64); ok {
						o[name] = fmt.Sprintf([]string{"%d", "%d.00"}[i%2], cents)
					}
				}
			}
			return objects
		},
	}})
	requireRows(t, dubRows(w), rowsAt(t, "dub", api, dubAccount))
}

// TestDubKey: a wrong key is an error; a plan without discount codes is a problem.
func TestDubKey(t *testing.T) {
	t.Parallel()
	w := dubWorld(6)
	api := importtest.Dub(w, importtest.Oddities{})
	refusesKey(t, open(t, "dub", source.Account{Key: "wrong"}, api, importtest.Faults{}))
	got := rowsAt(t, "dub", http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/discount-codes" {
			http.Error(answer, `{"error": {"code": "forbidden"}}`, http.StatusForbidden)
			return
		}
		api.ServeHTTP(answer, r)
	}), dubAccount)
	require.Equal(t, map[string]source.Code{"coupons all": source.MissingMember}, problems(got))
}

// TestDubSince: Dub has no filter by the time of a change.
func TestDubSince(t *testing.T) {
	t.Parallel()
	w := dubWorld(12)
	since := w.Now
	account := source.Account{Key: importtest.DubKey, Since: &since}
	requireRows(t, dubRows(w), rowsAt(t, "dub", importtest.Dub(w, importtest.Oddities{}), account))
}

// TestDubMoved: a program that moved to Dub has old commissions with late ids, so that the first page is not in the
// order of ids.
func TestDubMoved(t *testing.T) {
	t.Parallel()
	w := dubWorld(130)
	api := importtest.Dub(w, importtest.Oddities{Changes: []importtest.Change{
		func(list string, _ int, objects []importtest.Object) []importtest.Object {
			if list == "commissions" {
				objects = slices.Clone(objects)
				rand.New(rand.NewPCG(1, 1)).Shuffle(len(objects), func(i, j int) {
					objects[i], objects[j] = objects[j], objects[i]
				})
			}
			return objects
		},
	}})
	requireRows(t, dubRows(w), rowsAt(t, "dub", api, dubAccount))
}

// TestDubEnded: a commission that Dub lists only on request is seen when its status changes.
func TestDubEnded(t *testing.T) {
	t.Parallel()
	w := dubWorld(6)
	for _, status := range []string{"duplicate", "fraud", "canceled"} {
		api := importtest.Dub(w, importtest.Oddities{Changes: []importtest.Change{
			importtest.Alter("commissions", 0, func(o importtest.Object) { o["status"] = status }),
		}})
		got := rowsAt(t, "dub", api, dubAccount)
		i := slices.IndexFunc(got, func(r source.Row) bool {
			return r.Kind == source.KindCommission && r.ID == w.Commissions[len(w.Commissions)-1].ID
		})
		require.GreaterOrEqual(t, i, 0, status)
		require.Equal(t, source.Rejected, got[i].Commission.Status)
	}
}

// TestDubManyCodes: a partner may have several pages of discount codes.
func TestDubManyCodes(t *testing.T) {
	t.Parallel()
	w := dubWorld(6)
	for i := range 250 {
		code := clone(w.Coupons[0])
		code.ID, code.Coupon.Code = fmt.Sprint("many_", i), fmt.Sprint("MANY", i)
		w.Coupons = append(w.Coupons, code)
	}
	requireRows(t, dubRows(w), rowsAt(t, "dub", importtest.Dub(w, importtest.Oddities{}), dubAccount))
}
