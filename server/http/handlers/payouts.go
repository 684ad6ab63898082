package handlers

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/money/payout"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// ListPayouts lists the payouts of a program, newest first, including ineligible ones with the
// reason.
func (s *Server) ListPayouts(ctx context.Context,
	r api.ListPayoutsRequestObject) (api.ListPayoutsResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.PayoutList{
		PartnerID: p.PartnerID, BatchID: p.BatchID, Status: list.Any(p.Status), Attention: list.Any(p.Attention),
		CreatedAfter: q.date("created_after", p.CreatedAfter), CreatedBefore: q.date("created_before", p.CreatedBefore),
	}, uncounted, payoutParts(p.Expand)...)
	if err != nil {
		return nil, err
	}
	err = addTotals(ctx, out.Data, p.Expand)
	return api.ListPayouts200JSONResponse(out), err
}

// uncounted converts a payout without the number of its commissions, which countCommissions adds.
func uncounted(p db.Payout) api.Payout { return toPayout(p, 0) }

// payoutParts returns the requested parts and the numbers of commissions. The totals of a batch
// need the batch first; addTotals reads them.
func payoutParts(expand []api.PayoutExpand) []part[api.Payout] {
	return []part[api.Payout]{
		countCommissions, // always: commission_count is not optional
		noteDetails,
		numberStatements,
		embedPartner(wants(expand, api.PayoutExpandPartner),
			func(p *api.Payout) (*string, *nullable.Nullable[api.Partner]) { return &p.PartnerID, &p.Partner }),
		embedBatch(wants(expand, api.PayoutExpandBatch),
			func(p *api.Payout) (*string, *nullable.Nullable[api.PayoutBatch]) { return &p.BatchID, &p.Batch }),
	}
}

// addTotals adds their totals to the embedded batches of payouts.
func addTotals(ctx context.Context, payouts []api.Payout, expand []api.PayoutExpand) error {
	if !wants(expand, api.PayoutExpandBatch) {
		return nil
	}
	embedded := map[string]api.PayoutBatch{}
	for _, p := range payouts {
		if b, err := p.Batch.Get(); err == nil {
			embedded[b.ID] = b
		}
	}
	batches := slices.Collect(maps.Values(embedded))
	if err := addParts(ctx, work.From(ctx), batches, batchParts...); err != nil {
		return err
	}
	for _, b := range batches {
		embedded[b.ID] = b
	}
	for i := range payouts {
		if b, ok := embedded[payouts[i].BatchID]; ok {
			payouts[i].Batch.Set(b)
		}
	}
	return nil
}

// countCommissions counts the commissions of payouts.
func countCommissions(ctx context.Context, tx pgtx.DBTX, orgID string, payouts []api.Payout) error {
	counts, err := list.CountBy(ctx, tx, "commissions", db.Scope{ProgramID: payouts[0].ProgramID, OrgID: orgID},
		ids(payouts, func(p *api.Payout) string { return p.ID }))
	for i := range payouts {
		payouts[i].CommissionCount = counts[payouts[i].ID]
	}
	return err
}

// noteDetails marks unpaid payouts whose partner's payout details have changed since its last payment.
func noteDetails(ctx context.Context, tx pgtx.DBTX, orgID string, payouts []api.Payout) error {
	partners := ids(payouts, func(p *api.Payout) string { return p.PartnerID })
	changed, err := payout.DetailsChanged(ctx, tx, orgID, partners)
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
	one, err := complete(ctx, uncounted(p), p.ProgramID, err, payoutParts(r.Params.Expand)...)
	if err != nil {
		return nil, err
	}
	out := []api.Payout{one}
	err = addTotals(ctx, out, r.Params.Expand)
	return api.RetrievePayout200JSONResponse(out[0]), err
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
	p, err := payout.MarkPaid(ctx, u, s.Mail, s.Keeper, r.ID, payment)
	shown, err := complete(ctx, uncounted(p), p.ProgramID, err, payoutParts(nil)...)
	return api.MarkPayoutPaid200JSONResponse(shown), err
}

// MarkPayoutFailed ends an exported payout whose money did not arrive.
func (s *Server) MarkPayoutFailed(ctx context.Context,
	r api.MarkPayoutFailedRequestObject) (api.MarkPayoutFailedResponseObject, error) {
	p, err := payout.MarkFailed(ctx, work.From(ctx), r.ID, r.Body.Reason)
	shown, err := complete(ctx, uncounted(p), p.ProgramID, err, payoutParts(nil)...)
	return api.MarkPayoutFailed200JSONResponse(shown), err
}

