package tracking

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/postgres/pgtx"
	"rail/server/work"
)

const (
	// mostVisits bounds the visits that are written together.
	mostVisits = 128
	// enough is how many have to wait for a second transaction to begin, and as many as the first has: fewer cost
	// more than the second gains.
	enough = 16
)

// Writer writes the visits of requests that come at the same moment with one
// look-up and one transaction. It has no timer: while some are written, the next
// ones gather. Each request is answered after the commit; where that fails, each
// records its own visit.
type Writer struct {
	pool *pgxpool.Pool

	mu      sync.Mutex
	waiting []*pending
	running int             // transactions, two at most
	away    map[string]bool // the browsers of which they write visits
}

// NewWriter returns a writer on pool, which has two connections at most.
func NewWriter(pool *pgxpool.Pool) *Writer { return &Writer{pool: pool, away: map[string]bool{}} }

// pending is a visit that waits to be written.
type pending struct {
	arrival
	service Service
	who     string     // the program and the browser
	unit    *work.Unit // of its request, whose transaction has not begun
	click   recorded
	err     error
	done    chan struct{}
}

func newPending(s Service, u *work.Unit, a arrival) *pending {
	return &pending{arrival: a, service: s, unit: u, who: a.programID + string(a.visitor()), done: make(chan struct{})}
}

// write records a visit of the unit's tenant, and its events, and wakes their
// sender. Of an error for which pgtx.Again is true nothing was kept.
func (w *Writer) write(ctx context.Context, s Service, u *work.Unit, a arrival) (recorded, error) {
	p := newPending(s, u, a)
	w.mu.Lock()
	w.waiting = append(w.waiting, p)
	if w.running == 0 || w.running == 1 && w.crowded() {
		w.running++
		go w.run(context.WithoutCancel(ctx))
	}
	w.mu.Unlock()
	select {
	case <-p.done:
		return p.click, p.err
	case <-ctx.Done(): // it may be written all the same, as at any commit
		return recorded{}, ctx.Err()
	}
}

// crowded reports whether a second transaction is worth its while. The caller has mu.
func (w *Writer) crowded() bool { return len(w.waiting) >= max(enough, len(w.away)) }

// run writes those who wait, until nobody does.
func (w *Writer) run(ctx context.Context) {
	for visits := w.board(nil); len(visits) > 0; visits = w.board(visits) {
		w.batch(ctx, visits)
	}
}

// board takes the next visits, after those that were written. One of a browser of which another is being written
// stays: it would not see the referral that the other opens.
func (w *Writer) board(written []*pending) (next []*pending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range written {
		delete(w.away, p.who)
	}
	if w.running == 1 || w.crowded() {
		var stay []*pending
		for _, p := range w.waiting {
			if len(next) == mostVisits || w.away[p.who] {
				stay = append(stay, p)
			} else {
				next = append(next, p)
			}
		}
		w.waiting = stay
	}
	for _, p := range next {
		w.away[p.who] = true
	}
	if len(next) == 0 {
		w.running--
	}
	return next
}

// batch records visits and answers them.
func (w *Writer) batch(ctx context.Context, visits []*pending) {
	ctx, cancel := context.WithTimeout(ctx, pgtx.SharedTime)
	defer cancel()
	err := w.store(ctx, visits)
	for _, p := range visits {
		if err != nil {
			p.err = pgtx.Alone(err)
		}
		close(p.done)
	}
}

// store writes all visits that can be recorded, in one transaction.
func (w *Writer) store(ctx context.Context, visits []*pending) (err error) {
	defer func() { // there is no request here whose path would catch it
		if v := recover(); v != nil {
			err = fmt.Errorf("tracking: writing visits panicked: %v\n%s", v, debug.Stack())
		}
	}()
	units, arrivals := make([]*work.Unit, len(visits)), make([]arrival, len(visits))
	for i, p := range visits {
		units[i], arrivals[i] = p.unit, p.arrival
	}
	hits, err := resolve(ctx, w.pool, units, arrivals)
	if err != nil {
		return err
	}
	tx, opened, clicked := pgtx.Begin(w.pool), map[string]string{}, map[string]string{}
	defer tx.Rollback()
	if _, err := tx.Later().Exec(ctx, pgtx.LockWait); err != nil {
		return err
	}
	var parts []*pgtx.Tx
	var written []*work.Unit
	for i, p := range visits {
		// Two clicks of one visitor join one referral.
		visitor := p.who + hits[i].PartnerID
		if hits[i].ReferralID == "" {
			hits[i].ReferralID = opened[visitor]
		}
		if p.browser && hits[i].RecentClickID == "" { // and two of one browser on one value are one
			hits[i].RecentClickID = clicked[visitor+" "+p.value]
		}
		u := p.unit.WithTx(pgtx.Begin(w.pool))
		if p.click, p.err = p.service.record(ctx, u, p.arrival, hits[i]); p.err != nil {
			continue
		}
		if err := u.Events.Flush(ctx, u.Later()); err != nil {
			return err
		}
		opened[visitor], clicked[visitor+" "+p.value] = *p.click.ReferralID, p.click.ID
		parts, written = append(parts, u.Tx), append(written, u)
		tx.WriteFor(p.unit.Tx)
	}
	tx.Join(parts...)
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	for _, u := range written {
		u.Committed()
	}
	for _, p := range visits {
		p.unit.Tx.Wrote(tx)
	}
	return nil
}
