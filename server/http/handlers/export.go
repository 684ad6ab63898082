package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/http/middleware"
	"rail/server/list"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
)

// exportPage is the number of rows that an export reads at once.
const exportPage = 500

// Export is a list of the API that rail export writes to a file.
type Export struct {
	Name string // of the file
	// Columns are the columns of the list's table, and then further ones that an import needs.
	Columns []string
	// Read calls each with the objects of a program, newest first.
	Read func(ctx context.Context, tx pgtx.DBTX, in db.Scope, each func(Exported) error) error
}

// Exported is one object. Members are those of the API; Further are the cells of the columns after the table's.
type Exported struct {
	Members map[string]json.RawMessage
	Further []string
}

// Exports returns the lists of a program that an export has. Each object comes with the parts that are not optional,
// and customers with all their ids.
func (s *Server) Exports() ([]Export, error) {
	columns, err := middleware.Columns()
	add := func(e Export, operation string) Export {
		if columns[operation] == nil && err == nil {
			err = fmt.Errorf("%s has no table", operation)
		}
		e.Columns = slices.Concat(columns[operation], e.Columns)
		return e
	}
	all := []Export{
		add(export("groups", db.GroupList{}, toGroup, func(g db.Group) string { return g.ID }, nil), "listGroups"),
		add(exportPartners(), "listPartners"),
		add(export("links", db.LinkList{}, s.toLink, func(l db.Link) string { return l.ID }, nil), "listLinks"),
		add(export("coupons", db.CouponList{}, toCoupon, func(k db.Coupon) string { return k.ID }, nil), "listCoupons"),
		add(exportCustomers(), "listCustomers"),
		add(export("sales", db.SaleList{}, toSale, func(k db.Sale) string { return k.ID }, nil), "listSales"),
		add(exportCommissions(), "listCommissions"),
		add(export("payouts", db.PayoutList{}, uncounted, func(p db.Payout) string { return p.ID }, nil,
			payoutParts(nil)...), "listPayouts"),
	}
	return all, err
}

// exportPartners adds the name of the group.
func exportPartners() Export {
	group := embedGroup(true,
		func(p *api.Partner) (*string, *nullable.Nullable[api.Group]) { return p.GroupID, &p.Group })
	further := func(p *api.Partner) []string {
		g, _ := p.Group.Get()
		p.Group = nil
		return []string{g.Name}
	}
	e := export("partners", db.PartnerList{}, toPartner, func(p db.Partner) string { return p.ID }, further, group)
	e.Columns = []string{"group_name"}
	return e
}

// exportCustomers adds all ids at processors, with spaces between. Spaces, semicolons and signs of percent in an id are
// escaped as in addresses.
func exportCustomers() Export {
	further := func(k *api.Customer) []string {
		var ids []string
		for _, x := range opt.Value(k.ExternalIds) {
			ids = append(ids, url.QueryEscape(x.ExternalCustomerID))
		}
		return []string{strings.ReplaceAll(strings.Join(ids, " "), "+", "%20")}
	}
	e := export("customers", db.CustomerList{}, toCustomer, func(k db.Customer) string { return k.ID }, further, addExternalIDs)
	e.Columns = []string{"external_customer_ids"}
	return e
}

// exportCommissions adds the time of the payment.
func exportCommissions() Export {
	payout := embedPayout(true,
		func(k *api.Commission) (*string, *nullable.Nullable[api.Payout]) { return k.PayoutID, &k.Payout })
	further := func(k *api.Commission) []string {
		p, _ := k.Payout.Get()
		k.Payout = nil
		if p.PaidAt == nil || k.Status != api.CommissionStatusPaid {
			return []string{""}
		}
		return []string{p.PaidAt.String()}
	}
	e := export("commissions", db.CommissionList{}, toCommission, func(k db.Commission) string { return k.ID }, further, payout)
	e.Columns = []string{"paid_at"}
	return e
}

// export returns the export of a list with its parts. further, if not nil, returns the further cells of an object, and
// removes what only they need.
func export[P, R, A any](
	name string, l list.List[P, R], toAPI func(R) A, id func(R) string, further func(*A) []string, parts ...part[A],
) Export {
	return Export{Name: name, Read: func(
		ctx context.Context, tx pgtx.DBTX, in db.Scope, each func(Exported) error,
	) error {
		var after *P
		for {
			rows, err := l.Page(ctx, tx, in, after, nil, exportPage)
			if err != nil {
				return err
			}
			if err := writePage(ctx, tx, in, mapped(rows, toAPI), further, parts, each); err != nil || len(rows) < exportPage {
				return err
			}
			at, err := l.Cursor(ctx, tx, in, id(rows[len(rows)-1]))
			if err != nil {
				return err
			}
			after = &at
		}
	}}
}

// writePage adds the parts of objects, skips nil, and calls each with every object.
func writePage[A any](
	ctx context.Context, tx pgtx.DBTX, in db.Scope, objects []A, further func(*A) []string, parts []part[A],
	each func(Exported) error,
) error {
	for _, p := range parts {
		if p == nil || len(objects) == 0 {
			continue
		}
		if err := p(ctx, tx, in.OrgID, objects); err != nil {
			return err
		}
	}
	for i := range objects {
		var e Exported
		if further != nil {
			e.Further = further(&objects[i])
		}
		text, err := json.Marshal(objects[i])
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &e.Members); err != nil {
			return err
		}
		if err := each(e); err != nil {
			return err
		}
	}
	return nil
}
