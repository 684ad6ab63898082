package handlers

import (
	"cmp"
	"context"
	"net/http"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/http/site/statementpdf"
	"rail/server/locale"
	"rail/server/money/payout"
	"rail/server/money/statement"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// numberStatements adds the numbers of the statements of paid payouts.
func numberStatements(ctx context.Context, tx pgtx.DBTX, orgID string, payouts []api.Payout) error {
	rows, err := queries.StatementNumbers(ctx, tx, db.StatementNumbersParams{
		PayoutIds: ids(payouts, func(p *api.Payout) string { return p.ID }), OrgID: orgID,
	})
	numbers := map[string]string{}
	for _, row := range rows {
		numbers[row.PayoutID] = row.Number
	}
	for i, p := range payouts {
		payouts[i].StatementNumber = opt.OrNil(numbers[p.ID])
	}
	return err
}

// RetrievePayoutStatement returns the signed statement of a paid payout.
func (s *Server) RetrievePayoutStatement(ctx context.Context,
	r api.RetrievePayoutStatementRequestObject) (api.RetrievePayoutStatementResponseObject, error) {
	found, err := payout.Statement(ctx, work.From(ctx), r.ID, opt.Value(r.Params.Number))
	if err != nil {
		return nil, err
	}
	if p := r.Params.Format; p != nil && *p == api.RetrievePayoutStatementParamsFormatPdf {
		return s.statementPDF(ctx, found)
	}
	out := api.RetrievePayoutStatement200JSONResponse{
		Statement: found.Statement.Document, Signature: found.Signature, KeyID: found.KeyID, Undone: found.Undone,
		CorrectedBy: opt.OrNil(found.CorrectedBy),
	}
	if found.Lines != nil {
		out.Lines = mapped(found.Lines, toStatementLine)
	}
	return out, nil
}

// statementPDF draws a statement in the partner's language and the program's colour.
func (s *Server) statementPDF(ctx context.Context, found payout.Issued) (pdfStatement, error) {
	u := work.From(ctx)
	var partner db.Partner
	var settings db.PortalSetting
	err := u.Together(ctx,
		func(tx pgtx.DBTX) (err error) {
			partner, err = queries.PartnerGet(ctx, tx, db.PartnerGetParams{ID: found.PartnerID, OrgID: u.OrgID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			settings, err = queries.PortalSettingsGet(ctx, tx, db.PortalSettingsGetParams{
				ProgramID: found.ProgramID, OrgID: u.OrgID,
			})
			return err
		})
	if err != nil {
		return pdfStatement{}, err
	}
	l := locale.Of("", opt.Value(partner.LanguageCode))
	accent := site.Accent(cmp.Or(opt.Value(settings.AccentColor), site.DefaultAccent))
	sheet := statementpdf.Of(l, found.Document, found.Lines, accent)
	if found.Undone {
		sheet.Void(found.CorrectedBy)
	}
	file, err := sheet.PDF()
	return pdfStatement{found.Number, file}, err
}

// pdfStatement is the answer with a statement as a PDF.
type pdfStatement struct {
	number string
	file   []byte
}

// VisitRetrievePayoutStatementResponse writes the answer.
func (p pdfStatement) VisitRetrievePayoutStatementResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/pdf")
	w.Header().Set("Content-Disposition", `attachment; filename="`+p.number+`.pdf"`)
	_, err := w.Write(p.file)
	return err
}

func toStatementLine(l statement.Line) api.StatementLine {
	return api.StatementLine{
		CommissionID: l.CommissionID, Kind: api.CommissionKind(l.Kind), SaleID: l.SaleID, OccurredAt: l.OccurredAt,
		OrderHash: l.OrderHash, AmountMinor: l.AmountMinor, Currency: l.Currency,
	}
}

// ListPayoutTotals sums the paid payouts of a year.
func (s *Server) ListPayoutTotals(ctx context.Context,
	r api.ListPayoutTotalsRequestObject) (api.ListPayoutTotalsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	prog, err := u.Program(ctx, p.ProgramID)
	if err != nil {
		return nil, err
	}
	if err := u.Check(ctx, prog.ID, work.PartnerRef("partner_id", p.PartnerID)); err != nil {
		return nil, err
	}
	q := payout.YearQuery{
		Program: prog, Year: u.Now.In(clock.StoredZone(prog.TimeZone)).Year(), PartnerID: p.PartnerID,
		Skip: opt.Value(p.Offset), Limit: 25,
	}
	if p.Year != nil {
		q.Year = int(*p.Year)
	}
	opt.Change(&q.Limit, p.Limit)
	found, err := payout.OfYear(ctx, u, q)
	return api.ListPayoutTotals200JSONResponse{
		HasMore: found.HasMore, TotalCount: found.Count, Totals: mapped(found.Sums, toTotal),
		Data: mapped(found.Rows, func(t payout.YearTotal) api.PayoutTotal {
			return api.PayoutTotal{
				Object: "payout_total", ProgramID: prog.ID, Year: int64(q.Year), PartnerID: t.PartnerID,
				PartnerName: payout.NameOf(t.Partner), PartnerEmail: t.Partner.Email, CountryCode: t.Partner.CountryCode,
				Method: (*api.PayoutMethod)(opt.OrNil(t.Method)), Currency: t.Currency, PaidMinor: t.PaidMinor,
				Payouts: t.PayoutYearRow.Payouts,
			}
		}),
	}, err
}
