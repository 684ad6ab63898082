package sale_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// clicks makes a click of a visitor and returns its id.
func (h inboxed) clicks(handle string) string {
	h.T.Helper()
	return h.Must(201, h.Post("/v1/clicks", M{
		"program_id": h.ProgramID, "value": handle, "visitor_token": "visitor-0001", "landing_url": "https://shop.example/",
	})).String("id")
}

// A click of another partner shortly before a first payment is flagged. If the program ignores such
// clicks, the earlier partner keeps the customer.
func TestLateClick(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		before        time.Duration // from the later click to the payment
		ignore, byBob bool          // then the partner of the customer
		lead          bool          // signed up by the earlier click
		flagged       bool
	}{
		{"last touch", 119 * time.Second, false, true, false, true},
		{"ignored", 119 * time.Second, true, false, false, true},
		{"early enough", 120 * time.Second, true, true, false, false},
		{"lead", 10 * time.Second, false, false, true, true},
	} {
		for _, processor := range []bool{false, true} {
			h := newInboxed(t)
			h.Must(200, h.Post("/v1/programs/"+h.ProgramID, M{"ignore_late_clicks": c.ignore}))
			bob := h.Partner(h.ProgramID, M{"handle": "bob"})
			click := h.clicks("ann")
			h.Clock.Advance(48 * time.Hour)
			k := M{"program_id": h.ProgramID, "click_id": click, "external_customer_id": "c1"}
			if c.lead {
				h.Must(201, h.Post("/v1/customers", k))
			}
			late := h.clicks("bob")
			h.Clock.Advance(c.before)
			if !c.lead {
				k["click_id"] = late
			}
			if processor {
				h.Receive(apitest.Paid("ch_1", M{"external_customer_id": "c1", "click_id": k["click_id"]}))
				h.Last("recorded", nil)
			} else {
				k["external_charge_id"], k["amount_minor"], k["currency"] = "ch_1", 5000, "USD"
				h.Must(201, h.Post("/v1/sales", k))
			}
			want := h.PartnerID
			if c.byBob {
				want = bob
			}
			got := apitest.Answer{Body: h.Get("/v1/customers?program_id=" + h.ProgramID).Data()[0]}
			require.Equal(t, want, got.String("partner_id"), "%s, processor %t", c.name, processor)
			_, due, _ := h.Balance(h.ProgramID, want, "USD")
			pending, _, _ := h.Balance(h.ProgramID, want, "USD")
			require.EqualValues(t, 1000, pending+due, c.name)
			flags := []string(nil)
			if c.flagged {
				flags = []string{bob}
			}
			require.Equal(t, flags, h.Flagged("late_click"), c.name)
			h.Must(201, h.Post("/v1/sales", M{
				"program_id": h.ProgramID, "external_customer_id": "c1", "external_charge_id": "ch_2", "amount_minor": 5000,
				"currency": "USD",
			}))
			require.Equal(t, flags, h.Flagged("late_click"), "a later payment looks no more")
			apitest.Balanced(t, h.Server)
		}
	}
}

