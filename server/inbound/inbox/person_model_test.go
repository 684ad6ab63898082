package inbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rail/server/harness/apitest"
	"rail/server/harness/stripetest"
	"rail/server/inbound/connection"
)

// The model knows the true person behind every id, and who recommended the product to
// whom. It pays 50.00 for a person's first payment and 20 % in the ten days after it.

const (
	personBonus = 5000
	personPrice = 10000
	personDays  = 10
)

// person is a true person. Processors know it by any number of ids.
type person struct {
	name, click, partner string
	ids                  []string
	signups              []string // customers that the merchant's server made
}

func (p *person) email() string { return p.name + "@buyers.example" }

// modelPayment is a payment of 100.00. It waits until its person is found.
type modelPayment struct {
	of       *person
	charge   string
	at       time.Time
	stripe   bool
	refunded int64
}

// crowd is the model with the program under test. Stripe and Paddle are connected to the program.
type crowd struct {
	t              *rapid.T
	stripe, paddle inboxed
	people         []*person
	payments       []*modelPayment
	names          int
	left           time.Duration // until everything is settled
}

func newCrowd(s *apitest.Server, t *testing.T, rt *rapid.T) *crowd {
	direct := rapid.Bool().Draw(rt, "record payments without a partner")
	program := s.Program(M{"cookie_days": 365})
	s.Flow(program, M{
		"rate_type": "percent", "rate_value": 0, "branches": []M{
			{"conditions": []M{{"field": "sale.is_first_sale", "operator": "eq", "value": true}},
				"rate_type": "fixed", "rate_value": personBonus},
			{"conditions": []M{{"field": "customer.days_since_conversion", "operator": "lt", "value": personDays}},
				"rate_type": "percent", "rate_value": 2000},
		},
	})
	h := inboxed{apitest.Inboxed{Server: s, ProgramID: program}}
	c := &crowd{t: rt, stripe: h, paddle: h, left: 28 * 24 * time.Hour}
	c.stripe.Connection = s.Connect(program, func(in *connection.Input) {
		in.Processor, in.Secret, in.RecordDirect = connection.Stripe, stripeSecret, direct
	})
	c.paddle.Connection = s.Connect(program, func(in *connection.Input) {
		in.Processor, in.Secret, in.RecordDirect = connection.Paddle, "pdl_ntfset_1", direct
	})
	partners := []string{s.Partner(program, M{"handle": "ann"}), s.Partner(program, M{"handle": "bob"})}
	for i := range rapid.IntRange(1, 2).Draw(rt, "people") {
		handle := []string{"ann", "bob"}[i]
		c.people = append(c.people, &person{
			name: fmt.Sprint("user-", i), partner: partners[i], click: s.Click(program, handle).String("id"),
		})
	}
	return c
}

// name returns a new name, unique in the program.
func (c *crowd) name(prefix string) string {
	c.names++
	return fmt.Sprint(prefix, c.names)
}

func (c *crowd) bool(what string) bool { return rapid.Bool().Draw(c.t, what) }

func (c *crowd) someone() *person { return rapid.SampledFrom(c.people).Draw(c.t, "person") }

// id returns an id of a person at a processor, often a new one.
func (c *crowd) id(p *person, prefix string) string {
	old := slices.DeleteFunc(slices.Clone(p.ids), func(id string) bool { return !strings.HasPrefix(id, prefix) })
	if len(old) > 0 && c.bool("an id used before") {
		return rapid.SampledFrom(old).Draw(c.t, "id")
	}
	id := c.name(prefix)
	p.ids = append(p.ids, id)
	return id
}

// clues returns the data about a person that an event contains besides the id.
func (c *crowd) clues(p *person) (metadata M, email string) {
	metadata = M{}
	if c.bool("names the identifier") {
		metadata["rail_customer"] = p.name
	}
	if c.bool("names the click") {
		metadata["rail_click"] = p.click
	}
	if c.bool("names the email") {
		email = p.email()
	}
	return metadata, email
}

// works processes the inbox and lets up to four days pass. Everything happens within 28 days,
// because a payment waits 30 days for its customer.
func (c *crowd) works() {
	apitest.RunJob(c.stripe.T, c.stripe.Server, "work-inbox")
	pass := time.Duration(rapid.IntRange(1, 96).Draw(c.t, "hours")) * time.Hour
	if pass = min(pass, c.left); pass == 0 {
		pass = time.Second
	} else {
		c.left -= pass
	}
	c.stripe.Clock.Advance(pass)
}

