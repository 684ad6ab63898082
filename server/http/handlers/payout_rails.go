package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/money/payout"
	"rail/server/opt"
	"rail/server/work"
)

// ListPayoutRails lists the rails of a program, newest first.
func (s *Server) ListPayoutRails(ctx context.Context,
	r api.ListPayoutRailsRequestObject) (api.ListPayoutRailsResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.PayoutRailList{Status: list.Any(p.Status)}, toPayoutRail)
	return api.ListPayoutRails200JSONResponse(out), err
}

// RetrievePayoutRail returns one rail.
func (s *Server) RetrievePayoutRail(ctx context.Context,
	r api.RetrievePayoutRailRequestObject) (api.RetrievePayoutRailResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.PayoutRailGet(ctx, u.Short(), db.PayoutRailGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toPayoutRail(row), row.ProgramID, err)
	return api.RetrievePayoutRail200JSONResponse(out), err
}

// SendPayoutBatch hands the batch's payouts over to a rail.
func (s *Server) SendPayoutBatch(ctx context.Context,
	r api.SendPayoutBatchRequestObject) (api.SendPayoutBatchResponseObject, error) {
	sent, err := payout.Send(ctx, work.From(ctx), payout.SendOrder{
		BatchID: r.ID, RailID: r.Body.RailID, Currency: opt.Value(r.Body.Currency), Count: r.Body.ConfirmCount,
		Minor: r.Body.ConfirmAmountMinor, HoldOnHighRisk: s.HoldOnHighRisk,
	})
	return api.SendPayoutBatch200JSONResponse{
		Object: "payouts_sent", BatchID: sent.BatchID, RailID: sent.RailID, Currency: sent.Currency,
		AmountMinor: sent.AmountMinor, PayoutCount: sent.PayoutCount, SentAt: sent.CreatedAt,
	}, err
}

// ReportRailResult writes the result that the service of a webhook rail reports about a payout.
func (s *Server) ReportRailResult(ctx context.Context,
	r api.ReportRailResultRequestObject) (api.ReportRailResultResponseObject, error) {
	b := r.Body
	p, err := payout.ReportResult(ctx, work.From(ctx), s.Keeper, s.Mail, r.ID, payout.RailResult{
		State:      resultStates[b.Status],
		Attention:  payout.Attention(opt.Value(b.Attention)),
		ExternalID: b.ExternalID,
		Code:       opt.Value(b.ErrorCode),
		Message:    opt.Value(b.ErrorMessage),
		Fee:        b.FeeMinor,
		PaidAt:     b.PaidAt,
	})
	shown, err := complete(ctx, uncounted(p), p.ProgramID, err, payoutParts(nil)...)
	return api.ReportRailResult200JSONResponse(shown), err
}

// resultStates are the states that a service reports.
var resultStates = map[api.PayoutRailResultStatus]payout.State{
	api.PayoutRailResultStatusPaid:      payout.Settled,
	api.PayoutRailResultStatusFailed:    payout.Rejected,
	api.PayoutRailResultStatusAttention: payout.InFlight,
}

// DismissPayoutAttention ends the attention of a paid payout whose money came back.
func (s *Server) DismissPayoutAttention(ctx context.Context,
	r api.DismissPayoutAttentionRequestObject) (api.DismissPayoutAttentionResponseObject, error) {
	p, err := payout.DismissAttention(ctx, work.From(ctx), r.ID)
	shown, err := complete(ctx, uncounted(p), p.ProgramID, err, payoutParts(nil)...)
	return api.DismissPayoutAttention200JSONResponse(shown), err
}

// railLimits are the limits of the services: PayPal's default for one item.
var railLimits = map[db.PayoutRailKind]api.PayoutRailLimits{
	db.PayoutRailKindPaypal: {MaxAmountMinor: new(int64(20_000_00)), MaxAmountCurrency: new("USD")},
}

// toPayoutRail converts a rail without its credentials.
func toPayoutRail(c db.PayoutRail) api.PayoutRail {
	methods := make([]api.PayoutMethod, len(c.Methods))
	for i, m := range c.Methods {
		methods[i] = api.PayoutMethod(m)
	}
	return api.PayoutRail{
		ID: c.ID, Object: "payout_rail", ProgramID: c.ProgramID, Kind: api.PayoutRailKind(c.Kind), Methods: methods,
		Livemode: c.Livemode, Status: api.PayoutRailStatus(c.Status), Limits: railLimits[c.Kind], URL: c.URL,
		AutomaticBatchMinor: c.AutomaticBatchMinor, AutomaticDayMinor: c.AutomaticDayMinor,
		WithoutFundsAt: c.WithoutFundsAt, LastSuccessAt: c.LastSuccessAt, LastError: c.LastError,
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
	}
}
