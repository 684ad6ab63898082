package console

import (
	"rail/gen/api"
	"rail/server/http/site"
	earned "rail/server/money/commission"
	"rail/server/opt"
)

var commissionRoutes = map[string]route{
	"GET /console/p/{program}/commissions":               {Do: commissions},
	"GET /console/p/{program}/commissions.csv":           {Do: commissionTable},
	"POST /console/p/{program}/commissions/approve":      {Do: approveTicked},
	"POST /console/p/{program}/commissions/reject":       {Do: rejectTicked},
	"GET /console/p/{program}/commissions/new":           {Do: newCommission},
	"POST /console/p/{program}/commissions/new":          {Do: grantCommission},
	"GET /console/p/{program}/commissions/{id}":          {Do: commission},
	"POST /console/p/{program}/commissions/{id}/approve": {Do: approveCommission},
	"POST /console/p/{program}/commissions/{id}/reject":  {Do: rejectCommission},
}

// commissionRow is a commission as a list has it.
type commissionRow struct {
	api.Commission
	Name     string // the partner's
	Customer string
	Open     bool // can still be decided about
}

// Returns is the amount that the partner keeps if this clawback is rejected; 0 for other commissions.
func (r commissionRow) Returns() int64 {
	if r.Kind != api.CommissionKindClawback {
		return 0
	}
	return max(0, -r.AmountMinor)
}

func toCommissionRow(k api.Commission) commissionRow {
	row := commissionRow{Commission: k, Name: nameOf(embedded(k.Partner))}
	if k.CustomerID != nil {
		row.Customer = person(embedded(k.Customer))
	}
	switch k.Status {
	case api.CommissionStatusPending, api.CommissionStatusApproved, api.CommissionStatusDue:
		row.Open = true
	case api.CommissionStatusPaid, api.CommissionStatusRejected, api.CommissionStatusVoided:
	}
	return row
}

var (
	commissionStatuses = []string{"pending", "approved", "due", "paid", "rejected", "voided"}
	commissionKinds    = []string{"referral", "reward", "clawback"}
)

// commissions shows what partners have earned.
func commissions(v *visit) error {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	partner, err := v.askedPartner()
	if err != nil {
		return err
	}
	list, err := v.commissionsOf(api.ListCommissionsParams{
		StartingAfter: turn.After, EndingBefore: turn.Before, PartnerID: partner,
		Status: enums[api.CommissionStatus](v, "status"), Kind: enums[api.CommissionKind](v, "kind"),
		CreatedAfter:  opt.OrNil(v.begins("created_after")),
		CreatedBefore: opt.OrNil(v.begins("created_before")),
	}, turn)
	if err != nil {
		return err
	}
	return v.show(sheet{"commissions", "/commissions", "Commissions", struct {
		Columns columns
		Filters site.Filters
		List    site.Listing
	}{v.columns(commissionColumns), v.filters("Commissions", v.search("partner", "Partner", "lookup"),
		v.filter("status", "State", listed(commissionStatuses...)),
		v.filter("kind", "Kind", listed(commissionKinds...)), v.search("created_after", "Earned from", "date"),
		v.search("created_before", "Before", "date")), list}})
}

// commissionsOf are commissions of the program with the names of their partners and customers.
func (v *visit) commissionsOf(p api.ListCommissionsParams, turn site.Turn) (site.Listing, error) {
	p.ProgramID, p.Limit = v.program.ID, new(int64(40))
	p.Expand = []api.CommissionExpand{api.CommissionExpandPartner, api.CommissionExpandCustomer}
	reply, err := v.console.api.ListCommissionsWithResponse(v.Ctx(), &p)
	if err != nil {
		return site.Listing{}, err
	}
	list := pageOf(reply.JSON200.Data, reply.JSON200.HasMore, reply.JSON200.TotalCount)
	return among(v, turn, list, func(k api.Commission) string { return k.ID }, toCommissionRow), nil
}

func commissionTable(v *visit) error {
	query, err := v.fileQuery([]string{"partner", "customer"}, "status", "kind")
	if err != nil {
		return err
	}
	v.setDays(query, "created_after", "created_before")
	return v.chosenFile("listCommissions", "commissions", query, commissionColumns)
}

// approveTicked approves the ticked commissions.
func approveTicked(v *visit) error {
	return v.decide("commission is approved", "commissions are approved", "approveCommission")
}

// rejectTicked rejects the ticked commissions, all for one reason.
func rejectTicked(v *visit) error {
	return v.decide("commission is rejected", "commissions are rejected", "rejectCommission")
}

