package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/opt"
	"rail/server/page"
	"rail/server/postgres/pgtx"
	"rail/server/program/risk"
	"rail/server/work"
)

// riskLimit is the page size of risk flags, which page by offset: a severity,
// which orders them, is no place to go on from.
const riskLimit = 50

// ListRiskFlags lists the flags of a program: the highest severity first, the
// newest first within one.
func (s *Server) ListRiskFlags(ctx context.Context,
	r api.ListRiskFlagsRequestObject) (api.ListRiskFlagsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	statuses := page.Any(p.Status)
	limit, skip := int32(riskLimit), int32(0)
	if p.Limit != nil {
		limit = int32(*p.Limit) // the document bounds both
	}
	if p.Offset != nil {
		skip = int32(*p.Offset) // the document bounds both
	}
	var rows []db.RiskFlagListRow
	// The check of the program, the page and the count share one round trip.
	var total int64
	err := page.Read(ctx, u, p.ProgramID, []work.Reference{work.PartnerRef("partner_id", p.PartnerID)},
		func(tx pgtx.DBTX) (err error) {
			rows, err = queries.RiskFlagList(ctx, tx, db.RiskFlagListParams{
				ProgramID: p.ProgramID, OrgID: u.OrgID, PartnerID: p.PartnerID, StatusIn: statuses, Lim: limit, Skip: skip,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			total, err = queries.RiskFlagTotal(ctx, tx, db.RiskFlagTotalParams{
				ProgramID: p.ProgramID, OrgID: u.OrgID, PartnerID: p.PartnerID, StatusIn: statuses,
			})
			return err
		})
	if err != nil {
		return nil, err
	}
	return api.ListRiskFlags200JSONResponse{
		Data:    mapped(rows, func(r db.RiskFlagListRow) api.RiskFlag { return toRiskFlag(db.RiskFlagGetRow(r)) }),
		HasMore: int64(skip)+int64(len(rows)) < total, TotalCount: total,
	}, nil
}

// RetrieveRiskFlag returns one flag.
func (s *Server) RetrieveRiskFlag(
	ctx context.Context, r api.RetrieveRiskFlagRequestObject,
) (api.RetrieveRiskFlagResponseObject, error) {
	f, err := riskFlag(ctx, work.From(ctx), r.ID)
	return api.RetrieveRiskFlag200JSONResponse(f), err
}

// riskFlag reads one flag as the API shows it.
func riskFlag(ctx context.Context, u *work.Unit, id string) (api.RiskFlag, error) {
	row, err := queries.RiskFlagGet(ctx, u.Short(), db.RiskFlagGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return api.RiskFlag{}, err
	}
	return toRiskFlag(row), u.CheckProgram(row.RiskFlag.ProgramID)
}

// ReviewRiskFlag takes an open flag into review; one in review stays there.
// A flag that is closed is a 409.
func (s *Server) ReviewRiskFlag(
	ctx context.Context, r api.ReviewRiskFlagRequestObject,
) (api.ReviewRiskFlagResponseObject, error) {
	u := work.From(ctx)
	if err := risk.Review(ctx, u, r.ID); err != nil {
		return nil, err
	}
	// Read after the change: in a transaction a read sends the queued writes first.
	out, err := riskFlag(ctx, u, r.ID)
	return api.ReviewRiskFlag200JSONResponse(out), err
}

// ResolveRiskFlag closes a flag, with a note that says why.
// A flag that is closed already is a 409, so that two reviewers cannot both decide.
func (s *Server) ResolveRiskFlag(
	ctx context.Context, r api.ResolveRiskFlagRequestObject,
) (api.ResolveRiskFlagResponseObject, error) {
	u, b := work.From(ctx), r.Body
	if err := risk.Resolve(ctx, u, r.ID, (*db.RiskStatus)(b.Status), b.Note); err != nil {
		return nil, err
	}
	out, err := riskFlag(ctx, u, r.ID)
	return api.ResolveRiskFlag200JSONResponse(out), err
}

// toRiskFlag shows a flag with whom it is about, as far as they are still there.
func toRiskFlag(r db.RiskFlagGetRow) api.RiskFlag {
	f := r.RiskFlag
	out := api.RiskFlag{
		ID: f.ID, Object: "risk_flag", Kind: f.Kind, Severity: api.RiskFlagSeverity(f.Severity),
		Status: api.RiskFlagStatus(f.Status), Evidence: f.Evidence, ResolvedAt: f.ResolvedAt, ResolvedBy: f.ResolvedBy,
		ResolutionNote: f.ResolutionNote, CreatedAt: f.CreatedAt,
	}
	// Flags outlive whom they are about; a row that is gone leaves its status empty.
	if f.PartnerID != nil && r.PartnerStatus != "" {
		out.Partner = &api.RiskFlagPartner{
			ID: *f.PartnerID, Email: opt.Value(r.PartnerEmail), Handle: opt.Value(r.PartnerHandle),
			DisplayName: r.PartnerDisplayName, Status: api.PartnerStatus(r.PartnerStatus),
		}
	}
	if r.NamedCustomerID != nil {
		out.Customer = &api.RiskFlagCustomer{
			ID: *r.NamedCustomerID, Email: r.CustomerEmail, Name: r.CustomerName, Status: api.CustomerStatus(r.CustomerStatus),
		}
	}
	return out
}
