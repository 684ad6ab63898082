package handlers

import (
	"context"
	"reflect"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/count"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/page"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// ListCoupons lists the coupons of a program, newest first.
func (s *Server) ListCoupons(ctx context.Context,
	r api.ListCouponsRequestObject) (api.ListCouponsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	rows, err := page.Of(ctx, u, page.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.CouponList{
		PartnerID: p.PartnerID, Code: p.Code, ExternalID: p.ExternalID,
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

// fillCoupons adds what was asked for beside the coupons themselves.
func fillCoupons(ctx context.Context, u *work.Unit, coupons []api.Coupon, expand []api.CouponExpand, include []api.CouponInclude) error {
	return together(ctx, u,
		embedPartner(ctx, u, wants(expand, api.CouponExpandPartner), coupons, func(k *api.Coupon) (*string, *nullable.Nullable[api.Partner]) { return k.PartnerID, &k.Partner }),
		embedGroup(ctx, u, wants(expand, api.CouponExpandGroup), coupons, func(k *api.Coupon) (*string, *nullable.Nullable[api.Group]) { return k.GroupID, &k.Group }),
		couponStats(ctx, u, wants(include, api.CouponIncludeStats), coupons))
}

func couponStats(ctx context.Context, u *work.Unit, wanted bool, coupons []api.Coupon) pgtx.Read {
	if !wanted || len(coupons) == 0 {
		return nil
	}
	return func(tx pgtx.DBTX) error {
		customers, err := count.By(ctx, tx, "customers", db.Scope{ProgramID: coupons[0].ProgramID, OrgID: u.OrgID},
			ids(coupons, func(k *api.Coupon) string { return k.ID }))
		for i := range coupons {
			coupons[i].Stats = &api.CouponStats{Customers: customers[coupons[i].ID]}
		}
		return err
	}
}

// RetrieveCoupon returns one coupon.
func (s *Server) RetrieveCoupon(ctx context.Context, r api.RetrieveCouponRequestObject) (api.RetrieveCouponResponseObject, error) {
	u := work.From(ctx)
	coupon, err := queries.CouponGet(ctx, u.DB(), db.CouponGetParams{ID: r.ID, OrgID: u.OrgID})
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

// CreateCoupon registers a code of the payment processor; a code that is taken,
// whatever its case, is refused.
func (s *Server) CreateCoupon(ctx context.Context, r api.CreateCouponRequestObject) (api.CreateCouponResponseObject, error) {
	u, b := work.From(ctx), r.Body
	err := u.Check(ctx, b.ProgramID, work.ProgramRef("program_id", &b.ProgramID), work.PartnerRef("partner_id", b.PartnerID), work.GroupRef("group_id", b.GroupID))
	if err != nil {
		return nil, err
	}
	coupon := db.Coupon{
		ID: ident.New(ident.Coupon), OrgID: u.OrgID, ProgramID: b.ProgramID, PartnerID: b.PartnerID, GroupID: b.GroupID, Code: b.Code,
		ExternalID: b.ExternalID, Active: true, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	inserted, err := queries.CouponInsert(ctx, u.DB(), db.CouponInsertParams(coupon))
	if err != nil {
		return nil, err
	}
	if inserted == 0 {
		return nil, couponTaken(ctx, u, b.ProgramID, b.Code)
	}
	recordCoupon(u, events.AffiliateCouponCreated, coupon)
	return api.CreateCoupon201JSONResponse(toCoupon(coupon)), nil
}

func couponTaken(ctx context.Context, u *work.Unit, programID, code string) error {
	held, err := queries.CouponByCode(ctx, u.DB(), db.CouponByCodeParams{ProgramID: programID, OrgID: u.OrgID, Code: code})
	if err != nil {
		return err
	}
	return problem.Taken(problem.CouponCodeTaken, "code", held, "A coupon with this code exists in the program.")
}

// UpdateCoupon changes the promotion id and the partner.
func (s *Server) UpdateCoupon(ctx context.Context, r api.UpdateCouponRequestObject) (api.UpdateCouponResponseObject, error) {
	u, b := work.From(ctx), r.Body
	before, err := lockCoupon(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	coupon := before
	changeOrClear(&coupon.ExternalID, b.ExternalID)
	changeOrClear(&coupon.PartnerID, b.PartnerID)
	if reflect.DeepEqual(coupon, before) {
		return api.UpdateCoupon200JSONResponse(toCoupon(coupon)), nil
	}
	if b.PartnerID.IsSpecified() {
		if err := u.Check(ctx, coupon.ProgramID, work.PartnerRef("partner_id", coupon.PartnerID)); err != nil {
			return nil, err
		}
	}
	coupon.UpdatedAt = u.Now
	err = queries.CouponUpdate(ctx, u.Later(), db.CouponUpdateParams{
		ExternalID: coupon.ExternalID, PartnerID: coupon.PartnerID, UpdatedAt: coupon.UpdatedAt, ID: coupon.ID, OrgID: coupon.OrgID,
	})
	recordCoupon(u, events.AffiliateCouponUpdated, coupon)
	return api.UpdateCoupon200JSONResponse(toCoupon(coupon)), err
}

// DeleteCoupon removes a coupon; customers that it brought keep their partner.
func (s *Server) DeleteCoupon(ctx context.Context, r api.DeleteCouponRequestObject) (api.DeleteCouponResponseObject, error) {
	u := work.From(ctx)
	coupon, err := lockCoupon(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	err = queries.CouponDelete(ctx, u.Later(), db.CouponDeleteParams{ID: coupon.ID, OrgID: coupon.OrgID})
	u.Record(aboutCoupon(coupon), events.AffiliateCouponDeleted(api.AffiliateCouponDeletedData{CouponID: coupon.ID, PartnerID: coupon.PartnerID}))
	return api.DeleteCoupon200JSONResponse{ID: coupon.ID, Object: "coupon", Deleted: true}, err
}

func lockCoupon(ctx context.Context, u *work.Unit, id string) (db.Coupon, error) {
	coupon, err := queries.CouponLock(ctx, u.DB(), db.CouponLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return coupon, err
	}
	return coupon, u.CheckProgram(coupon.ProgramID)
}

// recordCoupon notes one of the events that tell all of a coupon.
func recordCoupon(u *work.Unit, of func(api.AffiliateCouponData) events.Event, k db.Coupon) {
	u.Record(aboutCoupon(k), of(api.AffiliateCouponData{
		CouponID: k.ID, PartnerID: k.PartnerID, Code: k.Code, Active: k.Active,
	}))
}

func aboutCoupon(k db.Coupon) event.Subject {
	return event.Subject{ProgramID: k.ProgramID, PartnerID: opt.Value(k.PartnerID), ID: k.ID}
}
