package source_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/importtest"
	"rail/server/inbound/importer/source"
)

var wpAccount = source.Account{Key: importtest.AffiliateWPKey, ID: "https://shop.example/", Currency: "USD"}

func wpWorld(n int) *importtest.World {
	return importtest.NewWorld(40, n, now, importtest.Shape{Param: "ref", OneCurrency: true})
}

func number(id string) string { return strconv.Itoa(importtest.Numeric(id)) }

// wpRows returns a world as far as AffiliateWP can show it.
func wpRows(w *importtest.World) []source.Row {
	payments := map[string]*clock.Time{}
	for _, p := range w.Payouts {
		payments[p.ID] = p.Payout.PaidAt
	}
	paid := map[string][]string{}
	var all []source.Row
	all = append(all, changed(w.Commissions, func(r *source.Row) {
		k := r.Commission
		paid[k.PayoutID] = append(paid[k.PayoutID], number(r.ID))
		r.ID, k.PartnerID, k.CustomerID, k.SaleID = number(r.ID), number(k.PartnerID), "", ""
		k.MatureAt, k.VoidedAt = nil, nil
		if k.PayoutID != "" {
			k.PaidAt, k.PayoutID = payments[k.PayoutID], number(k.PayoutID)
		}
		if k.Status == source.Voided {
			k.Status = source.Rejected
		}
	})...)
	all = append(all, changed(w.Payouts, func(r *source.Row) {
		r.Payout.CommissionIDs, r.ID, r.Payout.PartnerID = paid[r.ID], number(r.ID), number(r.Payout.PartnerID)
	})...)
	for _, p := range changed(w.Partners, func(r *source.Row) {
		r.Partner.Handle, r.Partner.CountryCode, r.Partner.Group = "user"+r.ID, "", ""
		r.ID = number(r.ID)
	}) {
		all = append(all, p, source.Row{Kind: source.KindLink, ID: p.ID, Link: &source.Link{
			PartnerID: p.ID, Param: "ref", Value: p.ID, CreatedAt: p.Partner.CreatedAt,
		}}, source.Row{Kind: source.KindLink, ID: p.ID + " " + p.Partner.Handle, Link: &source.Link{
			PartnerID: p.ID, Param: "ref", Value: p.Partner.Handle, CreatedAt: p.Partner.CreatedAt,
		}})
	}
	return sorted(all)
}

// TestAffiliateWP: all rows arrive exactly, whatever fails on the way; pages can be read again.
func TestAffiliateWP(t *testing.T) {
	t.Parallel()
	w := wpWorld(60)
	s := open(t, "affiliatewp", wpAccount, importtest.AffiliateWP(w, importtest.Oddities{}), faults)
	requireRows(t, wpRows(w), rowsOf(t, s))
	walk(t, s, true)
}

// TestAffiliateWPPages: no object is lost while objects come and go, and an empty list is no error.
func TestAffiliateWPPages(t *testing.T) {
	t.Parallel()
	w := wpWorld(260)
	for list, rows := range map[string][]source.Row{"referrals": w.Commissions, "affiliates": w.Partners} {
		numbers := make([]string, len(rows))
		for i, row := range rows {
			numbers[i] = number(row.ID)
		}
		keepsAll(t, rows[0].Kind, func(odd importtest.Oddities) (source.Source, []string) {
			return only{open(t, "affiliatewp", wpAccount, importtest.AffiliateWP(w, odd), importtest.Faults{}), list}, numbers
		}, list, 999_999)
	}
	require.Empty(t, rowsAt(t, "affiliatewp", importtest.AffiliateWP(wpWorld(0), importtest.Oddities{}), wpAccount))
}

// TestAffiliateWPOddities: each has its problem, and nothing else is lost.
func TestAffiliateWPOddities(t *testing.T) {
	t.Parallel()
	w := wpWorld(60)
	set := func(list string, i int, member string, value any) importtest.Change {
		return importtest.Alter(list, i, func(o importtest.Object) { o[member] = value })
	}
	api := importtest.AffiliateWP(w, importtest.Oddities{Changes: []importtest.Change{
		importtest.Duplicate("referrals", 20),
		set("affiliates", 0, "status", "frozen"),
		set("affiliates", 1, "user", nil),
		set("referrals", 0, "amount", "many"),
		set("referrals", 1, "status", "frozen"),
		set("referrals", 2, "currency", "points"),
		set("referrals", 3, "affiliate_id", nil),
		set("referrals", 4, "status", "draft"),
		set("payouts", 0, "status", "lost"),
	}})
	newest := func(rows []source.Row, i int) string { return number(rows[len(rows)-1-i].ID) }
	odd := map[string]source.Code{
		"partners " + newest(w.Partners, 0):       source.UnknownStatus,
		"partners " + newest(w.Partners, 1):       source.MissingMember,
		"commissions " + newest(w.Commissions, 0): source.MissingMember,
		"commissions " + newest(w.Commissions, 1): source.UnknownStatus,
		"commissions " + newest(w.Commissions, 2): source.MissingMember,
		"commissions " + newest(w.Commissions, 3): source.MissingMember,
		"payouts " + newest(w.Payouts, 0):         source.UnknownStatus,
	}
	got := rowsAt(t, "affiliatewp", api, wpAccount)
	require.Equal(t, odd, problems(got))
	odd["commissions "+newest(w.Commissions, 4)] = ""
	odd["links "+newest(w.Partners, 1)+" user"+w.Partners[len(w.Partners)-2].ID] = ""
	for _, k := range w.Commissions { // of the payout that is not read
		if k.Commission.PayoutID == w.Payouts[len(w.Payouts)-1].ID {
			odd["commissions "+number(k.ID)] = ""
		}
	}
	requireRows(t, without(wpRows(w), odd), without(got, odd))
}

// TestAffiliateWPKey: a wrong key is an error, and so is a site without the plugin.
func TestAffiliateWPKey(t *testing.T) {
	t.Parallel()
	api := importtest.AffiliateWP(wpWorld(6), importtest.Oddities{})
	refusesKey(t, open(t, "affiliatewp", source.Account{Key: "wrong:wrong", ID: "shop.example"}, api, importtest.Faults{}))
	account := wpAccount
	account.ID = "shop.example/blog"
	_, err := open(t, "affiliatewp", account, api, importtest.Faults{}).Lists()[0].Read(t.Context(), "")
	require.ErrorContains(t, err, "rest_no_route")
}

// TestAffiliateWPCurrency: without the program's currency, payouts are problems and commissions name none.
func TestAffiliateWPCurrency(t *testing.T) {
	t.Parallel()
	w := wpWorld(12)
	account := source.Account{Key: importtest.AffiliateWPKey, ID: "shop.example"}
	got := rowsAt(t, "affiliatewp", importtest.AffiliateWP(w, importtest.Oddities{}), account)
	require.Len(t, problems(got), len(w.Payouts))
	for _, row := range got {
		if row.Commission != nil {
			require.Empty(t, row.Commission.PayoutID)
			require.Equal(t, row.Commission.Status == source.Paid, row.Commission.PaidAt != nil)
		}
	}
}

// TestAffiliateWPSince: AffiliateWP has no filter by the time of a change.
func TestAffiliateWPSince(t *testing.T) {
	t.Parallel()
	w := wpWorld(12)
	account, since := wpAccount, w.Now
	account.Since = &since
	requireRows(t, wpRows(w), rowsAt(t, "affiliatewp", importtest.AffiliateWP(w, importtest.Oddities{}), account))
}
