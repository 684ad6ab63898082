package attribution

import (
	"cmp"
	"context"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/opt"
	"rail/server/program/customer"
)

// Side is a partner's customers with their sales and commissions, in minor units of the program's currency.
type Side struct{ Customers, RevenueMinor, CommissionsMinor int64 }

// Partner is a partner for whom something changes.
type Partner struct {
	ID, Name      string
	Before, After Side
}

// Moved is a customer who would have another partner; From and To are nil for none.
type Moved struct {
	CustomerID    string
	LeadAt        clock.Time
	From, To      *string
	Reason        api.AttributionReason
	RevenueMinor  int64
	Before, After int64 // commissions, in minor units
}

// partner is a partner as far as a rehearsal needs it.
type partner struct {
	db.Partner
	tags []string
	own  []string // addresses
}

// name returns the name of a partner for people.
func (p partner) name() string {
	return cmp.Or(opt.Value(p.DisplayName), opt.Value(p.CompanyName), p.Handle)
}

// loadPartners reads the partners that are not loaded yet.
func (p *preview) loadPartners(ctx context.Context, ids []string) error {
	var missing []string
	for _, id := range opt.Distinct(ids) {
		if _, ok := p.partners[id]; !ok && id != "" {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	rows, err := queries.RehearsalPartners(ctx, p.u.DB(), db.RehearsalPartnersParams{Ids: missing, OrgID: p.u.OrgID})
	if err != nil {
		return err
	}
	for _, r := range rows {
		own, err := p.of.Addresses(r.Partner)
		if err != nil {
			return err
		}
		t := r.Partner
		p.partners[t.ID] = partner{db.Partner{
			ID: t.ID, Status: t.Status, GroupID: t.GroupID, CountryCode: t.CountryCode, DisplayName: t.DisplayName,
			CompanyName: t.CompanyName, Handle: t.Handle,
		}, r.TagIds, own}
	}
	return nil
}

// isOwn reports whether the customer is the partner.
func (p *preview) isOwn(partnerID string, k db.Customer) bool {
	return customer.IsOwn(p.partners[partnerID].own, k.Email, k.Identifier)
}

// sums are the sides of partners, by id.
type sums map[string]*Partner

// of returns the sums of a partner.
func (s sums) of(id string) *Partner {
	if s[id] == nil {
		s[id] = &Partner{ID: id}
	}
	return s[id]
}

// merge adds other sums.
func (s sums) merge(other sums) {
	for id, o := range other {
		p := s.of(id)
		p.Before.add(o.Before)
		p.After.add(o.After)
	}
}

func (s *Side) add(o Side) {
	s.Customers += o.Customers
	s.RevenueMinor += o.RevenueMinor
	s.CommissionsMinor += o.CommissionsMinor
}

// changed returns the partners for whom something changes, the largest difference of commissions first, and their
// number.
func (s sums) changed(names map[string]partner) ([]Partner, int64) {
	var out []Partner
	for _, p := range s {
		if p.Before != p.After {
			p.Name = names[p.ID].name()
			out = append(out, *p)
		}
	}
	size := func(p Partner, of func(Side) int64) int64 {
		return max(of(p.After)-of(p.Before), of(p.Before)-of(p.After))
	}
	commissions := func(s Side) int64 { return s.CommissionsMinor }
	customers := func(s Side) int64 { return s.Customers }
	slices.SortFunc(out, func(a, b Partner) int {
		return cmp.Or(cmp.Compare(size(b, commissions), size(a, commissions)),
			cmp.Compare(size(b, customers), size(a, customers)), cmp.Compare(a.ID, b.ID))
	})
	return out[:min(len(out), maxPartners)], int64(len(out))
}
