package verify

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCache: concurrent requests read a text once, even if the first one is cancelled. Another version is read again,
// and an error is not cached.
func TestCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c cache
		var reads atomic.Int64
		ready := make(chan struct{})
		read := func(ctx context.Context) (string, error) {
			reads.Add(1)
			<-ready
			return "text", ctx.Err()
		}
		first, cancel := context.WithCancel(t.Context())
		for i := range 10 {
			ctx := t.Context()
			if i == 0 {
				ctx = first
			}
			go func() {
				text, err := c.of(ctx, "1", "a", read)
				assert.NoError(t, err)
				assert.Equal(t, "text", text)
			}()
			synctest.Wait()
		}
		cancel()
		close(ready)
		synctest.Wait()
		require.EqualValues(t, 1, reads.Load())
		for _, version := range []string{"1", "2", "2"} {
			_, err := c.of(t.Context(), version, "a", read)
			require.NoError(t, err)
		}
		require.EqualValues(t, 2, reads.Load())
		errLost := errors.New("lost")
		_, err := c.of(t.Context(), "2", "b", func(context.Context) (string, error) { return "half", errLost })
		require.ErrorIs(t, err, errLost)
		text, err := c.of(t.Context(), "2", "b", read)
		require.NoError(t, err)
		require.Equal(t, "text", text)
	})
}

// TestCacheIsBounded: a cache that is full is emptied.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	var c cache
	large := func(context.Context) (string, error) { return strings.Repeat("x", maxCached), nil }
	for _, name := range []string{"a", "b", "c"} {
		_, err := c.of(t.Context(), "1", name, large)
		require.NoError(t, err)
		require.Len(t, c.texts, 1)
	}
}
