package console

import (
	"net/url"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/opt"
)

var partnerRoutes = map[string]route{
	"GET /console/p/{program}/partners/{id}":         {Do: overview},
	"GET /console/p/{program}/partners/{id}/{part}":  {Do: partnerPart},
	"POST /console/p/{program}/partners/{id}":        {Do: savePartner},
	"POST /console/p/{program}/partners/{id}/tags":   {Do: saveTags},
	"POST /console/p/{program}/partners/{id}/links":  {Do: createLink},
	"POST /console/p/{program}/partners/{id}/coupon": {Do: createCoupon},
	"POST /console/p/{program}/partners/{id}/state":  {Do: saveState},
	"POST /console/p/{program}/partners/{id}/portal": {Do: openPortal},
	"GET /console/p/{program}/partners/{id}/ban":     {Do: banForm},
	"POST /console/p/{program}/partners/{id}/ban":    {Do: ban},
	"POST /console/p/{program}/partners/undo_ban":    {Do: undoBan},
}

// partnerParts are the pages of a partner beside the overview, each with the latest of its rows.
var partnerParts = []section{
	{"", "Overview"}, {"links", "Links"}, {"coupons", "Coupons"}, {"customers", "Customers"},
	{"commissions", "Commissions"}, {"payouts", "Payouts"}, {"notes", "Notes"}, {"history", "History"},
}

// partnerData is the data of all pages of a partner.
type partnerData struct {
	Partner      api.Partner
	Name         string
	Tabs         site.Tabs
	Header       partnerHeader
	Tiles        []site.Tile
	Balances     []api.Balance
	Groups, Tags []site.Option
	TagIDs       []string
	Part         string
	Rows         any // of the part, the latest first
	Notes        site.Listing
	Total        int64
	More         string // where all of them are; "" for nowhere
	Portal       string // a sign-in link that was just made
	Applied      *api.Application
}

// partner reads a partner of the program with all that its pages show of it.
func (v *visit) partner(id string) (*api.Partner, error) {
	reply, err := v.console.api.RetrievePartnerWithResponse(v.Ctx(), id, &api.RetrievePartnerParams{
		ProgramID: &v.program.ID, Expand: []api.PartnerExpand{api.PartnerExpandGroup},
		Include: []api.PartnerInclude{api.PartnerIncludeStats, api.PartnerIncludeTags},
	})
	if err != nil {
		return nil, err
	}
	return reply.JSON200, nil
}

// overview shows who a partner is and how it does.
func overview(v *visit) error { return v.showPartner("", "") }

// partnerPart shows one of the lists of a partner.
func partnerPart(v *visit) error {
	part := v.PathValue("part")
	if !slices.ContainsFunc(partnerParts, func(s section) bool { return s.path == part && part != "" }) {
		return site.NotFound()
	}
	return v.showPartner(part, "")
}

func (v *visit) showPartner(part, portal string) error {
	p, err := v.partner(v.PathValue("id"))
	if err != nil {
		return err
	}
	data := partnerData{Partner: *p, Name: nameOf(*p), Part: part, Portal: portal, Tabs: v.partnerTabs(*p, part)}
	for _, t := range opt.Value(p.Tags) {
		data.TagIDs = append(data.TagIDs, t.ID)
	}
	if part == "" {
		err = v.fillOverview(&data)
	} else {
		err = v.fillPart(&data)
	}
	if err != nil {
		return err
	}
	return v.show(sheet{"partner", "/partners", data.Name, data})
}

// partnerTabs lead to the parts of a partner's pages.
func (v *visit) partnerTabs(p api.Partner, part string) site.Tabs {
	tabs := site.Tabs{Label: nameOf(p)}
	for _, s := range partnerParts {
		path := v.at("/partners/" + p.ID)
		if s.path != "" {
			path += "/" + s.path
		}
		tabs.Links = append(tabs.Links, site.Link{Path: path, Name: s.name, Current: s.path == part})
	}
	return tabs
}

