package share

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"rail/server/postgres/pgtx"
)

// maxAttempts bounds how often Nested runs one piece of work.
const maxAttempts = 4

// Nested runs n pieces of work inside t as its members: it sends all their reads
// together, and then all their writes. It returns the error of each piece; a failed one
// leaves nothing, and the others succeed. Pieces with equal claims run in order. A piece
// that cannot share runs alone, before the pieces that wait for its claims, or last if it
// fails before its first read. The caller uses t again when Nested returns.
func Nested(ctx context.Context, t *pgtx.Tx, n int, do func(i int, tx *pgtx.Tx) error) []error {
	g := newGroupCommit(t.Nested, Limits{Members: n}) // no workers: the batch starts when all have joined
	g.sequential = true
	errs, ended := make([]error, n), make([]chan struct{}, n)
	var joined sync.WaitGroup
	joined.Add(n)
	for i := range n {
		member, ready := g.member("", t), sync.OnceFunc(joined.Done)
		member.order, member.onJoin = i, ready
		ended[i] = make(chan struct{})
		go func() {
			defer close(ended[i])
			defer ready() // for work without a statement
			errs[i] = member.tx.Do(ctx, func(tx *pgtx.Tx) error { return do(i, tx) })
		}()
	}
	joined.Wait()
	g.sort()
	retry := func(i int) {
		<-ended[i]
		for attempt := 2; pgtx.Again(errs[i]) && !deadlocked(errs[i]) && attempt <= maxAttempts; attempt++ {
			errs[i] = t.Nested().Do(ctx, func(tx *pgtx.Tx) error { return do(i, tx) })
		}
	}
	for slots := g.batcher.next(); len(slots) > 0; slots = g.batcher.next() {
		g.process(ctx, slots)
		for _, s := range slots {
			retry(s.order)
		}
	}
	for i := range n { // work that never joined
		retry(i)
	}
	return errs
}

// deadlocked reports whether err is a deadlock. Others may wait for locks that t took
// before, so that only the end of t helps.
func deadlocked(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "40P01"
}
