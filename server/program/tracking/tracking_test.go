package tracking

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func service(t *testing.T) Service {
	t.Helper()
	keeper, err := secret.New([32]byte{1})
	require.NoError(t, err)
	return Service{Keeper: keeper}
}

func TestUTM(t *testing.T) {
	t.Parallel()
	for landing, want := range map[string]string{
		"https://shop.example/":                                  "",
		"https://shop.example/?ref=ann":                          "",
		"https://shop.example/?utm_source=mail&utm_source=b&x=y": `{"utm_source":"mail"}`,
		"https://shop.example/?utm_term=a%00b&UTM_CAMPAIGN=c":    `{"utm_term":"ab"}`,
		"https://shop.example/#top":                              "",
		"https://shop.example/#?utm_source=mail":                 `{"utm_source":"mail"}`,
		"https://shop.example/#/p?ref=ann&utm_source=mail":       `{"utm_source":"mail"}`,
		"https://shop.example/#utm_source=mail":                  `{"utm_source":"mail"}`,
		"https://shop.example/?utm_source=a#/p?utm_source=b":     `{"utm_source":"a"}`,
		"https://shop.example/%zz?utm_source=mail":               `{"utm_source":"mail"}`,
		"https://shop.example/?ref=ann?utm_source=mail":          `{"utm_source":"mail"}`,
		"https://shop.example/?ref=ann&amp;utm_source=mail":      `{"utm_source":"mail"}`,
		"https://shop.example/?utm_term=what?":                   `{"utm_term":"what?"}`,
		"https://shop.example/?utm_term=%FF" + strings.Repeat("x", 3000): `{"utm_term":"` + strings.Repeat("x", maxText) +
			`"}`,
	} {
		require.Equal(t, want, string(stored(utmOf(landing))), landing)
	}
}

// A visitor has one live referral with a partner, and an expired one is replaced.
func TestReferralsOfAVisitor(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), service(t)
	x.Partner("ann")
	x.Partner("bob")
	click := func(value, visitor string) string {
		var k db.Click
		x.Must(func(ctx context.Context, u *work.Unit) (err error) {
			k, err = s.Click(ctx, u, x.Program.ID, value, Visit{
				VisitorToken: visitor, LandingURL: "https://shop.example/?ref=" + value, IP: "203.0.113.9",
			})
			return err
		})
		require.Equal(t, "ref", k.Param)
		require.NotEmpty(t, k.IPHash)
		return *k.ReferralID
	}
	first := click("ann", "one")
	require.Equal(t, first, click("ANN", "one"))
	require.NotEqual(t, first, click("bob", "one"), "of another partner")
	require.NotEqual(t, first, click("ann", "two"), "of another visitor")
	x.Now = x.Now.Days(x.Program.CookieDays)
	second := click("ann", "one")
	require.NotEqual(t, first, second, "the first has expired")
	require.Equal(t, second, click("ann", "one"))
	require.Equal(t, []string{second}, worktest.Rows[string](x,
		"SELECT id FROM referrals WHERE current AND visitor = $1 AND id = ANY ($2)",
		secret.HashToken("one"), []string{first, second}))
	require.Len(t, x.Events(), 4)
}

func TestClicksThatAreRefused(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), service(t)
	x.Partner("ann", func(p *db.Partner) { p.Status = "suspended" })
	paused := x.NewProgram(func(p *db.Program) { p.Status = "paused" })
	refused := func(program string, code problem.Code, param string) {
		x.Refused(code, param, func(ctx context.Context, u *work.Unit) error {
			_, err := s.Click(ctx, u, program, "ann", Visit{VisitorToken: "v", LandingURL: "https://shop.example/"})
			return err
		})
	}
	refused("prg_none", problem.ResourceNotFound, "program_id")
	refused(paused.ID, problem.ProgramPaused, "")
	refused(x.Program.ID, problem.TrackingValueNotFound, "value")
	require.Empty(t, x.Events())
}

