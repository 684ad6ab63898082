// Package risk flags suspicious partners and customers. Requests open the flags that they show directly; Sweep,
// run by a job, flags that only show over time (decisions, 146 to 149).
package risk

import (
	"context"
	"encoding/json"
	"maps"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/ident"
	"rail/server/work"
	"rail/server/work/event"
)

var queries = db.New()

// Finding is the result of a check on a partner, or on one of its customers. Signals are flat facts for the
// evidence. They contain no personal data, and no network address above all (decisions, 146).
type Finding struct {
	ProgramID, PartnerID string
	CustomerID           *string
	Kind, Severity       string
	Summary              string
	Signals              map[string]any
}

// Open opens the flag of a finding with its event, and reports whether it did. It does not if the same flag is
// open, or was closed after the unit's time.
func Open(ctx context.Context, u *work.Unit, f Finding) (bool, error) {
	facts := map[string]any{"check": f.Kind, "summary": f.Summary}
	maps.Copy(facts, f.Signals)
	evidence, err := json.Marshal(facts)
	if err != nil {
		return false, err
	}
	row := db.RiskFlagOpenParams{
		ID: u.NewID(ident.RiskFlag), OrgID: u.OrgID, ProgramID: f.ProgramID, PartnerID: &f.PartnerID,
		CustomerID: f.CustomerID, Kind: f.Kind,
		Severity: f.Severity, Evidence: evidence, CreatedAt: u.Now,
	}
	opened, err := queries.RiskFlagOpen(ctx, u.DB(), row)
	if err != nil || opened == 0 {
		return false, err
	}
	u.Record(event.Subject{ProgramID: f.ProgramID, PartnerID: f.PartnerID, ID: row.ID},
		events.RiskFlagCreated(api.RiskFlagCreatedData{
			RiskFlagID: row.ID, PartnerID: &f.PartnerID, CustomerID: f.CustomerID, Kind: f.Kind,
			Severity: api.RiskFlagSeverity(f.Severity), Evidence: evidence,
		}))
	return true, nil
}
