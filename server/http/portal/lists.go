package portal

import (
	"net/http"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/list"
	"rail/server/opt"
)

// perPage is how many rows a list shows at once.
const perPage = 25

// shelf bounds the resources of the one page that shows them.
const shelf = 500

// turn reads from the address where in a list the page lies.
func (v *visit) turn() (site.Turn, error) { return site.TurnOf(v.QueryParams()) }

// listRequest is a page of one of the program's lists.
func (v *visit) listRequest(t site.Turn) list.Request {
	return list.In(v.program.ID, new(int64(perPage)), t.After, t.Before)
}

// customer holds the data of a customer that partners see: nothing that identifies them.
type customer struct {
	Mask        string
	Status      db.CustomerStatus
	TrackedBy   db.TrackedBy
	LeadAt      clock.Time
	ConvertedAt *clock.Time
}

// customers lists whom the partner brought, masked.
func customers(v *visit) error {
	t, err := v.turn()
	if err != nil {
		return err
	}
	found, err := list.Of(v.Ctx(), v.unit(), v.listRequest(t), db.CustomerList{PartnerID: &v.partner.ID})
	if err != nil {
		return err
	}
	rows := make([]customer, len(found.Rows))
	for i, k := range found.Rows {
		rows[i] = customer{mask(k.Email, k.Name), k.Status, k.TrackedBy, k.LeadAt, k.ConvertedAt}
	}
	return v.show(http.StatusOK, "customers", "/portal/customers", "Customers",
		site.Listed(v.Request().URL, t, found, func(k db.Customer) string { return k.ID }, rows))
}

// ids lists the ids of rows.
func ids[R any](rows []R, id func(R) string) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = id(r)
	}
	return out
}

// folder is a part of the shelf; the first has no name.
type folder struct {
	Name  string
	Items []db.Resource
}

// resources shows the materials that are published to the partner's group and tags.
func resources(v *visit) error {
	found, err := queries.PortalResources(v.Ctx(), v.portal.Pool, db.PortalResourcesParams{
		ProgramID: v.program.ID, OrgID: v.partner.OrgID, GroupID: v.partner.GroupID, PartnerID: v.partner.ID, Lim: shelf,
	})
	if err != nil {
		return err
	}
	// The rows come in the order of their folders, so that each is one run.
	var folders []folder
	for _, r := range found {
		if n := len(folders); n == 0 || folders[n-1].Name != opt.Value(r.Folder) {
			folders = append(folders, folder{Name: opt.Value(r.Folder)})
		}
		last := &folders[len(folders)-1]
		last.Items = append(last.Items, r)
	}
	return v.show(http.StatusOK, "resources", "/portal/resources", "Resources", folders)
}
