package event

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/clock"
	"rail/server/postgres/pgtx"
)

// Recorders holds the events of a job's run by organization. RequestID is the
// id of the run.
type Recorders struct {
	RequestID string
	Now       clock.Time
	all       []*Recorder
}

// Of returns the recorder of an organization.
func (r *Recorders) Of(org string) *Recorder {
	for _, e := range r.all {
		if e.OrgID == org {
			return e
		}
	}
	e := &Recorder{OrgID: org, RequestID: r.RequestID, Now: r.Now}
	r.all = append(r.all, e)
	return e
}

// Within runs work in a transaction of its own with the events that it records,
// and returns the count of what work has moved.
func Within(ctx context.Context, pool *pgxpool.Pool, run string, now clock.Time, work func(*pgtx.Tx, *Recorders) (int, error)) (n int, err error) {
	err = pgtx.Within(ctx, pool, func(tx *pgtx.Tx) error {
		told := Recorders{RequestID: run, Now: now}
		if n, err = work(tx, &told); err != nil {
			return err
		}
		return told.Flush(ctx, tx.Later())
	})
	return n, err
}

// Flush writes the collected events of all organizations with one statement.
func (r *Recorders) Flush(ctx context.Context, tx pgtx.DBTX) error {
	together := Recorder{RequestID: r.RequestID, Now: r.Now}
	for _, e := range r.all {
		together.add(e)
	}
	return together.Flush(ctx, tx)
}
