package sale_test

import (
	"testing"
	"time"

	"rail/server/harness/apitest"

	"github.com/stretchr/testify/require"
)

// pays records a payment of 50.00 by a customer's id, through a processor or by the API, and
// requires that it is recorded.
func (h inboxed) pays(processor bool, charge, externalID string, couponOfBob bool) {
	h.T.Helper()
	body := M{"external_customer_id": externalID}
	if processor {
		if couponOfBob {
			body["coupon_external_id"] = "promo_bob"
		}
		h.PaidBy(charge, body)
		return
	}
	body["program_id"], body["external_charge_id"], body["amount_minor"], body["currency"] = h.ProgramID, charge, 5000, "USD"
	if couponOfBob {
		body["coupon_code"] = "BOB10"
	}
	h.Must(201, h.Post("/v1/sales", body))
}

// bobsCoupon makes the partner bob with a coupon, and returns bob's id and email.
func (h inboxed) bobsCoupon() (id, email string) {
	h.T.Helper()
	bob := h.PartnerObject(h.ProgramID, M{"handle": "bob"})
	h.Must(201, h.Post("/v1/coupons", M{
		"program_id": h.ProgramID, "partner_id": bob.String("id"), "code": "BOB10", "external_id": "promo_bob",
	}))
	return bob.String("id"), bob.String("email")
}

// TestTakeOverBySelf: where self-referrals are blocked, a customer who is a partner cannot move to
// that partner with its own coupon. The payment counts for the partner of the link, and the other
// partner is flagged in any case.
func TestTakeOverBySelf(t *testing.T) {
	t.Parallel()
	for _, processor := range []bool{false, true} {
		for _, block := range []bool{false, true} {
			h := newInboxed(t)
			h.Must(200, h.Post("/v1/programs/"+h.ProgramID, M{"coupon_beats_link": true, "block_self_referrals": block}))
			bob, email := h.bobsCoupon()
			k := h.Must(201, h.Post("/v1/customers", M{
				"program_id": h.ProgramID, "click_id": h.Click(h.ProgramID, "ann").String("id"), "email": email,
				"external_customer_id": "cus_1",
			})).String("id")
			h.pays(processor, "ch_1", "cus_1", true)
			require.Equal(t, []string{bob}, h.Flagged("self_referral"), "processor %t, block %t", processor, block)
			want := bob
			if block {
				want = h.PartnerID
			}
			require.Equal(t, want, h.Get("/v1/customers/"+k).String("partner_id"), "processor %t, block %t", processor, block)
			pending, due, paid := h.Balance(h.ProgramID, want, "USD")
			require.EqualValues(t, 1000, pending+due+paid, "processor %t, block %t", processor, block)
			apitest.Balanced(t, h.Server)
		}
	}
}

// TestLateClickOfSelf: a customer does not return to an earlier partner who is the same person.
// Every payment counts for the partner of the late click.
func TestLateClickOfSelf(t *testing.T) {
	t.Parallel()
	for _, processor := range []bool{false, true} {
		h := newInboxed(t)
		h.Must(200, h.Post("/v1/programs/"+h.ProgramID, M{"ignore_late_clicks": true, "block_self_referrals": true}))
		bob := h.PartnerObject(h.ProgramID, M{"handle": "bob"})
		h.clicks("bob")
		h.Clock.Advance(time.Hour)
		click := h.clicks("ann")
		h.Clock.Advance(10 * time.Second)
		k := h.Must(201, h.Post("/v1/customers", M{
			"program_id": h.ProgramID, "click_id": click, "email": bob.String("email"), "external_customer_id": "cus_1",
		})).String("id")
		for i, charge := range []string{"ch_1", "ch_2"} {
			h.pays(processor, charge, "cus_1", false)
			require.EqualValues(t, 1000*(i+1), h.Earned(), "processor %t", processor)
		}
		require.Equal(t, h.PartnerID, h.Get("/v1/customers/"+k).String("partner_id"))
		require.Equal(t, []string{h.PartnerID}, h.Flagged("late_click"))
		require.Equal(t, []string{bob.String("id")}, h.Flagged("self_referral"))
		apitest.Balanced(t, h.Server)
	}
}

// TestCouponAndClickOfLead: a checkout with the click of a lead and a coupon belongs to that lead,
// whichever of them counts first. The coupon only decides about the partner.
func TestCouponAndClickOfLead(t *testing.T) {
	t.Parallel()
	for _, beats := range []bool{false, true} {
		h := newInboxed(t)
		h.Must(200, h.Post("/v1/programs/"+h.ProgramID, M{"coupon_beats_link": beats}))
		bob, _ := h.bobsCoupon()
		click := h.Click(h.ProgramID, "ann").String("id")
		lead := h.Must(201, h.Post("/v1/customers", M{
			"program_id": h.ProgramID, "click_id": click, "email": "kim@buyers.example",
		})).String("id")
		got := h.PaidBy("ch_1", M{
			"external_customer_id": "cus_1", "click_id": click, "email": "kim@buyers.example", "coupon_external_id": "promo_bob",
		})
		want := h.PartnerID
		if beats {
			want = bob
		}
		require.Equal(t, []string{lead, want}, []string{got.String("id"), got.String("partner_id")}, "beats %t", beats)
		require.EqualValues(t, 1, h.Total("customers"), "beats %t", beats)
		apitest.Balanced(t, h.Server)
	}
}
