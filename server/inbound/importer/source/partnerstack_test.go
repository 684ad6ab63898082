package source_test

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/importtest"
	"rail/server/inbound/importer/source"
)

var stackAccount = source.Account{Key: importtest.PartnerStackKey}

func stackWorld(n int) *importtest.World {
	return importtest.NewWorld(38, n, now, importtest.Shape{Param: "ps_partner_key", OneCurrency: true})
}

// stackRows returns a world as far as PartnerStack can show it.
func stackRows(w *importtest.World) []source.Row {
	charges := map[string]string{"": ""}
	for _, s := range w.Sales {
		charges[s.ID] = s.Sale.ChargeID
	}
	var all []source.Row
	for _, of := range [][]source.Row{w.Partners, w.Links, w.Customers, w.Sales, w.Commissions} {
		all = append(all, changed(of, func(r *source.Row) { stackRow(r, charges) })...)
	}
	for _, p := range w.Partners {
		all = append(all, source.Row{Kind: source.KindLink, ID: p.ID + " ps_partner_key", Link: &source.Link{
			PartnerID: p.ID, Param: "ps_partner_key", CreatedAt: p.Partner.CreatedAt,
			Value: base64.RawStdEncoding.EncodeToString([]byte("key" + p.ID)),
		}})
	}
	return sorted(all)
}

func stackRow(r *source.Row, charges map[string]string) {
	switch r.Kind {
	case source.KindPartner:
		r.Partner.Handle = "key" + r.ID
	case source.KindLink:
		r.ID = r.Link.PartnerID + " " + r.Link.Value
	case source.KindCustomer:
		c := r.Customer
		c.ExternalIDs = []string{"user-" + c.ExternalIDs[0], c.ExternalIDs[0]}
		c.LinkID, c.CouponID, c.ConvertedAt = "", "", nil
	case source.KindSale:
		r.ID, r.Sale.Recurring = r.Sale.ChargeID, false
	case source.KindCommission:
		k := r.Commission
		k.SaleID, k.PayoutID = charges[k.SaleID], ""
		if k.Status != source.Open {
			k.MatureAt = nil
		}
	}
}

// TestPartnerStack: all rows arrive exactly, whatever fails on the way.
func TestPartnerStack(t *testing.T) {
	t.Parallel()
	w := stackWorld(60)
	got := rowsOf(t, open(t, "partnerstack", stackAccount, importtest.PartnerStack(w, importtest.Oddities{}), faults))
	requireRows(t, stackRows(w), got)
	requireMoney(t, w, got)
}

// TestPartnerStackPages: pages can be read again, past the end, and while objects come and go.
func TestPartnerStackPages(t *testing.T) {
	t.Parallel()
	w := stackWorld(130)
	api := importtest.PartnerStack(w, importtest.Oddities{})
	walk(t, open(t, "partnerstack", stackAccount, api, importtest.Faults{}), true)
	api = importtest.PartnerStack(w, importtest.Oddities{PastEnd: true})
	requireRows(t, stackRows(w), rowsAt(t, "partnerstack", api, stackAccount))

	keepsAll(t, source.KindSale, func(odd importtest.Oddities) (source.Source, []string) {
		s := open(t, "partnerstack", stackAccount, importtest.PartnerStack(w, odd), importtest.Faults{})
		return only{s, "transactions"}, charges(w)
	}, "transactions", "ch_late")
}

// charges returns the ids of the payments of a world's sales.
func charges(w *importtest.World) []string {
	var all []string
	for _, s := range w.Sales {
		all = append(all, s.Sale.ChargeID)
	}
	return all
}

// TestPartnerStackOddities: each has its problem, and nothing else is lost.
func TestPartnerStackOddities(t *testing.T) {
	t.Parallel()
	w := stackWorld(60)
	newest := func(rows []source.Row, i int) string { return rows[len(rows)-1-i].ID }
	charge := func(i int) string { return w.Sales[len(w.Sales)-1-i].Sale.ChargeID }
	set := func(list string, i int, member string, value any) importtest.Change {
		return importtest.Alter(list, i, func(o importtest.Object) { o[member] = value })
	}
	api := importtest.PartnerStack(w, importtest.Oddities{Changes: []importtest.Change{
		importtest.Duplicate("transactions", 9),
		set("partnerships", 0, "approved_status", "frozen"),
		set("partnerships", 1, "email", nil),
		set("customers", 0, "test", true),
		set("customers", 1, "partnership_key", nil),
		set("transactions", 0, "amount", "many"),
		set("transactions", 1, "amount", -500),
		set("transactions", 2, "currency", "credits"),
		set("transactions", 3, "customer", nil),
		set("rewards", 0, "amount", nil),
		set("rewards", 1, "reward_status", "escrow"),
		set("rewards", 2, "currency", "points"),
		set("rewards", 3, "test", true),
	}})
	got := rowsAt(t, "partnerstack", api, stackAccount)
	odd := map[string]source.Code{
		"partners " + newest(w.Partners, 0):       source.UnknownStatus,
		"partners " + newest(w.Partners, 1):       source.MissingMember,
		"customers " + newest(w.Customers, 0):     source.TestData,
		"customers " + newest(w.Customers, 1):     source.MissingMember,
		"sales " + charge(0):                      source.MissingMember,
		"sales " + charge(1):                      source.NotMoney,
		"sales " + charge(2):                      source.NotMoney,
		"sales " + charge(3):                      source.MissingMember,
		"commissions " + newest(w.Commissions, 0): source.MissingMember,
		"commissions " + newest(w.Commissions, 1): source.UnknownStatus,
		"commissions " + newest(w.Commissions, 2): source.NotMoney,
		"commissions " + newest(w.Commissions, 3): source.TestData,
	}
	require.Equal(t, odd, problems(got))
	requireRows(t, without(stackRows(w), odd), without(got, odd))
}

