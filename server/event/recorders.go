package event

import (
	"context"

	"rail/server/clock"
	"rail/server/pgtx"
)

// Recorders holds the events of a job's run by organization. RequestID is the
// id of the run.
type Recorders struct {
	RequestID string
	Now       clock.Time
	all       []*Recorder
}

// Of returns the recorder of an organization.
func (r *Recorders) Of(org string) *Recorder {
	for _, e := range r.all {
		if e.OrgID == org {
			return e
		}
	}
	e := &Recorder{OrgID: org, RequestID: r.RequestID, Now: r.Now}
	r.all = append(r.all, e)
	return e
}

// Flush writes the collected events, one statement an organization.
func (r *Recorders) Flush(ctx context.Context, tx pgtx.DBTX) error {
	for _, e := range r.all {
		if err := e.Flush(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}
