package inbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/stripetest"
	"rail/server/inbound/connection"
)

// newTold is a program that is connected to Stripe, with a receiver of some events.
func newTold(t *testing.T, settings M, types ...string) (inboxed, *apitest.Sink) {
	t.Helper()
	s, sink := apitest.New(t, apitest.Loopback), apitest.NewSink(t)
	program := s.Program(settings)
	s.Flow(program)
	s.Must(201, s.Post("/v1/webhook_endpoints", M{"program_id": program, "url": sink.URL + "/told", "event_types": types}))
	s.Deliver()
	return inboxed{s.Inboxed(program, func(in *connection.Input) {
		in.Processor, in.Secret, in.RecordDirect = connection.Stripe, stripeSecret, true
	})}, sink
}

// TestStripeEnrols: with the first payment from Stripe, a customer becomes a partner once, if the
// program is set so, and the merchant is notified.
func TestStripeEnrols(t *testing.T) {
	t.Parallel()
	types := []string{"affiliate.created", "customer.enrolled_as_partner", "sale.created"}
	h, sink := newTold(t, M{"auto_enrol_customers": true, "require_tax_forms": true}, types...)
	of := func(name string) stripetest.Purchase { return h.purchase(stripetest.Clover, name) }
	sent := 1
	require.Equal(t, "ann", sink.Wait(t, "/told", sent)[0].Event.Body["data"].(M)["handle"])
	for _, direct := range []bool{false, true} {
		p := of(fmt.Sprint("buyer-", direct))
		if direct {
			p.Reference = ""
		}
		h.deliver(p.Event("checkout.session.completed", p.Session()))
		h.deliver(p.Event("invoice.paid", p.Invoice()))
		h.deliver(p.Event("invoice.payment_succeeded", p.Invoice()))
		h.Work()
		sent += 3
		got := sink.Wait(t, "/told", sent)[sent-3:]
		require.Equal(t, []string{"sale.created", "affiliate.created", "customer.enrolled_as_partner"}, []string{
			got[0].Event.String("type"), got[1].Event.String("type"), got[2].Event.String("type"),
		})
		sale := h.Get("/v1/sales/" + got[0].Event.Body["data"].(M)["sale_id"].(string))
		enrolled := got[2].Event.Body["data"].(M)
		one := h.Must(200, h.Get("/v1/partners/"+enrolled["partner_id"].(string)))
		require.Equal(t, M{
			"customer_id": sale.String("customer_id"), "partner_id": one.String("id"), "handle": one.String("handle"),
			"email": p.Email, "group_id": one.String("group_id"), "source": "auto_enrol",
		}, enrolled)
		require.Equal(t, "active", one.String("status"))
		forms := h.Get("/v1/tax_form_statuses?program_id=" + h.ProgramID + "&partner_id=" + one.String("id"))
		require.Equal(t, "required", forms.Data()[0]["status"], "as of every partner of the program")
		if direct {
			require.Nil(t, sale.Body["partner_id"])
		}

		renewal := p
		renewal.Name += "-2"
		h.Must(200, h.Delete("/v1/partners/"+one.String("id")))
		h.deliver(renewal.Event("invoice.paid", renewal.Invoice()))
		h.Clock.Advance(time.Minute) // it has no checkout
		h.Last("recorded", nil)
		sent++
	}
	require.EqualValues(t, 1, h.Total("partners"), "who was deleted stays so")
	apitest.Balanced(t, h.Server)
}