// fillPart reads the latest rows of the part.
func (v *visit) fillPart(data *partnerData) error {
	id, program, ctx := data.Partner.ID, v.program.ID, v.Ctx()
	ask, only := v.console.api, "partner="+url.QueryEscape(data.Partner.Email)
	switch data.Part {
	case "links":
		r, err := ask.ListLinksWithResponse(ctx, &api.ListLinksParams{
			ProgramID: program, PartnerID: &id, Include: []api.LinkInclude{api.LinkIncludeStats},
		})
		if err != nil {
			return err
		}
		data.Rows, data.Total = r.JSON200.Data, r.JSON200.TotalCount
	case "coupons":
		r, err := ask.ListCouponsWithResponse(ctx, &api.ListCouponsParams{ProgramID: program, PartnerID: &id})
		if err != nil {
			return err
		}
		data.Rows, data.Total = r.JSON200.Data, r.JSON200.TotalCount
	case "customers":
		r, err := ask.ListCustomersWithResponse(ctx, &api.ListCustomersParams{ProgramID: program, PartnerID: &id})
		if err != nil {
			return err
		}
		data.Rows, data.Total, data.More = r.JSON200.Data, r.JSON200.TotalCount, v.at("/customers?"+only)
	case "commissions":
		r, err := ask.ListCommissionsWithResponse(ctx, &api.ListCommissionsParams{
			ProgramID: program, PartnerID: &id,
		})
		if err != nil {
			return err
		}
		if err := v.explain(r.JSON200.Data); err != nil {
			return err
		}
		data.Rows, data.Total, data.More = r.JSON200.Data, r.JSON200.TotalCount, v.at("/commissions?"+only)
	case "payouts":
		r, err := ask.ListPayoutsWithResponse(ctx, &api.ListPayoutsParams{ProgramID: program, PartnerID: &id})
		if err != nil {
			return err
		}
		data.Rows, data.Total, data.More = r.JSON200.Data, r.JSON200.TotalCount, v.at("/payouts/all?"+only)
	case "notes":
		notes, err := v.notesOf(id)
		data.Notes = notes
		return err
	case "history":
		return v.fillHistory(data)
	}
	return nil
}

// fillHistory reads what was done to the partner by hand.
func (v *visit) fillHistory(data *partnerData) error {
	r, err := v.console.api.ListAuditLogEntriesWithResponse(v.Ctx(),
		&api.ListAuditLogEntriesParams{ProgramID: v.program.ID, TargetID: &data.Partner.ID})
	if err != nil {
		return err
	}
	data.Rows, err = v.entries(r.JSON200.Data)
	data.Total, data.More = r.JSON200.TotalCount, v.at("/log?target_id="+data.Partner.ID)
	return err
}

// savePartner changes what is known of a partner.
func savePartner(v *visit) error {
	body := v.body("updatePartner")
	if body["group_id"] == "" { // a partner without a group stays without one
		delete(body, "group_id")
	}
	return v.partnerForm("updatePartner", body, "", "The partner is saved.", v.PathValue("id"))
}

// saveTags gives the partner the ticked tags, and no others.
func saveTags(v *visit) error {
	body := map[string]any{"program_id": v.program.ID, "tag_ids": v.values("tag_ids")}
	return v.partnerForm("updatePartner", body, "", "The tags are saved.", v.PathValue("id"))
}

// saveState suspends the partner or reinstates it. The notice undoes a suspension.
func saveState(v *visit) error {
	id, body := v.PathValue("id"), v.body("updatePartner")
	if v.value("status") == string(db.PartnerStatusActive) {
		return v.partnerForm("updatePartner", body, "", "The partner is active again.", id)
	}
	if err := v.send("updatePartner", body, nil, id); err != nil {
		return v.again(err, overview)
	}
	at := v.at("/partners/" + id)
	return v.undoable(at, "The partner is suspended.", site.Undo{
		Path: at + "/state", Fields: url.Values{"status": {string(db.PartnerStatusActive)}},
	})
}

// createLink makes a link for the partner.
func createLink(v *visit) error {
	return v.partnerForm("createLink", v.ofPartner("createLink"), "links", "The link is created.")
}

// createCoupon registers a code for the partner.
func createCoupon(v *visit) error {
	return v.partnerForm("createCoupon", v.ofPartner("createCoupon"), "coupons", "The coupon is added.")
}

// ofPartner is the form as a body that names the page's partner.
func (v *visit) ofPartner(operation string) map[string]any {
	body := v.body(operation)
	body["partner_id"] = v.PathValue("id")
	return body
}

// partnerForm sends a form of a partner's page and shows its part again.
func (v *visit) partnerForm(operation string, body map[string]any, part, notice string, ids ...string) error {
	if err := v.send(operation, body, nil, ids...); err != nil {
		return v.again(err, func(v *visit) error { return v.showPartner(part, "") })
	}
	to := v.at("/partners/" + v.PathValue("id"))
	if part != "" {
		to += "/" + part
	}
	return v.done(to, notice)
}

// openPortal makes a sign-in link into the partner's portal, and shows it: the portal may be at
// another address than the console, where a form may not lead.
func openPortal(v *visit) error {
	var link api.MagicLink
	if err := v.send("createPartnerSSO", map[string]any{"ttl_seconds": portalSeconds}, &link, v.PathValue("id")); err != nil {
		return v.again(err, overview)
	}
	return v.showPartner("", link.URL)
}

// portalSeconds is how long a link into a partner's portal works.
const portalSeconds = 300
