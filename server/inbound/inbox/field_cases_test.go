package inbox_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/stripetest"
	"rail/server/inbound/connection"
	"rail/server/inbound/lemonsqueezy"
)

// TestFieldCase1And21AtStripe: field case 1. An account gets a second customer at Stripe. Both
// belong to the customer with the account's id, even if the program records payments without a
// partner. Field case 21: the sign-up has a private email and the checkout the firm's. No second
// lead remains.
func TestFieldCase1And21AtStripe(t *testing.T) {
	t.Parallel()
	for _, v := range stripetest.Versions {
		for _, direct := range []bool{false, true} {
			h := newStriped(t, func(in *connection.Input) { in.RecordDirect = direct })
			k := h.Must(201, h.Post("/v1/customers", M{
				"program_id": h.ProgramID, "click_id": h.Click(h.ProgramID, "ann").String("id"), "identifier": "user-7",
				"email": "private@example.org",
			})).String("id")
			for i, name := range []string{"A", "B", "B2"} {
				p := h.purchase(v, name)
				p.Amount, p.Customer, p.Email, p.Reference = 5000, "cus_"+name[:1], "accounts@firm.example", "user-7"
				if p.Metadata = (M{"rail_customer": "user-7"}); name != "B2" { // a renewal has no checkout
					h.deliver(p.Event("checkout.session.completed", p.Session()))
					require.Equal(t, k, h.Last("recorded", nil).String("customer_id"))
				} else {
					p.Metadata = nil
				}
				h.deliver(p.Event("invoice.paid", p.Invoice()))
				require.Equal(t, k, h.Last("recorded", nil).String("customer_id"), "%s, %s, direct %t", name, v, direct)
				require.EqualValues(t, 1000*(i+1), h.due())
			}
			require.Equal(t, []string{"cus_A", "cus_B"}, h.ExternalIDs(k))
			require.Equal(t, []any{int64(1), "active", "private@example.org"}, []any{
				h.Total("customers"), h.Get("/v1/customers/" + k).String("status"), h.Get("/v1/customers/" + k).String("email"),
			})
			apitest.Balanced(t, h.Server)
		}
	}
}

// A learner sends Rail, like a processor, the email of a customer with the merchant's id "u1" and
// records a payment of that customer. click may be "".
type learner struct {
	name string
	pay  func(h inboxed, charge, email, click string)
	// changed sends a change of the customer's email. It is nil if the processor has no such
	// event.
	changed func(h inboxed, email string)
}

func customerOfPaddle(h inboxed, kind, email string) {
	postPaddle(h, h.Clock.Now().Time, kind, M{"id": "ctm_1", "email": email, "name": "Ada"})
}

var learners = []learner{
	{
		connection.Stripe, func(h inboxed, charge, email, click string) {
			p := h.purchase(stripetest.Clover, charge)
			p.Amount, p.Customer, p.Email, p.Reference = 5000, "cus_1", email, click
			p.Metadata = M{"rail_customer": "u1"}
			if click == "" {
				p.Reference = "u1"
			}
			h.deliver(p.Event("checkout.session.completed", p.Session()))
			h.Work()
			h.deliver(p.Event("invoice.paid", p.Invoice()))
		}, func(h inboxed, email string) {
			postStripe(h, h.Clock.Now().Time, "customer.updated", M{"id": "cus_1", "email": email})
		},
	},
	{
		connection.Paddle, func(h inboxed, charge, email, click string) { // transactions have no email
			customerOfPaddle(h, "customer.created", email)
			h.Work()
			postPaddle(h, h.Clock.Now().Time, "transaction.completed", M{
				"id": charge, "customer_id": "ctm_1", "currency_code": "USD",
				"custom_data": M{"rail_customer": "u1", "rail_click": click},
				"details":     M{"totals": M{"tax": "0", "total": "5000", "grand_total": "5000"}},
			})
		}, func(h inboxed, email string) { customerOfPaddle(h, "customer.updated", email) },
	},
	{
		connection.Chargebee, func(h inboxed, charge, email, click string) {
			postChargebee(h, h.Clock.Now().Time, "payment_succeeded", merged(
				M{"transaction": M{
					"id": charge, "type": "payment", "status": "success", "amount": 5000, "currency_code": "USD", "customer_id": "cu_1",
				}},
				M{"customer": M{"id": "cu_1", "email": email, "cf_rail_customer": "u1", "cf_rail_click": click}},
			))
		}, func(h inboxed, email string) {
			postChargebee(h, h.Clock.Now().Time, "customer_changed", M{"customer": M{"id": "cu_1", "email": email}})
		},
	},
	{
		connection.LemonSqueezy, func(h inboxed, charge, email, click string) {
			body, err := json.Marshal(M{
				"meta": M{"event_name": "subscription_payment_success", "custom_data": M{"rail_customer": "u1", "rail_click": click}},
				"data": M{"id": charge, "attributes": lemonMoneyOf(M{
					"customer_id": "1", "subscription_id": "1", "billing_reason": "renewal", "total": 5000, "user_email": email,
				})},
			})
			require.NoError(h.T, err)
			mac := hmac.New(sha256.New, []byte(h.Connection.Signing))
			mac.Write(body)
			h.hook(body, lemonsqueezy.Header, hex.EncodeToString(mac.Sum(nil)))
		}, nil,
	},
	{
		connection.Polar, func(h inboxed, charge, email, click string) {
			postPolar(h, h.Clock.Now().Time, "order.paid", M{
				"id": charge, "customer_id": "cu_1", "currency": "usd", "total_amount": 5000, "tax_amount": 0,
				"metadata": M{"rail_click": click}, "customer": M{"email": email, "external_id": "u1"},
			})
		}, func(h inboxed, email string) {
			postPolar(h, h.Clock.Now().Time, "customer.updated", M{"id": "cu_1", "email": email})
		},
	},
	{
		connection.Generic, func(h inboxed, charge, email, click string) {
			h.Receive(apitest.Paid(charge, M{"external_customer_id": "c_1", "identifier": "u1", "email": email, "click_id": click}))
		}, nil,
	},
}

