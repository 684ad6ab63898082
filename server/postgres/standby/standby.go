// Package standby lets reads go to standbys of the database, without anybody
// missing what it has written itself.
//
// A standby is behind the primary by its lag. Each is asked every tenth of a second
// how far it has replayed the primary's log, and is left out while it is away, lags
// more than [MaxLag], or follows another timeline than the primary is on, as after a
// failover. Whoever writes leaves the position of its commit here, and reads at a
// standby only once that has got so far; until then, and where no standby will do,
// it reads at the primary. What others write shows there as late as the lag.
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

// MaxLag is how far behind a standby may be that serves reads.
const MaxLag = 10 * time.Second

// Options is what standbys depend on.
type Options struct {
	Primary *pgxpool.Pool
	// URLs are the addresses, each of one server: behind a balancer nobody knows
	// which of several will be asked.
	URLs     []string
	MaxConns int // to each
	// Reads makes what short reads on a pool travel with.
	Reads func(*pgxpool.Pool) *share.Reads
	// Outages tells when a standby is left out, and when it is used again.
	Outages *outage.Log
}

// Set is the standbys of a database. A nil Set has none.
type Set struct {
	all   []*Standby
	notes notes
	turns atomic.Uint64
}

// Open returns the standbys, which are asked, and used, once Run runs. With no
// address it returns nil.
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

// Wrote notes how far a standby must be for somebody who has written.
func (s *Set) Wrote(who string, at pgtx.Position) {
	if s != nil {
		s.notes.put(who, at)
	}
}

// Choose returns a standby for a read of somebody who may have seen the primary at a
// position elsewhere, nil where only the primary will do.
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