// UndoPayoutPaid undoes MarkPayoutPaid.
func (s *Server) UndoPayoutPaid(ctx context.Context,
	r api.UndoPayoutPaidRequestObject) (api.UndoPayoutPaidResponseObject, error) {
	p, err := payout.UndoPaid(ctx, work.From(ctx), s.Mail, r.ID, r.Body.Reason)
	shown, err := complete(ctx, uncounted(p), p.ProgramID, err, payoutParts(nil)...)
	return api.UndoPayoutPaid200JSONResponse(shown), err
}

// MarkPayoutsPaid marks several payouts as paid. A dry run returns the payouts.
func (s *Server) MarkPayoutsPaid(ctx context.Context,
	r api.MarkPayoutsPaidRequestObject) (api.MarkPayoutsPaidResponseObject, error) {
	u, b := work.From(ctx), r.Body
	dry := opt.Value(b.DryRun)
	if dry {
		u.Log() // nothing changes
	}
	method, _ := b.Method.Get()
	m, err := payout.MarkAll(ctx, u, s.Mail, s.Keeper, payout.Selection{
		ProgramID: b.ProgramID,
		IDs:       b.PayoutIds,
		BatchID:   opt.Value(b.BatchID),
		Currency:  opt.Value(b.Currency),
		Method:    string(method),
		NoMethod:  b.Method.IsNull(),
		Count:     b.ConfirmCount,
		Minor:     b.ConfirmAmountMinor,
	}, payout.Payment{ExternalID: b.ExternalID, At: *cmp.Or(b.PaidAt, &u.Now)}, dry)
	return api.MarkPayoutsPaid200JSONResponse{
		Object: "payout_marking", DryRun: dry, RequestID: u.RequestID, PayoutCount: m.Count, Totals: mapped(m.Sums, toTotal),
		Payouts: mapped(m.Done, func(p db.Payout) api.PayoutMarked {
			return api.PayoutMarked{
				PayoutID: p.ID, PartnerID: p.PartnerID, PartnerName: m.Names[p.PartnerID], AmountMinor: p.AmountMinor,
				Currency: p.Currency,
			}
		}),
		RefusedCount: m.NotDone, Refused: mapped(m.Refused, toRefused), RemainingCount: m.Remaining,
	}, err
}

// UndoPayoutsPaid undoes MarkPayoutsPaid.
func (s *Server) UndoPayoutsPaid(ctx context.Context,
	r api.UndoPayoutsPaidRequestObject) (api.UndoPayoutsPaidResponseObject, error) {
	b := r.Body
	m, err := payout.UndoAll(ctx, work.From(ctx), s.Mail, b.ProgramID, b.RequestID, b.Reason)
	return api.UndoPayoutsPaid200JSONResponse{
		Object: "payout_unmarking", PayoutCount: m.Count, Totals: mapped(m.Sums, toTotal), RefusedCount: m.NotDone,
		Refused: mapped(m.Refused, toRefused), RemainingCount: m.Remaining,
	}, err
}

func toRefused(r payout.Refused) api.PayoutRefused {
	return api.PayoutRefused{PayoutID: r.PayoutID, Code: string(r.Code), Reason: r.Why}
}

// EmailPayoutFailure mails the partner why its payout has failed.
func (s *Server) EmailPayoutFailure(ctx context.Context,
	r api.EmailPayoutFailureRequestObject) (api.EmailPayoutFailureResponseObject, error) {
	p, err := payout.EmailFailure(ctx, work.From(ctx), s.Mail, r.ID)
	shown, err := complete(ctx, uncounted(p), p.ProgramID, err, payoutParts(nil)...)
	return api.EmailPayoutFailure200JSONResponse(shown), err
}

// DeletePayout removes an unpaid payout; its commissions are due again. A payout that is paid or in
// flight is a 409.
func (s *Server) DeletePayout(ctx context.Context,
	r api.DeletePayoutRequestObject) (api.DeletePayoutResponseObject, error) {
	err := payout.Delete(ctx, work.From(ctx), r.ID)
	return api.DeletePayout200JSONResponse{ID: r.ID, Object: "payout", Deleted: true}, err
}
