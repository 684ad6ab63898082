package handlers

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/money/sale"
	"rail/server/opt"
	"rail/server/work"
)

// RefundSale refunds a sale as a whole or, with amount_minor, in part. A second whole refund
// changes nothing and returns the first one's time (decisions, 97). The answer lists the effect on
// each commission.
func (s *Server) RefundSale(ctx context.Context, r api.RefundSaleRequestObject) (api.RefundSaleResponseObject, error) {
	// The body is optional: without one, refund the rest.
	body := api.SaleRefund{}
	if r.Body != nil {
		body = *r.Body
	}
	refund := sale.Refund
	if opt.Value(body.DryRun) {
		refund = sale.PreviewRefund
	}
	done, err := refund(ctx, work.From(ctx), sale.RefundInput{
		SaleID:      r.ID,
		ExternalID:  body.ExternalRefundID,
		AmountMinor: body.AmountMinor,
		At:          body.RefundedAt,
		Reason:      body.Reason,
	})
	if err != nil {
		return nil, err
	}
	// The sale is known, so its fields are not optional like those of CreateRefund.
	f, err := toRefunded(done)
	return api.RefundSale200JSONResponse{
		ID:                f.ID,
		Object:            f.Object,
		SaleID:            opt.Value(f.SaleID),
		ExternalRefundID:  f.ExternalRefundID,
		Status:            f.Status,
		AmountMinor:       opt.Value(f.AmountMinor),
		VoidedCommissions: f.VoidedCommissions,
		ClawbackMinor:     f.ClawbackMinor,
		Currency:          opt.Value(f.Currency),
		Commissions:       f.Commissions,
		Warnings:          f.Warnings,
		RefundedAt:        f.RefundedAt,
	}, err
}

// CreateRefund records a refund by the processor's ids: 201 if it was applied, 202 if it waits for
// its sale, 200 if it was recorded before. A waiting refund is applied when its sale is recorded.
func (s *Server) CreateRefund(ctx context.Context,
	r api.CreateRefundRequestObject) (api.CreateRefundResponseObject, error) {
	b := r.Body
	done, err := sale.RefundCharge(ctx, work.From(ctx), b.ProgramID, b.ExternalChargeID, sale.RefundInput{
		ExternalID: &b.ExternalRefundID, AmountMinor: b.AmountMinor, At: b.RefundedAt, Reason: b.Reason,
	})
	if err != nil {
		return nil, err
	}
	refund, err := toRefunded(done)
	switch {
	case err != nil:
		return nil, err
	// Before the status, because a waiting refund can be repeated too.
	case done.Repeated:
		return api.CreateRefund200JSONResponse(refund), nil
	case done.Status == db.RefundStatusWaiting:
		return api.CreateRefund202JSONResponse(refund), nil
	}
	return api.CreateRefund201JSONResponse(refund), nil
}

// ListRefunds lists the refunds of a program, newest first, including refunds that wait for their
// sale.
func (s *Server) ListRefunds(ctx context.Context,
	r api.ListRefundsRequestObject) (api.ListRefundsResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := decodePage(ctx, q, db.RefundList{
		SaleID:           p.SaleID,
		ExternalChargeID: p.ExternalChargeID,
		ExternalRefundID: p.ExternalRefundID,
		Status:           list.Any(p.Status),
		CreatedAfter:     q.date("created_after", p.CreatedAfter),
		CreatedBefore:    q.date("created_before", p.CreatedBefore),
	}, toRefund, refundParts(p.Expand)...)
	return api.ListRefunds200JSONResponse(out), err
}

func refundParts(expand []api.RefundExpand) []part[api.Refund] {
	return []part[api.Refund]{
		embedSale(wants(expand, api.RefundExpandSale),
			func(f *api.Refund) (*string, *nullable.Nullable[api.Sale]) { return f.SaleID, &f.Sale }),
	}
}

// RetrieveRefund returns one refund.
func (s *Server) RetrieveRefund(ctx context.Context,
	r api.RetrieveRefundRequestObject) (api.RetrieveRefundResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.RefundGet(ctx, u.Short(), db.RefundGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	f, err := toRefund(row)
	out, err := complete(ctx, f, row.ProgramID, err, refundParts(r.Params.Expand)...)
	return api.RetrieveRefund200JSONResponse(out), err
}

// toRefunded converts a refund for the answer to CreateRefund, with a warning if it was recorded
// before with other values.
func toRefunded(done sale.Refunded) (api.Refund, error) {
	refund, err := toRefund(done.Refund)
	if len(done.Differs) > 0 {
		refund.Warnings = append(refund.Warnings, api.RefundWarning{Code: api.RefundWarningCodeDiffersFromRecorded,
			Message: differs("refund", done.Differs)})
	}
	return refund, err
}

// toRefund converts a refund. Its effects on commissions and its restorations are stored in the
// JSON form of the API.
func toRefund(f db.Refund) (api.Refund, error) {
	out := api.Refund{
		ID:                f.ID,
		Object:            "refund",
		ProgramID:         f.ProgramID,
		SaleID:            f.SaleID,
		ExternalChargeID:  f.ExternalChargeID,
		ExternalRefundID:  f.ExternalRefundID,
		Status:            api.RefundStatus(f.Status),
		AmountMinor:       f.AmountMinor,
		Currency:          f.Currency,
		VoidedCommissions: f.VoidedCommissions,
		ClawbackMinor:     f.ClawbackMinor,
		Commissions:       []api.RefundedCommission{},
		Reason:            f.Reason,
		Warnings:          []api.RefundWarning{},
		RestoredMinor:     f.RestoredMinor,
		Restorations:      []api.Restoration{},
		RefundedAt:        f.RefundedAt,
		CreatedAt:         f.CreatedAt,
		UpdatedAt:         f.UpdatedAt,
	}
	return out, errors.Join(json.Unmarshal(f.Effects, &out.Commissions), json.Unmarshal(f.Restorations, &out.Restorations))
}