// flagKinds returns the kinds of the open flags.
func (h inboxed) flagKinds() (kinds []string) {
	h.T.Helper()
	for _, f := range h.Get("/v1/risk_flags?status=open&program_id=" + h.ProgramID).Data() {
		kinds = append(kinds, f["kind"].(string))
	}
	return kinds
}

// TestFieldCase3And4AtEveryProcessor: field case 3. An email from any processor is checked as at
// sign-up, whether the customer is a lead with the merchant's own id or the event creates the
// customer. A partner's own payments earn no commission. Other addresses are flagged and pay. Field
// case 4: the payout address also counts as the partner's own.
func TestFieldCase3And4AtEveryProcessor(t *testing.T) {
	t.Parallel()
	for _, p := range learners {
		for _, c := range []struct {
			name, email, kind string
			block             bool
			earned            int64
		}{
			{"own", "Ada.S+shop@Gmail.com", "self_referral", true, 0},
			{"payout's", "ADA.PAY@money.example", "self_referral", true, 0},
			{"own, not blocked", "adas@googlemail.com", "self_referral", false, 1000},
			{"throw-away", "x@mailinator.com", "disposable_email", true, 1000},
		} {
			t.Run(p.name+", "+c.name, func(t *testing.T) {
				t.Parallel()
				for _, lead := range []bool{true, false} {
					h := newLearning(t, p, c.block)
					click := h.Click(h.ProgramID, "ada").String("id")
					if lead {
						h.Must(201, h.Post("/v1/customers", M{"program_id": h.ProgramID, "click_id": click, "identifier": "u1"}))
						click = ""
					}
					p.pay(h, "101", c.email, click)
					h.Work()
					require.Equal(t, []string{c.kind}, h.flagKinds(), "lead %t", lead)
					require.Equal(t, c.earned, h.Earned(), "lead %t", lead)
					if lead {
						k := h.Get("/v1/customers?identifier=u1&program_id=" + h.ProgramID).Data()[0]
						require.Equal(t, c.email, k["email"], "it is stored")
					}
					apitest.Balanced(t, h.Server)
				}
			})
		}
		t.Run(p.name+", changed", func(t *testing.T) {
			t.Parallel()
			if p.changed == nil {
				t.Skip("the processor tells no changes of customers")
			}
			h := newLearning(t, p, true)
			p.pay(h, "101", "bob@buyers.example", h.Click(h.ProgramID, "ada").String("id"))
			h.Work()
			require.EqualValues(t, 1000, h.Earned())
			p.changed(h, "ada.s@gmail.com")
			h.Work()
			require.Equal(t, []string{"self_referral"}, h.flagKinds())
			p.pay(h, "102", "ada.s@gmail.com", "")
			h.Work()
			require.EqualValues(t, 1000, h.Earned(), "from then on nobody is paid")
			require.EqualValues(t, 2, h.Total("sales"))
			apitest.Balanced(t, h.Server)
		})
	}
}

// newLearning connects a program. Its partner is paid at an address other than its email.
func newLearning(t *testing.T, p learner, block bool) inboxed {
	t.Helper()
	h := newMoney(t, moneyProcessor{name: p.name})
	h.Must(200, h.Post("/v1/programs/"+h.ProgramID, M{"block_self_referrals": block, "holding_period_days": 0}))
	h.PartnerID = h.Partner(h.ProgramID, M{"handle": "ada", "email": "ada.s@gmail.com"})
	h.Must(200, h.Post("/v1/partners/"+h.PartnerID, M{
		"payout_method": "paypal", "payout_details": M{"email": "ada.pay@money.example"},
	}))
	return h
}

