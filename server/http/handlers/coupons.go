package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/postgres/pgtx"
	"rail/server/program/tracking"
	"rail/server/work"
)

// ListCoupons lists the coupons of a program, newest first. The filter code ignores case, like a
// checkout.
func (s *Server) ListCoupons(ctx context.Context,
	r api.ListCouponsRequestObject) (api.ListCouponsResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.CouponList{
		PartnerID: p.PartnerID, Code: p.Code, ExternalID: p.ExternalID,
		CreatedAfter: q.date("created_after", p.CreatedAfter), CreatedBefore: q.date("created_before", p.CreatedBefore),
	}, toCoupon, couponParts(p.Expand, p.Include)...)
	return api.ListCoupons200JSONResponse(out), err
}

func couponParts(expand []api.CouponExpand, include []api.CouponInclude) []part[api.Coupon] {
	return []part[api.Coupon]{
		embedPartner(wants(expand, api.CouponExpandPartner),
			func(k *api.Coupon) (*string, *nullable.Nullable[api.Partner]) { return k.PartnerID, &k.Partner }),
		embedGroup(wants(expand, api.CouponExpandGroup),
			func(k *api.Coupon) (*string, *nullable.Nullable[api.Group]) { return k.GroupID, &k.Group }),
		when(wants(include, api.CouponIncludeStats), couponStats),
	}
}

// couponStats adds the coupons' numbers of customers.
func couponStats(ctx context.Context, tx pgtx.DBTX, orgID string, coupons []api.Coupon) error {
	customers, err := list.CountBy(ctx, tx, "customers", db.Scope{ProgramID: coupons[0].ProgramID, OrgID: orgID},
		ids(coupons, func(k *api.Coupon) string { return k.ID }))
	for i := range coupons {
		coupons[i].Stats = &api.CouponStats{Customers: customers[coupons[i].ID]}
	}
	return err
}

// RetrieveCoupon returns one coupon.
func (s *Server) RetrieveCoupon(ctx context.Context,
	r api.RetrieveCouponRequestObject) (api.RetrieveCouponResponseObject, error) {
	u := work.From(ctx)
	coupon, err := queries.CouponGet(ctx, u.Short(), db.CouponGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toCoupon(coupon), coupon.ProgramID, err, couponParts(r.Params.Expand, r.Params.Include)...)
	return api.RetrieveCoupon200JSONResponse(out), err
}

// CreateCoupon records a code of the payment processor, so that customers who use
// it are attributed to its partner.
func (s *Server) CreateCoupon(ctx context.Context,
	r api.CreateCouponRequestObject) (api.CreateCouponResponseObject, error) {
	b := r.Body
	coupon, err := tracking.CreateCoupon(ctx, work.From(ctx), tracking.CouponInput{
		ProgramID: b.ProgramID, Code: b.Code, PartnerID: b.PartnerID, GroupID: b.GroupID, ExternalID: b.ExternalID,
	})
	return api.CreateCoupon201JSONResponse(toCoupon(coupon)), err
}

// UpdateCoupon changes the promotion id and the partner. The code does not change: it belongs to
// the processor.
func (s *Server) UpdateCoupon(ctx context.Context,
	r api.UpdateCouponRequestObject) (api.UpdateCouponResponseObject, error) {
	coupon, err := tracking.UpdateCoupon(ctx, work.From(ctx), r.ID, tracking.CouponChanges{
		ExternalID: r.Body.ExternalID, PartnerID: r.Body.PartnerID,
	})
	return api.UpdateCoupon200JSONResponse(toCoupon(coupon)), err
}

// DeleteCoupon removes a coupon. Its customers keep their partner.
func (s *Server) DeleteCoupon(ctx context.Context,
	r api.DeleteCouponRequestObject) (api.DeleteCouponResponseObject, error) {
	err := tracking.DeleteCoupon(ctx, work.From(ctx), r.ID)
	return api.DeleteCoupon200JSONResponse{ID: r.ID, Object: "coupon", Deleted: true}, err
}
