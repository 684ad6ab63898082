package console_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/team"
)

// TestPaymentWithoutPartner credits a payment that waits, by a customer and by a partner.
func TestPaymentWithoutPartner(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	ann := s.Partner(s.program, M{"handle": "ann", "email": "ann@partners.example"})
	k := s.Customer(s.program, ann, M{"email": "buyer@shop.example"})
	c := s.Connect(s.program)
	s.Must(200, c.Send(payment))
	s.works()
	one := "/integrations/events/" + eventPath.FindStringSubmatch(s.owner.page("/integrations/events?reason_code=no_partner"))[1]
	require.Contains(t, s.owner.page(one), "Whose payment is it?")
	viewer := s.person(s.Org, team.Viewer)
	require.NotContains(t, viewer.page(one), "Whose payment is it?")
	viewer.says(403, "Your role cannot do this", viewer.send(one+"/payer", "customer", "buyer@shop.example"))
	s.owner.says(400, "No customer found", s.owner.send(one+"/payer", "customer", "nobody@shop.example"))
	require.Contains(t, s.owner.done(s.owner.send(one+"/payer", "customer", "buyer@shop.example")), "counts for this customer")
	s.works()
	require.EqualValues(t, 1, s.Get("/v1/sales?program_id="+s.program+"&customer_id="+k).Int("total_count"))

	other := M{"type": "sale", "external_charge_id": "ch_2", "external_customer_id": "c2", "amount_minor": 4900, "currency": "USD"}
	s.Must(200, c.Send(other))
	s.works()
	one = "/integrations/events/" + eventPath.FindStringSubmatch(s.owner.page("/integrations/events?reason_code=no_partner"))[1]
	require.Contains(t, s.owner.done(s.owner.send(one+"/payer", "partner", "ann@partners.example")), "The payment counts for")
	s.works()
	require.EqualValues(t, 2, s.Get("/v1/sales?program_id="+s.program+"&partner_id="+ann).Int("total_count"))
}

// TestCustomersAreOnePerson attaches and detaches an id, merges two customers after a look,
// and credits past payments.
func TestCustomersAreOnePerson(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	ann := s.Partner(s.program, M{"handle": "ann", "email": "ann@partners.example"})
	bob := s.Partner(s.program, M{"handle": "bob", "email": "bob@partners.example"})
	into := s.Customer(s.program, ann, M{"email": "kay@shop.example"})
	from := s.Customer(s.program, bob, M{"email": "kay@shop.example", "identifier": "user-7"})
	at := "/customers/" + into
	require.Contains(t, s.owner.page("/customers?duplicates=true"), from)
	s.Customer(s.program, bob, M{"email": "only@example.com"})
	require.NotContains(t, s.owner.page("/customers.csv?duplicates=true"), "only@example.com")
	require.Contains(t, s.owner.page(at), "has the same")
	s.owner.done(s.owner.send(at+"/ids", "external_customer_id", "cus/A 1"))
	require.Contains(t, s.owner.page(at), "cus/A 1")
	s.owner.done(s.owner.send(at+"/detach", "external_customer_id", "cus/A 1"))
	require.NotContains(t, s.owner.page(at), "cus/A 1")

	require.Contains(t, s.owner.page(at+"/merge?customer=user-7"), "different partners")
	preview := s.owner.page(at + "/merge?customer=" + from + "&partner_id=" + bob)
	require.Contains(t, preview, "0 sales move")
	require.Contains(t, s.owner.done(s.owner.send(at+"/merge", "customer", from, "partner_id", bob)), "are one now")
	require.Equal(t, bob, s.Get("/v1/customers/"+into).String("partner_id"))
	require.Equal(t, into, s.Get("/v1/customers/"+from).String("id"))

	preview = s.owner.page(at + "/credit?since=2026-01-01&to=" + url.QueryEscape("bob@partners.example"))
	require.Contains(t, preview, "No payment since then is without a partner")
	require.Contains(t, s.owner.done(s.owner.send(at+"/credit", "to", "bob@partners.example", "since", "2026-01-01")), "credited")
	s.owner.says(409, "another partner", s.owner.ask("GET", s.at+at+"/credit?since=2026-01-01&to="+url.QueryEscape("ann@partners.example"), nil))
	s.owner.says(400, "No customer found", s.owner.ask("GET", s.at+at+"/merge?customer=none", nil))
}

