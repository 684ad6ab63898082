package console

import (
	"slices"
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
	asks, most := v.console.api, new(int64(maxChoices))
	return shared{
		programs: sync.OnceValues(func() ([]api.Program, error) {
			r, err := asks.ListProgramsWithResponse(v.ctx(), &api.ListProgramsParams{Limit: new(int64(maxPrograms))})
			if err != nil {
				return nil, err
			}
			return r.JSON200.Data, nil
		}),
		groups: sync.OnceValues(func() ([]api.Group, error) {
			r, err := asks.ListGroupsWithResponse(v.ctx(), &api.ListGroupsParams{ProgramID: v.program.ID, Limit: most})
			if err != nil {
				return nil, err
			}
			return r.JSON200.Data, nil
		}),
		tags: sync.OnceValues(func() ([]api.Tag, error) {
			r, err := asks.ListTagsWithResponse(v.ctx(), &api.ListTagsParams{ProgramID: v.program.ID, Limit: most})
			if err != nil {
				return nil, err
			}
			return r.JSON200.Data, nil
		}),
		coupons: sync.OnceValues(func() ([]api.Coupon, error) {
			r, err := asks.ListCouponsWithResponse(v.ctx(), &api.ListCouponsParams{ProgramID: v.program.ID, Limit: most})
			if err != nil {
				return nil, err
			}
			return r.JSON200.Data, nil
		}),
	}
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
	one, err := v.console.api.RetrieveProgramWithResponse(v.ctx(), id, nil)
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
