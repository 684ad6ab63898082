package handlers

import (
	"context"
	"slices"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/postgres/pgtx"
)

// wants reports whether a relation or a computed part was requested.
func wants[E ~string](names []E, name E) bool { return slices.Contains(names, name) }

// relation returns the id of a related object (nil for none), and the place of the object.
type relation[O, A any] func(*O) (*string, *nullable.Nullable[A])

// embed returns the part that loads the related objects of a page with one query, or nil if they are
// not requested. A requested relation that does not exist is null, not absent.
func embed[O, R, A any](wanted bool, at relation[O, A],
	load func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]R, error), toAPI func(R) (string, A),
) part[O] {
	return when(wanted, func(ctx context.Context, tx pgtx.DBTX, org string, objects []O) error {
		var ids []string
		for i := range objects {
			// Objects of a page share relations, so load each once.
			if id, _ := at(&objects[i]); id != nil && !slices.Contains(ids, *id) {
				ids = append(ids, *id)
			}
		}
		related := map[string]A{}
		if len(ids) > 0 {
			rows, err := load(ctx, tx, org, ids)
			if err != nil {
				return err
			}
			for _, r := range rows {
				id, a := toAPI(r)
				related[id] = a
			}
		}
		for i := range objects {
			id, place := at(&objects[i])
			place.SetNull()
			if id == nil {
				continue
			}
			if a, ok := related[*id]; ok {
				place.Set(a)
			}
		}
		return nil
	})
}

// ids returns the ids of objects in their order.
func ids[O any](objects []O, id func(*O) string) []string {
	out := make([]string, len(objects))
	for i := range objects {
		out[i] = id(&objects[i])
	}
	return out
}

// The functions below load the rows of each type by ids and organization, and convert them.
func embedPartner[O any](wanted bool, at relation[O, api.Partner]) part[O] {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]db.Partner, error) {
		return queries.PartnerByIDs(ctx, tx, db.PartnerByIDsParams{Ids: ids, OrgID: org})
	}
	return embed(wanted, at, load, func(p db.Partner) (string, api.Partner) { return p.ID, toPartner(p) })
}

// embedGroup loads groups. No references to deleted groups exist.
func embedGroup[O any](wanted bool, at relation[O, api.Group]) part[O] {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]db.Group, error) {
		return queries.GroupByIDs(ctx, tx, db.GroupByIDsParams{Ids: ids, OrgID: org})
	}
	return embed(wanted, at, load, func(g db.Group) (string, api.Group) { return g.ID, toGroup(g) })
}

// embedLink loads links, including deleted ones, by which clicks remain grouped.
func embedLink[O any](s *Server, wanted bool, at relation[O, api.Link]) part[O] {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]db.Link, error) {
		return queries.LinkByIDs(ctx, tx, db.LinkByIDsParams{Ids: ids, OrgID: org})
	}
	return embed(wanted, at, load, func(l db.Link) (string, api.Link) { return l.ID, s.toLink(l) })
}

// embedReferral loads referrals.
func embedReferral[O any](wanted bool, at relation[O, api.Referral]) part[O] {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]db.Referral, error) {
		return queries.ReferralByIDs(ctx, tx, db.ReferralByIDsParams{Ids: ids, OrgID: org})
	}
	return embed(wanted, at, load, func(r db.Referral) (string, api.Referral) { return r.ID, toReferral(r) })
}

// embedCustomer loads customers.
func embedCustomer[O any](wanted bool, at relation[O, api.Customer]) part[O] {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]db.CustomerByIDsRow, error) {
		return queries.CustomerByIDs(ctx, tx, db.CustomerByIDsParams{Ids: ids, OrgID: org})
	}
	return embed(wanted, at, load,
		func(r db.CustomerByIDsRow) (string, api.Customer) { return r.Asked, toCustomer(r.Customer) })
}

// embedSale loads sales, without their outcome.
func embedSale[O any](wanted bool, at relation[O, api.Sale]) part[O] {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]db.Sale, error) {
		return queries.SaleByIDs(ctx, tx, db.SaleByIDsParams{Ids: ids, OrgID: org})
	}
	return embed(wanted, at, load, func(k db.Sale) (string, api.Sale) { return k.ID, toSale(k) })
}

// embedPayout loads payouts, each with its number of commissions.
func embedPayout[O any](wanted bool, at relation[O, api.Payout]) part[O] {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]db.PayoutsByIDsRow, error) {
		return queries.PayoutsByIDs(ctx, tx, db.PayoutsByIDsParams{Ids: ids, OrgID: org})
	}
	return embed(wanted, at, load, func(r db.PayoutsByIDsRow) (string, api.Payout) {
		return r.Payout.ID, toPayout(r.Payout, r.CommissionCount)
	})
}

// embedBatch loads payout batches without their totals.
func embedBatch[O any](wanted bool, at relation[O, api.PayoutBatch]) part[O] {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]db.PayoutBatch, error) {
		return queries.BatchByIDs(ctx, tx, db.BatchByIDsParams{Ids: ids, OrgID: org})
	}
	return embed(wanted, at, load, func(b db.PayoutBatch) (string, api.PayoutBatch) { return b.ID, toBatch(b) })
}

// embedFlow converts rows while loading, because decoding stored branches can fail.
func embedFlow[O any](wanted bool, at relation[O, api.Flow]) part[O] {
	load := func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]api.Flow, error) {
		rows, err := queries.FlowByIDs(ctx, tx, db.FlowByIDsParams{Ids: ids, OrgID: org})
		if err != nil {
			return nil, err
		}
		return mappedAll(rows, toFlow)
	}
	return embed(wanted, at, load, func(f api.Flow) (string, api.Flow) { return f.ID, f })
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
