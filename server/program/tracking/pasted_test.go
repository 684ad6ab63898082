package tracking

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"rail/gen/db"
	"rail/server/harness/worktest"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// read returns the first form of a value that a program has, or "".
func read(pasted string, has ...string) string {
	for _, form := range append([]string{pasted}, Pasted(pasted)...) {
		if slices.Contains(has, strings.ToLower(form)) {
			return strings.ToLower(form)
		}
	}
	return ""
}

func TestPasted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pasted string
		has    []string
		want   string
	}{
		{"ada?utm_source=yt", []string{"ada"}, "ada"},
		{"ada&amp;utm_source=yt", []string{"ada"}, "ada"},
		{"ada%E2%80%8B", []string{"ada"}, "ada"},
		{"ada%2520", []string{"ada"}, "ada"},
		{"ada%zz", []string{"ada"}, "ada"},
		{"ada%00", []string{"ada"}, "ada"},
		{"\u201cada\u201d.", []string{"ada"}, "ada"},
		{"@ada", []string{"ada"}, "ada"},
		{"a\u00adda\ufeff", []string{"ada"}, "ada"},
		{"ADA.", []string{"ada"}, "ada"},
		{"ada.", []string{"ada", "ada."}, "ada."},
		{"ada./", []string{"ada", "ada."}, "ada."},
		{"ada.?utm_source=yt", []string{"ada", "ada."}, "ada."},
		{"john doe/", []string{"john", "john doe"}, "john doe"},
		{"john doe.", []string{"john", "john doe"}, "john doe"},
		{"wow! ", []string{"wow", "wow!"}, "wow!"},
		{"jose\u0301/", []string{"jos\u00e9", "jose", "jos"}, "jos\u00e9"},
		{"jos\u00e9", []string{"jos"}, ""},
		{"john@example.com", []string{"john"}, ""},
		{"ada.lovelace", []string{"ada"}, ""},
		{"ada-1", []string{"ada"}, ""},
		{"_ada", []string{"ada"}, ""},
		{"...", nil, ""},
		{"\u200b", nil, ""},
	} {
		require.Equal(t, c.want, read(c.pasted, c.has...), "%q of %q", c.pasted, c.has)
	}
	require.Empty(t, Pasted("Summer.24_x-1"), "nothing can be pasted off a plain value")
	require.Empty(t, Pasted("..."), "punctuation alone is no value")
}

// TestEveryDecorationIsRead: a value is found among any characters that pasting adds before, inside and after
// it, and a valid value is not changed.
func TestEveryDecorationIsRead(t *testing.T) {
	t.Parallel()
	hidden := []string{"", "\u200b", "\ufeff", "\u00ad", "\u200f", "\u2066", "\u2060", "\ufe0f", "\u0000", "\u034f"}
	around := []string{"", " ", "\u00a0", "\u3000", "\t", "\u2028"}
	before := []string{"", "\"", "(", "@", "=", "/", "\u201c", "<", "*", "["}
	behind := []string{
		"", "/", ",", ".", ";", ")", "\"", "'", "!", "...", "?utm_source=yt", "?utm_source=a.b-c", "&amp;x=1", "#top", "\u2026",
		"\u201d.", "/.", ">", "*", "]", "\\", "|", "+", "%", " and more", "\U0001F600", "/pricing",
	}
	rapid.Check(t, func(r *rapid.T) {
		value := rapid.StringMatching(`[a-z0-9]|[a-z0-9][a-z0-9._-]{0,62}[a-z0-9]`).Draw(r, "value")
		require.Equal(r, value, read(value, value), "a valid value")
		pick := func(of []string) string { return rapid.SampledFrom(of).Draw(r, "text") }
		at := rapid.IntRange(0, len(value)).Draw(r, "at")
		pasted := pick(around) + pick(hidden) + pick(before) + value[:at] + pick(hidden) + value[at:] + pick(hidden) +
			pick(around) + pick(behind) + pick(around)
		if rapid.Bool().Draw(r, "upper") {
			pasted = strings.ToUpper(pasted)
		}
		if rapid.Bool().Draw(r, "escaped") {
			pasted = url.PathEscape(pasted)
		}
		require.Equal(r, value, read(pasted, value), "%q", pasted)
	})
}

// FuzzPasted: forms are few, composed, distinct, and differ from the value.
func FuzzPasted(f *testing.F) {
	f.Add("ada%E2%80%8B?x=1")
	f.Add("\xff%ff\u0000")
	f.Fuzz(func(t *testing.T, pasted string) {
		forms := Pasted(pasted)
		require.LessOrEqual(t, len(forms), 5)
		for i, form := range forms {
			require.NotEmpty(t, form)
			require.NotEqual(t, pasted, form)
			require.NotContains(t, forms[:i], form)
			require.Equal(t, storable(form), form, "PostgreSQL takes it")
			require.True(t, norm.NFC.IsNormalString(form))
		}
	})
}

