package handlers

import (
	"cmp"
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/money/payout"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// ListPayouts lists the payouts of a program, newest first, including ineligible ones with the
// reason.
func (s *Server) ListPayouts(ctx context.Context,
	r api.ListPayoutsRequestObject) (api.ListPayoutsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	since, until, err := created(p.CreatedAfter, p.CreatedBefore)
	if err != nil {
		return nil, err
	}
	rows, err := list.Of(ctx, u, list.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.PayoutList{
		PartnerID: p.PartnerID, BatchID: p.BatchID, Status: list.Any(p.Status),
		CreatedAfter: since, CreatedBefore: until,
	})
	if err != nil {
		return nil, err
	}
	// The commissions are counted below, for all payouts at once.
	data := mapped(rows.Rows, func(p db.Payout) api.Payout { return toPayout(p, 0) })
	if err := fillPayouts(ctx, u, data, p.Expand); err != nil {
		return nil, err
	}
	return api.ListPayouts200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, nil
}

// fillPayouts counts the payouts' commissions and embeds the requested relations, in one round
// trip; the batches' totals take another.
func fillPayouts(ctx context.Context, u *work.Unit, payouts []api.Payout, expand []api.PayoutExpand) error {
	var batches []db.PayoutBatch
	// Always count the commissions: commission_count is not optional.
	reads := []pgtx.Read{
		func(tx pgtx.DBTX) error { return countCommissions(ctx, tx, u, payouts) },
		func(tx pgtx.DBTX) error { return noteDetails(ctx, tx, u, payouts) },
	}
	if wants(expand, api.PayoutExpandBatch) {
		reads = append(reads, func(tx pgtx.DBTX) (err error) {
			batches, err = queries.BatchByIDs(ctx, tx, db.BatchByIDsParams{
				Ids: ids(payouts, func(p *api.Payout) string { return p.BatchID }), OrgID: u.OrgID,
			})
			return err
		})
	}
	if err := u.Together(ctx, reads...); err != nil {
		return err
	}
	if err := together(ctx, u, embedPartner(ctx, u, wants(expand, api.PayoutExpandPartner), payouts,
		func(p *api.Payout) (*string, *nullable.Nullable[api.Partner]) { return &p.PartnerID, &p.Partner })); err != nil {
		return err
	}
	if !wants(expand, api.PayoutExpandBatch) {
		return nil
	}
	// A second round trip, because the batches are known only after the first.
	whole, err := toBatches(ctx, u, batches)
	if err != nil {
		return err
	}
	for i := range payouts {
		for _, b := range whole {
			if b.ID == payouts[i].BatchID {
				payouts[i].Batch = nullable.NewNullableWithValue(b)
			}
		}
	}
	return nil
}

// countCommissions counts the commissions of payouts of one program.
func countCommissions(ctx context.Context, tx pgtx.DBTX, u *work.Unit, payouts []api.Payout) error {
	if len(payouts) == 0 {
		return nil
	}
	counts, err := list.CountBy(ctx, tx, "commissions", db.Scope{ProgramID: payouts[0].ProgramID, OrgID: u.OrgID},
		ids(payouts, func(p *api.Payout) string { return p.ID }))
	for i := range payouts {
		payouts[i].CommissionCount = counts[payouts[i].ID]
	}
	return err
}

// noteDetails marks unpaid payouts whose partner's payout details have changed since its last payment.
func noteDetails(ctx context.Context, tx pgtx.DBTX, u *work.Unit, payouts []api.Payout) error {
	partners := ids(payouts, func(p *api.Payout) string { return p.PartnerID })
	changed, err := payout.DetailsChanged(ctx, tx, u.OrgID, partners)
	for i, p := range payouts {
		if at, ok := changed[p.PartnerID]; ok && p.Status != api.PayoutStatusPaid {
			payouts[i].DetailsChangedAt = &at
		}
	}
	return err
}

// RetrievePayout returns one payout.
func (s *Server) RetrievePayout(ctx context.Context,
	r api.RetrievePayoutRequestObject) (api.RetrievePayoutResponseObject, error) {
	u := work.From(ctx)
	p, err := queries.PayoutGet(ctx, u.Short(), db.PayoutGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(p.ProgramID); err != nil {
		return nil, err
	}
	one := []api.Payout{toPayout(p, 0)}
	err = fillPayouts(ctx, u, one, r.Params.Expand)
	return api.RetrievePayout200JSONResponse(one[0]), err
}

// MarkPayoutPaid settles a payout that was paid without a rail. The default of paid_at is now. A
// payout that is paid, in flight or not eligible is a 409.
func (s *Server) MarkPayoutPaid(ctx context.Context,
	r api.MarkPayoutPaidRequestObject) (api.MarkPayoutPaidResponseObject, error) {
	u := work.From(ctx)
	payment := payout.Payment{At: u.Now}
	if b := r.Body; b != nil {
		payment.Method, payment.ExternalID = (*string)(b.Method), b.ExternalID
		payment.At = *cmp.Or(b.PaidAt, &payment.At)
	}
	p, err := payout.MarkPaid(ctx, u, s.Mail, r.ID, payment)
	if err != nil {
		return nil, err
	}
	shown, err := s.changedPayout(ctx, u, p)
	return api.MarkPayoutPaid200JSONResponse(shown), err
}

// MarkPayoutFailed ends an exported payout whose money did not arrive.
func (s *Server) MarkPayoutFailed(ctx context.Context,
	r api.MarkPayoutFailedRequestObject) (api.MarkPayoutFailedResponseObject, error) {
	u := work.From(ctx)
	p, err := payout.MarkFailed(ctx, u, r.ID, r.Body.Reason)
	if err != nil {
		return nil, err
	}
	shown, err := s.changedPayout(ctx, u, p)
	return api.MarkPayoutFailed200JSONResponse(shown), err
}

// UndoPayoutPaid undoes MarkPayoutPaid.
func (s *Server) UndoPayoutPaid(ctx context.Context,
	r api.UndoPayoutPaidRequestObject) (api.UndoPayoutPaidResponseObject, error) {
	u := work.From(ctx)
	p, err := payout.UndoPaid(ctx, u, s.Mail, r.ID, r.Body.Reason)
	if err != nil {
		return nil, err
	}
	shown, err := s.changedPayout(ctx, u, p)
	return api.UndoPayoutPaid200JSONResponse(shown), err
}

// changedPayout converts a changed payout.
func (s *Server) changedPayout(ctx context.Context, u *work.Unit, p db.Payout) (api.Payout, error) {
	one := []api.Payout{toPayout(p, 0)}
	err := countCommissions(ctx, u.Tx, u, one)
	if err == nil {
		err = noteDetails(ctx, u.Tx, u, one)
	}
	return one[0], err
}

// DeletePayout removes an unpaid payout; its commissions are due again. A payout that is paid or in
// flight is a 409.
func (s *Server) DeletePayout(ctx context.Context,
	r api.DeletePayoutRequestObject) (api.DeletePayoutResponseObject, error) {
	err := payout.Delete(ctx, work.From(ctx), r.ID)
	return api.DeletePayout200JSONResponse{ID: r.ID, Object: "payout", Deleted: true}, err
}