// A value belongs to one link, deleted or not, or to the partner with that handle, who alone may use it again.
func TestValues(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	ann, bob := x.Partner("ann"), x.Partner("bob")
	in := func(p db.Partner, value string) LinkInput {
		return LinkInput{ProgramID: x.Program.ID, PartnerID: p.ID, DestinationURL: "https://shop.example/", Value: &value}
	}
	create := func(p db.Partner, value string) (link db.Link) {
		x.Must(func(ctx context.Context, u *work.Unit) (err error) {
			link, err = CreateLink(ctx, u, in(p, value))
			return err
		})
		return link
	}
	taken := func(p db.Partner, value string) {
		x.Refused(problem.LinkValueTaken, "value", func(ctx context.Context, u *work.Unit) error {
			_, err := CreateLink(ctx, u, in(p, value))
			return err
		})
	}
	link := create(ann, "Summer")
	require.Equal(t, []string{"Summer", "summer"}, []string{link.Value, link.ValueKey})
	create(ann, "ANN")
	create(bob, "bob")
	taken(bob, "Ann")
	taken(ann, "summer")
	x.Must(func(ctx context.Context, u *work.Unit) error { return DeleteLink(ctx, u, link.ID) })
	taken(bob, "SUMMER")
	require.Equal(t, []string{
		"affiliate_link.created", "affiliate_link.created", "affiliate_link.created", "affiliate_link.deleted",
	}, x.Events())
}

// A change without effect emits no event.
func TestUpdateLinkUnchanged(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	ann := x.Partner("ann")
	var link db.Link
	update := func(destination string) {
		x.Must(func(ctx context.Context, u *work.Unit) (err error) {
			link, err = UpdateLink(ctx, u, link.ID, LinkChanges{DestinationURL: &destination})
			return err
		})
	}
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		link, err = CreateLink(ctx, u, LinkInput{
			ProgramID: x.Program.ID, PartnerID: ann.ID, DestinationURL: "https://a.example",
		})
		return err
	})
	update("https://a.example")
	require.Len(t, x.Events(), 1)
	update("https://b.example/P/")
	require.Equal(t, "b.example/p", link.DestinationKey)
	require.Equal(t, []string{"affiliate_link.created", "affiliate_link.updated"}, x.Events())
}

// A short link redirects in any state; it records its own parameter and landing page.
func TestFollow(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), service(t)
	ann := x.Partner("ann")
	var link db.Link
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		link, err = CreateLink(ctx, u, LinkInput{
			ProgramID: x.Program.ID, PartnerID: ann.ID, DestinationURL: "https://a.example/#top", Param: new("via"),
		})
		return err
	})
	follow := func() ShortLink {
		by, err := BySlug(t.Context(), x.Pool, *link.ShortSlug)
		require.NoError(t, err)
		x.Must(func(ctx context.Context, u *work.Unit) error {
			_, err := s.Follow(ctx, u, by, Visit{VisitorToken: "v", UserAgent: new("a\x00b"), Referer: new("")})
			return err
		})
		return by
	}
	by := follow()
	require.Equal(t, "https://a.example/?via=ann#top", by.Target)
	require.True(t, by.Counts())
	clicks := worktest.Rows[map[string]any](x, `SELECT json_build_object('page', landing_url, 'link', link_id,
		'agent', user_agent, 'param', param, 'referer', referer) FROM clicks`)
	require.Equal(t, []map[string]any{{
		"page": by.Target, "link": link.ID, "agent": "ab", "param": "via", "referer": nil,
	}}, clicks)
	_, err := x.Pool.Exec(t.Context(), "UPDATE partners SET status = 'suspended'")
	require.NoError(t, err)
	require.False(t, follow().Counts())
	require.Equal(t, []int64{1}, worktest.Rows[int64](x, "SELECT count(*) FROM clicks"),
		"the partner is not active any more")
}