// signUp creates a customer from the merchant's server.
func (c *crowd) signUp() {
	p := c.someone()
	body := M{"program_id": c.stripe.ProgramID, "click_id": p.click}
	if c.bool("identifier") {
		body["identifier"] = p.name
	}
	if c.bool("email") {
		body["email"] = strings.ToUpper(p.email())
	}
	if c.bool("external id") {
		id := c.name("cus_")
		p.ids = append(p.ids, id)
		body["external_customer_id"] = id
	}
	k := c.stripe.Must(201, c.stripe.Post("/v1/customers", body))
	p.signups = append(p.signups, k.String("id"))
	c.works()
}

// purchase returns a Stripe checkout of a person.
func (c *crowd) purchase(p *person) stripetest.Purchase {
	metadata, email := c.clues(p)
	return stripetest.Purchase{
		Version: stripetest.Clover, Name: c.name("p"), Live: true, At: c.stripe.Clock.Now().Time, Customer: c.id(p, "cus_"),
		Amount: personPrice, Currency: "usd", Email: email, Metadata: metadata,
	}
}

// bind completes a checkout that is paid later, or never.
func (c *crowd) bind() {
	b := c.purchase(c.someone())
	b.Subscription, b.Invoiced = true, true
	c.stripe.deliver(b.Event("checkout.session.completed", b.Session()))
	c.works()
}

func (c *crowd) pay() {
	p, now := c.someone(), c.stripe.Clock.Now().Time
	if c.bool("by Stripe") {
		b := c.purchase(p)
		c.stripe.deliver(b.Event("checkout.session.completed", b.Session()))
		c.payments = append(c.payments, &modelPayment{of: p, charge: b.Charge(), at: now, stripe: true})
	} else {
		// Paddle's transactions have no email.
		metadata, _ := c.clues(p)
		charge := c.name("txn_")
		c.paddle.notify(c.name("evt_"), "transaction.completed", M{
			"id": charge, "customer_id": c.id(p, "ctm_"), "currency_code": "USD", "custom_data": metadata,
			"details": M{"totals": M{"tax": "0", "total": fmt.Sprint(personPrice), "grand_total": fmt.Sprint(personPrice)}},
		})
		c.payments = append(c.payments, &modelPayment{of: p, charge: charge, at: now})
	}
	c.works()
}

// refund refunds half or all of a payment.
func (c *crowd) refund() {
	open := slices.DeleteFunc(slices.Clone(c.payments), func(p *modelPayment) bool { return p.refunded > 0 })
	if len(open) == 0 {
		c.t.Skip("nothing to refund")
	}
	p := rapid.SampledFrom(open).Draw(c.t, "payment")
	p.refunded = rapid.SampledFrom([]int64{personPrice / 2, personPrice}).Draw(c.t, "refunded")
	if p.stripe {
		b := stripetest.Purchase{
			Version: stripetest.Clover, Name: strings.TrimPrefix(p.charge, "pi_"), Live: true, At: c.stripe.Clock.Now().Time,
			Amount: personPrice, Currency: "usd", Refunded: p.refunded,
		}
		c.stripe.deliver(b.Event("charge.refunded", b.ChargeObject()))
	} else {
		total := fmt.Sprint(p.refunded)
		c.paddle.notify(c.name("evt_"), "adjustment.created", M{
			"id": c.name("adj_"), "action": "refund", "status": "approved", "transaction_id": p.charge, "currency_code": "USD",
			"totals": M{"subtotal": total, "tax": "0", "total": total},
		})
	}
	c.works()
}

// customers returns the customers of each person. A customer of no person, or of two, fails the test.
func (c *crowd) customers() map[*person][]string {
	out := map[*person][]string{}
	for _, k := range c.stripe.Get("/v1/customers?limit=100&include[]=external_ids&program_id=" + c.stripe.ProgramID).Data() {
		var of []*person
		for _, p := range c.people {
			matches := slices.Contains(p.signups, k["id"].(string)) || k["identifier"] == p.name || k["email"] == p.email()
			for _, id := range k["external_ids"].([]any) {
				matches = matches || slices.Contains(p.ids, id.(M)["external_customer_id"].(string))
			}
			if matches {
				of = append(of, p)
			}
		}
		require.Len(c.t, of, 1, "%v", k)
		out[of[0]] = append(out[of[0]], k["id"].(string))
	}
	return out
}

// merge merges two customers of one person.
func (c *crowd) merge() {
	p := c.someone()
	two := c.customers()[p]
	if len(two) < 2 {
		c.t.Skip("one customer")
	}
	c.join(rapid.Permutation(two).Draw(c.t, "customers")[:2])
}

// join merges all customers into the first. Before each merge, a dry run must return the same.
func (c *crowd) join(ids []string) {
	for _, from := range ids[1:] {
		path := "/v1/customers/" + ids[0] + "/merge"
		dry := c.stripe.Must(200, c.stripe.Post(path, M{"customer_id": from, "dry_run": true}))
		done := c.stripe.Must(200, c.stripe.Post(path, M{"customer_id": from}))
		require.Equal(c.t, amounts(dry), amounts(done))
	}
}

