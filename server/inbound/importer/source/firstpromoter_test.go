package source_test

import (
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"rail/server/clock"
	"rail/server/harness/importtest"
	"rail/server/inbound/importer/source"
)

func firstPromoterWorld() *importtest.World {
	return importtest.NewWorld(2, 60, now, importtest.Shape{Param: "fpr", OneCurrency: true})
}

func numeric(id string) string { return strconv.Itoa(importtest.Numeric(id)) }

func numericIDs(rows []source.Row) []string {
	all := ids(rows)
	for i, id := range all {
		all[i] = numeric(id)
	}
	return all
}

// firstPromoterRows are the rows of a world as far as FirstPromoter has them.
func firstPromoterRows(w *importtest.World) []source.Row {
	all, paid, charges := w.Rows(), map[string][]string{}, map[string]string{}
	for _, row := range w.Commissions {
		paid[row.Commission.PayoutID] = append(paid[row.Commission.PayoutID], numeric(row.ID))
	}
	for _, row := range w.Sales {
		charges[row.ID] = row.Sale.ChargeID
	}
	for i, row := range all {
		all[i].ID = numeric(row.ID)
		switch row.Kind {
		case source.KindLink:
			l := *row.Link
			l.PartnerID, all[i].Link = numeric(l.PartnerID), &l
		case source.KindCoupon:
			c := *row.Coupon
			c.PartnerID, c.CreatedAt, all[i].Coupon = numeric(c.PartnerID), clock.Time{}, &c
		case source.KindCustomer:
			c := *row.Customer
			if c.LinkID != "" {
				c.LinkID = numeric(c.LinkID)
			}
			c.PartnerID, c.CouponID, all[i].Customer = numeric(c.PartnerID), "", &c
		case source.KindSale:
			s := *row.Sale
			s.CustomerID, s.PartnerID, s.Recurring = numeric(s.CustomerID), numeric(s.PartnerID), false
			s.RefundedMinor, s.RefundedAt, all[i].Sale, all[i].ID = 0, nil, &s, s.ChargeID
		case source.KindCommission:
			k := *row.Commission
			k.PartnerID, k.CustomerID, k.SaleID = numeric(k.PartnerID), numeric(k.CustomerID), charges[k.SaleID]
			if k.Status == source.Voided {
				k.Status = source.Rejected
			}
			k.MatureAt, k.PayoutID, all[i].Commission = nil, "", &k
		case source.KindPayout:
			p := *row.Payout
			slices.Sort(paid[row.ID])
			p.PartnerID, p.CommissionIDs, all[i].Payout = numeric(p.PartnerID), paid[row.ID], &p
		}
	}
	return all
}

func openFirstPromoter(
	t *testing.T, w *importtest.World, odd importtest.Oddities, faults importtest.Faults,
) source.Source {
	t.Helper()
	return open(t, "firstpromoter", source.Account{
		Key: importtest.FirstPromoterKey, ID: importtest.FirstPromoterAccount, Currency: "USD",
	}, importtest.FirstPromoter(w, odd), faults)
}

func TestFirstPromoterReadsEverything(t *testing.T) {
	t.Parallel()
	w := firstPromoterWorld()
	got := walk(t, openFirstPromoter(t, w, importtest.Oddities{}, faults), false)
	got.equal(t, firstPromoterRows(w))
	got.sums(t, w, numeric)
	walk(t, openFirstPromoter(t, w, importtest.Oddities{}, importtest.Faults{}), true).equal(t, firstPromoterRows(w))
}

func TestFirstPromoterListsThatChange(t *testing.T) {
	t.Parallel()
	keepsAll(t, source.KindCommission, func(odd importtest.Oddities) (source.Source, []string) {
		w := firstPromoterWorld()
		return openFirstPromoter(t, w, odd, importtest.Faults{}), numericIDs(w.Commissions)
	}, "commissions", 999999)
}

func TestFirstPromoterOddObjects(t *testing.T) {
	t.Parallel()
	w := firstPromoterWorld()
	plain := walk(t, openFirstPromoter(t, w, importtest.Oddities{}, importtest.Faults{}), false)
	newest := func(rows []source.Row, i int) string { return numeric(rows[len(rows)-1-i].ID) }
	commission := func(i int) string { return newest(w.Commissions, i) }
	saleOf := func(i int) string { return plain[source.KindCommission][commission(i)].Commission.SaleID }
	set := func(list string, i int, member string, value any) importtest.Change {
		return importtest.Alter(list, i, func(o importtest.Object) { o[member] = value })
	}
	got := walk(t, openFirstPromoter(t, w, importtest.Oddities{Changes: []importtest.Change{
		importtest.Alter("promoters", 0, func(o importtest.Object) {
			o["promoter_campaigns"].([]importtest.Object)[0]["state"] = "frozen"
		}),
		importtest.Alter("promoters", 1, func(o importtest.Object) { delete(o, "email") }),
		importtest.Alter("promoters", 2, func(o importtest.Object) {
			o["promoter_campaigns"] = importtest.Object{"data": o["promoter_campaigns"]}
		}),
		set("promoters", 3, "profile", nil),
		set("promo_codes", 0, "promoter_campaign_id", nil),
		set("referrals", 0, "state", "denied"),
		set("referrals", 1, "promoter_campaign", nil),
		set("commissions", 0, "status", "disputed"),
		importtest.Alter("commissions", 1, func(o importtest.Object) { o["amount"] = text(t, o["amount"]) }),
		set("commissions", 2, "amount", nil),
		set("commissions", 3, "unit", "points"),
		set("commissions", 4, "referral", nil),
		set("commissions", 5, "is_split", true),
		set("payouts", 0, "unit", "credits"),
	}}, importtest.Faults{}), false)
	delete(plain[source.KindSale], saleOf(4))
	got.problems(t, plain, map[source.Kind]map[string]source.Code{
		source.KindPartner: {newest(w.Partners, 0): source.UnknownStatus, newest(w.Partners, 1): source.MissingMember},
		source.KindCoupon:  {newest(w.Coupons, 0): source.MissingMember},
		source.KindCustomer: {
			newest(w.Customers, 0): source.UnknownStatus,
			newest(w.Customers, 1): source.MissingMember,
		},
		source.KindCommission: {
			commission(0): source.UnknownStatus, commission(2): source.MissingMember, commission(3): source.NotMoney,
		},
		source.KindPayout: {newest(w.Payouts, 0): source.NotMoney},
	})
	if id := commission(1); text(t, got[source.KindCommission][id]) != text(t, plain[source.KindCommission][id]) {
		t.Errorf("an amount as text is read as %+v", got[source.KindCommission][id].Commission)
	}
	for _, i := range []int{4, 5} {
		if k := got[source.KindCommission][commission(i)].Commission; k == nil || k.SaleID != "" || k.CustomerID != "" {
			t.Errorf("a commission without a sale of its own is %+v, want a reward", k)
		}
	}
	if p := got[source.KindPartner][newest(w.Partners, 3)].Partner; p == nil || p.LastName != "Lovelace" {
		t.Errorf("a partner without a profile is %+v", p)
	}
}

