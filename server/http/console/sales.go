package console

import (
	"cmp"
	"net/http"
	"slices"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/opt"
)

var saleRoutes = map[string]route{
	"GET /console/p/{program}/sales":              {Do: sales},
	"GET /console/p/{program}/sales.csv":          {Do: saleTable},
	"GET /console/p/{program}/sales/{id}":         {Do: sale},
	"GET /console/p/{program}/sales/{id}/refund":  {Do: lookRefund},
	"POST /console/p/{program}/sales/{id}/refund": {Do: refund},
}

// saleRow is a sale as a list has it.
type saleRow struct {
	api.Sale
	Name     string // the partner's; empty for none
	Customer string
}

// Unpaid says why a sale has no commission.
func (r saleRow) Unpaid() string {
	switch {
	case r.PartnerID == nil:
		return "No partner brought this customer."
	case embedded(r.Partner).Status == api.PartnerStatusSuspended:
		return "The partner is suspended."
	}
	return "No rule applied to this sale, or the partner is the customer."
}

func toSaleRow(s api.Sale) saleRow {
	row := saleRow{Sale: s, Customer: person(embedded(s.Customer))}
	if s.PartnerID != nil {
		row.Name = nameOf(embedded(s.Partner))
	}
	return row
}

// sales shows what partners' customers have paid.
func sales(v *visit) error {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	partner, err := v.askedPartner()
	if err != nil {
		return err
	}
	params := api.ListSalesParams{
		StartingAfter: turn.After, EndingBefore: turn.Before, PartnerID: partner,
		ExternalChargeID: opt.OrNil(cleaned(v.QueryParam("external_charge_id"))),
		OccurredAfter:    opt.OrNil(v.begins("occurred_after")),
		OccurredBefore:   opt.OrNil(v.begins("occurred_before")),
	}
	if text := cleaned(v.QueryParam("refunded")); text != "" {
		params.Refunded = new(api.SaleRefundedFilter(text))
	}
	list, err := v.salesOf(params, turn)
	if err != nil {
		return err
	}
	return v.show(sheet{"sales", "/sales", "Sales", struct {
		Columns columns
		Filters site.Filters
		List    site.Listing
	}{v.columns(saleColumns), v.filters("Sales", v.search("partner", "Partner", "lookup"),
		v.search("external_charge_id", "Charge ID", "text"), v.search("occurred_after", "From", "date"),
		v.search("occurred_before", "Before", "date"), v.filter("refunded", "Refunded", []site.Option{
			{Label: "All"}, {Value: "true", Label: "Refunded"}, {Value: "false", Label: "Not refunded"},
		})), list}})
}

// salesOf are sales of the program with the names of their partners and customers, 40 unless a limit is given.
func (v *visit) salesOf(p api.ListSalesParams, turn site.Turn) (site.Listing, error) {
	p.ProgramID, p.Limit = v.program.ID, cmp.Or(p.Limit, new(int64(40)))
	p.Expand = []api.SaleExpand{api.SaleExpandPartner, api.SaleExpandCustomer}
	reply, err := v.console.api.ListSalesWithResponse(v.Ctx(), &p)
	if err != nil {
		return site.Listing{}, err
	}
	list := pageOf(reply.JSON200.Data, reply.JSON200.HasMore, reply.JSON200.TotalCount)
	return among(v, turn, list, func(s api.Sale) string { return s.ID }, toSaleRow), nil
}

func saleTable(v *visit) error {
	query, err := v.fileQuery([]string{"partner", "customer"}, "external_charge_id", "refunded")
	if err != nil {
		return err
	}
	v.setDays(query, "occurred_after", "occurred_before")
	return v.chosenFile("listSales", "sales", query, saleColumns)
}

// billings are the names of subscriptions by their intervals.
var billings = map[string]string{
	"day": "Daily subscription", "week": "Weekly subscription", "month": "Monthly subscription",
	"year": "Yearly subscription",
}

// Billing is the kind of payment in words.
func (r saleRow) Billing() string {
	return cmp.Or(billings[text(r.Interval)], site.Words(string(r.BillingType), vocabulary))
}

