package webhook

import (
	"context"
	"encoding/base64"
	"encoding/binary"

	"rail/gen/db"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/event"
)

// FeedLength is the default number of events in a feed.
const FeedLength = 100

// Feed is a page of events after a cursor, with the next cursor.
type Feed struct {
	Events   []db.EventsSinceRow
	Cursor   string
	CaughtUp bool // there are no more events
}

// Follow reads up to limit events after a cursor, of all programs of the unit's organization, and returns those
// of the unit's programs. Without a cursor it returns the present one. It reads the primary, since only that
// knows the uncommitted events.
func (s *Endpoints) Follow(ctx context.Context, u *work.Unit, after string, limit int) (Feed, error) {
	for _, named := range u.Programs {
		if err := u.ProgramExists(ctx, s.Primary, named); err != nil {
			return Feed{}, err
		}
	}
	now, err := event.ReadHorizon(ctx, s.Primary)
	if err != nil {
		return Feed{}, err
	}
	if after == "" {
		cursor, err := s.cursor(u.OrgID, now.Lowest()-1)
		return Feed{Cursor: cursor, CaughtUp: true}, err
	}
	seq, err := s.position(u.OrgID, after)
	if err != nil {
		return Feed{}, err
	}
	rows, err := queries.EventsSince(ctx, s.Primary, db.EventsSinceParams{
		OrgID: u.OrgID, AfterSeq: seq, BeforeSeq: now.Lowest(), Lim: int32(limit),
	})
	if err != nil {
		return Feed{}, err
	}
	out := Feed{Cursor: after, CaughtUp: len(rows) < limit}
	for _, e := range rows {
		if u.CheckProgram(e.ProgramID) == nil {
			out.Events = append(out.Events, e)
		}
	}
	if len(rows) > 0 {
		out.Cursor, err = s.cursor(u.OrgID, rows[len(rows)-1].Seq)
	}
	return out, err
}

// cursor seals the number of an event, which counts the events of all organizations and must stay private.
func (s *Endpoints) cursor(org string, seq int64) (string, error) {
	sealed, err := s.Keeper.Seal(binary.BigEndian.AppendUint64(nil, uint64(seq)), "events/"+org)
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// position returns the number in a cursor of the organization.
func (s *Endpoints) position(org, cursor string) (int64, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		sealed, err = s.Keeper.Open(sealed, "events/"+org)
	}
	if err != nil || len(sealed) != 8 {
		return 0, problem.Invalid("after", "after is not a cursor of your organization's events; omit it to get a new one.")
	}
	return int64(binary.BigEndian.Uint64(sealed)), nil
}