// TestOnePersonIsAccessible checks the accessibility of the pages about one person with several ids.
func TestOnePersonIsAccessible(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	ann := d.Partner(d.program, M{"handle": "ann", "email": "ann@partners.example", "first_name": "Ann"})
	bob := d.Partner(d.program, M{"handle": "bob", "email": "bob@partners.example"})
	into := d.Customer(d.program, ann, M{"email": "kay@shop.example", "external_customer_id": "cus_A"})
	from := d.Customer(d.program, ann, M{"email": "kay@shop.example", "identifier": "user-7"})
	other := d.Customer(d.program, bob, M{"email": "kay@shop.example"})
	for _, k := range []string{into, from} {
		d.Must(201, d.Post("/v1/sales", M{
			"program_id": d.program, "customer_id": k, "external_charge_id": "ch_" + k, "amount_minor": 5000, "currency": "USD",
		}))
	}
	d.Must(200, d.Connect(d.program).Send(payment))
	d.works()
	at := "/customers/" + into
	event := "/integrations/events/" + d.Get("/v1/inbox_events?program_id=" + d.program).Data()[0]["id"].(string)
	var paths []string
	for name, path := range map[string]string{
		"customer": at, "merge": at + "/merge?customer=" + from, "merge-partners": at + "/merge?customer=" + other,
		"credit": at + "/credit?since=2026-01-01&to=ann%40partners.example", "payer": event,
		"duplicates": "/customers?duplicates=true",
	} {
		d.visit(path)
		d.Picture("person-" + name)
		paths = append(paths, d.owner.full(path))
	}
	d.Accessible(paths...)
	d.Silent()
}

// TestAssignWithCredit: a customer that a processor brought is given to a partner together with its earlier payments,
// after a preview of the sum.
func TestAssignWithCredit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	s.Partner(s.program, M{"handle": "ann", "email": "ann@partners.example", "first_name": "Ann"})
	c := s.Connect(s.program, apitest.RecordDirect)
	s.Must(200, c.Send(M{
		"type": "sale", "external_charge_id": "ch_1", "external_customer_id": "c1", "amount_minor": 4900, "currency": "USD",
		"occurred_at": s.Clock.Now().Days(-2).String(),
	}))
	s.works()
	s.Must(200, c.Send(M{
		"type": "sale", "external_charge_id": "ch_2", "external_customer_id": "c1", "amount_minor": 100, "currency": "USD",
	}))
	s.works()
	sales := s.Get("/v1/sales?program_id=" + s.program).Data()
	require.Len(t, sales, 2)
	newest := "/sales/" + sales[0]["id"].(string)
	require.Contains(t, s.owner.page(newest), "No partner brought this customer.")
	at := "/customers/" + sales[0]["customer_id"].(string)
	page := s.owner.page(at)
	require.Contains(t, page, "Custom (API), no partner")
	require.Contains(t, page, "Give to a partner")
	require.NotContains(t, page, "Move to another partner")
	require.Regexp(t, `name="days"[^>]* value="3"|value="3"[^>]* name="days"|name="days" type="number" value="3"`, page)
	require.Contains(t, s.owner.page("/customers"), "Custom (API), no partner")
	ann := "&to=" + url.QueryEscape("ann@partners.example")
	require.Contains(t, s.owner.page(at+"/credit?days=1"+ann), "Ann gets 0.20 USD for 1 payment of the last day")
	preview := s.owner.page(at + "/credit?days=3" + ann)
	require.Contains(t, preview, "Ann gets 10.00 USD for 2 payments of the last 3 days")
	require.Contains(t, preview, "Give to Ann and credit 10.00 USD")
	s.Clock.Advance(time.Second)
	require.Contains(t, s.owner.page(at+"/credit?days=0"+ann), "No payment since then is without a partner")
	s.owner.says(400, "from 0 to 3650", s.owner.ask("GET", s.at+at+"/credit?days=x"+ann, nil))
	s.owner.says(400, "No partner found", s.owner.ask("GET", s.at+at+"/credit?days=3&to=nobody", nil))
	notice := s.owner.done(s.owner.send(at+"/credit", "to", "ann@partners.example", "days", "3"))
	require.Contains(t, notice, "10.00 USD was credited")
	require.EqualValues(t, 2, s.Get("/v1/commissions?program_id="+s.program).Int("total_count"))
	require.NotContains(t, s.owner.page(newest), "No partner brought")
	require.Contains(t, s.owner.page(at), "Move to another partner")
}

// TestUnpaidSale: a sale of a partner without a commission names the rules.
func TestUnpaidSale(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.Partner(s.program, M{"handle": "ann"})
	k := s.Customer(s.program, ann)
	one := s.Sale(s.program, k, M{"amount_minor": 100}).String("id")
	require.Contains(t, s.owner.page("/sales/"+one), "No rule applied to this sale")
	s.Must(200, s.Post("/v1/partners/"+ann, M{"status": "suspended"}))
	require.Contains(t, s.owner.page("/sales/"+one), "The partner is suspended.")
}
