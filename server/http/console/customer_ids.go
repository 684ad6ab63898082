package console

import (
	"strconv"
	"strings"
	"time"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/opt"
	"rail/server/problem"
)

// whichCustomer finds the one customer that a person named: by id, email, own id or id at a
// processor.
func (v *visit) whichCustomer(text string) (k api.Customer, err error) {
	if text == "" {
		return k, problem.Missing("customer")
	}
	var ways []api.ListCustomersParams
	switch {
	case strings.HasPrefix(text, "cus_"):
		if k, err = v.customer(text); err == nil {
			return k, nil
		}
		ways = []api.ListCustomersParams{{ExternalCustomerID: &text}, {Identifier: &text}}
	case strings.Contains(text, "@"):
		ways = []api.ListCustomersParams{{Email: &text}, {Identifier: &text}}
	default:
		ways = []api.ListCustomersParams{{Identifier: &text}, {ExternalCustomerID: &text}}
	}
	for _, params := range ways {
		params.ProgramID, params.Limit = v.program.ID, new(int64(2))
		params.Expand = []api.CustomerExpand{api.CustomerExpandPartner}
		reply, err := v.console.api.ListCustomersWithResponse(v.Ctx(), &params)
		if err != nil {
			return k, err
		}
		switch found := reply.JSON200.Data; len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return k, problem.Invalid("customer", "Several customers match. Enter the id at the payment processor.")
		}
	}
	return k, problem.Invalid("customer", "No customer found. Enter the full email or id.")
}

// customer retrieves a customer with its partner.
func (v *visit) customer(id string) (api.Customer, error) {
	reply, err := v.console.api.RetrieveCustomerWithResponse(v.Ctx(), id, &api.RetrieveCustomerParams{
		ProgramID: &v.program.ID, Expand: []api.CustomerExpand{api.CustomerExpandPartner},
	})
	if err != nil {
		return api.Customer{}, err
	}
	return *reply.JSON200, nil
}

// attachID gives the customer another id at a payment processor.
func attachID(v *visit) error {
	id := v.PathValue("id")
	body := map[string]any{"external_customer_id": v.value("external_customer_id")}
	if err := v.send("attachExternalID", body, nil, id); err != nil {
		return v.again(err, customer)
	}
	return v.done(v.at("/customers/"+id), "Payments with this id count for the customer from now on.")
}

// detachID takes an id at a payment processor from the customer.
func detachID(v *visit) error {
	id := v.PathValue("id")
	if err := v.send("detachExternalID", nil, nil, id, v.value("external_customer_id")); err != nil {
		return v.again(err, customer)
	}
	return v.done(v.at("/customers/"+id), "Payments with this id no longer count for the customer. What was recorded stays.")
}

// merge asks the API to merge the customer that the form or the address names into that of
// the page.
func (v *visit) merge(dry bool) (api.CustomerMerged, api.Customer, error) {
	var out api.CustomerMerged
	other, err := v.whichCustomer(v.value("customer"))
	if err != nil {
		return out, other, err
	}
	body := map[string]any{"customer_id": other.ID, "dry_run": dry}
	if partner := v.value("partner_id"); partner != "" {
		body["partner_id"] = partner
	}
	return out, other, v.send("mergeCustomer", body, &out, v.PathValue("id"))
}

// previewMerge shows a merge before it is done. Where the two have different partners, one is
// chosen first.
func previewMerge(v *visit) error {
	v.Form = site.Posted(v.QueryParams())
	out, other, err := v.merge(true)
	p, refused := refused(err)
	choose := refused && p.Code == problem.CustomersOfTwoPartners
	if err != nil && !choose {
		return v.again(err, customer)
	}
	fixedRow, err := v.customer(v.PathValue("id"))
	if err != nil {
		return err
	}
	into, from := toCustomerRow(fixedRow), toCustomerRow(other)
	return v.show(sheet{"customer-merge", "/customers", "Merge two customers", struct {
		Into, From customerRow
		Both       []customerRow
		Merge      api.CustomerMerged
		Choose     bool
		Partner    string
	}{into, from, []customerRow{into, from}, out, choose, v.value("partner_id")}})
}

