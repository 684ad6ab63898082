package source_test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/importtest"
	"rail/server/inbound/importer/source"
)

var tapAccount = source.Account{Key: importtest.TapfiliateKey}

func tapWorld(n int) *importtest.World {
	return importtest.NewWorld(39, n, now, importtest.Shape{Param: "ref"})
}

// tapRows returns a world as far as Tapfiliate can show it.
func tapRows(w *importtest.World) []source.Row {
	due := map[string]map[string]int64{}
	for _, row := range w.Commissions {
		if k := row.Commission; k.Status == source.Due {
			if due[k.PartnerID] == nil {
				due[k.PartnerID] = map[string]int64{}
			}
			due[k.PartnerID][k.Currency] += k.AmountMinor
		}
	}
	var all []source.Row
	for _, of := range [][]source.Row{w.Partners, w.Customers, w.Sales, w.Commissions, w.Payouts} {
		all = append(all, changed(of, func(r *source.Row) { tapRow(r, due) })...)
	}
	for _, p := range w.Partners {
		all = append(all, source.Row{Kind: source.KindLink, ID: p.ID, Link: &source.Link{
			PartnerID: p.ID, Param: "ref", Value: p.ID, URL: "https://shop.example/", CreatedAt: p.Partner.CreatedAt,
		}})
	}
	return sorted(all)
}

func tapRow(r *source.Row, due map[string]map[string]int64) {
	number := func(id string) string { return strconv.Itoa(importtest.Numeric(id)) }
	switch r.Kind {
	case source.KindPartner:
		r.Partner.Open = due[r.ID]
		if r.Partner.Status == source.Suspended {
			r.Partner.Status = source.Declined
		}
	case source.KindCustomer:
		c := r.Customer
		c.Email, c.Name, c.CouponID, c.ConvertedAt = "", "", "", nil
		if c.LinkID != "" {
			c.LinkID = c.PartnerID
		}
	case source.KindSale:
		r.ID = number(r.ID)
		r.Sale.Recurring, r.Sale.RefundedMinor, r.Sale.RefundedAt = false, 0, nil
	case source.KindCommission:
		k := r.Commission
		r.ID, k.SaleID, k.MatureAt, k.VoidedAt = number(r.ID), number(k.SaleID), nil, nil
		if k.Status == source.Voided {
			k.Status = source.Rejected
		}
	case source.KindPayout:
		r.Payout.Method = ""
	}
}

// TestTapfiliate: all rows arrive exactly, whatever fails on the way.
func TestTapfiliate(t *testing.T) {
	t.Parallel()
	w := tapWorld(60)
	got := rowsOf(t, open(t, "tapfiliate", tapAccount, importtest.Tapfiliate(w, importtest.Oddities{}), faults))
	requireRows(t, tapRows(w), got)
	requireMoney(t, w, got)
}

// TestTapfiliatePages: pages can be read again, past the end, without a Link header, of another size, and while
// objects come and go.
func TestTapfiliatePages(t *testing.T) {
	t.Parallel()
	w := tapWorld(60)
	want := tapRows(w)
	api := importtest.Tapfiliate(w, importtest.Oddities{})
	walk(t, open(t, "tapfiliate", tapAccount, api, importtest.Faults{}), true)
	requireRows(t, want, rowsAt(t, "tapfiliate", importtest.Tapfiliate(w, importtest.Oddities{PastEnd: true}), tapAccount))
	requireRows(t, want, rowsAt(t, "tapfiliate", withoutLinks(api), tapAccount))

	requireRows(t, want, rowsAt(t, "tapfiliate", ofTen(api), tapAccount))
	w = tapWorld(260)
	keepsAll(t, source.KindCustomer, func(odd importtest.Oddities) (source.Source, []string) {
		s := open(t, "tapfiliate", tapAccount, importtest.Tapfiliate(w, odd), importtest.Faults{})
		return only{s, "customers"}, ids(w.Customers)
	}, "customers", "cu_late")
}

// ofTen makes pages of ten objects, whatever size is requested.
func ofTen(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		query.Set("limit", "10")
		r.URL.RawQuery = query.Encode()
		api.ServeHTTP(w, r)
	})
}

// withoutLinks removes the header Link.
func withoutLinks(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(noLinks{w}, r)
	})
}

type noLinks struct{ http.ResponseWriter }

func (n noLinks) WriteHeader(code int) {
	n.Header().Del("Link")
	n.ResponseWriter.WriteHeader(code)
}

