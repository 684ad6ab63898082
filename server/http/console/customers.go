package console

import (
	"strings"
	"time"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/opt"
)

var customerRoutes = map[string]route{
	"GET /console/p/{program}/customers":               {Do: customers},
	"GET /console/p/{program}/customers.csv":           {Do: customerTable},
	"GET /console/p/{program}/customers/{id}":          {Do: customer},
	"POST /console/p/{program}/customers/{id}/partner": {Do: reassign},
	"POST /console/p/{program}/customers/{id}/ids":     {Do: attachID},
	"POST /console/p/{program}/customers/{id}/detach":  {Do: detachID},
	"GET /console/p/{program}/customers/{id}/merge":    {Do: previewMerge},
	"POST /console/p/{program}/customers/{id}/merge":   {Do: mergeCustomers},
	"GET /console/p/{program}/customers/{id}/credit":   {Do: previewCredit},
	"POST /console/p/{program}/customers/{id}/credit":  {Do: creditCustomer},
}

// customerRow is a customer as a list has it.
type customerRow struct {
	api.Customer
	Who  string
	Name string // the partner's; empty for none
}

// By returns the attribution of the customer in words. A customer without a partner may have come from a payment
// processor.
func (r customerRow) By() string {
	if r.PartnerID != nil {
		return site.Words(string(r.TrackedBy), vocabulary)
	}
	for _, id := range opt.Value(r.ExternalIds) {
		if id.Processor != nil && *id.Processor != api.ProcessorAPI {
			return site.Words(string(*id.Processor), vocabulary) + ", no partner"
		}
	}
	return "No partner"
}

func toCustomerRow(c api.Customer) customerRow {
	row := customerRow{Customer: c, Who: person(c)}
	if c.PartnerID != nil {
		row.Name = nameOf(embedded(c.Partner))
	}
	return row
}

var customerStatuses = []string{"lead", "trial", "active", "cancelled", "refunded", "suspended"}

// customers shows whom partners have brought.
func customers(v *visit) error {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	partner, err := v.askedPartner()
	if err != nil {
		return err
	}
	params := api.ListCustomersParams{
		ProgramID: v.program.ID, Limit: new(int64(40)), StartingAfter: turn.After, EndingBefore: turn.Before,
		PartnerID: partner, Status: enums[api.CustomerStatus](v, "status"), Expand: []api.CustomerExpand{api.CustomerExpandPartner},
		Include: []api.CustomerInclude{api.CustomerIncludeExternalIds},
	}
	params.Email, params.ExternalCustomerID = v.customerNamed()
	if v.QueryParam("duplicates") != "" {
		params.HasDuplicates = new(api.ListCustomersParamsHasDuplicatesTrue)
	}
	reply, err := v.console.api.ListCustomersWithResponse(v.Ctx(), &params)
	if err != nil {
		return err
	}
	list := pageOf(reply.JSON200.Data, reply.JSON200.HasMore, reply.JSON200.TotalCount)
	return v.show(sheet{"customers", "/customers", "Customers", struct {
		Columns columns
		Filters site.Filters
		List    site.Listing
	}{v.columns(customerColumns), v.filters("Customers", v.search("customer", "Email or your own id", "search"), v.search("partner", "Partner", "lookup"),
		v.filter("status", "State", listed(customerStatuses...)),
		v.filter("duplicates", "Duplicates", []site.Option{
			{Label: "Any"}, {Value: "true", Label: "Probable duplicates"},
		})),
		among(v, turn, list, func(c api.Customer) string { return c.ID }, toCustomerRow)}})
}

// customerNamed is whom the search of the list asks for: by email, or by the id in the shop or at the processor.
func (v *visit) customerNamed() (email, id *string) {
	text := cleaned(v.QueryParam("customer"))
	if strings.Contains(text, "@") {
		return &text, nil
	}
	return nil, opt.OrNil(text)
}

func customerTable(v *visit) error {
	query, err := v.fileQuery([]string{"partner"}, "status")
	if err != nil {
		return err
	}
	email, id := v.customerNamed()
	for name, text := range map[string]*string{"email": email, "external_customer_id": id} {
		if text != nil {
			query.Set(name, *text)
		}
	}
	if v.QueryParam("duplicates") != "" {
		query.Set("has_duplicates", "true")
	}
	return v.chosenFile("listCustomers", "customers", query, customerColumns)
}

// customer shows one customer with its partner, the reason for the attribution, and its payments.
func customer(v *visit) error {
	id := v.PathValue("id")
	reply, err := v.console.api.RetrieveCustomerWithResponse(v.Ctx(), id, &api.RetrieveCustomerParams{
		ProgramID: &v.program.ID,
		Expand: []api.CustomerExpand{
			api.CustomerExpandPartner, api.CustomerExpandLink, api.CustomerExpandReferral,
		},
		Include: []api.CustomerInclude{
			api.CustomerIncludeExternalIds, api.CustomerIncludeDuplicates, api.CustomerIncludeAttributionClaims,
		},
	})
	if err != nil {
		return err
	}
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	paid, err := v.salesOf(api.ListSalesParams{
		CustomerID: &id, StartingAfter: turn.After, EndingBefore: turn.Before,
	}, turn)
	if err != nil {
		return err
	}
	row := toCustomerRow(*reply.JSON200)
	why, err := v.whyPartner(paid)
	if err != nil {
		return err
	}
	return v.show(sheet{"customer", "/customers", row.Who, struct {
		customerRow
		Link  api.Link
		Why   string
		Sales site.Listing
		Days  int64 // since the first payment without a partner, to credit
	}{row, embedded(row.Customer.Link), why, paid, v.creditDays(paid)}})
}

// creditDays is how many days ago the first listed payment without a partner was; a month if there is none.
func (v *visit) creditDays(paid site.Listing) int64 {
	days := int64(30)
	rows, _ := paid.Rows.([]saleRow)
	for _, s := range rows { // the newest first
		if s.PartnerID == nil {
			days = int64(v.console.Clock.Now().Sub(s.OccurredAt.Time)/(24*time.Hour)) + 1
		}
	}
	return days
}

// whyPartner is the sentence by which a commission of the customer explains its partner; "" where there is none.
func (v *visit) whyPartner(paid site.Listing) (string, error) {
	rows, _ := paid.Rows.([]saleRow)
	if len(rows) == 0 {
		return "", nil
	}
	reply, err := v.console.api.ListCommissionsWithResponse(v.Ctx(), &api.ListCommissionsParams{
		ProgramID: v.program.ID, SaleID: &rows[0].ID, Limit: new(int64(1)),
	})
	if err != nil || len(reply.JSON200.Data) == 0 {
		return "", err
	}
	if err := v.explain(reply.JSON200.Data); err != nil {
		return "", err
	}
	return opt.Value(opt.Value(reply.JSON200.Data[0].Explanation).Partner), nil
}

// reassign makes the customer another partner's.
func reassign(v *visit) error {
	p, err := v.whichPartner(v.value("partner"))
	if err != nil {
		return v.again(err, customer)
	}
	id := v.PathValue("id")
	err = v.send("updateCustomer", map[string]any{"program_id": v.program.ID, "partner_id": p.ID}, nil, id)
	if err != nil {
		return v.again(err, customer)
	}
	return v.done(v.at("/customers/"+id), "From now on the customer counts for "+nameOf(p)+". What was earned stays.")
}
