package source_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"rail/server/clock"
	"rail/server/harness/importtest"
	"rail/server/inbound/importer/source"
)

// toltWorld has values with spaces and upper case.
func toltWorld() *importtest.World {
	return importtest.NewWorld(3, 60, now, importtest.Shape{
		Param: "aff", OneCurrency: true,
		Values: func(partner, link int) string { return fmt.Sprintf("John Doe %d%c", partner, 'A'+link) },
	})
}

// toltRows are the rows of a world as far as Tolt has them.
func toltRows(w *importtest.World) []source.Row {
	var all []source.Row
	for _, row := range w.Rows() {
		switch row.Kind {
		case source.KindLink:
			l := *row.Link
			l.URL, row.Link = "", &l
		case source.KindCoupon:
			c := *row.Coupon
			c.ExternalID, row.Coupon = "", &c
		case source.KindCustomer:
			c := *row.Customer
			c.ExternalIDs = []string{importtest.ToltCustomer(c.ExternalIDs[0])}
			c.Processor, c.LinkID, row.Customer = "", "", &c
		case source.KindCommission:
			k := *row.Commission
			k.MatureAt, k.Reason, k.PayoutID, row.Commission = nil, "", "", &k
		case source.KindPayout:
			continue
		}
		all = append(all, row)
	}
	return all
}

func openTolt(t *testing.T, w *importtest.World, odd importtest.Oddities, faults importtest.Faults) source.Source {
	t.Helper()
	return open(t, "tolt", source.Account{
		Key: importtest.ToltKey, ID: importtest.ToltProgram,
	}, importtest.Tolt(w, odd), faults)
}

func TestToltReadsEverything(t *testing.T) {
	t.Parallel()
	w := toltWorld()
	got := walk(t, openTolt(t, w, importtest.Oddities{}, faults), false)
	got.equal(t, toltRows(w))
	got.sums(t, w, same)
	walk(t, openTolt(t, w, importtest.Oddities{}, importtest.Faults{}), true).equal(t, toltRows(w))
}

func TestToltListsThatChange(t *testing.T) {
	t.Parallel()
	keepsAll(t, source.KindCommission, func(odd importtest.Oddities) (source.Source, []string) {
		w := toltWorld()
		return openTolt(t, w, odd, importtest.Faults{}), ids(w.Commissions)
	}, "commissions", "com_new")
}

func TestToltOddObjects(t *testing.T) {
	t.Parallel()
	w := toltWorld()
	plain := walk(t, openTolt(t, w, importtest.Oddities{}, importtest.Faults{}), false)
	newest := func(rows []source.Row, i int) string { return rows[len(rows)-1-i].ID }
	set := func(list string, i int, member string, value any) importtest.Change {
		return importtest.Alter(list, i, func(o importtest.Object) { o[member] = value })
	}
	got := walk(t, openTolt(t, w, importtest.Oddities{Changes: []importtest.Change{
		set("partners", 0, "status", "frozen"),
		importtest.Alter("partners", 1, func(o importtest.Object) { delete(o, "email") }),
		importtest.Alter("partners", 2, func(o importtest.Object) { delete(o, "status") }),
		set("partners", 3, "last_name", nil),
		set("links", 0, "value", nil),
		set("links", 1, "param", nil),
		set("promotion-codes", 0, "partner_id", 7),
		set("customers", 0, "status", "churned"),
		set("customers", 1, "partner_id", nil),
		set("transactions", 0, "amount", "much"),
		set("transactions", 1, "amount", w.Sales[len(w.Sales)-2].Sale.AmountMinor),
		set("transactions", 2, "currency", nil),
		set("commissions", 0, "status", "disputed"),
		set("commissions", 1, "amount", "12.5"),
		set("commissions", 2, "partner", nil),
	}}, importtest.Faults{}), false)
	got.problems(t, plain, map[source.Kind]map[string]source.Code{
		source.KindPartner:  {newest(w.Partners, 0): source.UnknownStatus, newest(w.Partners, 1): source.MissingMember},
		source.KindLink:     {newest(w.Links, 0): source.MissingMember},
		source.KindCoupon:   {newest(w.Coupons, 0): source.MissingMember},
		source.KindCustomer: {newest(w.Customers, 0): source.UnknownStatus, newest(w.Customers, 1): source.MissingMember},
		source.KindSale:     {newest(w.Sales, 0): source.MissingMember},
		source.KindCommission: {
			newest(w.Commissions, 0): source.UnknownStatus,
			newest(w.Commissions, 1): source.MissingMember,
			newest(w.Commissions, 2): source.MissingMember,
		},
	})
	for _, i := range []int{1, 2} {
		if id := newest(w.Sales, i); text(t, got[source.KindSale][id]) != text(t, plain[source.KindSale][id]) {
			t.Errorf("a sale with an amount as a number, or the program's currency, is %+v", got[source.KindSale][id].Sale)
		}
	}
	if p := got[source.KindPartner][newest(w.Partners, 2)].Partner; p == nil || p.Status != source.Active {
		t.Errorf("a partner without a status is %+v, want active", p)
	}
	if l := got[source.KindLink][newest(w.Links, 1)].Link; l == nil || l.Param != "ref" {
		t.Errorf("a link without a parameter is %+v", l)
	}
}

func TestToltListThatEndsEarly(t *testing.T) {
	t.Parallel()
	for name, times := range map[string]int32{"once": 1, "always": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, ends := toltWorld(), atomic.Int32{}
			full := importtest.Tolt(w, importtest.Oddities{})
			api := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/commissions" || r.URL.Query().Get("starting_after") == "" || ends.Add(1) > times {
					full.ServeHTTP(rw, r)
					return
				}
				_, _ = fmt.Fprintf(rw, `{"has_more": false, "total_count": %d, "data": []}`, len(w.Commissions))
			})
			got := walk(t, open(t, "tolt", source.Account{
				Key: importtest.ToltKey, ID: importtest.ToltProgram,
			}, api, importtest.Faults{}), false)
			if times == 1 {
				got.equal(t, toltRows(w))
			} else if p := got[source.KindCommission]["list of commissions"].Problem; p == nil {
				t.Errorf("a list shorter than its total has no problem")
			}
		})
	}
}

func TestToltRefusesKey(t *testing.T) {
	t.Parallel()
	api := importtest.Tolt(toltWorld(), importtest.Oddities{})
	refusesKey(t, open(t, "tolt", source.Account{Key: "wrong", ID: importtest.ToltProgram}, api, importtest.Faults{}))
}

func TestToltReadsAllAgain(t *testing.T) {
	t.Parallel()
	w, since := toltWorld(), clock.At(now).Days(-60)
	walk(t, open(t, "tolt", source.Account{
		Key: importtest.ToltKey, ID: importtest.ToltProgram, Since: &since,
	}, importtest.Tolt(w, importtest.Oddities{}), importtest.Faults{}), false).equal(t, toltRows(w))
}
