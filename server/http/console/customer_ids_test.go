package console_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

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
	require.Contains(t, s.owner.page(at), "has the same")
	s.owner.done(s.owner.send(at+"/ids", "external_customer_id", "cus/A 1"))
	require.Contains(t, s.owner.page(at), "cus/A 1")
	s.owner.done(s.owner.send(at+"/detach", "external_customer_id", "cus/A 1"))
	require.NotContains(t, s.owner.page(at), "cus/A 1")

	require.Contains(t, s.owner.page(at+"/merge?customer=user-7"), "different partners")
	look := s.owner.page(at + "/merge?customer=" + from + "&partner_id=" + bob)
	require.Contains(t, look, "0 sales move")
	require.Contains(t, s.owner.done(s.owner.send(at+"/merge", "customer", from, "partner_id", bob)), "are one now")
	require.Equal(t, bob, s.Get("/v1/customers/"+into).String("partner_id"))
	require.Equal(t, into, s.Get("/v1/customers/"+from).String("id"))

	look = s.owner.page(at + "/credit?since=2026-01-01&to=" + url.QueryEscape("bob@partners.example"))
	require.Contains(t, look, "No payment since then is without a partner")
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