// TestFieldCase5AtStripe: field case 5. The email identifies a guest of Stripe's checkout even
// after weeks, in upper and lower case.
func TestFieldCase5AtStripe(t *testing.T) {
	t.Parallel()
	for _, v := range stripetest.Versions {
		h := newStriped(t)
		var customers []string
		for i, email := range []string{"Guest.One@Buyers.example", "guest.one@buyers.example", "GUEST.ONE@buyers.example"} {
			p := h.purchase(v, string(rune('a'+i)))
			p.Customer, p.Subscription, p.Invoiced, p.Email = "", false, false, email
			if i > 0 {
				p.Reference = ""
			}
			h.deliver(p.Event("checkout.session.completed", p.Session()))
			customers = append(customers, h.Last("recorded", nil).String("customer_id"))
			h.Clock.Advance(40 * 24 * time.Hour)
		}
		require.Equal(t, []string{customers[0], customers[0]}, customers[1:])
		require.EqualValues(t, 3*480, h.Earned())
	}
}

// TestFieldCase6AtStripe: field case 6. A trial without a card ends with the first payment, which
// identifies the customer only by the email of the sign-up. The customer stays the partner's for
// the period that the program sets, by default the cookie's lifetime.
func TestFieldCase6AtStripe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		setting any
		day     int
		matches bool
	}{{nil, 6, true}, {nil, 8, true}, {nil, 14, true}, {nil, 31, false}, {45, 31, true}, {7, 8, false}} {
		h := newStriped(t)
		h.Must(200, h.Post("/v1/programs/"+h.ProgramID, M{"lead_match_days": c.setting}))
		k := h.Must(201, h.Post("/v1/customers", M{
			"program_id": h.ProgramID, "click_id": h.Click(h.ProgramID, "ann").String("id"), "email": "ada@buyers.example",
		})).String("id")
		h.Clock.Advance(time.Duration(c.day) * 24 * time.Hour)
		p := h.purchase(stripetest.Clover, "trial")
		p.Reference, p.Email = "", "Ada@buyers.example"
		h.deliver(p.Event("checkout.session.completed", p.Session()))
		h.deliver(p.Event("invoice.paid", p.Invoice()))
		if !c.matches {
			h.Last("ignored", "no_partner")
			continue
		}
		require.Equal(t, k, h.Last("recorded", nil).String("customer_id"), "%v, day %d", c.setting, c.day)
		require.EqualValues(t, 480, h.Earned())
	}
}

// TestFieldCase20UmlautHosts: field case 20. A shop's host name with an umlaut can be entered as
// typed for keys, for the portal's hosts and for links. It equals the name that browsers send.
func TestFieldCase20UmlautHosts(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"website_url": "https://bücher.example"})
	ada := s.Partner(program, M{"handle": "ada"})
	names := []string{"Bücher.example", "*.bücher.example", "straße.example:8443", "xn--bcher-kva.example"}
	hosts := []any{"xn--bcher-kva.example", "*.xn--bcher-kva.example", "xn--strae-oqa.example:8443"}
	key := s.Must(201, s.Post("/v1/publishable_keys", M{"program_id": program, "allowed_hosts": names}))
	require.ElementsMatch(t, hosts, key.Body["allowed_hosts"])
	settings := s.Must(200, s.Post("/v1/programs/"+program+"/portal", M{"link_hosts": names, "embed_hosts": names}))
	require.ElementsMatch(t, hosts, settings.Body["link_hosts"])
	require.ElementsMatch(t, hosts, settings.Body["embed_hosts"])
	for _, origin := range []string{
		"https://xn--bcher-kva.example", "https://shop.xn--bcher-kva.example", "https://xn--strae-oqa.example:8443",
	} {
		s.Must(201, s.Do("POST", "/t/c", "", M{"key": key.String("key"), "value": "ada"}, "Origin", origin, "User-Agent", apitest.Browser))
	}
	require.Equal(t, 403, s.Do("POST", "/t/c", "", M{"key": key.String("key"), "value": "ada"},
		"Origin", "https://xn--strae-oqa.example", "User-Agent", apitest.Browser).Status, "another port")
	for _, bad := range []string{"bü cher.example", "*.ü", "bücher..example", "a\u200b.example:0", "-ü.example"} {
		s.Refused(400, "parameter_invalid", "allowed_hosts[0]", s.Post("/v1/publishable_keys", M{
			"program_id": program, "allowed_hosts": []string{bad},
		}))
	}

	link := s.Must(201, s.Post("/v1/links", M{
		"program_id": program, "partner_id": ada, "destination_url": "https://bücher.example/krimis",
	}))
	click := s.Click(program, "ada", M{"landing_url": "https://xn--bcher-kva.example/krimis?ref=ada"})
	require.Equal(t, link.String("id"), click.String("link_id"))
}
