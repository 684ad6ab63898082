package auth

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/secret"
)

// TestSettled: a look-up sent before a change does not answer a request that begins after the change has
// settled, however long the look-up takes.
func TestSettled(t *testing.T) {
	t.Parallel()
	keeper, err := secret.New([32]byte{})
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(nil, keeper, clock.System{})
		var stored db.APIKeyByHashRow
		s.ask = func(context.Context, string, []byte) (db.APIKeyByHashRow, error) {
			read := stored
			time.Sleep(2 * Settled) //nolint:forbidigo // of the bubble, whose time costs none
			return read, nil
		}
		token, yes := NewToken(true), func() bool { return true }
		go func() { _, _ = s.Find(t.Context(), token, yes) }()
		synctest.Wait()
		now := clock.System{}.Now()
		stored.APIKey.RevokedAt = &now
		time.Sleep(Settled) //nolint:forbidigo // of the bubble
		k, err := s.Find(t.Context(), token, yes)
		require.NoError(t, err)
		require.True(t, k.Revoked)
	})
}

func TestPlausible(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{true, false} {
		k := NewToken(live)
		require.True(t, Plausible(k))
		for _, bad := range []string{
			"", k[1:], k + "0", k[:len(k)-1], k[:20] + string(k[20]^1) + k[21:], "rail_main_" + k[10:], "rail_live_",
			"rail_test_00000000",
		} {
			require.False(t, Plausible(bad), bad)
		}
	}
}
