package handlers

import (
	"cmp"
	"context"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/locale/currency"
	"rail/server/money/payout"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
)

// maxLeft and maxResults bound the items of an answer.
const (
	maxLeft    = 500
	maxResults = 1000
)

// ExportPayoutBatch writes a file of a batch and marks its payouts as processing.
func (s *Server) ExportPayoutBatch(ctx context.Context,
	r api.ExportPayoutBatchRequestObject) (api.ExportPayoutBatchResponseObject, error) {
	u, b := work.From(ctx), r.Body
	f := payout.File{
		Keeper: s.Keeper, Rails: s.Rails, Format: string(b.Format), Method: string(opt.Value(b.Method)),
		New: opt.Value(b.New), HoldOnHighRisk: s.HoldOnHighRisk,
	}
	if f.Method != "" && f.Format != payout.CSV {
		return nil, problem.On("method", problem.ParametersExclusive, "method is for csv: a service's file has those of its own.")
	}
	var err error
	if b.Currency != nil {
		if f.Currency, err = currency.Parse(*b.Currency); err != nil {
			return nil, err
		}
	}
	if f.Batch, err = queries.BatchGet(ctx, u.DB(), db.BatchGetParams{ID: r.ID, OrgID: u.OrgID}); err != nil {
		return nil, err
	}
	if err := u.CheckProgram(f.Batch.ProgramID); err != nil {
		return nil, err
	}
	text, done, more, err := payout.Export(ctx, u, f)
	if err != nil {
		return nil, err
	}
	return api.ExportPayoutBatch200JSONResponse{
		Object:      "payout_file",
		BatchID:     f.Batch.ID,
		Format:      b.Format,
		Currency:    opt.OrNil(done.Currency),
		FileName:    f.Name(done.Currency),
		ContentType: "text/csv; charset=utf-8",
		Content:     text,
		PayoutCount: int64(done.Rows),
		AmountMinor: done.AmountMinor,
		AgainCount:  int64(done.Repeated),
		HasMore:     more,
		LeftCount:   int64(len(done.Left)),
		Left: mapped(done.Left[:min(len(done.Left), maxLeft)], func(l payout.Omission) api.PayoutLeftOut {
			return api.PayoutLeftOut{PayoutID: l.PayoutID, PartnerID: l.PartnerID, Reason: l.Why, Elsewhere: l.Elsewhere}
		}),
		Other: mapped(done.Other, func(o db.PayoutUnpaidCountsRow) api.PayoutFileOther {
			return api.PayoutFileOther{
				Currency: o.Currency, Method: (*api.PayoutMethod)(o.Method), PayoutCount: o.Payouts,
			}
		}),
	}, nil
}

// ReportPayoutResults ends payouts of a batch according to a provider's results.
func (s *Server) ReportPayoutResults(ctx context.Context,
	r api.ReportPayoutResultsRequestObject) (api.ReportPayoutResultsResponseObject, error) {
	u := work.From(ctx)
	rows, err := payout.ReadResults(r.Body.Content)
	if err != nil {
		return nil, err
	}
	payment := payout.Payment{At: *cmp.Or(r.Body.PaidAt, &u.Now)}
	report, err := payout.ReportResults(ctx, u, s.Mail, s.Keeper, r.ID, rows, payment)
	if err != nil {
		return nil, err
	}
	counts := map[payout.RowOutcome]int64{}
	for _, result := range report.Results {
		counts[result.Outcome]++
	}
	changed := slices.DeleteFunc(report.Results, func(r payout.Result) bool { return r.Outcome == payout.EndedUnchanged })
	return api.ReportPayoutResults200JSONResponse{
		Object:         "payout_result_report",
		BatchID:        r.ID,
		PaidCount:      counts[payout.EndedPaid],
		FailedCount:    counts[payout.EndedFailed],
		UnchangedCount: counts[payout.EndedUnchanged],
		WaitingCount:   counts[payout.EndedWaiting],
		RefusedCount:   counts[payout.EndedRefused],
		UnknownCount:   counts[payout.EndedUnknown],
		RemainingCount: int64(report.Remaining),
		RepeatedCount:  int64(report.Repeated),
		MissingCount:   report.MissingCount,
		Missing:        mapped(report.Missing, toMissing),
		Data:           mapped(changed[:min(len(changed), maxResults)], toPayoutResult),
	}, nil
}

func toPayoutResult(r payout.Result) api.PayoutResult {
	out := api.PayoutResult{
		Line: int64(r.Line), Outcome: api.PayoutResultOutcome(r.Outcome), Reason: opt.OrNil(r.Why),
	}
	if r.Outcome != payout.EndedUnknown {
		out.PayoutID = &r.PayoutID
	}
	return out
}

func toMissing(p db.PayoutsMissingRow) api.PayoutMissing {
	return api.PayoutMissing{PayoutID: p.ID, PartnerID: p.PartnerID, AmountMinor: p.AmountMinor, Currency: p.Currency}
}

// CancelPayoutBatch undoes the reversible part of a batch.
func (s *Server) CancelPayoutBatch(ctx context.Context,
	r api.CancelPayoutBatchRequestObject) (api.CancelPayoutBatchResponseObject, error) {
	exported := r.Body != nil && opt.Value(r.Body.Exported)
	done, err := payout.Cancel(ctx, work.From(ctx), r.ID, exported)
	if err != nil {
		return nil, err
	}
	out := api.CancelPayoutBatch200JSONResponse{
		Object: "payout_batch_cancellation", BatchID: r.ID, NotEligibleCount: done.NotEligible, KeptCount: done.Remaining,
		HasMore: done.More, Totals: mapped(done.Payouts, toTotal),
	}
	for _, sum := range done.Payouts {
		out.PayoutCount += sum.Payouts
	}
	return out, nil
}

func toTotal(s payout.Sum) api.PayoutBatchTotal {
	return api.PayoutBatchTotal{Currency: s.Currency, AmountMinor: s.AmountMinor, PayoutCount: s.Payouts}
}