// TestTapfiliateOddities: each has its problem, and nothing else is lost.
func TestTapfiliateOddities(t *testing.T) {
	t.Parallel()
	w := tapWorld(60)
	set := func(list string, i int, member string, value any) importtest.Change {
		return importtest.Alter(list, i, func(o importtest.Object) { o[member] = value })
	}
	commission := func(i int, member string, value any) importtest.Change {
		return importtest.Alter("conversions", i, func(o importtest.Object) {
			commissions, _ := o["commissions"].([]importtest.Object)
			commissions[0][member] = value
		})
	}
	api := importtest.Tapfiliate(w, importtest.Oddities{Changes: []importtest.Change{
		importtest.Duplicate("conversions", 20),
		set("affiliates", 0, "email", nil),
		set("customers", 0, "status", "frozen"),
		set("customers", 1, "affiliate", nil),
		set("conversions", 0, "amount", "many"),
		set("conversions", 1, "customer", nil),
		set("conversions", 2, "created_at", nil),
		commission(3, "currency", "points"),
		commission(4, "amount", nil),
		set("payments", 0, "status", "lost"),
		set("payments", 1, "currency", nil),
	}})
	got := rowsAt(t, "tapfiliate", api, tapAccount)
	newest := func(rows []source.Row, i int) string { return rows[len(rows)-1-i].ID }
	number := func(rows []source.Row, i int) string { return strconv.Itoa(importtest.Numeric(newest(rows, i))) }
	odd := map[string]source.Code{
		"partners " + newest(w.Partners, 0):       source.MissingMember,
		"customers " + newest(w.Customers, 0):     source.UnknownStatus,
		"customers " + newest(w.Customers, 1):     source.MissingMember,
		"sales " + number(w.Sales, 0):             source.MissingMember,
		"sales " + number(w.Sales, 1):             source.MissingMember,
		"sales " + number(w.Sales, 2):             source.MissingMember,
		"commissions " + number(w.Commissions, 3): source.NotMoney,
		"commissions " + number(w.Commissions, 4): source.MissingMember,
		"payouts " + newest(w.Payouts, 0):         source.UnknownStatus,
		"payouts " + newest(w.Payouts, 1):         source.MissingMember,
	}
	require.Equal(t, odd, problems(got))
	for i := range 3 {
		odd["commissions "+number(w.Commissions, i)] = "" // without their sale
	}
	odd["sales "+number(w.Sales, 3)] = "" // its currency is the program's
	for _, k := range w.Commissions {     // without the payments that are not read
		if id := k.Commission.PayoutID; id == newest(w.Payouts, 0) || id == newest(w.Payouts, 1) {
			odd["commissions "+strconv.Itoa(importtest.Numeric(k.ID))] = ""
		}
	}
	requireRows(t, without(tapRows(w), odd), without(got, odd))
	for _, row := range got {
		if row.Kind == source.KindCommission && row.ID == number(w.Commissions, 0) {
			require.Empty(t, row.Commission.SaleID)
		}
	}
}

// TestTapfiliatePaid: without the member payout, balances and the last payment decide.
func TestTapfiliatePaid(t *testing.T) {
	t.Parallel()
	w := tapWorld(60)
	unpaid, hidden := w.Payouts[0].Payout.PartnerID, laterOfSettled(w)
	api := importtest.Tapfiliate(w, importtest.Oddities{Changes: []importtest.Change{
		func(list string, _ int, objects []importtest.Object) []importtest.Object {
			return slices.DeleteFunc(slices.Clone(objects), func(o importtest.Object) bool {
				commissions, _ := o["commissions"].([]importtest.Object)
				for _, k := range commissions {
					delete(k, "payout")
				}
				affiliate, _ := o["affiliate"].(importtest.Object)
				return list == "payments" && (affiliate["id"] == unpaid || hidden[o["id"]])
			})
		},
	}})
	type purse struct{ partner, currency string }
	last, owed := map[purse]time.Time{}, map[purse]bool{}
	for _, row := range w.Payouts {
		p := purse{row.Payout.PartnerID, row.Payout.Currency}
		if p.partner != unpaid && !hidden[row.ID] && row.Payout.PaidAt.After(last[p]) {
			last[p] = row.Payout.PaidAt.Time
		}
	}
	for _, row := range w.Commissions {
		if row.Commission.Status == source.Due {
			owed[purse{row.Commission.PartnerID, row.Commission.Currency}] = true
		}
	}
	cases := map[string]int{}
	for _, row := range rowsAt(t, "tapfiliate", api, tapAccount) {
		k := row.Commission
		if k == nil || k.Status != source.Due && k.Status != source.Paid {
			continue
		}
		p := purse{k.PartnerID, k.Currency}
		paid, reason := !k.CreatedAt.After(last[p]), "last payment"
		switch {
		case last[p].IsZero():
			reason = "no payment"
		case !owed[p]:
			reason = "no balance" // it may have been read before the commission was approved
		}
		cases[reason]++
		require.Equal(t, paid, k.Status == source.Paid, "%s: %s", row.ID, reason)
		require.Equal(t, paid, k.PaidAt != nil)
		require.Empty(t, k.PayoutID)
	}
	require.Len(t, cases, 3, cases)
}