// TestStripeEnrolsPayersOnly: a customer who cannot become a partner stays a customer, and the
// payment is recorded. Without the setting, or by a payment through the API, no customer becomes a
// partner.
func TestStripeEnrolsPayersOnly(t *testing.T) {
	t.Parallel()
	h := newStriped(t, func(in *connection.Input) { in.RecordDirect = true })
	ask := func(on bool) { h.Must(200, h.Post("/v1/programs/"+h.ProgramID, M{"auto_enrol_customers": on})) }
	partners := h.Total("partners")
	buyer := h.purchase(stripetest.Basil, "")
	pay := func(name string, change func(p *stripetest.Purchase)) {
		t.Helper()
		p := buyer
		p.Name, p.Customer, p.Email = name, "cus_"+name, name+"@example.com"
		change(&p)
		h.deliver(p.Event("invoice.paid", p.Invoice()))
		h.Clock.Advance(time.Minute) // no checkout names their partner
		h.Last("recorded", nil)
		require.Equal(t, partners, h.Total("partners"), name)
	}
	same := func(*stripetest.Purchase) {}
	pay("unasked", same)
	ask(true)
	pay("no-email", func(p *stripetest.Purchase) { p.Email = "" })
	pay("no-address", func(p *stripetest.Purchase) { p.Email = "Ann <ann@example.com>" })
	pay("a-partner", func(p *stripetest.Purchase) { p.Email = h.Get("/v1/partners/" + h.PartnerID).String("email") })
	h.Must(200, h.Post("/v1/programs/"+h.ProgramID, M{"status": "paused"}))
	pay("paused", same)
	h.Must(200, h.Post("/v1/programs/"+h.ProgramID, M{"status": "active"}))
	h.Sale(h.ProgramID, h.Customer(h.ProgramID, h.PartnerID, M{"email": "api@example.com", "external_customer_id": "cus_api"}))
	require.Equal(t, partners, h.Total("partners"))
	pay("api", same)
	suspended := h.Customer(h.ProgramID, h.PartnerID, M{"email": "s@example.com", "external_customer_id": "cus_suspended"})
	h.Must(200, h.Post("/v1/customers/"+suspended, M{"status": "suspended"}))
	pay("suspended", same)
	ask(false)
	require.NotContains(t, h.EventTypes(h.ProgramID), "customer.enrolled_as_partner")
	apitest.Balanced(t, h.Server)
}

// TestStripeCoupons: the merchant is notified once each when Stripe disables a code, enables it
// again, or ends its coupon. The order of the events does not matter, and the code may be
// registered after them.
func TestStripeCoupons(t *testing.T) {
	t.Parallel()
	for _, v := range stripetest.Versions {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			types := []string{"affiliate_coupon.activated", "affiliate_coupon.deactivated"}
			h, sink := newTold(t, nil, types...)
			p := h.purchase(v, "c")
			p.Coupon = "FALL"
			register := func(code string) (id string) {
				return h.Must(201, h.Post("/v1/coupons", M{
					"program_id": h.ProgramID, "code": code, "external_id": "promo_" + code,
				})).String("id")
			}
			events := 0
			code := func(name, kind string, active bool, at int) {
				p := p
				p.Promotion, p.At = "promo_"+name, p.At.Add(time.Duration(at)*time.Second)
				h.deliver(p.Event("promotion_code."+kind, p.PromotionCode(active), name, fmt.Sprint(at)))
			}
			sees := func(coupon string, active bool) {
				t.Helper()
				h.Work()
				events++
				got := sink.Wait(t, "/told", events)[events-1].Event
				require.Equal(t, map[bool]string{true: types[0], false: types[1]}[active], got.String("type"))
				require.Equal(t, []any{coupon, active}, []any{got.Body["data"].(M)["coupon_id"], got.Body["data"].(M)["active"]})
				require.Equal(t, active, h.Get("/v1/coupons/" + coupon).Body["active"])
			}
			a := register("A")
			code("A", "created", true, -10)
			h.Last("ignored", "not_used")
			code("A", "updated", false, -8)
			sees(a, false)
			code("A", "updated", true, -9)
			h.Last("ignored", "not_used")
			code("A", "updated", true, -7)
			sees(a, true)

			code("B", "created", true, -10)
			h.Last("ignored", "not_used")
			b, c := register("B"), register("C")
			code("D", "updated", false, -6)
			h.Work()
			sees(register("D"), false)
			p.At = p.At.Add(-5 * time.Second)
			h.deliver(p.Event("coupon.deleted", M{"id": "FALL", "object": "coupon", "deleted": true}, "FALL"))
			p.At = p.At.Add(5 * time.Second)
			h.Work()
			events += 2
			got := sink.Wait(t, "/told", events)[events-2:]
			var off []string
			for _, r := range got {
				require.Equal(t, types[1], r.Event.String("type"))
				off = append(off, r.Event.Body["data"].(M)["coupon_id"].(string))
			}
			require.ElementsMatch(t, []string{a, b}, off, "the codes that are known to be of the coupon")
			require.Equal(t, true, h.Get("/v1/coupons/" + c).Body["active"])
			code("C", "created", true, -10) // the code gets its partner only now
			sees(c, false)

			h.Clock.Advance(2 * time.Minute)
			for _, e := range h.Work() {
				require.Contains(t, []string{"recorded", "ignored"}, e.String("status"))
				require.False(t, e.String("type") == "coupon.deleted" && e.String("status") == "ignored", "%v", e.Body)
			}
			require.Len(t, sink.Got("/told"), events, "nothing is told twice")
		})
	}
}
