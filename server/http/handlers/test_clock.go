package handlers

import (
	"context"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// TestClock is the clock of a server for tests. Without one, every call is a 404.
type TestClock interface {
	Now() (clock.Time, error)
	// Move returns when the jobs due by then have run.
	Move(ctx context.Context, to clock.Time) error
}

// RetrieveTestClock returns the present time.
func (s *Server) RetrieveTestClock(context.Context,
	api.RetrieveTestClockRequestObject) (api.RetrieveTestClockResponseObject, error) {
	now, err := s.TestClock.Now()
	return api.RetrieveTestClock200JSONResponse{Object: "test_clock", Now: now}, err
}

// SetTestClock moves the clock. The jobs run before the transaction of this request begins, which has the new time:
// its answer is replayed for a day from then on.
func (s *Server) SetTestClock(ctx context.Context,
	r api.SetTestClockRequestObject) (api.SetTestClockResponseObject, error) {
	u, before := work.From(ctx), work.From(ctx).Now
	if err := s.TestClock.Move(ctx, r.Body.Now); err != nil {
		return nil, err
	}
	u.Now = r.Body.Now
	return api.SetTestClock200JSONResponse{Object: "test_clock", Now: u.Now}, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: u.OrgID, Action: "test_clock.moved", TargetID: u.OrgID,
		Before: map[string]any{"now": before}, After: map[string]any{"now": u.Now},
	})
}