// laterOfSettled returns all payouts but the first of the partner without a balance that has most of them.
func laterOfSettled(w *importtest.World) map[any]bool {
	later, owed := map[string][]string{}, map[string]bool{}
	for _, row := range w.Commissions {
		owed[row.Commission.PartnerID] = owed[row.Commission.PartnerID] || row.Commission.Status == source.Due
	}
	most := ""
	for _, row := range w.Payouts {
		partner := row.Payout.PartnerID
		later[partner] = append(later[partner], row.ID)
		if !owed[partner] && len(later[partner]) > len(later[most]) {
			most = partner
		}
	}
	hidden := map[any]bool{}
	for _, id := range later[most][1:] {
		hidden[id] = true
	}
	return hidden
}

// TestTapfiliateForms: decimals as text, more decimals than the currency has, times without a zone, and a link whose
// value is not the id are read.
func TestTapfiliateForms(t *testing.T) {
	t.Parallel()
	w := tapWorld(12)
	api := importtest.Tapfiliate(w, importtest.Oddities{Changes: []importtest.Change{
		importtest.Alter("conversions", 0, func(o importtest.Object) {
			o["amount"], o["created_at"] = "12.3450", "2026-11-02 10:00:00"
			commissions, _ := o["commissions"].([]importtest.Object)
			commissions[0]["amount"], commissions[0]["currency"] = "8.899999999999999", "usd"
		}),
		importtest.Alter("affiliates", 0, func(o importtest.Object) {
			o["referral_link"], o["coupon"] = "https://shop.example/a?x=1&ref=Jane+Doe", "JANE10"
		}),
	}})
	got := rowsAt(t, "tapfiliate", api, tapAccount)
	find := func(kind source.Kind, id string) source.Row {
		i := slices.IndexFunc(got, func(r source.Row) bool { return r.Kind == kind && r.ID == id })
		require.GreaterOrEqual(t, i, 0, "%s %s", kind, id)
		return got[i]
	}
	sale := find(source.KindSale, strconv.Itoa(importtest.Numeric(w.Sales[len(w.Sales)-1].ID))).Sale
	require.Equal(t, int64(1235), sale.AmountMinor)
	require.Equal(t, clock.At(time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)), sale.OccurredAt)
	k := find(source.KindCommission, strconv.Itoa(importtest.Numeric(w.Commissions[len(w.Commissions)-1].ID))).Commission
	require.Equal(t, int64(890), k.AmountMinor)
	require.Equal(t, "USD", k.Currency)
	id := w.Partners[len(w.Partners)-1].ID
	require.Equal(t, id, find(source.KindLink, id).Link.Value)
	second := find(source.KindLink, id+" Jane Doe").Link
	require.Equal(t, "Jane Doe", second.Value)
	require.Equal(t, "https://shop.example/a?x=1", second.URL)
	require.Equal(t, "JANE10", find(source.KindCoupon, id+" JANE10").Coupon.Code)
}

// TestTapfiliateKey: a wrong key is an error.
func TestTapfiliateKey(t *testing.T) {
	t.Parallel()
	api := importtest.Tapfiliate(tapWorld(6), importtest.Oddities{})
	refusesKey(t, open(t, "tapfiliate", source.Account{Key: "wrong"}, api, importtest.Faults{}))
}

// TestTapfiliateSince: Tapfiliate has no filter by the time of a change.
func TestTapfiliateSince(t *testing.T) {
	t.Parallel()
	w := tapWorld(12)
	since := w.Now
	account := source.Account{Key: importtest.TapfiliateKey, Since: &since}
	requireRows(t, tapRows(w), rowsAt(t, "tapfiliate", importtest.Tapfiliate(w, importtest.Oddities{}), account))
}
