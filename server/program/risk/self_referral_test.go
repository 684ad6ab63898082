package risk_test

import (
	"testing"

	"rail/server/harness/apitest"

	"github.com/stretchr/testify/require"
)

// selfReferrals returns the customers with an open flag for self-referral.
func (h inboxed) selfReferrals() (customers []string) {
	h.T.Helper()
	for _, f := range h.Get("/v1/risk_flags?status=open&program_id=" + h.ProgramID).Data() {
		if f["kind"] == "self_referral" {
			k, _ := f["customer"].(M)
			id, _ := k["id"].(string)
			customers = append(customers, id)
		}
	}
	return customers
}

// TestMergeKeepsSelfReferral: a customer flagged as its own partner keeps the flag in a merge, even
// if the other customer's email remains.
func TestMergeKeepsSelfReferral(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]string{"email": "email", "identifier": "identifier"} {
		h := newInboxed(t)
		self := h.CreateCustomer(M{"external_customer_id": "cus_self"})
		h.Must(200, h.Post("/v1/customers/"+self, M{own: h.Get("/v1/partners/" + h.PartnerID).String("email")}))
		h.Sell(self, "ch_1", h.Clock.Now().Time)
		require.Zero(t, h.Earned(), name)
		into := h.CreateCustomer(M{"email": "other@else.example", "identifier": "user-1"})
		h.Must(200, h.Merge(into, self, nil))
		h.PaidBy("ch_2", M{"external_customer_id": "cus_self"})
		sale := h.Must(201, h.Post("/v1/sales", M{
			"program_id": h.ProgramID, "customer_id": into, "external_charge_id": "ch_3", "amount_minor": 10000, "currency": "USD",
		}))
		require.Equal(t, "self_referral", sale.Body["warnings"].([]any)[0].(M)["code"], name)
		require.Zero(t, h.Earned(), name)
		require.Equal(t, []string{into}, h.selfReferrals(), name)
		apitest.Balanced(t, h.Server)
	}
}

// TestMergeBringsSelfReferral: a merge compares the remaining partner with the email from the
// other customer.
func TestMergeBringsSelfReferral(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	from := h.CreateCustomer(M{
		"email": h.Get("/v1/partners/" + h.PartnerID).String("email"), "partner_id": h.Partner(h.ProgramID, M{"handle": "bob"}),
	})
	into := h.CreateCustomer(nil)
	h.Must(200, h.Merge(into, from, M{"partner_id": h.PartnerID}))
	h.Sell(into, "ch_1", h.Clock.Now().Time)
	require.Zero(t, h.Earned())
	require.Equal(t, []string{into}, h.selfReferrals())
	apitest.Balanced(t, h.Server)
}

// TestFlagsOfMergedCustomers: open flags of both customers name the survivor, whether they belong
// to one partner or to two.
func TestFlagsOfMergedCustomers(t *testing.T) {
	t.Parallel()
	for _, both := range []bool{true, false} {
		h := newInboxed(t)
		bob := h.PartnerObject(h.ProgramID, M{"handle": "bob"})
		own := map[string]string{h.PartnerID: h.Get("/v1/partners/" + h.PartnerID).String("email"), bob.String("id"): bob.String("email")}
		self := func(partner string) string {
			k := h.CreateCustomer(M{"partner_id": partner})
			h.Must(200, h.Post("/v1/customers/"+k, M{"email": own[partner]}))
			return k
		}
		into, other := self(h.PartnerID), bob.String("id")
		if both {
			other = h.PartnerID
		}
		from := self(other)
		require.ElementsMatch(t, []string{into, from}, h.selfReferrals())
		h.Must(200, h.Merge(into, from, M{"partner_id": h.PartnerID}))
		require.Equal(t, []string{into, into}, h.selfReferrals(), "of one partner %t", both)
		require.ElementsMatch(t, []string{h.PartnerID, other}, h.Flagged("self_referral"))
	}
}

// TestPayoutAddressOfCustomer: a partner whose payout address is the email of its customer gets
// one flag on that customer, in any spelling of the address.
func TestPayoutAddressOfCustomer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		customer, partner string
		same              bool
	}{
		{"ann.pay@money.example", "ann.pay@money.example", true},
		{"Ann.Pay@money.example", "ann.pay+rail@MONEY.example", true},
		{"annpay@googlemail.com", "Ann.Pay+x@gmail.com", true},
		{"annpay@money.example", "ann.pay@money.example", false},
		{"ann.pay@money.example", "ann.pay@other.example", false},
	} {
		h := newInboxed(t)
		bob := h.Partner(h.ProgramID, M{"handle": "bob"})
		k := h.CreateCustomer(M{"email": c.customer})
		h.CreateCustomer(M{"email": c.customer, "partner_id": bob})
		want := []string(nil)
		if c.same {
			want = []string{k}
		}
		pay := func(email string) {
			h.Must(200, h.Post("/v1/partners/"+h.PartnerID, M{
				"payout_method": "paypal", "payout_details": M{"email": "first@money.example", "wise_email": email},
			}))
		}
		require.Empty(t, h.selfReferrals())
		pay(c.partner)
		require.Equal(t, want, h.selfReferrals(), "%s is paid at %s", c.customer, c.partner)
		pay("elsewhere@money.example")
		pay(c.partner)
		require.Equal(t, want, h.selfReferrals(), "again")
		if c.same {
			require.Equal(t, []string{h.PartnerID}, h.Flagged("self_referral"))
			h.Sell(k, "ch_1", h.Clock.Now().Time)
			require.Zero(t, h.Earned(), "later payments pay nobody")
		}
	}
}
