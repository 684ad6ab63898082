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
		Livemode: c.Livemode, Status: api.PayoutRailStatus(c.Status), Limits: railLimits[c.Kind],
		WithoutFundsAt: c.WithoutFundsAt, LastSuccessAt: c.LastSuccessAt, LastError: c.LastError,
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
	}
}