// amounts returns the changes of a merge, by sale.
func amounts(merged apitest.Answer) (out []string) {
	for _, k := range merged.Body["commissions"].([]any) {
		k := k.(M)
		out = append(out, fmt.Sprint(k["sale_id"], k["before_minor"], k["after_minor"]))
	}
	slices.Sort(out)
	return out
}

// settle makes the final corrections of a manager: it gives every person one customer with all ids,
// and credits payments that were recorded without a partner.
func (c *crowd) settle() map[*person]string {
	h, of := c.stripe, map[*person]string{}
	for _, p := range c.people {
		ids := c.customers()[p]
		if len(ids) == 0 {
			ids = []string{h.Must(201, h.Post("/v1/customers", M{
				"program_id": h.ProgramID, "click_id": p.click, "identifier": p.name,
			})).String("id")}
		}
		c.join(rapid.Permutation(ids).Draw(c.t, "order"))
		k := c.customersLeft(p, ids)
		of[p] = k
		for _, id := range p.ids {
			a := h.Post("/v1/customers/"+k+"/external_ids", M{"external_customer_id": id})
			require.Contains(c.t, []int{200, 201}, a.Status, "%s", a.Raw)
		}
		apitest.RunJob(h.T, h.Server, "work-inbox")
		h.Must(200, h.Post("/v1/customers/"+k+"/credit", M{"partner_id": p.partner, "since": "2026-01-01T00:00:00Z"}))
	}
	return of
}

// customersLeft returns the customer that all ids of a person identify.
func (c *crowd) customersLeft(p *person, ids []string) string {
	var left string
	for _, id := range append(ids, p.signups...) {
		k := c.stripe.Must(200, c.stripe.Get("/v1/customers/"+id)).String("id")
		require.Contains(c.t, []string{"", k}, left)
		left = k
	}
	return left
}

// compare compares every sale and commission with the model.
func (c *crowd) compare(of map[*person]string) {
	type paid struct {
		Customer, Partner string
		Earned            int64
	}
	h, got, want := c.stripe, map[string]paid{}, map[string]paid{}
	first := map[string]time.Time{} // by customer
	charges := map[string]string{}  // by sale
	for _, s := range h.Get("/v1/sales?limit=100&program_id=" + h.ProgramID).Data() {
		charge, k := s["external_charge_id"].(string), s["customer_id"].(string)
		charges[s["id"].(string)] = charge
		got[charge] = paid{Customer: k, Partner: fmt.Sprint(s["partner_id"])}
		if s["is_first_sale"] == true {
			require.Zero(c.t, first[k], "two first sales")
			first[k] = c.at(charge)
		}
	}
	for _, k := range h.Get("/v1/commissions?limit=100&program_id=" + h.ProgramID).Data() {
		if k["status"] != "voided" {
			charge := charges[k["sale_id"].(string)]
			one := got[charge]
			one.Earned += apitest.Answer{Body: k}.Int("amount_minor")
			got[charge] = one
		}
	}
	for _, p := range c.payments {
		k := of[p.of]
		earned := int64(0)
		switch days := p.at.Sub(first[k]) / (24 * time.Hour); {
		case p.at.Equal(first[k]):
			earned = personBonus
		case days < personDays:
			earned = personPrice / 5
		}
		partner := p.of.partner
		if p.refunded == personPrice { // a credit does not give it a partner
			partner = got[p.charge].Partner
		}
		want[p.charge] = paid{k, partner, earned * (personPrice - p.refunded) / personPrice}
	}
	require.Equal(c.t, want, got)
}

// at returns the time of a payment.
func (c *crowd) at(charge string) time.Time {
	i := slices.IndexFunc(c.payments, func(p *modelPayment) bool { return p.charge == charge })
	return c.payments[i].at
}

// TestPersonsAgainstModel has people sign up, check out, pay, get refunds and be merged in any
// order, through two processors, under several ids. In the end every payment is credited as if each
// person had always been one customer. -rapid.checks sets the number of sequences.
func TestPersonsAgainstModel(t *testing.T) {
	t.Parallel()
	var s *apitest.Server
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		if n++; n%1000 == 1 { // the server's clock is decades ahead by then
			s = apitest.New(t)
		}
		c := newCrowd(s, t, rt)
		steps := []func(){c.signUp, c.bind, c.pay, c.pay, c.pay, c.refund, c.merge}
		rt.Repeat(map[string]func(*rapid.T){"step": func(*rapid.T) {
			if len(c.payments) < 12 {
				rapid.SampledFrom(steps).Draw(rt, "what")()
			}
		}})
		c.compare(c.settle())
	})
	apitest.Balanced(t, s)
}
