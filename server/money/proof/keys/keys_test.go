package keys_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/money/proof"
	"rail/server/money/proof/keys"
	"rail/server/secret"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var queries = db.New()

func newService(t *testing.T) keys.Service {
	t.Helper()
	keeper, err := secret.New([32]byte{1})
	require.NoError(t, err)
	return keys.Service{Keeper: keeper}
}

// sign signs a text in a unit of work at the tenant's time.
func sign(x *worktest.Tenant, s keys.Service) (id, signature string) {
	x.Helper()
	require.NoError(x, x.Do(func(ctx context.Context, u *work.Unit) error {
		signer, err := s.Signer(ctx, u, u.Now)
		if err == nil {
			id, signature = signer.KeyID, signer.Sign([]byte("{}"))
		}
		return err
	}))
	return id, signature
}

func published(x *worktest.Tenant) map[string]proof.Key {
	x.Helper()
	rows, err := queries.StatementKeysOfOrganization(x.Context(), x.Pool, x.OrgID)
	require.NoError(x, err)
	out := map[string]proof.Key{}
	for _, r := range rows {
		out[r.ID] = keys.Public(r.ID, r.PublicKey, r.CreatedAt, r.RetiredAt)
	}
	return out
}

// requireValid requires that the published key made the signature and was valid at a time.
func requireValid(x *worktest.Tenant, id, signature string, at clock.Time) {
	x.Helper()
	k := published(x)[id]
	require.True(x, proof.Verify(k.PublicKey, []byte("{}"), signature))
	require.False(x, at.Before(k.CreatedAt), "before the key")
	require.True(x, k.RetiredAt == nil || !at.After(*k.RetiredAt), "after the key")
}

// TestRotation: each statement's key was valid at the statement's time, also for units of work that began before the
// rotation and end after it, and old keys stay published.
func TestRotation(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), newService(t)
	begun := x.Now
	first, signature := sign(x, s)
	requireValid(x, first, signature, x.Now)
	again, _ := sign(x, s)
	require.Equal(t, first, again)
	require.NoError(t, x.Do(s.Rotate))
	for _, after := range []time.Duration{-time.Second, 0, 59 * time.Second, time.Minute, time.Hour} {
		x.Now = clock.At(begun.Add(after))
		id, signature := sign(x, s)
		requireValid(x, id, signature, x.Now)
		require.Equal(t, after < time.Minute, id == first, after)
	}
	require.NoError(t, x.Do(s.Rotate))
	require.Len(t, published(x), 3)
	requireValid(x, first, signature, begun)
}

// TestRotateTwice: two rotations at the same moment leave one current key, and the second one fails.
func TestRotateTwice(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), newService(t)
	require.NoError(t, x.Do(s.Rotate), "the first key")
	require.NoError(t, x.Do(s.Rotate))
	require.ErrorIs(t, x.Do(s.Rotate), keys.ErrRotated)
	require.Len(t, published(x), 2)
}

// TestFirstKeyOnce: concurrent first statements share one key.
func TestFirstKeyOnce(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), newService(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			id, signature := sign(x, s)
			requireValid(x, id, signature, x.Now)
		})
	}
	all.Wait()
	require.Len(t, published(x), 1)
}

// TestClockSetBack: a server whose clock is behind the first key signs with that key.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), newService(t)
	first, _ := sign(x, s)
	x.Now = clock.At(x.Now.Add(-time.Hour))
	again, _ := sign(x, s)
	require.Equal(t, first, again)
}
