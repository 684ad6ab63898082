package partner

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/worktest"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

// Only the newest link of a partner works, and it is stored as a hash.
func TestSignIn(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	id := x.create(x.candidate("ada@example.com")).ID
	link := ""
	signIn := func(ctx context.Context, u *work.Unit) error {
		url, expires, err := SignIn(ctx, u, "https://rail.example", id, time.Minute)
		if err == nil {
			require.Equal(t, x.Now.Plus(time.Minute), expires)
		}
		link = url
		return err
	}
	x.Must(signIn)
	first := link
	x.Must(signIn)
	require.NotEqual(t, first, link)
	token, ok := strings.CutPrefix(link, "https://rail.example/portal/sso/")
	require.True(t, ok)
	hashes := worktest.Rows[[]byte](x.Tenant, "SELECT token_hash FROM magic_links")
	require.Equal(t, [][]byte{secret.HashToken(token)}, hashes)

	x.update(id, Patch{Status: new(db.PartnerStatusSuspended)})
	require.Empty(t, worktest.Rows[[]byte](x.Tenant, "SELECT token_hash FROM magic_links"))
	x.Refused(problem.PartnerNotActive, "", signIn)
}
