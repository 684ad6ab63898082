package clock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// In the bubble of synctest an hour takes no time.
func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := Real()
		require.NoError(t, Wait(t.Context(), time.Hour))
		require.Equal(t, time.Hour, Real().Sub(began))
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(enough) })
		require.ErrorIs(t, Wait(ctx, time.Hour), enough)
		require.Equal(t, time.Hour+time.Minute, Real().Sub(began))
	})
}
