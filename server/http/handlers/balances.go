package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/locale/currency"
	"rail/server/work"
)

// ListBalances lists the balances of a program by partner, then currency; a balance's id is its
// cursor. A partner has a balance in each currency in which it has earned.
func (s *Server) ListBalances(ctx context.Context,
	r api.ListBalancesRequestObject) (api.ListBalancesResponseObject, error) {
	u, p := work.From(ctx), r.Params
	if p.Currency != nil {
		// Codes are stored in upper case; the parameter may have any case.
		code, err := currency.Parse(*p.Currency)
		if err != nil {
			return nil, err
		}
		p.Currency = &code
	}
	rows, err := list.Of(ctx, u, list.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.BalanceList{
		PartnerID: p.PartnerID, Currency: p.Currency,
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.Rows, toBalance)
	if err := fillBalances(ctx, u, data, p.Expand); err != nil {
		return nil, err
	}
	return api.ListBalances200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, nil
}

// fillBalances adds the relations that the query requests.
func fillBalances(ctx context.Context, u *work.Unit, balances []api.Balance, expand []api.BalanceExpand) error {
	return together(ctx, u,
		embedPartner(ctx, u, wants(expand, api.BalanceExpandPartner), balances,
			func(b *api.Balance) (*string, *nullable.Nullable[api.Partner]) { return &b.PartnerID, &b.Partner }))
}

// RetrieveBalance returns one balance, including the last commit.
func (s *Server) RetrieveBalance(ctx context.Context,
	r api.RetrieveBalanceRequestObject) (api.RetrieveBalanceResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.BalanceGet(ctx, u.DB(), db.BalanceGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(row.ProgramID); err != nil {
		return nil, err
	}
	// The same row as in a list: both add ledger rows that are not folded yet.
	one := []api.Balance{toBalance(db.BalancePageRow(row))}
	err = fillBalances(ctx, u, one, r.Params.Expand)
	return api.RetrieveBalance200JSONResponse(one[0]), err
}

// toBalance converts a balance; all its amounts are minor units of its currency.
func toBalance(b db.BalancePageRow) api.Balance {
	return api.Balance{
		ID: b.ID, Object: "balance", ProgramID: b.ProgramID, PartnerID: b.PartnerID, Currency: b.Currency,
		PendingMinor: b.PendingMinor, DueMinor: b.DueMinor, PaidMinor: b.PaidMinor, UpdatedAt: b.UpdatedAt,
	}
}