// saleOf reads the sale of the page's address.
func (v *visit) saleOf() (saleRow, error) {
	reply, err := v.console.api.RetrieveSaleWithResponse(v.Ctx(), v.PathValue("id"), &api.RetrieveSaleParams{
		ProgramID: &v.program.ID, Expand: []api.SaleExpand{api.SaleExpandPartner, api.SaleExpandCustomer},
	})
	if err != nil {
		return saleRow{}, err
	}
	return toSaleRow(*reply.JSON200), nil
}

// sale shows one sale with its commissions and refunds.
func sale(v *visit) error {
	s, err := v.saleOf()
	if err != nil {
		return err
	}
	earned, err := v.commissionsOf(api.ListCommissionsParams{SaleID: &s.ID}, site.Turn{})
	if err != nil {
		return err
	}
	refunds, err := v.console.api.ListRefundsWithResponse(v.Ctx(), &api.ListRefundsParams{
		ProgramID: v.program.ID, SaleID: &s.ID, Limit: new(int64(100)),
	})
	if err != nil {
		return err
	}
	claims, err := v.claimsOf(s.Sale)
	if err != nil {
		return err
	}
	return v.show(sheet{"sale", "/sales", "Sale", struct {
		saleRow
		Commissions site.Listing
		Refunds     []api.Refund
		Claims      []api.AttributionClaim
	}{s, earned, refunds.JSON200.Data, claims}})
}

// claimsOf returns the claims of AI assistants that came with a sale.
func (v *visit) claimsOf(s api.Sale) ([]api.AttributionClaim, error) {
	k := embedded(s.Customer)
	if k.ID == "" { // it is deleted
		return nil, nil
	}
	reply, err := v.console.api.RetrieveCustomerWithResponse(v.Ctx(), k.ID, &api.RetrieveCustomerParams{
		ProgramID: &v.program.ID, Include: []api.CustomerInclude{api.CustomerIncludeAttributionClaims},
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(opt.Value(reply.JSON200.AttributionClaims), func(c api.AttributionClaim) bool {
		return opt.Value(c.SaleID) != s.ID
	}), nil
}

// By returns the attribution of the customer in words; "" for a sale without a partner.
func (r saleRow) By() string {
	if r.PartnerID == nil {
		return ""
	}
	return site.Words(string(embedded(r.Sale.Customer).TrackedBy), vocabulary)
}

// effect is the effect of a refund on a commission.
type effect struct {
	api.RefundedCommission
	Name string // the partner's
}

// lookRefund previews the refund in the address.
func lookRefund(v *visit) error {
	if v.Request().Method == http.MethodGet {
		v.Form = site.Posted(v.QueryParams())
	}
	s, err := v.saleOf()
	if err != nil {
		return err
	}
	body := v.body("refundSale")
	body["dry_run"] = true
	delete(v.Form, "once")
	var would api.RefundResult
	if err := v.send("refundSale", body, &would, s.ID); err != nil {
		return v.again(err, sale)
	}
	effects := make([]effect, len(would.Commissions))
	for i, c := range would.Commissions {
		effects[i] = effect{c, s.Name}
		if c.PartnerID == opt.Value(s.PartnerID) {
			continue
		}
		reply, err := v.console.api.RetrievePartnerWithResponse(v.Ctx(), c.PartnerID, nil)
		if err != nil {
			return err
		}
		effects[i].Name = nameOf(*reply.JSON200)
	}
	return v.show(sheet{"refund", "/sales", "Refund", struct {
		saleRow
		Would   api.RefundResult
		Effects []effect
	}{s, would, effects}})
}

// refund makes it.
func refund(v *visit) error {
	var done api.RefundResult
	id := v.PathValue("id")
	if err := v.send("refundSale", v.body("refundSale"), &done, id); err != nil {
		return v.again(err, sale)
	}
	return v.done(v.at("/sales/"+id), v.Locale.Money(done.AmountMinor, done.Currency)+" of the sale is refunded.")
}
