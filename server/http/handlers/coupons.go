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
	u, p := work.From(ctx), r.Params
	since, until, err := created(p.CreatedAfter, p.CreatedBefore)
	if err != nil {
		return nil, err
	}
	rows, err := list.Of(ctx, u, list.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.CouponList{
		PartnerID: p.PartnerID, Code: p.Code, ExternalID: p.ExternalID,
		CreatedAfter: since, CreatedBefore: until,
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.Rows, toCoupon)
	if err := fillCoupons(ctx, u, data, p.Expand, p.Include); err != nil {
		return nil, err
	}
	return api.ListCoupons200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, nil
}

// fillCoupons adds the relations and statistics that the query requests, in one
// round trip.
func fillCoupons(ctx context.Context, u *work.Unit, coupons []api.Coupon, expand []api.CouponExpand,
	include []api.CouponInclude) error {
	return together(ctx, u,
		embedPartner(ctx, u, wants(expand, api.CouponExpandPartner), coupons,
			func(k *api.Coupon) (*string, *nullable.Nullable[api.Partner]) { return k.PartnerID, &k.Partner }),
		embedGroup(ctx, u, wants(expand, api.CouponExpandGroup), coupons,
			func(k *api.Coupon) (*string, *nullable.Nullable[api.Group]) { return k.GroupID, &k.Group }),
		couponStats(ctx, u, wants(include, api.CouponIncludeStats), coupons))
}

// couponStats returns the read of the coupons' numbers of customers, or nil if they are not
// requested.
func couponStats(ctx context.Context, u *work.Unit, wanted bool, coupons []api.Coupon) pgtx.Read {
	if !wanted || len(coupons) == 0 {
		return nil
	}
	return func(tx pgtx.DBTX) error {
		customers, err := list.CountBy(ctx, tx, "customers", db.Scope{ProgramID: coupons[0].ProgramID, OrgID: u.OrgID},
			ids(coupons, func(k *api.Coupon) string { return k.ID }))
		for i := range coupons {
			coupons[i].Stats = &api.CouponStats{Customers: customers[coupons[i].ID]}
		}
		return err
	}
}

// RetrieveCoupon returns one coupon.
func (s *Server) RetrieveCoupon(ctx context.Context,
	r api.RetrieveCouponRequestObject) (api.RetrieveCouponResponseObject, error) {
	u := work.From(ctx)
	coupon, err := queries.CouponGet(ctx, u.Short(), db.CouponGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(coupon.ProgramID); err != nil {
		return nil, err
	}
	one := []api.Coupon{toCoupon(coupon)}
	err = fillCoupons(ctx, u, one, r.Params.Expand, r.Params.Include)
	return api.RetrieveCoupon200JSONResponse(one[0]), err
}

// CreateCoupon records a code of the payment processor, so that customers who use
// it are attributed to its partner.
func (s *Server) CreateCoupon(
	ctx context.Context, r api.CreateCouponRequestObject,
) (api.CreateCouponResponseObject, error) {
	b := r.Body
	coupon, err := tracking.CreateCoupon(ctx, work.From(ctx), tracking.CouponInput{
		ProgramID: b.ProgramID, Code: b.Code, PartnerID: b.PartnerID, GroupID: b.GroupID, ExternalID: b.ExternalID,
	})
	return api.CreateCoupon201JSONResponse(toCoupon(coupon)), err
}

// UpdateCoupon changes the promotion id and the partner. The code does not change: it belongs to
// the processor.
func (s *Server) UpdateCoupon(
	ctx context.Context, r api.UpdateCouponRequestObject,
) (api.UpdateCouponResponseObject, error) {
	coupon, err := tracking.UpdateCoupon(ctx, work.From(ctx), r.ID, tracking.CouponChanges{
		ExternalID: r.Body.ExternalID, PartnerID: r.Body.PartnerID,
	})
	return api.UpdateCoupon200JSONResponse(toCoupon(coupon)), err
}

// DeleteCoupon removes a coupon. Its customers keep their partner.
func (s *Server) DeleteCoupon(
	ctx context.Context, r api.DeleteCouponRequestObject,
) (api.DeleteCouponResponseObject, error) {
	err := tracking.DeleteCoupon(ctx, work.From(ctx), r.ID)
	return api.DeleteCoupon200JSONResponse{ID: r.ID, Object: "coupon", Deleted: true}, err
}
