package handlers

import (
	"cmp"
	"context"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/money/payout"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// ListPayoutBatches lists the batches of a program, newest first. Their totals are computed on
// request.
func (s *Server) ListPayoutBatches(ctx context.Context,
	r api.ListPayoutBatchesRequestObject) (api.ListPayoutBatchesResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.BatchList{
		CreatedAfter: q.date("created_after", p.CreatedAfter), CreatedBefore: q.date("created_before", p.CreatedBefore),
	}, toBatch, batchParts...)
	return api.ListPayoutBatches200JSONResponse(out), err
}

// RetrievePayoutBatch returns one batch with its current totals.
func (s *Server) RetrievePayoutBatch(ctx context.Context,
	r api.RetrievePayoutBatchRequestObject) (api.RetrievePayoutBatchResponseObject, error) {
	u := work.From(ctx)
	b, err := queries.BatchGet(ctx, u.Short(), db.BatchGetParams{ID: r.ID, OrgID: u.OrgID})
	breakdown := when(wants(r.Params.Include, api.PayoutBatchIncludeBreakdown), batchBreakdown)
	out, err := complete(ctx, toBatch(b), b.ProgramID, err, append(slices.Clone(batchParts), breakdown)...)
	return api.RetrievePayoutBatch200JSONResponse(out), err
}

// CreatePayoutBatch generates the batch of a month: 201 for a new one, 200 for an existing one,
// with current totals (decisions, 118). A job adds partners beyond the first page; the batch is
// generating until then. No money moves.
func (s *Server) CreatePayoutBatch(ctx context.Context,
	r api.CreatePayoutBatchRequestObject) (api.CreatePayoutBatchResponseObject, error) {
	u, b := work.From(ctx), r.Body
	batch, created, err := payout.GenerateIn(ctx, u, b.ProgramID, payout.Order{
		Until:          b.PeriodEnd,
		PartnerID:      b.PartnerID,
		GroupID:        b.GroupID,
		IgnoreMinimum:  opt.Value(b.IgnoreMinimum),
		HoldOnHighRisk: s.HoldOnHighRisk,
	})
	out, err := complete(ctx, toBatch(batch), batch.ProgramID, err, batchParts...)
	// Both answers have the same body; only the status differs.
	if created {
		return api.CreatePayoutBatch201JSONResponse(out), err
	}
	return api.CreatePayoutBatch200JSONResponse(out), err
}

// PreviewPayoutBatch returns the result of CreatePayoutBatch without changing anything.
func (s *Server) PreviewPayoutBatch(ctx context.Context,
	r api.PreviewPayoutBatchRequestObject) (api.PreviewPayoutBatchResponseObject, error) {
	u, b := work.From(ctx), r.Body
	p, err := payout.PreviewIn(ctx, u, b.ProgramID, payout.Order{
		Until:          b.PeriodEnd,
		PartnerID:      b.PartnerID,
		GroupID:        b.GroupID,
		IgnoreMinimum:  opt.Value(b.IgnoreMinimum),
		HoldOnHighRisk: s.HoldOnHighRisk,
	}, payout.Window{
		After: opt.Value(b.StartingAfter), Limit: int(*cmp.Or(b.Limit, new(int64(100)))),
		Outcome: payout.Outcome(opt.Value(b.Outcome)),
	})
	return api.PreviewPayoutBatch200JSONResponse{
		Object:       "payout_preview",
		ProgramID:    b.ProgramID,
		PeriodEnd:    p.PeriodEnd,
		DueAt:        p.DueAt,
		BatchID:      p.BatchID,
		PartnerCount: int64(p.Partners),
		Partial:      p.Partial,
		HasMore:      p.More,
		Totals: mapped(p.Totals, func(t payout.Total) api.PayoutPreviewTotal {
			return api.PayoutPreviewTotal{
				Outcome:     api.PayoutPreviewOutcome(t.Outcome),
				Reason:      opt.OrNil(api.PayoutIneligibilityReason(t.Reason)),
				Currency:    t.Currency,
				Method:      opt.OrNil(api.PayoutMethod(t.Method)),
				PayoutCount: t.Payouts,
				AmountMinor: t.AmountMinor,
			}
		}),
		Data: mapped(p.Lines, toPreviewLine),
	}, err
}

