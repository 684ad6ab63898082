package pgtx

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// Position is a place in the log of the primary. A standby that has replayed up to
// it shows all that was committed before. The zero value is before everything.
type Position struct {
	Timeline uint32 // each failover begins another
	LSN      uint64
}

// Unknown is a position that no standby reaches, of a commit whose own is not known.
var Unknown = Position{math.MaxUint32, math.MaxUint64}

// PositionSQL returns how far the primary's log is on the disk. All commits of which
// anybody knows are before, since the service refuses a database without
// synchronous_commit.
const PositionSQL = `SELECT ('x' || left(pg_walfile_name(lsn), 8))::bit(32)::int8 AS timeline,
	(lsn - '0/0')::int8 AS lsn FROM pg_current_wal_flush_lsn() AS lsn`

// Current returns the primary's position, Unknown where it does not tell.
func Current(ctx context.Context, db DBTX) Position {
	var p Position
	if err := db.QueryRow(ctx, PositionSQL).Scan(&p.Timeline, &p.LSN); err != nil {
		return Unknown
	}
	return p
}

// Reaches reports whether whoever has replayed up to p shows what was committed
// before need. What an earlier timeline had beyond the branch of p's is lost: nobody
// shows it.
func (p Position) Reaches(need Position) bool {
	return p.Timeline >= need.Timeline && p.LSN >= need.LSN
}

// Later returns the later of two positions.
func (p Position) Later(other Position) Position {
	if cmp.Or(cmp.Compare(p.Timeline, other.Timeline), cmp.Compare(p.LSN, other.LSN)) < 0 {
		return other
	}
	return p
}

// String returns the position as it travels in headers, such as 1-16b3748.
func (p Position) String() string { return fmt.Sprintf("%x-%x", p.Timeline, p.LSN) }

var position = regexp.MustCompile(`^([0-9a-f]{1,8})-([0-9a-f]{1,16})$`)

// ParsePosition reads what String has written, and reports whether it could.
func ParsePosition(text string) (Position, bool) {
	parts := position.FindStringSubmatch(text)
	if parts == nil {
		return Position{}, false
	}
	timeline, _ := strconv.ParseUint(parts[1], 16, 32) // the pattern has let them pass
	lsn, _ := strconv.ParseUint(parts[2], 16, 64)
	return Position{uint32(timeline), lsn}, true
}
