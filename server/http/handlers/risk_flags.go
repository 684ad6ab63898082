package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/list"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/risk"
	"rail/server/work"
)

// riskLimit is the default page size of risk flags.
const riskLimit = 50

// riskList is the list of risk flags with its filters, for list.Of. It is not generated, because
// its order is both ascending and descending.
type riskList struct {
	PartnerID                   *string
	StatusIn                    []string
	CreatedAfter, CreatedBefore *clock.Time
	Skip                        int32 // flags to skip; without a cursor
}

// Page returns the first flags after a place, or the last before one in reverse.
func (l riskList) Page(
	ctx context.Context, tx db.DBTX, in db.Scope, after, before *db.RiskFlagCursorRow, lim int32,
) ([]db.RiskFlagListRow, error) {
	p := db.RiskFlagListParams{
		ProgramID: in.ProgramID, OrgID: in.OrgID, PartnerID: l.PartnerID, StatusIn: l.StatusIn,
		CreatedAfter: l.CreatedAfter, CreatedBefore: l.CreatedBefore, Lim: lim, Skip: l.Skip,
	}
	if after != nil {
		p.AfterRank, p.AfterAt, p.AfterID = &after.Rank, &after.CreatedAt, &after.ID
	}
	if before != nil {
		p.BeforeRank, p.BeforeAt, p.BeforeID = &before.Rank, &before.CreatedAt, &before.ID
	}
	return queries.RiskFlagList(ctx, tx, p)
}

// Cursor returns the place of a flag.
func (l riskList) Cursor(ctx context.Context, tx db.DBTX, in db.Scope, id string) (db.RiskFlagCursorRow, error) {
	return queries.RiskFlagCursor(ctx, tx, db.RiskFlagCursorParams{
		ID: id, ProgramID: in.ProgramID, OrgID: in.OrgID, PartnerID: l.PartnerID,
	})
}

// Count counts row by row; a program has few flags.
func (l riskList) Count(ctx context.Context, tx db.DBTX, in db.Scope, _ int32) (int64, error) {
	return queries.RiskFlagTotal(ctx, tx, db.RiskFlagTotalParams{
		ProgramID: in.ProgramID, OrgID: in.OrgID, PartnerID: l.PartnerID, StatusIn: l.StatusIn,
		CreatedAfter: l.CreatedAfter, CreatedBefore: l.CreatedBefore,
	})
}

// Total returns nil: flags have no total.
func (l riskList) Total() *db.Total { return nil }

// Refs returns the ids in the filters.
func (l riskList) Refs() []db.Ref { return db.PartnerNoteList{PartnerID: l.PartnerID}.Refs() }

// ListRiskFlags lists the flags of a program: the highest severity first, the
// newest first within one.
func (s *Server) ListRiskFlags(ctx context.Context,
	r api.ListRiskFlagsRequestObject) (api.ListRiskFlagsResponseObject, error) {
	p := r.Params
	if p.Limit == nil {
		p.Limit = new(int64(riskLimit))
	}
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	flags := riskList{
		PartnerID: p.PartnerID, StatusIn: list.Any(p.Status),
		CreatedAfter: q.date("created_after", p.CreatedAfter), CreatedBefore: q.date("created_before", p.CreatedBefore),
	}
	if p.Offset != nil {
		flags.Skip = int32(*p.Offset) // the document bounds it
	}
	if q.err == nil && flags.Skip > 0 && (p.StartingAfter != nil || p.EndingBefore != nil) {
		return nil, problem.On("offset", problem.ParametersExclusive, "offset and a cursor exclude each other.")
	}
	fromList := func(r db.RiskFlagListRow) api.RiskFlag { return toRiskFlag(db.RiskFlagGetRow(r)) }
	out, err := readPage(ctx, q, flags, fromList)
	return api.ListRiskFlags200JSONResponse(out), err
}

// RetrieveRiskFlag returns one flag.
func (s *Server) RetrieveRiskFlag(ctx context.Context,
	r api.RetrieveRiskFlagRequestObject) (api.RetrieveRiskFlagResponseObject, error) {
	f, err := riskFlag(ctx, work.From(ctx), r.ID)
	return api.RetrieveRiskFlag200JSONResponse(f), err
}

// riskFlag reads and converts one flag.
func riskFlag(ctx context.Context, u *work.Unit, id string) (api.RiskFlag, error) {
	row, err := queries.RiskFlagGet(ctx, u.Short(), db.RiskFlagGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return api.RiskFlag{}, err
	}
	return toRiskFlag(row), u.CheckProgram(row.RiskFlag.ProgramID)
}

// ReviewRiskFlag takes an open flag into review, and does nothing for a flag in review. A closed
// flag is a 409.
func (s *Server) ReviewRiskFlag(ctx context.Context,
	r api.ReviewRiskFlagRequestObject) (api.ReviewRiskFlagResponseObject, error) {
	u := work.From(ctx)
	if err := risk.Review(ctx, u, r.ID); err != nil {
		return nil, err
	}
	// Read after the change: a read sends the queued writes first.
	out, err := riskFlag(ctx, u, r.ID)
	return api.ReviewRiskFlag200JSONResponse(out), err
}

// ResolveRiskFlag closes a flag, with a note of the reason. A closed flag is a 409, so that two
// reviewers cannot both decide.
func (s *Server) ResolveRiskFlag(ctx context.Context,
	r api.ResolveRiskFlagRequestObject) (api.ResolveRiskFlagResponseObject, error) {
	u, b := work.From(ctx), r.Body
	if err := risk.Resolve(ctx, u, r.ID, (*db.RiskStatus)(b.Status), b.Note); err != nil {
		return nil, err
	}
	out, err := riskFlag(ctx, u, r.ID)
	return api.ResolveRiskFlag200JSONResponse(out), err
}

// toRiskFlag converts a flag with its partner and customer, if they still exist.
func toRiskFlag(r db.RiskFlagGetRow) api.RiskFlag {
	f := r.RiskFlag
	out := api.RiskFlag{
		ID: f.ID, Object: "risk_flag", Kind: f.Kind, Severity: api.RiskFlagSeverity(f.Severity),
		Status: api.RiskFlagStatus(f.Status), Evidence: f.Evidence, ResolvedAt: f.ResolvedAt, ResolvedBy: f.ResolvedBy,
		ResolutionNote: f.ResolutionNote, CreatedAt: f.CreatedAt,
	}
	// Flags remain after their objects are deleted; the status of a deleted one is empty.
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