// decide changes the ticked commissions and goes back to the list.
func (v *visit) decide(one, several, operation string) error {
	notice, err := v.each(one, several, func(id string) error { return v.send(operation, v.body(operation), nil, id) })
	if err != nil {
		return v.againAt(v.at("/commissions"), err, commissions)
	}
	return v.done(v.at("/commissions"), notice)
}

// commission shows one commission, and why it is as much and this partner's.
func commission(v *visit) error {
	reply, err := v.console.api.RetrieveCommissionWithResponse(v.Ctx(), v.PathValue("id"), &api.RetrieveCommissionParams{
		ProgramID: &v.program.ID,
		Expand: []api.CommissionExpand{
			api.CommissionExpandPartner, api.CommissionExpandCustomer, api.CommissionExpandSale, api.CommissionExpandFlow,
			api.CommissionExpandPayout,
		},
	})
	if err != nil {
		return err
	}
	one := []api.Commission{*reply.JSON200}
	if err := v.explain(one); err != nil {
		return err
	}
	k := one[0]
	return v.show(sheet{"commission", "/commissions", "Commission", struct {
		commissionRow
		Sale   api.Sale
		Rule   api.Flow
		Payout api.Payout
		Way    []site.Moment
	}{toCommissionRow(k), embedded(k.Sale), embedded(k.Flow), embedded(k.Payout), v.historyOf(k)}})
}

// explain puts the explanations of commissions into the words of these pages.
func (v *visit) explain(commissions []api.Commission) error {
	ids := make([]string, len(commissions))
	for i, k := range commissions {
		ids[i] = k.ID
	}
	why, err := earned.ExplainOnPage(v.Ctx(), v.console.Pool, v.session.User.OrgID, ids, v.Locale)
	for i, k := range commissions {
		if e, ok := why[k.ID]; ok {
			commissions[i].Explanation = &api.CommissionExplanation{Amount: e.Amount, Partner: opt.OrNil(e.Partner)}
		}
	}
	return err
}

// historyOf returns the history of a commission, the oldest entry first.
func (v *visit) historyOf(k api.Commission) []site.Moment {
	way := []site.Moment{{At: k.CreatedAt, Title: "Earned"}}
	if k.Kind == api.CommissionKindClawback {
		way[0].Title = "Clawed back"
	}
	if k.ApprovedAt != nil {
		way = append(way, site.Moment{At: *k.ApprovedAt, Title: "Approved", Kind: "good"})
	}
	if k.MatureAt != nil && k.VoidedAt == nil {
		title := "Payable from"
		if !k.MatureAt.After(v.Now.Time) {
			title = "Became payable"
		}
		way = append(way, site.Moment{At: *k.MatureAt, Title: title})
	}
	if k.VoidedAt != nil {
		way = append(way, site.Moment{
			At: *k.VoidedAt, Title: site.Words(string(k.Status), vocabulary), Kind: "bad",
			Text: site.Words(opt.Value(k.VoidReason), vocabulary),
		})
	}
	if p := embedded(k.Payout); p.PaidAt != nil {
		way = append(way, site.Moment{At: *p.PaidAt, Title: "Paid", Kind: "good"})
	}
	return way
}

func approveCommission(v *visit) error {
	return v.decideOne("approveCommission", "The commission is approved.")
}

func rejectCommission(v *visit) error {
	return v.decideOne("rejectCommission", "The commission is rejected.")
}

// decideOne decides about the commission of the page.
func (v *visit) decideOne(operation, notice string) error {
	id := v.PathValue("id")
	if err := v.send(operation, v.body(operation), nil, id); err != nil {
		return v.again(err, commission)
	}
	return v.done(v.at("/commissions/"+id), notice)
}

// newCommission asks for a commission that no sale makes.
func newCommission(v *visit) error {
	return v.show(sheet{"commission-new", "/commissions", "Add commission", struct{ Partner string }{
		cleaned(v.QueryParam("partner")),
	}})
}

// grantCommission makes a commission by hand for the partner who is named.
func grantCommission(v *visit) error {
	p, err := v.whichPartner(v.value("partner"))
	if err != nil {
		return v.again(err, newCommission)
	}
	body := v.body("createCommission")
	body["partner_id"] = p.ID
	var commission api.Commission
	if err := v.send("createCommission", body, &commission); err != nil {
		return v.again(err, newCommission)
	}
	return v.done(v.at("/commissions/"+commission.ID), v.Locale.Money(commission.AmountMinor, commission.Currency)+" for "+nameOf(p)+".")
}