func TestFirstPromoterPayoutsOfOtherCommissions(t *testing.T) {
	t.Parallel()
	w := firstPromoterWorld()
	last := w.Payouts[len(w.Payouts)-1]
	got := walk(t, openFirstPromoter(t, w, importtest.Oddities{Changes: []importtest.Change{
		importtest.Alter("payouts", 0, func(o importtest.Object) { o["amount"] = last.Payout.AmountMinor + 1 }),
	}}, importtest.Faults{}), false)
	if p := got[source.KindPayout][numeric(last.ID)].Payout; p == nil || p.CommissionIDs != nil {
		t.Errorf("a payout that is not the sum of its commissions is %+v", p)
	}
}

func TestFirstPromoterIgnoresTheFilter(t *testing.T) {
	t.Parallel()
	w, requests := firstPromoterWorld(), atomic.Int32{}
	full := importtest.FirstPromoter(w, importtest.Oddities{})
	api := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Has("filters[payout_id]") {
			requests.Add(1)
			query.Del("filters[payout_id]")
			r.URL.RawQuery = query.Encode()
		}
		full.ServeHTTP(rw, r)
	})
	got := walk(t, open(t, "firstpromoter", source.Account{
		Key: importtest.FirstPromoterKey, ID: importtest.FirstPromoterAccount, Currency: "USD",
	}, api, importtest.Faults{}), false)
	for id, row := range got[source.KindPayout] {
		if row.Payout == nil || row.Payout.CommissionIDs != nil {
			t.Errorf("payout %s has the commissions of all payouts: %+v", id, row.Payout)
		}
	}
	if n := int(requests.Load()); n != len(w.Payouts) {
		t.Errorf("%d requests for the commissions of %d payouts", n, len(w.Payouts))
	}
}

func TestFirstPromoterRefusesKey(t *testing.T) {
	t.Parallel()
	api := importtest.FirstPromoter(firstPromoterWorld(), importtest.Oddities{})
	for _, a := range []source.Account{
		{Key: "wrong", ID: importtest.FirstPromoterAccount},
		{Key: importtest.FirstPromoterKey, ID: "acc_2"},
	} {
		refusesKey(t, open(t, "firstpromoter", a, api, importtest.Faults{}))
	}
}

func TestFirstPromoterReadsAllAgain(t *testing.T) {
	t.Parallel()
	w, since := firstPromoterWorld(), clock.At(now).Days(-60)
	walk(t, open(t, "firstpromoter", source.Account{
		Key: importtest.FirstPromoterKey, ID: importtest.FirstPromoterAccount, Currency: "USD", Since: &since,
	}, importtest.FirstPromoter(w, importtest.Oddities{}), importtest.Faults{}), false).equal(t, firstPromoterRows(w))
}

func TestFirstPromoterBestStatus(t *testing.T) {
	t.Parallel()
	for states, want := range map[[2]string][2]string{
		{"rejected", "pending"}:  {source.Pending, "second"},
		{"pending", "rejected"}:  {source.Pending, "first"},
		{"blocked", "accepted"}:  {source.Active, "second"},
		{"accepted", "pending"}:  {source.Active, "first"},
		{"rejected", "inactive"}: {source.Suspended, "second"},
		{"rejected", "rejected"}: {source.Declined, "first"},
	} {
		w := firstPromoterWorld()
		got := walk(t, openFirstPromoter(t, w, importtest.Oddities{Changes: []importtest.Change{
			importtest.Alter("promoters", 0, func(o importtest.Object) {
				o["promoter_campaigns"] = []importtest.Object{
					{"id": 1, "state": states[0], "campaign": importtest.Object{"name": "first"}},
					{"id": 2, "state": states[1], "campaign": importtest.Object{"name": "second"}},
				}
			}),
		}}, importtest.Faults{}), false)
		p := got[source.KindPartner][numeric(w.Partners[len(w.Partners)-1].ID)].Partner
		if p.Status != want[0] || p.Group != want[1] {
			t.Errorf("%v is read as %s in %s, want %v", states, p.Status, p.Group, want)
		}
	}
}