// TestPastedValuesCost: a batch of visits takes one statement if each value is a partner's or has no other form.
// With pasted values it takes three, for any number of them.
func TestPastedValuesCost(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	ann := x.Partner("ann").ID
	bob := x.Partner("bob", func(p *db.Partner) { p.Status = db.PartnerStatusSuspended }).ID
	linkFor(x, bob, "off.")
	linkFor(x, ann, "off")
	dotted := linkFor(x, ann, "Ann.")
	for _, c := range []struct {
		statements int
		values     []string
		partners   []string
	}{
		{1, []string{"ann", "ann."}, []string{ann, ann}},
		{1, []string{"ann", "nobody", "bob"}, []string{ann, "", ""}},
		{2, []string{"ann", "nobody/"}, []string{ann, ""}},
		{2, []string{"off."}, []string{""}}, // a suspended partner's value, although another has "off"
		{3, []string{"bob", "bob "}, []string{"", ""}},
		{3, []string{"nobody.", "ann", "ann ", "bob/", "\"ann.\"", "bob"}, []string{"", ann, ann, "", ann, ""}},
	} {
		x.Must(func(ctx context.Context, u *work.Unit) error {
			statements := 0
			var visits []arrival
			var units []*work.Unit
			for _, value := range c.values {
				visits = append(visits, arrival{programID: x.Program.ID, value: value})
				units = append(units, u)
			}
			hits, err := resolve(ctx, func(r pgtx.Read) error { statements++; return r(x.Pool) }, units, visits)
			require.NoError(t, err)
			for i, hit := range hits {
				require.Equal(t, c.partners[i], hit.PartnerID, "%q", c.values[i])
				if strings.Contains(c.values[i], "ann.") {
					require.Equal(t, dotted, hit.LinkID, "%q", c.values[i])
				}
			}
			require.Equal(t, c.statements, statements, "%q", c.values)
			return nil
		})
	}
}

// linkFor returns the id of a new link with a value.
func linkFor(x *worktest.Tenant, partnerID, value string) (id string) {
	x.Must(func(ctx context.Context, u *work.Unit) error {
		link, err := CreateLink(ctx, u, LinkInput{
			ProgramID: x.Program.ID, PartnerID: partnerID, DestinationURL: "https://shop.example/", Value: &value,
		})
		id = link.ID
		return err
	})
	return id
}

// TestPlainValuesAllocateNothing: on the hot path, where each value is a partner's, the support for pasted
// values and long addresses costs nothing. It runs alone, as AllocsPerRun requires.
func TestPlainValuesAllocateNothing(t *testing.T) {
	visits := []arrival{{value: "ada", Visit: Visit{LandingURL: "https://shop.example/?ref=ada"}}}
	hits := []db.TrackingResolveRow{{PartnerID: "part_1", ProgramStatus: string(db.ProgramStatusActive)}}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := resolvePasted(t.Context(), nil, nil, visits, hits); err != nil || fit(visits[0].LandingURL) == "" {
			t.Fatal(err)
		}
	}))
}

func TestFit(t *testing.T) {
	t.Parallel()
	const host = "https://shop.example/"
	long := strings.Repeat("a", 3000)
	exact := host + "?x=" + strings.Repeat("\u00e9", storedURL-len(host)-3)
	for _, c := range []struct{ address, want string }{
		{host + "?ref=ada", host + "?ref=ada"},
		{exact, exact},
		{exact + "&y=1", exact},
		{exact + "#top", exact},
		{exact + "\u00e9", host},
		{host + "?ref=ada&x=" + long + "&y=1", host + "?ref=ada"},
		{host + "?x=" + long + "&ref=ada", host},
		{host + "#/p?ref=ada&x=" + long, host + "#/p?ref=ada"},
		{host + "#" + long, host},
		{host + long, host + long[:storedURL-len(host)]},
		{host + long[:storedURL-len(host)-1] + "%41", host + long[:storedURL-len(host)-1]},
		{host + long[:storedURL-len(host)-2] + "%41", host + long[:storedURL-len(host)-2]},
		{host + long[:storedURL-len(host)-3] + "%41?a=1", host + long[:storedURL-len(host)-3] + "%41"},
	} {
		require.Equal(t, c.want, fit(c.address), c.address)
	}
	require.Nil(t, fitOptional(nil))
}

func TestCarry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ target, query, want string }{
		{"https://a.example/?ref=ada#top", "", "https://a.example/?ref=ada#top"},
		{"https://a.example/?ref=ada#top", "utm_source=yt&x", "https://a.example/?ref=ada&utm_source=yt&x#top"},
		{"https://a.example", "x=1&x=2", "https://a.example?x=1&x=2"},
		{"https://a.example/?x=1&ref=ada", "X=2&%78=3&y=4", "https://a.example/?x=1&ref=ada&y=4"},
		{"https://a.example/", "via=bob&VIA=bob&v%69a=bob&amp;via=bob&ref=bob&rail_click=clk_1&Rail_Click=1", "https://a.example/"},
		{"https://a.example/", "amp;via=bob&amp;y=1", "https://a.example/?y=1"},
		{"https://a.example/", "a=1?utm_source=yt", "https://a.example/?a=1&utm_source=yt"},
		{"https://a.example/", "q=\xff\u00e9 %zz&&=", "https://a.example/?q=%FF%C3%A9%20%zz"},
		{"https://a.example/", "y=" + strings.Repeat("a", MaxURL) + "&z=1", "https://a.example/?z=1"},
	} {
		link := ShortLink{Target: c.target}
		link.Link.Param, link.URLParams = "ref", []string{"via"}
		require.Equal(t, c.want, link.Carry(c.query).Target, "%s with %q", c.target, c.query)
	}
	require.Equal(t, "https://a.example/", ShortLink{Target: "https://a.example/"}.Carry("ref=bob").Target,
		"a program without parameters has ref")
}
