package rules

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
)

func TestInitialStatus(t *testing.T) {
	t.Parallel()
	now := when("2026-05-01")
	later := now.Days(1)
	require.Equal(t, db.CommissionStatusApproved, InitialStatus(ApproveImmediately, later, now))
	require.Equal(t, db.CommissionStatusDue, InitialStatus(ApproveImmediately, now, now))
	require.Equal(t, db.CommissionStatusDue, InitialStatus(ApproveImmediately, now, later))
	require.Equal(t, db.CommissionStatusPending, InitialStatus(ApproveAfterDays, now, later))
	require.Equal(t, db.CommissionStatusPending, InitialStatus(ApproveManually, now, later))
	require.Equal(t, db.CommissionStatusDue, ApprovedStatus(now, now))
}

func TestTimesOfApproval(t *testing.T) {
	t.Parallel()
	base := when("2026-03-01T12:00:00Z")
	require.Equal(t, when("2026-03-31T12:00:00Z"), MatureAt(base, 30))
	require.Equal(t, base, MatureAt(base, 0))
	require.Equal(t, when("2026-03-08T12:00:00Z"), ApprovesAt(base, 7))
}

func TestCreatedEventStatus(t *testing.T) {
	t.Parallel()
	require.Equal(t, db.CommissionStatusDue, CreatedEventStatus(db.CommissionStatusDue))
	require.Equal(t, db.CommissionStatusPending, CreatedEventStatus(db.CommissionStatusPending))
	require.Equal(t, db.CommissionStatusPending, CreatedEventStatus(db.CommissionStatusApproved))
}
