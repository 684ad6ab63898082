package tracking

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rail/gen/db"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// ShortLink is the link of a slug, of any tenant. Target is its redirect target, whatever the state of link,
// partner and program: the link of a suspended partner leads to its page without the partner's value (decisions,
// 249).
type ShortLink struct {
	db.LinkBySlugRow
	Target string
}

// BySlug returns the link of a slug, deleted or not, or pgx.ErrNoRows.
func BySlug(ctx context.Context, tx pgtx.DBTX, slug string) (ShortLink, error) {
	hit, err := queries.LinkBySlug(ctx, tx, &slug)
	if hit.PartnerStatus == db.PartnerStatusSuspended {
		return ShortLink{hit, hit.Link.DestinationURL}, err
	}
	return ShortLink{hit, URL(hit.Link.DestinationURL, hit.Link.Param, hit.Link.Value)}, err
}

// Carry adds the parameters of a visitor's query to Target. It leaves out parameters that Target has, the
// program's url_params, and rail_click: a visitor's address must not credit another partner (decisions, 319a).
func (l ShortLink) Carry(query string) ShortLink {
	if query == "" {
		return l
	}
	taken := []string{"", "rail_click", l.Link.Param}
	if len(l.URLParams) == 0 {
		taken = append(taken, defaultParam)
	}
	base, _, _ := strings.Cut(l.Target, "#")
	_, own, _ := strings.Cut(base, "?")
	for _, name := range append(strings.Split(own, "&"), append(taken, l.URLParams...)...) {
		taken = append(taken, paramKey(name))
	}
	size := len(l.Target)
	var more []string
	for pair := range strings.SplitSeq(unpasted.Replace(query), "&") {
		pair = inASCII(pair)
		if slices.Contains(taken, paramKey(pair)) || size+1+len(pair) > MaxURL {
			continue
		}
		more = append(more, pair)
		size += 1 + len(pair)
	}
	l.Target = addQuery(l.Target, more)
	return l
}

// inASCII escapes all bytes of an address that a header or a text column would refuse.
func inASCII(s string) string {
	var out strings.Builder
	for _, b := range []byte(s) {
		if b <= ' ' || b >= 0x7f {
			fmt.Fprintf(&out, "%%%02X", b)
			continue
		}
		out.WriteByte(b)
	}
	return out.String()
}

// Counts reports whether visits by the link are recorded: both the program and the partner must be active. The
// redirect always works, since the link is published.
func (l ShortLink) Counts() bool {
	return l.PartnerStatus == db.PartnerStatusActive && l.ProgramStatus == db.ProgramStatusActive
}

// unrecorded are the refusals of visits that a short link does not count.
var unrecorded = []problem.Code{problem.ProgramPaused, problem.TrackingValueNotFound}

// Follow records a visit by a short link, as Click does for a merchant's server. Parameter and landing page are
// the link's; the visitor's headers are cleaned. If the partner is no longer active, it records nothing and
// returns no click.
func (s Service) Follow(ctx context.Context, u *work.Unit, by ShortLink, v Visit) (clickID string, err error) {
	l := by.Link
	v.Param, v.LandingURL = l.Param, by.Target
	v.UserAgent, v.Referer = opt.OrNil(cleanText(opt.Value(v.UserAgent))), opt.OrNil(storable(opt.Value(v.Referer)))
	k, err := s.visit(ctx, u, arrival{
		Visit: v, programID: l.ProgramID, value: l.ValueKey, exact: exactValue(l.Value), landingKey: l.DestinationKey,
		linkID: l.ID, browser: true,
	})
	// Partner or program may have been suspended since the link was read.
	if problem.Is(err, unrecorded...) {
		return "", nil
	}
	return k.ID, err
}
