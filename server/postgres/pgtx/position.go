package pgtx

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// Position is a place in the primary's write-ahead log. A standby that has replayed up to it shows
// everything committed before it. The zero value is before all others.
type Position struct {
	Timeline uint32 // each failover begins a new one
	LSN      uint64
}

// Unknown is the position of a commit whose place could not be read. No standby reaches it.
var Unknown = Position{math.MaxUint32, math.MaxUint64}

// PositionSQL selects the end of the flushed log. All acknowledged commits are before it, because
// the service refuses a database without synchronous_commit.
const PositionSQL = `SELECT ('x' || left(pg_walfile_name(lsn), 8))::bit(32)::int8 AS timeline,
	(lsn - '0/0')::int8 AS lsn FROM pg_current_wal_flush_lsn() AS lsn`

// Current returns the primary's position, or Unknown after an error.
func Current(ctx context.Context, db DBTX) Position {
	var p Position
	if err := db.QueryRow(ctx, PositionSQL).Scan(&p.Timeline, &p.LSN); err != nil {
		return Unknown
	}
	return p
}

// Reaches reports whether a standby that has replayed up to p shows everything committed before
// need. Commits of an earlier timeline behind the branch of p's timeline are lost.
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

// String returns the position in the form of the headers, such as 1-16b3748.
func (p Position) String() string { return fmt.Sprintf("%x-%x", p.Timeline, p.LSN) }

var position = regexp.MustCompile(`^([0-9a-f]{1,8})-([0-9a-f]{1,16})$`)

// ParsePosition parses the form of String, and reports whether text has it.
func ParsePosition(text string) (Position, bool) {
	parts := position.FindStringSubmatch(text)
	if parts == nil {
		return Position{}, false
	}
	timeline, _ := strconv.ParseUint(parts[1], 16, 32) // cannot fail: the pattern matched
	lsn, _ := strconv.ParseUint(parts[2], 16, 64)
	return Position{uint32(timeline), lsn}, true
}