// mergeCustomers merges two customers.
func mergeCustomers(v *visit) error {
	out, _, err := v.merge(false)
	if err != nil {
		return v.again(err, customer)
	}
	return v.done(v.at("/customers/"+out.Customer.ID), "The two customers are one now.")
}

// since is the time from which a credit counts: that of the form, or the days before now that a person typed.
func (v *visit) since() (string, error) {
	text := v.value("days")
	if text == "" {
		if day, err := time.Parse(time.DateOnly, v.value("since")); err == nil {
			return clock.Midnight(day, v.Locale.Zone()).String(), nil
		}
		return v.value("since"), nil
	}
	days, err := strconv.ParseInt(text, 10, 64)
	if err != nil || days < 0 || days > maxCreditDays {
		return "", problem.Invalid("days", "Enter a number of days from 0 to %d.", maxCreditDays)
	}
	return v.console.Clock.Now().Days(-days).String(), nil
}

// maxCreditDays bounds how far back a person credits payments.
const maxCreditDays = 3650

// credit asks the API to give the customer and its past sales to a partner.
func (v *visit) credit(dry bool) (out api.Credit, p api.Partner, since string, err error) {
	if p, err = v.whichPartner(v.value("to")); err != nil {
		return out, p, "", err
	}
	if since, err = v.since(); err != nil {
		return out, p, "", err
	}
	body := map[string]any{"partner_id": p.ID, "since": since, "dry_run": dry}
	return out, p, since, v.send("creditCustomer", body, &out, v.PathValue("id"))
}

// ofCredit names the field of the credit's form in a refusal of its partner.
func ofCredit(err error) error {
	if p, ok := refused(err); ok && (p.Param == "partner" || p.Param == "partner_id") {
		named := *p
		named.Param = "to"
		return &named
	}
	return err
}

// previewCredit shows the commissions of a credit before it is done.
func previewCredit(v *visit) error {
	v.Form = site.Posted(v.QueryParams())
	out, p, since, err := v.credit(true)
	if err != nil {
		return v.again(ofCredit(err), customer)
	}
	k, err := v.customer(out.CustomerID)
	if err != nil {
		return err
	}
	paid, err := v.salesOf(api.ListSalesParams{CustomerID: &out.CustomerID}, site.Turn{})
	if err != nil {
		return err
	}
	return v.show(sheet{"customer-credit", "/customers", "Give to a partner", creditData{
		Credit: out, Rows: creditRows(out, paid), Who: person(k), Partner: p.Email, Name: nameOf(p), Since: since,
		Days: v.value("days"), Has: opt.Value(k.PartnerID) == p.ID,
	}})
}

// creditData holds the preview of a credit.
type creditData struct {
	Credit  api.Credit
	Rows    []creditRow
	Who     string // the customer
	Partner string // the email
	Name    string // the partner's
	Since   string
	Days    string // typed; "" if a day was chosen
	Has     bool   // the customer is the partner's already
}

// creditRow is a payment with its commission. Sale is the zero value if the payment is not among the latest.
type creditRow struct {
	api.CreditedSale
	Sale saleRow
}

func creditRows(c api.Credit, paid site.Listing) []creditRow {
	latest := map[string]saleRow{}
	rows, _ := paid.Rows.([]saleRow)
	for _, s := range rows {
		latest[s.ID] = s
	}
	out := make([]creditRow, len(c.Sales))
	for i, s := range c.Sales {
		out[i] = creditRow{s, latest[s.SaleID]}
	}
	return out
}

// creditCustomer gives the customer and its past sales to a partner.
func creditCustomer(v *visit) error {
	out, p, _, err := v.credit(false)
	if err != nil {
		return v.again(ofCredit(err), customer)
	}
	credited := "no earlier payment"
	if len(out.Sales) > 0 {
		credited = v.Locale.Money(out.AmountMinor, out.Currency)
	}
	return v.done(v.at("/customers/"+out.CustomerID), "The customer counts for "+nameOf(p)+", and "+credited+" was credited.")
}
