package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// ListBalances lists the balances of a program by partner, then currency; a
// balance's id is its cursor.
func (s *Server) ListBalances(ctx context.Context, r api.ListBalancesRequestObject) (api.ListBalancesResponseObject, error) {
	u, p := work.From(ctx), r.Params
	org := u.OrgID
	if p.Currency != nil {
		currency, err := currencyOf(*p.Currency)
		if err != nil {
			return nil, err
		}
		p.Currency = &currency
	}
	rows, err := list(ctx, u, paging{
		programID: p.ProgramID, limit: p.Limit, startingAfter: p.StartingAfter, endingBefore: p.EndingBefore,
		refs: []work.Reference{work.PartnerRef("partner_id", p.PartnerID)},
	}, lister[db.BalanceCursorRow, db.BalancePageRow]{
		cursor: func(ctx context.Context, tx pgtx.DBTX, id string) (db.BalanceCursorRow, error) {
			return queries.BalanceCursor(ctx, tx, db.BalanceCursorParams{ID: id, ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, Currency: p.Currency})
		},
		page: func(ctx context.Context, tx pgtx.DBTX, after, before *db.BalanceCursorRow, lim int32) ([]db.BalancePageRow, error) {
			q := db.BalancePageParams{ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, Currency: p.Currency, Lim: lim}
			if after != nil {
				q.AfterPartner, q.AfterCurrency = &after.PartnerID, &after.Currency
			}
			if before != nil {
				q.BeforePartner, q.BeforeCurrency = &before.PartnerID, &before.Currency
			}
			return queries.BalancePage(ctx, tx, q)
		},
		count: func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
			return queries.BalanceCount(ctx, tx, db.BalanceCountParams{ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, Currency: p.Currency})
		},
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.rows, toBalance)
	if err := fillBalances(ctx, u, data, p.Expand); err != nil {
		return nil, err
	}
	return api.ListBalances200JSONResponse{Data: data, HasMore: rows.hasMore, TotalCount: rows.total}, nil
}

func fillBalances(ctx context.Context, u *work.Unit, balances []api.Balance, expand []api.BalanceExpand) error {
	return together(ctx, u,
		embedPartner(ctx, u, wants(expand, api.BalanceExpandPartner), balances, func(b *api.Balance) (*string, *nullable.Nullable[api.Partner]) { return &b.PartnerID, &b.Partner }))
}

// RetrieveBalance returns one balance, exact to the last commit.
func (s *Server) RetrieveBalance(ctx context.Context, r api.RetrieveBalanceRequestObject) (api.RetrieveBalanceResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.BalanceGet(ctx, u.DB(), db.BalanceGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(row.ProgramID); err != nil {
		return nil, err
	}
	one := []api.Balance{toBalance(db.BalancePageRow(row))}
	err = fillBalances(ctx, u, one, r.Params.Expand)
	return api.RetrieveBalance200JSONResponse(one[0]), err
}

func toBalance(b db.BalancePageRow) api.Balance {
	return api.Balance{
		ID: b.ID, Object: "balance", ProgramID: b.ProgramID, PartnerID: b.PartnerID, Currency: b.Currency,
		PendingMinor: b.PendingMinor, DueMinor: b.DueMinor, PaidMinor: b.PaidMinor, UpdatedAt: b.UpdatedAt,
	}
}
