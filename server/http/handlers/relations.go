package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// together runs reads in one round trip, and skips nil.
func together(ctx context.Context, u *work.Unit, reads ...pgtx.Read) error {
	var asked []pgtx.Read
	for _, r := range reads {
		if r != nil {
			asked = append(asked, r)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return u.Together(ctx, asked...)
}

// relate returns the read that fills in a relation of a page of objects, or nil if it is not
// requested. at returns an object's reference and the place of the related object.
func relate[O, R, A any](ctx context.Context, u *work.Unit, wanted bool, objects []O,
	at func(*O) (*string, *nullable.Nullable[A]),
	load func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]R, error), toAPI func(R) (string, A),
) pgtx.Read {
	if !wanted || len(objects) == 0 {
		return nil
	}
	ref := func(o *O) *string { id, _ := at(o); return id }
	set := func(o *O, a nullable.Nullable[A]) { _, place := at(o); *place = a }
	return func(tx pgtx.DBTX) error { return embed(ctx, tx, u, objects, ref, load, toAPI, set) }
}

// The functions below load the rows of each type by ids and organization, and convert them.
func embedPartner[O any](ctx context.Context, u *work.Unit, wanted bool, objects []O,
	at func(*O) (*string, *nullable.Nullable[api.Partner])) pgtx.Read {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]db.Partner, error) {
		return queries.PartnerByIDs(ctx, tx, db.PartnerByIDsParams{Ids: ids, OrgID: org})
	}
	return relate(ctx, u, wanted, objects, at, load,
		func(p db.Partner) (string, api.Partner) { return p.ID, toPartner(p) })
}

// embedGroup loads groups. No references to deleted groups exist.
func embedGroup[O any](ctx context.Context, u *work.Unit, wanted bool, objects []O,
	at func(*O) (*string, *nullable.Nullable[api.Group])) pgtx.Read {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]db.Group, error) {
		return queries.GroupByIDs(ctx, tx, db.GroupByIDsParams{Ids: ids, OrgID: org})
	}
	return relate(ctx, u, wanted, objects, at, load, func(g db.Group) (string, api.Group) { return g.ID, toGroup(g) })
}

// embedLink loads links, including deleted ones, by which clicks remain grouped.
func embedLink[O any](ctx context.Context, s *Server, u *work.Unit, wanted bool, objects []O,
	at func(*O) (*string, *nullable.Nullable[api.Link])) pgtx.Read {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]db.Link, error) {
		return queries.LinkByIDs(ctx, tx, db.LinkByIDsParams{Ids: ids, OrgID: org})
	}
	return relate(ctx, u, wanted, objects, at, load, func(l db.Link) (string, api.Link) { return l.ID, s.toLink(l) })
}

// embedReferral loads referrals.
func embedReferral[O any](ctx context.Context, u *work.Unit, wanted bool, objects []O,
	at func(*O) (*string, *nullable.Nullable[api.Referral])) pgtx.Read {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]db.Referral, error) {
		return queries.ReferralByIDs(ctx, tx, db.ReferralByIDsParams{Ids: ids, OrgID: org})
	}
	return relate(ctx, u, wanted, objects, at, load,
		func(r db.Referral) (string, api.Referral) { return r.ID, toReferral(r) })
}

// embedCustomer loads customers.
func embedCustomer[O any](ctx context.Context, u *work.Unit, wanted bool, objects []O,
	at func(*O) (*string, *nullable.Nullable[api.Customer])) pgtx.Read {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]db.CustomerByIDsRow, error) {
		return queries.CustomerByIDs(ctx, tx, db.CustomerByIDsParams{Ids: ids, OrgID: org})
	}
	return relate(ctx, u, wanted, objects, at, load,
		func(r db.CustomerByIDsRow) (string, api.Customer) { return r.Asked, toCustomer(r.Customer) })
}

// embedSale loads sales, without their outcome.
func embedSale[O any](ctx context.Context, u *work.Unit, wanted bool, objects []O,
	at func(*O) (*string, *nullable.Nullable[api.Sale])) pgtx.Read {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]db.Sale, error) {
		return queries.SaleByIDs(ctx, tx, db.SaleByIDsParams{Ids: ids, OrgID: org})
	}
	return relate(ctx, u, wanted, objects, at, load, func(k db.Sale) (string, api.Sale) { return k.ID, toSale(k) })
}

// embedPayout loads payouts, each with its number of commissions.
func embedPayout[O any](ctx context.Context, u *work.Unit, wanted bool, objects []O,
	at func(*O) (*string, *nullable.Nullable[api.Payout])) pgtx.Read {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]db.PayoutsByIDsRow, error) {
		return queries.PayoutsByIDs(ctx, tx, db.PayoutsByIDsParams{Ids: ids, OrgID: org})
	}
	return relate(ctx, u, wanted, objects, at, load, func(r db.PayoutsByIDsRow) (string, api.Payout) {
		return r.Payout.ID, toPayout(r.Payout, r.CommissionCount)
	})
}

// embedFlow converts rows while loading, because decoding stored branches can fail.
func embedFlow[O any](ctx context.Context, u *work.Unit, wanted bool, objects []O,
	at func(*O) (*string, *nullable.Nullable[api.Flow])) pgtx.Read {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]api.Flow, error) {
		rows, err := queries.FlowByIDs(ctx, tx, db.FlowByIDsParams{Ids: ids, OrgID: org})
		if err != nil {
			return nil, err
		}
		return mappedAll(rows, toFlow)
	}
	return relate(ctx, u, wanted, objects, at, load, func(f api.Flow) (string, api.Flow) { return f.ID, f })
}

// mapped converts the rows of a page. The result is never nil: an empty page is [] in JSON, not
// null.
func mapped[R, A any](rows []R, toAPI func(R) A) []A {
	out := make([]A, len(rows))
	for i, r := range rows {
		out[i] = toAPI(r)
	}
	return out
}

// mappedAll is mapped with a conversion that may fail.
func mappedAll[R, A any](rows []R, toAPI func(R) (A, error)) ([]A, error) {
	out := make([]A, len(rows))
	for i, r := range rows {
		a, err := toAPI(r)
		if err != nil {
			return nil, err
		}
		out[i] = a
	}
	return out, nil
}
