package risk

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/worktest"
	"rail/server/problem"
	"rail/server/work"
)

// A flag is reviewed once, and closed once with a note; a closed one stays closed.
func TestReviewAndResolve(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	ann := x.Partner("ann")
	x.Must(func(ctx context.Context, u *work.Unit) error { return FlagSelfReferral(ctx, u, ann, nil) })
	id := worktest.Rows[string](x, "SELECT id FROM risk_flags")[0]
	review := func(ctx context.Context, u *work.Unit) error { return Review(ctx, u, id) }
	dismiss := func(ctx context.Context, u *work.Unit) error {
		return Resolve(ctx, u, id, new(db.RiskStatusDismissed), "A colleague.")
	}
	x.Must(review)
	x.Must(review)
	require.Equal(t, []string{"risk_flag.reviewing"}, worktest.Rows[string](x, "SELECT action FROM audit_log_entries"))
	x.Must(dismiss)
	require.Equal(t, []string{"dismissed A colleague."},
		worktest.Rows[string](x, "SELECT status || ' ' || resolution_note FROM risk_flags"))
	x.Refused(problem.RiskFlagClosed, "", review)
	x.Refused(problem.RiskFlagClosed, "", dismiss)
	require.Equal(t, []string{"risk_flag.created", "risk_flag.resolved"}, x.Events())
}

// A flag without a given status is closed as resolved, and may open again.
func TestResolveWithoutReview(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	ann := x.Partner("ann")
	flagged := func(ctx context.Context, u *work.Unit) error { return FlagSelfReferral(ctx, u, ann, nil) }
	x.Must(flagged)
	id := worktest.Rows[string](x, "SELECT id FROM risk_flags")[0]
	x.Now = x.Now.Days(1)
	x.Must(func(ctx context.Context, u *work.Unit) error { return Resolve(ctx, u, id, nil, "Spoken to.") })
	x.Now = x.Now.Days(1)
	x.Must(flagged)
	require.Equal(t, []string{"open", "resolved"},
		worktest.Rows[string](x, "SELECT status FROM risk_flags ORDER BY status::text"))
}
