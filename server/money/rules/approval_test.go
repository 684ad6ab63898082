package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInitialStatus(t *testing.T) {
	t.Parallel()
	now := when("2026-05-01")
	later := now.Days(1)
	require.Equal(t, StatusApproved, InitialStatus(ApproveImmediately, later, now))
	require.Equal(t, StatusDue, InitialStatus(ApproveImmediately, now, now))
	require.Equal(t, StatusDue, InitialStatus(ApproveImmediately, now, later))
	require.Equal(t, StatusPending, InitialStatus(ApproveAfterDays, now, later))
	require.Equal(t, StatusPending, InitialStatus(ApproveManually, now, later))
	require.Equal(t, StatusDue, ApprovedStatus(now, now))
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
	require.Equal(t, StatusDue, CreatedEventStatus(StatusDue))
	require.Equal(t, StatusPending, CreatedEventStatus(StatusPending))
	require.Equal(t, StatusPending, CreatedEventStatus(StatusApproved))
}