// TestPartnerStackRewards: an approved reward with a payment is paid; a reward for a refund is a deduction.
func TestPartnerStackRewards(t *testing.T) {
	t.Parallel()
	w := stackWorld(12)
	for payment, want := range map[any]string{
		nil: source.Due, "failed": source.Due, "expired": source.Due, "available": source.Paid, "in_transit": source.Paid,
		"withdrawn": source.Paid, "paid_externally": source.Paid, "frozen": "",
	} {
		got := oneReward(t, w, func(o importtest.Object) {
			o["reward_status"], o["payment_status"], o["payment_date"] = "approved", payment, nil
		})
		if want == "" {
			require.Equal(t, source.UnknownStatus, got.Problem.Code)
			continue
		}
		require.Equal(t, want, got.Commission.Status, payment)
		require.Equal(t, want == source.Paid, got.Commission.PaidAt != nil)
	}
	for status, want := range map[string]string{"hold": source.Open, "pending": source.Open, "paid": source.Paid} {
		got := oneReward(t, w, func(o importtest.Object) { o["reward_status"] = status })
		require.Equal(t, want, got.Commission.Status, status)
	}
	got := oneReward(t, w, func(o importtest.Object) {
		o["amount"], o["transaction"], o["reward_status"] = "-150", importtest.Object{"amount": -500}, "pending"
	}).Commission
	require.Equal(t, int64(-150), got.AmountMinor)
	require.Empty(t, got.SaleID)
	got = oneReward(t, w, func(o importtest.Object) {
		o["partnership"] = importtest.Object{"key": o["partnership_key"]}
		delete(o, "partnership_key")
		delete(o, "currency")
		o["reward_status"] = "pending"
	}).Commission
	require.NotEmpty(t, got.PartnerID)
	require.Equal(t, "USD", got.Currency)
}

// oneReward returns the row of the newest reward after a change of it.
func oneReward(t *testing.T, w *importtest.World, change func(importtest.Object)) source.Row {
	t.Helper()
	changes := []importtest.Change{importtest.Alter("rewards", 0, change)}
	api := importtest.PartnerStack(w, importtest.Oddities{Changes: changes})
	for _, row := range rowsAt(t, "partnerstack", api, stackAccount) {
		if row.Kind == source.KindCommission && row.ID == w.Commissions[len(w.Commissions)-1].ID {
			return row
		}
	}
	require.Fail(t, "the reward is lost")
	return source.Row{}
}

// TestPartnerStackKey: a wrong key is an error.
func TestPartnerStackKey(t *testing.T) {
	t.Parallel()
	api := importtest.PartnerStack(stackWorld(6), importtest.Oddities{})
	refusesKey(t, open(t, "partnerstack", source.Account{Key: "pk_public:wrong"}, api, importtest.Faults{}))
}

// TestPartnerStackSince: the list of customers alone has a filter by the time of a change.
func TestPartnerStackSince(t *testing.T) {
	t.Parallel()
	w := stackWorld(60)
	since := w.Now.Days(-100)
	account := source.Account{Key: importtest.PartnerStackKey, Since: &since}
	got := rowsAt(t, "partnerstack", importtest.PartnerStack(w, importtest.Oddities{}), account)
	old := map[string]source.Code{}
	for _, c := range w.Customers {
		converted := c.Customer.ConvertedAt
		if c.Customer.CreatedAt.Before(since.Time) && (converted == nil || converted.Before(since.Time)) {
			old["customers "+c.ID] = ""
		}
	}
	require.NotEmpty(t, old)
	requireRows(t, without(stackRows(w), old), got)
}

// TestPartnerStackManyLinks: a partner may have several pages of links.
func TestPartnerStackManyLinks(t *testing.T) {
	t.Parallel()
	w := stackWorld(6)
	for i := range 250 {
		link := clone(w.Links[0])
		link.ID, link.Link.Value = fmt.Sprint("many_", i), fmt.Sprint("many", i)
		w.Links = append(w.Links, link)
	}
	requireRows(t, stackRows(w), rowsAt(t, "partnerstack", importtest.PartnerStack(w, importtest.Oddities{}), stackAccount))
}