func toPreviewLine(l payout.Line) api.PayoutPreviewLine {
	return api.PayoutPreviewLine{
		PartnerID:        l.Partner.ID,
		PartnerName:      payout.NameOf(l.Partner),
		PartnerEmail:     l.Partner.Email,
		Currency:         l.Currency,
		AmountMinor:      l.AmountMinor,
		CommissionCount:  int64(l.Commissions),
		Method:           opt.OrNil(api.PayoutMethod(l.Method)),
		Outcome:          api.PayoutPreviewOutcome(l.Outcome),
		Reason:           opt.OrNil(api.PayoutIneligibilityReason(l.Reason)),
		ReasonText:       opt.OrNil(l.Text),
		DetailsChangedAt: l.DetailsChangedAt,
	}
}

// toBatch converts a batch as it is without waiting payouts; batchParts change it.
func toBatch(b db.PayoutBatch) api.PayoutBatch {
	return api.PayoutBatch{
		ID:        b.ID,
		Object:    "payout_batch",
		ProgramID: b.ProgramID,
		PeriodEnd: b.PeriodEnd,
		Status:    api.PayoutBatchStatusCompleted,
		Totals:    []api.PayoutBatchTotal{},
		CreatedAt: b.CreatedAt,
		UpdatedAt: b.UpdatedAt,
	}
}

// batchParts adds the totals of their payouts to batches, and whether a run still adds payouts.
var batchParts = []part[api.PayoutBatch]{batchTotals, generatingBatches}

func batchTotals(ctx context.Context, tx pgtx.DBTX, orgID string, batches []api.PayoutBatch) error {
	sums, err := queries.BatchTotals(ctx, tx, db.BatchTotalsParams{BatchIds: batchIDs(batches), OrgID: orgID})
	for i := range batches {
		for _, sum := range sums {
			if sum.BatchID == batches[i].ID {
				addTotal(&batches[i], sum)
			}
		}
	}
	return err
}

// batchBreakdown adds the sums of batches by status, method and currency.
func batchBreakdown(ctx context.Context, tx pgtx.DBTX, orgID string, batches []api.PayoutBatch) error {
	rows, err := queries.BatchBreakdown(ctx, tx, db.BatchBreakdownParams{BatchIds: batchIDs(batches), OrgID: orgID})
	for i, b := range batches {
		parts := []api.PayoutBatchPart{}
		for _, row := range rows {
			if row.BatchID == b.ID {
				parts = append(parts, api.PayoutBatchPart{
					Status:      api.PayoutStatus(row.Status),
					Method:      (*api.PayoutMethod)(row.Method),
					Currency:    row.Currency,
					PayoutCount: row.Payouts,
					AmountMinor: row.AmountMinor,
				})
			}
		}
		batches[i].Breakdown = &parts
	}
	return err
}

func generatingBatches(ctx context.Context, tx pgtx.DBTX, orgID string, batches []api.PayoutBatch) error {
	generating, err := queries.BatchesGenerating(ctx, tx, db.BatchesGeneratingParams{
		ProgramID: batches[0].ProgramID, Ids: batchIDs(batches), OrgID: orgID,
	})
	for i, b := range batches {
		// A run still adds payouts, so the batch is open regardless of its payouts.
		if slices.Contains(generating, b.ID) {
			batches[i].Generating, batches[i].Status = true, api.PayoutBatchStatusOpen
		}
	}
	return err
}

func batchIDs(batches []api.PayoutBatch) []string {
	return ids(batches, func(b *api.PayoutBatch) string { return b.ID })
}

// addTotal adds the total of one currency and state to a batch. A batch is completed if none of its
// payouts waits (decisions, 115 and 198).
func addTotal(b *api.PayoutBatch, s db.BatchTotalsRow) {
	// It is counted, but its money is still due and in no total.
	if s.Status == db.PayoutStatusNotEligible {
		b.NotEligibleCount += s.Payouts
		return
	}
	b.PayoutCount += s.Payouts
	if s.Status != db.PayoutStatusPaid {
		b.Status = api.PayoutBatchStatusOpen
	}
	// The rows are sorted by currency, so a currency's total is the last or a new one.
	last := len(b.Totals) - 1
	if last < 0 || b.Totals[last].Currency != s.Currency {
		b.Totals = append(b.Totals, api.PayoutBatchTotal{Currency: s.Currency})
		last++
	}
	b.Totals[last].AmountMinor += s.AmountMinor
	b.Totals[last].PayoutCount += s.Payouts
}
