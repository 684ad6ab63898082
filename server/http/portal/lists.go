package portal

import (
	"net/http"
	"net/url"
	"regexp"

	gen "rail/gen/api"
	"rail/gen/db"
	"rail/server/opt"
	"rail/server/problem"
)

// perPage is how many rows a list shows at once.
const perPage = 25

// shelf bounds the resources of the one page that shows them.
const shelf = 500

// idForm is the form of an id in a page's address.
var idForm = regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`)

// turn is where in a list a page lies.
type turn struct{ after, before *string }

// turn reads it from the address.
func (v *visit) turn() (turn, error) {
	var t turn
	for name, to := range map[string]**string{"after": &t.after, "before": &t.before} {
		if id := v.QueryParam(name); id != "" {
			if !idForm.MatchString(id) {
				return t, problem.NotFound("")
			}
			*to = &id
		}
	}
	return t, nil
}

// listing is a page of a list.
type listing struct {
	Rows         any
	Total        int64
	Older, Newer string // addresses; "" for none
}

// listed makes a page of rows, whose ids are their places.
func listed[T any](v *visit, t turn, rows []T, more bool, total int64, id func(T) string) listing {
	l := listing{Rows: rows, Total: total}
	if len(rows) == 0 {
		return l
	}
	path := v.Request().URL.Path
	if t.before != nil || more {
		l.Older = path + "?after=" + url.QueryEscape(id(rows[len(rows)-1]))
	}
	if t.after != nil || t.before != nil && more {
		l.Newer = path + "?before=" + url.QueryEscape(id(rows[0]))
	}
	return l
}

// customer is what a partner sees of a customer: nothing that tells who it is.
type customer struct {
	gen.Customer
	Mask string
}

func customers(v *visit) error {
	t, err := v.turn()
	if err != nil {
		return err
	}
	found, err := v.portal.Server.ListCustomers(v.reading(), gen.ListCustomersRequestObject{Params: gen.ListCustomersParams{
		ProgramID: v.program.ID, PartnerID: &v.partner.ID, Limit: new(int64(perPage)), StartingAfter: t.after, EndingBefore: t.before,
	}})
	if err != nil {
		return err
	}
	list := found.(gen.ListCustomers200JSONResponse)
	rows := make([]customer, len(list.Data))
	for i, k := range list.Data {
		rows[i] = customer{k, mask(k.Email, k.Name)}
	}
	return v.show(http.StatusOK, "customers", "/portal/customers", "Customers",
		listed(v, t, rows, list.HasMore, list.TotalCount, func(k customer) string { return k.ID }))
}

func commissions(v *visit) error {
	t, err := v.turn()
	if err != nil {
		return err
	}
	found, err := v.portal.Server.ListCommissions(v.reading(), gen.ListCommissionsRequestObject{Params: gen.ListCommissionsParams{
		ProgramID: v.program.ID, PartnerID: &v.partner.ID, Limit: new(int64(perPage)), StartingAfter: t.after, EndingBefore: t.before,
	}})
	if err != nil {
		return err
	}
	list := found.(gen.ListCommissions200JSONResponse)
	return v.show(http.StatusOK, "commissions", "/portal/commissions", "Commissions",
		listed(v, t, list.Data, list.HasMore, list.TotalCount, func(k gen.Commission) string { return k.ID }))
}

func payouts(v *visit) error {
	t, err := v.turn()
	if err != nil {
		return err
	}
	found, err := v.portal.Server.ListPayouts(v.reading(), gen.ListPayoutsRequestObject{Params: gen.ListPayoutsParams{
		ProgramID: v.program.ID, PartnerID: &v.partner.ID, Limit: new(int64(perPage)), StartingAfter: t.after, EndingBefore: t.before,
	}})
	if err != nil {
		return err
	}
	list := found.(gen.ListPayouts200JSONResponse)
	return v.show(http.StatusOK, "payouts", "/portal/payouts", "Payouts",
		listed(v, t, list.Data, list.HasMore, list.TotalCount, func(p gen.Payout) string { return p.ID }))
}

// folder is a part of the shelf; the first has no name.
type folder struct {
	Name  string
	Items []db.Resource
}

func resources(v *visit) error {
	found, err := queries.PortalResources(v.ctx(), v.portal.Pool, db.PortalResourcesParams{
		ProgramID: v.program.ID, OrgID: v.partner.OrgID, GroupID: v.partner.GroupID, PartnerID: v.partner.ID, Lim: shelf,
	})
	if err != nil {
		return err
	}
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
