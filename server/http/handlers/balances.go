package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/locale/currency"
	"rail/server/work"
)

// ListBalances lists the balances of a program by partner, then currency; a balance's id is its
// cursor. A partner has a balance in each currency in which it has earned.
func (s *Server) ListBalances(ctx context.Context,
	r api.ListBalancesRequestObject) (api.ListBalancesResponseObject, error) {
	p := r.Params
	if p.Currency != nil {
		// Codes are stored in upper case; the parameter may have any case.
		code, err := currency.Parse(*p.Currency)
		if err != nil {
			return nil, err
		}
		p.Currency = &code
	}
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.BalanceList{PartnerID: p.PartnerID, Currency: p.Currency},
		toBalance, balanceParts(p.Expand)...)
	return api.ListBalances200JSONResponse(out), err
}

func balanceParts(expand []api.BalanceExpand) []part[api.Balance] {
	return []part[api.Balance]{
		embedPartner(wants(expand, api.BalanceExpandPartner),
			func(b *api.Balance) (*string, *nullable.Nullable[api.Partner]) { return &b.PartnerID, &b.Partner }),
	}
}

// RetrieveBalance returns one balance, including the last commit.
func (s *Server) RetrieveBalance(ctx context.Context,
	r api.RetrieveBalanceRequestObject) (api.RetrieveBalanceResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.BalanceGet(ctx, u.DB(), db.BalanceGetParams{ID: r.ID, OrgID: u.OrgID})
	// The same row as in a list: both add ledger rows that are not folded yet.
	out, err := complete(ctx, toBalance(db.BalancePageRow(row)), row.ProgramID, err, balanceParts(r.Params.Expand)...)
	return api.RetrieveBalance200JSONResponse(out), err
}

// toBalance converts a balance; all its amounts are minor units of its currency.
func toBalance(b db.BalancePageRow) api.Balance {
	return api.Balance{
		ID: b.ID, Object: "balance", ProgramID: b.ProgramID, PartnerID: b.PartnerID, Currency: b.Currency,
		PendingMinor: b.PendingMinor, DueMinor: b.DueMinor, PaidMinor: b.PaidMinor, UpdatedAt: b.UpdatedAt,
	}
}