// Field case 19 (a link of one partner and a coupon of another in one checkout): the link counts.
// If coupons count before links, the coupon of the first payment moves the customer to the coupon's
// partner. A later coupon changes nothing.
func TestFieldCase19CouponBeatsLink(t *testing.T) {
	t.Parallel()
	for _, beats := range []bool{false, true} {
		h := newInboxed(t)
		h.Must(200, h.Post("/v1/programs/"+h.ProgramID, M{"coupon_beats_link": beats}))
		bob := h.Partner(h.ProgramID, M{"handle": "bob"})
		h.Must(201, h.Post("/v1/coupons", M{"program_id": h.ProgramID, "code": "BOB", "partner_id": bob, "external_id": "promo_1"}))
		want, by := h.PartnerID, "link"
		if beats {
			want, by = bob, "coupon"
		}
		check := func(k apitest.Answer, name string) {
			t.Helper()
			require.Equal(t, []any{want, by}, []any{k.String("partner_id"), k.String("tracked_by")}, "%s, %t", name, beats)
		}
		check(h.PaidBy("ch_1", M{
			"external_customer_id": "c1", "click_id": h.Click(h.ProgramID, "ann").String("id"), "coupon_external_id": "promo_1",
		}), "both in one checkout")
		h.Must(201, h.Post("/v1/customers", M{
			"program_id": h.ProgramID, "click_id": h.Click(h.ProgramID, "ann").String("id"), "external_customer_id": "c2",
		}))
		check(h.PaidBy("ch_2", M{"external_customer_id": "c2", "coupon_external_id": "promo_1"}), "a lead")
		lead := h.Must(201, h.Post("/v1/customers", M{
			"program_id": h.ProgramID, "click_id": h.Click(h.ProgramID, "ann").String("id"), "external_customer_id": "c3",
		})).String("id")
		h.Must(201, h.Post("/v1/sales", M{
			"program_id": h.ProgramID, "external_customer_id": "c3", "coupon_code": "BOB", "external_charge_id": "ch_3",
			"amount_minor": 5000, "currency": "USD",
		}))
		check(h.Get("/v1/customers/"+lead), "a lead, by the API")
		k := h.Must(201, h.Post("/v1/customers", M{
			"program_id": h.ProgramID, "click_id": h.Click(h.ProgramID, "ann").String("id"), "external_customer_id": "c4",
		})).String("id")
		h.PaidBy("ch_4", M{"external_customer_id": "c4"})
		h.PaidBy("ch_5", M{"external_customer_id": "c4", "coupon_external_id": "promo_1"})
		require.Equal(t, h.PartnerID, h.Get("/v1/customers/"+k).String("partner_id"), "a later coupon")
		apitest.Balanced(t, h.Server)
	}
}

// TestLateClickBetween: a late click of another partner between two clicks of one partner does not take the customer.
func TestLateClickBetween(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	h.Must(200, h.Post("/v1/programs/"+h.ProgramID, M{"ignore_late_clicks": true}))
	bob := h.Partner(h.ProgramID, M{"handle": "bob"})
	h.clicks("ann")
	h.Clock.Advance(48 * time.Hour)
	h.clicks("bob")
	h.Clock.Advance(90 * time.Second)
	click := h.clicks("ann")
	h.Clock.Advance(10 * time.Second)
	k := h.PaidBy("ch_1", M{"external_customer_id": "c1", "click_id": click})
	require.Equal(t, h.PartnerID, k.String("partner_id"))
	require.Equal(t, []string{bob}, h.Flagged("late_click"))
	require.EqualValues(t, 1000, h.Earned())
	apitest.Balanced(t, h.Server)
}

// TestLateClickToConverted: the referral of the earlier click, converted by another customer, is not converted again.
func TestLateClickToConverted(t *testing.T) {
	t.Parallel()
	for _, converted := range []bool{false, true} {
		h := newInboxed(t)
		h.Must(200, h.Post("/v1/programs/"+h.ProgramID, M{"ignore_late_clicks": true}))
		h.Partner(h.ProgramID, M{"handle": "bob"})
		click := h.clicks("ann")
		if converted {
			h.PaidBy("ch_1", M{"external_customer_id": "c1", "click_id": click})
		}
		h.Clock.Advance(time.Hour)
		late := h.clicks("bob")
		h.Clock.Advance(10 * time.Second)
		k := h.PaidBy("ch_2", M{"external_customer_id": "c2", "click_id": late})
		require.Equal(t, h.PartnerID, k.String("partner_id"))
		require.Equal(t, 1, apitest.Tally(h.Server, h.ProgramID, "referral.converted"), "converted before %t", converted)
		apitest.Balanced(t, h.Server)
	}
}
