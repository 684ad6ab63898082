package source_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"rail/server/clock"
	"rail/server/harness/importtest"
	"rail/server/inbound/importer/source"
)

func rewardfulWorld() *importtest.World {
	return importtest.NewWorld(1, 60, now, importtest.Shape{Param: "via"})
}

// rewardfulRows are the rows of a world as far as Rewardful has them.
func rewardfulRows(w *importtest.World) []source.Row {
	all, paid := w.Rows(), map[string][]string{}
	created := map[string]clock.Time{}
	for _, row := range w.Commissions {
		paid[row.Commission.PayoutID] = append(paid[row.Commission.PayoutID], row.ID)
	}
	for i, row := range all {
		switch row.Kind {
		case source.KindPartner:
			p := *row.Partner
			created[row.ID] = p.CreatedAt
			p.CountryCode, all[i].Partner = "", &p
		case source.KindLink:
			l := *row.Link
			l.CreatedAt, all[i].Link = created[l.PartnerID], &l
		case source.KindCoupon:
			c := *row.Coupon
			c.CreatedAt, all[i].Coupon = clock.Time{}, &c
		case source.KindSale:
			s := *row.Sale
			s.Recurring, all[i].Sale = false, &s
		case source.KindCommission:
			k := *row.Commission
			if k.Status == source.Rejected {
				k.Status = source.Voided
			}
			k.Reason, k.PayoutID, all[i].Commission = "", "", &k
		case source.KindPayout:
			p := *row.Payout
			p.Method, p.CommissionIDs, all[i].Payout = "", paid[row.ID], &p
		}
	}
	return all
}

func openRewardful(t *testing.T, w *importtest.World, odd importtest.Oddities) source.Source {
	t.Helper()
	a := source.Account{Key: importtest.RewardfulKey}
	return open(t, "rewardful", a, importtest.Rewardful(w, odd), importtest.Faults{})
}

func ids(rows []source.Row) []string {
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = row.ID
	}
	return all
}

func same(id string) string { return id }

func TestRewardfulReadsEverything(t *testing.T) {
	t.Parallel()
	w, a := rewardfulWorld(), source.Account{Key: importtest.RewardfulKey}
	s := open(t, "rewardful", a, importtest.Rewardful(w, importtest.Oddities{}), faults)
	got := walk(t, s, false)
	got.equal(t, rewardfulRows(w))
	got.sums(t, w, same)
	walk(t, openRewardful(t, w, importtest.Oddities{}), true).equal(t, rewardfulRows(w))
}

func TestRewardfulListsThatChange(t *testing.T) {
	t.Parallel()
	keepsAll(t, source.KindCommission, func(odd importtest.Oddities) (source.Source, []string) {
		w := rewardfulWorld()
		return openRewardful(t, w, odd), ids(w.Commissions)
	}, "commissions", "com_new")
}

func TestRewardfulOddObjects(t *testing.T) {
	t.Parallel()
	w := rewardfulWorld()
	plain := walk(t, openRewardful(t, w, importtest.Oddities{}), false)
	newest := func(rows []source.Row, i int) string { return rows[len(rows)-1-i].ID }
	partner := func(i int) string { return newest(w.Partners, i) }
	commission := func(i int) string { return newest(w.Commissions, i) }
	got := walk(t, openRewardful(t, w, importtest.Oddities{Changes: []importtest.Change{
		importtest.Alter("affiliates", 0, func(o importtest.Object) { o["state"] = "frozen" }),
		importtest.Alter("affiliates", 1, func(o importtest.Object) { delete(o, "email") }),
		importtest.Alter("affiliates", 2, func(o importtest.Object) { o["links"] = importtest.Object{"data": o["links"]} }),
		importtest.Alter("affiliates", 3, func(o importtest.Object) { o["campaign"], o["first_name"] = nil, 7 }),
		importtest.Alter("referrals", 0, func(o importtest.Object) { o["affiliate"] = nil }),
		importtest.Alter("commissions", 0, func(o importtest.Object) { o["state"] = "disputed" }),
		importtest.Alter("commissions", 1, func(o importtest.Object) { o["amount"] = text(t, o["amount"]) }),
		importtest.Alter("commissions", 2, func(o importtest.Object) { o["amount"] = nil }),
		importtest.Alter("commissions", 3, func(o importtest.Object) { o["currency"] = "dollars" }),
		importtest.Alter("commissions", 4, func(o importtest.Object) { delete(o, "sale") }),
		importtest.Alter("payouts", 0, func(o importtest.Object) { o["amount"] = "much" }),
	}}), false)
	delete(plain[source.KindSale], plain[source.KindCommission][commission(4)].Commission.SaleID)
	got.problems(t, plain, map[source.Kind]map[string]source.Code{
		source.KindPartner:  {partner(0): source.UnknownStatus, partner(1): source.MissingMember},
		source.KindCustomer: {newest(w.Customers, 0): source.MissingMember},
		source.KindCommission: {
			commission(0): source.UnknownStatus,
			commission(2): source.MissingMember,
			commission(3): source.MissingMember,
			commission(4): source.MissingMember, // the sale names the affiliate
		},
		source.KindPayout: {newest(w.Payouts, 0): source.MissingMember},
	})
	if p := got[source.KindPartner][partner(0)].Partner; p == nil || p.Status != source.Pending {
		t.Errorf("a partner with an unknown status is %+v, want pending", p)
	}
	if p := got[source.KindPartner][partner(3)].Partner; p == nil || p.Group != "" || p.FirstName != "" {
		t.Errorf("a partner with null members is %+v", p)
	}
	if id := commission(1); text(t, got[source.KindCommission][id]) != text(t, plain[source.KindCommission][id]) {
		t.Errorf("an amount as text is read as %+v", got[source.KindCommission][id].Commission)
	}
}

func TestRewardfulWithoutTotals(t *testing.T) {
	t.Parallel()
	w := rewardfulWorld()
	full := importtest.Rewardful(w, importtest.Oddities{PastEnd: true})
	api := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		answer, page := httptest.NewRecorder(), struct {
			Data json.RawMessage `json:"data"`
		}{}
		full.ServeHTTP(answer, r)
		if err := json.Unmarshal(answer.Body.Bytes(), &page); err != nil {
			t.Error(err)
		}
		_, _ = rw.Write(page.Data)
	})
	a := source.Account{Key: importtest.RewardfulKey}
	walk(t, open(t, "rewardful", a, api, importtest.Faults{}), true).equal(t, rewardfulRows(w))
}

func TestRewardfulRefusesKey(t *testing.T) {
	t.Parallel()
	api := importtest.Rewardful(rewardfulWorld(), importtest.Oddities{})
	refusesKey(t, open(t, "rewardful", source.Account{Key: "wrong"}, api, importtest.Faults{}))
}

func TestRewardfulReadsChangedReferrals(t *testing.T) {
	t.Parallel()
	w, since := rewardfulWorld(), clock.At(now).Days(-60)
	api := importtest.Rewardful(w, importtest.Oddities{})
	got := walk(t, open(t, "rewardful", source.Account{
		Key: importtest.RewardfulKey, Since: &since,
	}, api, importtest.Faults{}), false)
	var want []source.Row
	for _, row := range rewardfulRows(w) {
		if c := row.Customer; c == nil || c.LeadAt.After(since.Time) ||
			c.ConvertedAt != nil && c.ConvertedAt.After(since.Time) {
			want = append(want, row)
		}
	}
	got.equal(t, want)
	if n := len(got[source.KindCustomer]); n == 0 || n == len(w.Customers) {
		t.Errorf("%d of %d customers changed", n, len(w.Customers))
	}
}
