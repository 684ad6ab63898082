// Package standby sends reads to standbys of the database, and lets every caller read its own
// writes.
//
// A standby is behind the primary by its lag. The package checks ten times a second how far each
// standby has replayed the primary's log. It does not use a standby that is unavailable, lags more
// than [MaxLag], or follows another timeline than the primary, as after a failover. A caller's
// write records its position here, and the caller reads from a standby only after that has replayed
// the position; until then it reads from the primary. It sees the writes of others with a delay of
// the lag.
package standby

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/clock"
	"rail/server/postgres/pgtx"
	"rail/server/postgres/pgtx/share"
	"rail/server/telemetry/outage"
)

// MaxLag bounds the lag of a standby that serves reads.
const MaxLag = 10 * time.Second

// Options configures standbys.
type Options struct {
	Primary *pgxpool.Pool
	// URLs are the addresses, one of each server. A load balancer would mix several servers.
	URLs     []string
	MaxConns int // of each standby
	// Reads makes the batcher of short reads on a pool.
	Reads func(*pgxpool.Pool) *share.Reads
	// Outages logs when a standby is no longer used, and when it is used again.
	Outages *outage.Log
}

// Set holds the standbys of a database. A nil Set has none.
type Set struct {
	all   []*Standby
	notes notes
	turns atomic.Uint64
}

// Open returns the standbys, which are used while Run runs. Without addresses it returns nil.
func Open(o Options) (*Set, error) {
	if len(o.URLs) == 0 {
		return nil, nil
	}
	s := &Set{}
	for _, url := range o.URLs {
		one, err := open(o, url)
		if err == nil && slices.ContainsFunc(s.all, func(other *Standby) bool { return other.Name == one.Name }) {
			err = fmt.Errorf("%s is named twice", one.Name)
		}
		if err != nil {
			s.close()
			return nil, err
		}
		s.all = append(s.all, one)
	}
	return s, nil
}

// Run watches the standbys until ctx ends.
func (s *Set) Run(ctx context.Context) {
	if s == nil {
		return
	}
	var watching sync.WaitGroup
	for _, one := range s.all {
		watching.Go(func() { one.run(ctx) })
	}
	for clock.Wait(ctx, MaxLag) == nil {
		s.notes.age()
	}
	watching.Wait()
	s.close()
}

func (s *Set) close() {
	for _, one := range s.all {
		one.Pool.Close()
	}
}

// Wrote records the position of a key's write, which a standby must have replayed.
func (s *Set) Wrote(who string, at pgtx.Position) {
	if s != nil {
		s.notes.put(who, at)
	}
}

// Choose returns a standby for a read of a key that may have seen the position at another server,
// or nil if the primary must serve it.
func (s *Set) Choose(who string, seen pgtx.Position) *Standby {
	if s == nil {
		return nil
	}
	need := s.notes.get(who).Later(seen)
	first := s.turns.Add(1)
	for i := range s.all {
		if one := s.all[(first+uint64(i))%uint64(len(s.all))]; one.serves(need) {
			return one
		}
	}
	return nil
}

// All returns the standbys in the order of their addresses.
func (s *Set) All() []*Standby {
	if s == nil {
		return nil
	}
	return s.all
}
