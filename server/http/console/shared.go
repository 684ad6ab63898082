package console

import (
	"net/url"
	"slices"
	"strconv"
	"sync"

	"rail/gen/api"
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
}

// newShared returns the lists of a visit. Those of a program have its latest objects.
func newShared(v *visit) shared {
	return shared{
		programs: listOnce[api.Program](v, "listPrograms", maxPrograms),
		groups:   listOnce[api.Group](v, "listGroups", maxChoices),
		tags:     listOnce[api.Tag](v, "listTags", maxChoices),
		coupons:  listOnce[api.Coupon](v, "listCoupons", maxChoices),
	}
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

// programOf returns a program of the organization. It is in the menu's list unless there are more than maxPrograms.
func (v *visit) programOf(id string) (api.Program, error) {
	all, err := v.programs()
	if err != nil {
		return api.Program{}, err
	}
	if at := slices.IndexFunc(all, func(p api.Program) bool { return p.ID == id }); at >= 0 {
		return all[at], nil
	}
	one, err := v.console.api.RetrieveProgramWithResponse(v.Ctx(), id, nil)
	if err != nil {
		return api.Program{}, err
	}
	return *one.JSON200, nil
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
