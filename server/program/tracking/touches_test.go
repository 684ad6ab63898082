package tracking

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
)

// start is the first moment in these tests.
var start = clock.At(time.Date(2026, 9, 7, 12, 0, 0, 0, time.UTC))

// touch is a click some hours after start, in a referral of five days that began with its partner's first click.
func touch(id, partner string, hours, began int64) Touch {
	begins := start.Plus(time.Duration(began) * time.Hour)
	return Touch{
		ClickID: id, ReferralID: "ref_" + partner, PartnerID: partner, At: start.Plus(time.Duration(hours) * time.Hour),
		Begins: begins, Ends: begins.Days(5), Active: true, LinkID: new("first"), ClickLinkID: new("link_" + id),
	}
}

// TestTouches: the first and the last click are those of live referrals of active partners. A return is a last click.
func TestTouches(t *testing.T) {
	t.Parallel()
	v := Touches{touch("a2", "ann", 48, 0), touch("b1", "bob", 24, 24), touch("a1", "ann", 0, 0)}
	id := func(of Touch, found bool) string {
		require.Equal(t, found, of.ClickID != "")
		return of.ClickID
	}
	require.Equal(t, "a1", id(v.First(start.Days(3))))
	require.Equal(t, "a2", id(v.Last(start.Days(3))))
	require.Equal(t, "b1", id(v.Last(start.Days(1))), "a later click does not count yet")
	require.Equal(t, "b1", id(v.First(start.Days(5))), "ann's referral has ended")
	require.Empty(t, id(v.First(start.Days(6))))
	back := touch("b1", "bob", 60, 24)
	back.Return = true
	require.Equal(t, "b1", id(append(v, back).Last(start.Days(3))))
	v[0].Active, v[2].Active = false, false
	require.Equal(t, "b1", id(v.First(start.Days(3))))
}

// TestTouchesLate: a late click is one of another partner in the last 120 seconds, and no return.
func TestTouchesLate(t *testing.T) {
	t.Parallel()
	v := Touches{touch("a1", "ann", 0, 0), touch("b1", "bob", 24, 24)}
	at := v[1].At
	late, earlier, found := v.Late(at.Plus(119 * time.Second))
	require.Equal(t, []any{"b1", "a1", true}, []any{late.ClickID, earlier.ClickID, found})
	_, _, found = v.Late(at.Plus(120 * time.Second))
	require.False(t, found)
	v[1].Return = true
	_, _, found = v.Late(at)
	require.False(t, found)
	_, _, found = v[:1].Late(start)
	require.False(t, found, "one partner")
}

// TestTouchesLateBetween: a late click between two clicks of another partner is the late one. An earlier click between
// them counts.
func TestTouchesLateBetween(t *testing.T) {
	t.Parallel()
	v := Touches{touch("a1", "ann", 0, 0), touch("b1", "bob", 24, 24), touch("a2", "ann", 24, 0)}
	v[2].At = v[1].At.Plus(90 * time.Second)
	for after, want := range map[time.Duration][]any{
		100 * time.Second: {"b1", "a1", true}, 130 * time.Second: {"a2", "b1", true}, 210 * time.Second: {"", "", false},
	} {
		late, earlier, found := v.Late(v[1].At.Plus(after))
		require.Equal(t, want, []any{late.ClickID, earlier.ClickID, found}, after)
	}
}

// TestTouchesWithin: in a shorter window, a partner's next click opens another referral, with its own link.
func TestTouchesWithin(t *testing.T) {
	t.Parallel()
	v := Touches{touch("a2", "ann", 48, 0), touch("a1", "ann", 0, 0)}
	for days, begins := range map[int64]clock.Time{1: start.Days(2), 2: start.Days(2), 3: start} {
		second, found := v.Within(days).Click("a2")
		require.True(t, found)
		require.Equal(t, []any{begins, begins.Days(days)}, []any{second.Begins, second.Ends}, "%d days", days)
		require.Equal(t, days == 3, *second.LinkID == "link_a1")
	}
	require.Equal(t, start.Days(5), v[0].Ends, "the touches themselves stay")
}
