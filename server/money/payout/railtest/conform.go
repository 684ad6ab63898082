package railtest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/money/payout"
)

// Conform checks that a rail keeps the contract of payout.Rail, as far as the interface shows it. The rail must
// accept transfer. Every implementation should run it in a test, against its service's sandbox.
func Conform(t *testing.T, rail payout.Rail, transfer payout.Transfer) {
	t.Helper()
	require.NotEmpty(t, rail.Name())
	require.NotEqual(t, "file", rail.Name(), "the name of what leaves in files")
	require.Equal(t, rail.Name(), rail.Name(), "the name is stored, and stays")
	require.Contains(t, rail.Methods(), transfer.Method)

	id, err := rail.Submit(t.Context(), transfer)
	require.NoError(t, err)
	require.NotEmpty(t, id)
	again, err := rail.Submit(t.Context(), transfer)
	require.NoError(t, err, "a repeated submission is not a refusal")
	require.Equal(t, id, again, "a transfer is paid once, under one id")

	transfer.ExternalID = id
	status, err := rail.Status(t.Context(), transfer)
	require.NoError(t, err)
	require.Contains(t, []payout.State{payout.InFlight, payout.Settled, payout.Rejected, payout.Returned}, status.State)

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = rail.Submit(gone, transfer)
	require.NotErrorAs(t, err, new(payout.Refusal), "a canceled call says nothing about the transfer")
}
