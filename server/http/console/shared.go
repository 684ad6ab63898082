package console

import (
	"cmp"
	"net/url"
	"strconv"
	"sync"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/ident"
)

const (
	// maxPrograms is the number of programs in the menu: a page of the API's list.
	maxPrograms = 100
	// maxChoices is the number of groups, tags or coupons that a page offers.
	maxChoices = 100
)

// shared holds the lists that most pages need. Each is read when it is first used, at most once per visit.
type shared struct {
	programs func() ([]api.Program, error) // of the organization, the newest first
	groups   func() ([]api.Group, error)
	tags     func() ([]api.Tag, error)
	coupons  func() ([]api.Coupon, error)
	products func() (map[string]string, error) // of recent sales: their names by their ids; an unnamed one has its id
}

// newShared returns the lists of a visit. Those of a program have its latest objects.
func newShared(v *visit) shared {
	return shared{
		programs: listOnce[api.Program](v, "listPrograms", maxPrograms),
		groups:   listOnce[api.Group](v, "listGroups", maxChoices),
		tags:     listOnce[api.Tag](v, "listTags", maxChoices),
		coupons:  listOnce[api.Coupon](v, "listCoupons", maxChoices),
		products: sync.OnceValues(v.productNames),
	}
}

// productNames returns the products of the program's recent sales.
func (v *visit) productNames() (map[string]string, error) {
	rows, err := queries.ProductNames(v.Ctx(), v.console.Pool, db.ProductNamesParams{
		ProgramID: v.program.ID, OrgID: v.session.User.OrgID,
	})
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.ID] = cmp.Or(r.Name, r.ID)
	}
	return out, err
}

// listOnce returns the first page of a list of the API, of the visit's program if there is one. It is read at the first
// call.
func listOnce[T any](v *visit, operation string, limit int) func() ([]T, error) {
	return sync.OnceValues(func() ([]T, error) {
		query := url.Values{"limit": {strconv.Itoa(limit)}}
		if v.program.ID != "" {
			query.Set("program_id", v.program.ID)
		}
		r, err := v.get(operation, query)
		if err != nil {
			return nil, err
		}
		var page struct {
			Data []T `json:"data"`
		}
		err = v.receive(r, &page)
		return page.Data, err
	})
}

// noneFirst puts an empty option before the others.
func noneFirst(label string, options []site.Option) []site.Option {
	return append([]site.Option{{Label: label}}, options...)
}

// names finds the names of objects that rules refer to by id.
type names struct {
	*visit
	expanded map[string]string // names that came with the rules
	err      error             // the first failed request
}

// of returns the name of a partner, group, tag or coupon, "" if it is unknown. It requests a list only for an id of its
// kind.
func (n *names) of(id string) string {
	if name := n.expanded[id]; name != "" {
		return name
	}
	list := map[string]string{}
	var err error
	switch {
	case ident.Has(id, ident.Group):
		var all []api.Group
		all, err = n.groups()
		for _, g := range all {
			list[g.ID] = g.Name
		}
	case ident.Has(id, ident.Tag):
		var all []api.Tag
		all, err = n.tags()
		for _, t := range all {
			list[t.ID] = t.Name
		}
	case ident.Has(id, ident.Coupon):
		var all []api.Coupon
		all, err = n.coupons()
		for _, c := range all {
			list[c.ID] = c.Code
		}
	}
	if n.err == nil {
		n.err = err
	}
	return list[id]
}

// product returns the name of a product, "" if it is unknown.
func (n *names) product(id string) string {
	all, err := n.products()
	if n.err == nil {
		n.err = err
	}
	return all[id]
}
