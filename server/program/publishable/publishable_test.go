package publishable

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/problem"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func create(x *worktest.Tenant, hosts ...string) (k db.PublishableKey) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		k, err = Create(ctx, u, Input{ProgramID: x.Program.ID, AllowedHosts: hosts})
		return err
	})
	return k
}

// TestHosts checks the allowed hosts: their form, their refusals and the pages that they match.
func TestHosts(t *testing.T) {
	t.Parallel()
	got, err := Hosts("allowed_hosts", []string{
		"Shop.Example", "*.shop.example", "shop.example", "bücher.example", "localhost:3000",
	})
	require.NoError(t, err)
	require.Equal(t, []string{"shop.example", "*.shop.example", "xn--bcher-kva.example", "localhost:3000"}, got)
	for _, bad := range []string{
		"", "https://shop.example", "shop.example/", "shop_example", "*.com", "*.co.uk", "*.10.0.0.1", "*", "a..b", "shop.example:0",
		"shop.example:65536", "shop.example:x", "-a.example",
	} {
		_, err := Hosts("allowed_hosts", []string{"shop.example", bad})
		var p *problem.Error
		require.ErrorAs(t, err, &p, bad)
		require.Equal(t, "allowed_hosts[1]", p.Param, bad)
	}
	for _, c := range []struct {
		host, origin string
		allowed      bool
	}{
		{"shop.example", "https://shop.example", true}, {"shop.example", "https://SHOP.example", true},
		{"shop.example", "http://shop.example:8080", true}, {"shop.example:8080", "http://shop.example:8080", true},
		{"shop.example:443", "https://shop.example", true}, {"shop.example:8080", "https://shop.example", false},
		{"shop.example", "https://www.shop.example", false}, {"*.shop.example", "https://www.shop.example", true},
		{"*.shop.example", "https://a.b.shop.example", true}, {"*.shop.example", "https://shop.example", false},
		{"*.shop.example", "https://evilshop.example", false}, {"10.0.0.1", "https://10.0.0.1", true},
		{"shop.example", "https://shop.example.evil.example", false},
	} {
		o, ok := ParseOrigin(c.origin)
		require.True(t, ok, c.origin)
		require.Equal(t, c.allowed, Allows([]string{c.host}, o), "%s for %s", c.host, c.origin)
	}
	for _, bad := range []string{"null", "", "file://", "https://shop.example/", "https://u@shop.example", "ftp://shop.example"} {
		_, ok := ParseOrigin(bad)
		require.False(t, ok, bad)
	}
}

// TestLife creates, changes and revokes a key, which the store finds as it is at each step.
func TestLife(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	k := create(x, "shop.example")
	require.True(t, IsKey(k.Key))
	shop, _ := ParseOrigin("https://shop.example")
	blog, _ := ParseOrigin("https://blog.example")
	// A store caches for a second, so each step asks a new one.
	find := func(token string) (Key, error) {
		return NewStore(x.Pool, clock.NewManual(x.Now.Time)).Find(t.Context(), token)
	}
	found, err := find(k.Key)
	require.NoError(t, err)
	require.Equal(t, []any{k.ID, x.OrgID, x.Program.ID, false, false, int64(30)},
		[]any{found.ID, found.OrgID, found.ProgramID, found.AllowLeads, found.Revoked, found.CookieDays})
	require.Equal(t, []bool{true, false}, []bool{found.Allows(shop), found.Allows(blog)})
	x.Must(func(ctx context.Context, u *work.Unit) error {
		_, err := Update(ctx, u, k.ID, Changes{AllowedHosts: []string{"blog.example"}, AllowLeads: new(true)})
		return err
	})
	found, err = find(k.Key)
	require.NoError(t, err)
	require.Equal(t, []bool{false, true, true}, []bool{found.Allows(shop), found.Allows(blog), found.AllowLeads})
	x.Must(func(ctx context.Context, u *work.Unit) error { return Revoke(ctx, u, k.ID) })
	found, err = find(k.Key)
	require.NoError(t, err)
	require.True(t, found.Revoked)
	for _, unknown := range []string{"rail_pub_" + k.Key[9:40] + "0", "x", ""} {
		_, err := find(unknown)
		require.ErrorIs(t, err, ErrUnknown, unknown)
	}
}

// TestOfAnother checks that keys of another organization or program are not found.
func TestOfAnother(t *testing.T) {
	t.Parallel()
	x, y := worktest.New(t), worktest.New(t)
	k := create(x, "shop.example")
	for name, do := range map[string]func(ctx context.Context, u *work.Unit) error{
		"create": func(ctx context.Context, u *work.Unit) error {
			_, err := Create(ctx, u, Input{ProgramID: x.Program.ID})
			return err
		},
		"update": func(ctx context.Context, u *work.Unit) error {
			_, err := Update(ctx, u, k.ID, Changes{})
			return err
		},
		"revoke": func(ctx context.Context, u *work.Unit) error { return Revoke(ctx, u, k.ID) },
	} {
		require.Error(t, y.Do(do), name)
	}
	require.Equal(t, []bool{false}, worktest.Rows[bool](x, "SELECT revoked_at IS NOT NULL FROM publishable_keys"))
}

// TestUsed checks that the last use is stored at most once a minute.
func TestUsed(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	row := create(x, "shop.example")
	now := clock.NewManual(x.Now.Time)
	s := NewStore(x.Pool, now)
	k, err := s.Find(t.Context(), row.Key)
	require.NoError(t, err)
	used := func() time.Time {
		return worktest.Rows[time.Time](x, "SELECT last_used_at FROM publishable_keys WHERE id = $1", k.ID)[0]
	}
	require.NoError(t, s.Used(t.Context(), k))
	first := used()
	now.Advance(useInterval - time.Second)
	require.NoError(t, s.Used(t.Context(), k))
	require.Equal(t, first, used())
	now.Advance(time.Second)
	require.NoError(t, s.Used(t.Context(), k))
	require.Equal(t, first.Add(useInterval), used())
}
