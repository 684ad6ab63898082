package risk

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
	"rail/server/work/event"
)

// Review moves an open flag into review; one in review stays there.
func Review(ctx context.Context, u *work.Unit, id string) error {
	f, err := lockOpen(ctx, u, id)
	if err != nil || f.Status != db.RiskStatusOpen {
		return err
	}
	before := map[string]db.RiskStatus{"status": f.Status}
	f.Status = db.RiskStatusReviewing
	if err := save(ctx, u, f); err != nil {
		return err
	}
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: f.ProgramID, Action: "risk_flag.reviewing", TargetID: f.ID,
		Before: before, After: map[string]db.RiskStatus{"status": f.Status},
	})
}

// Resolve closes a flag with a note that gives the reason: as resolved, or with the given status.
func Resolve(ctx context.Context, u *work.Unit, id string, as *db.RiskStatus, note string) error {
	f, err := lockOpen(ctx, u, id)
	if err != nil {
		return err
	}
	before := map[string]db.RiskStatus{"status": f.Status}
	f.Status = db.RiskStatusResolved
	opt.Change(&f.Status, as)
	f.ResolvedAt, f.ResolvedBy, f.ResolutionNote = &u.Now, opt.OrNil(u.Actor.User), &note
	if err := save(ctx, u, f); err != nil {
		return err
	}
	u.Record(event.Subject{ProgramID: f.ProgramID, PartnerID: opt.Value(f.PartnerID), ID: f.ID},
		events.RiskFlagResolved(api.RiskFlagResolvedData{
			RiskFlagID: f.ID, PartnerID: f.PartnerID, CustomerID: f.CustomerID, Kind: f.Kind,
			Severity: api.RiskFlagSeverity(f.Severity), Evidence: f.Evidence,
			Status: api.RiskFlagResolution(f.Status), Note: note, ResolvedBy: f.ResolvedBy,
		}))
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: f.ProgramID, Action: "risk_flag.resolved", TargetID: f.ID, Reason: &note,
		Before: before, After: map[string]db.RiskStatus{"status": f.Status},
	})
}

// lockOpen locks a flag and refuses a closed one.
func lockOpen(ctx context.Context, u *work.Unit, id string) (db.RiskFlag, error) {
	f, err := queries.RiskFlagLock(ctx, u.Tx, db.RiskFlagLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return f, err
	}
	if err := u.CheckProgram(f.ProgramID); err != nil {
		return f, err
	}
	if f.ResolvedAt != nil {
		return f, problem.New(problem.RiskFlagClosed, "The flag is %s already.", f.Status)
	}
	return f, nil
}

func save(ctx context.Context, u *work.Unit, f db.RiskFlag) error {
	return queries.RiskFlagDecide(ctx, u.Later(), db.RiskFlagDecideParams{
		Status: f.Status, ResolvedAt: f.ResolvedAt, ResolvedBy: f.ResolvedBy, ResolutionNote: f.ResolutionNote,
		ID: f.ID, OrgID: f.OrgID,
	})
}
