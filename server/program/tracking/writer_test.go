package tracking

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/worktest"
	"rail/server/ident"
	"rail/server/postgres/pgtx"
	"rail/server/postgres/pgtx/share"
	"rail/server/problem"
	"rail/server/work"
)

// visitOf is a visit with a value by a visitor.
func visitOf(value, visitor string) Visit {
	return Visit{VisitorToken: visitor, LandingURL: "https://shop.example/?ref=" + value}
}

// pend returns a waiting visit.
func pend(x *worktest.Tenant, s Service, u *work.Unit, value, visitor string) *pending {
	return newPending(s, u.WithTx(pgtx.Begin(x.Pool)), arrival{
		Visit: visitOf(value, visitor), programID: x.Program.ID, value: value,
		landingKey: destinationKey("https://shop.example/"),
	})
}

// gated is a writer with one transaction at a time, each of which waits for permission to begin.
type gated struct {
	*Writer

	open chan struct{}
}

func newGated(x *worktest.Tenant) gated {
	w := gated{NewWriter(x.Pool), make(chan struct{})}
	w.batcher = share.NewBatcher(share.Limits{Members: maxBatchVisits, Batches: 1}, func(ctx context.Context, visits []*pending) {
		<-w.open
		w.batch(ctx, visits)
	})
	return w
}

// together writes visits in one transaction, except those of one browser: they gather behind a refused one.
func (w gated) together(x *worktest.Tenant, visits ...*pending) {
	x.Helper()
	stranger := work.New(x.Pool, work.Unit{OrgID: "org_first", RequestID: ident.New(ident.Run), Now: x.Now})
	all := append([]*pending{pend(x, visits[0].service, stranger, "nobody", "first")}, visits...)
	for _, p := range all {
		w.batcher.Add(p)
	}
	for _, p := range all {
		for waits := true; waits; {
			select {
			case w.open <- struct{}{}:
			case <-p.done:
				waits = false
			}
		}
	}
}

// TestWriterBatch writes visits of every outcome in one transaction, except a visitor's second one, which joins
// the referral of the first; refused visits leave nothing.
func TestWriterBatch(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), service(t)
	x.Partner("ann")
	x.Partner("bob")
	u := work.New(x.Pool, work.Unit{OrgID: x.OrgID, RequestID: ident.New(ident.Run), Now: x.Now})
	stranger := work.New(x.Pool, work.Unit{OrgID: "org_other", RequestID: ident.New(ident.Run), Now: x.Now})
	visits := []*pending{
		pend(x, s, u, "ann", "one"), pend(x, s, u, "nobody", "one"), pend(x, s, u, "ann", "one"),
		pend(x, s, u, "bob", "one"), pend(x, s, stranger, "ann", "one"), pend(x, s, u, "ann", "two"),
	}
	w := newGated(x)
	w.together(x, visits...)
	require.Zero(t, w.Stats().Retries)
	codes := map[int]problem.Code{1: problem.TrackingValueNotFound, 4: problem.ResourceNotFound}
	for i, p := range visits {
		if codes[i] == "" {
			require.NoError(t, p.err)
			continue
		}
		var refused *problem.Error
		require.ErrorAs(t, p.err, &refused)
		require.Equal(t, codes[i], refused.Code)
	}
	require.Equal(t, visits[0].click.ReferralID, visits[2].click.ReferralID)
	require.NotEqual(t, visits[0].click.ReferralID, visits[3].click.ReferralID, "of another partner")
	require.NotEqual(t, visits[0].click.ReferralID, visits[5].click.ReferralID, "of another visitor")
	require.Equal(t, []int64{1, 1, 2}, worktest.Rows[int64](x, "SELECT count(*) FROM clicks GROUP BY xmin::text ORDER BY 1"),
		"a visitor's one after the other")
	require.Equal(t, []int64{4, 3}, worktest.Rows[int64](x,
		"SELECT count(*) FROM clicks UNION ALL SELECT count(*) FROM referrals"))
	require.Equal(t, []string{"referral.created", "referral.created", "referral.created"}, x.Events())
}

// TestWriterReturns: repeated visits of browsers add no clicks in a batch, beside the first visit of another.
func TestWriterReturns(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), service(t)
	x.Partner("ann")
	x.Partner("bob")
	batch := func(minute int64, visits ...[2]string) []*pending {
		u := work.New(x.Pool, work.Unit{
			OrgID: x.OrgID, RequestID: ident.New(ident.Run), Now: x.Now.Plus(time.Duration(minute) * time.Minute),
		})
		var out []*pending
		for _, v := range visits {
			p := pend(x, s, u, v[0], v[1])
			p.browser = true
			out = append(out, p)
		}
		newGated(x).together(x, out...)
		for _, p := range out {
			require.NoError(t, p.err)
		}
		return out
	}
	ann := batch(0, [2]string{"ann", "one"}, [2]string{"ann", "one"})
	require.Equal(t, ann[0].click.ID, ann[1].click.ID, "two of one moment")
	batch(1, [2]string{"bob", "one"})
	again := batch(2, [2]string{"ann", "two"}, [2]string{"ann", "one"})
	require.Equal(t, ann[0].click.ID, again[1].click.ID)
	require.Equal(t, []int64{3}, worktest.Rows[int64](x, "SELECT count(*) FROM clicks"))
	require.Equal(t, []string{ann[0].click.ID}, worktest.Rows[string](x,
		"SELECT returned_click_id FROM referrals WHERE returned_at = $1", x.Now.Plus(2*time.Minute)))
}

// TestWriterNeighbour: among many concurrent visits, the database refuses one, which alone gets the error.
func TestWriterNeighbour(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), service(t)
	s.Writer = NewWriter(x.Pool)
	x.Partner("ann")
	const many, visitors = 40, 8
	errs := make([]error, many)
	var all sync.WaitGroup
	for i := range errs {
		visit := visitOf("ann", fmt.Sprint("visitor ", i%visitors))
		if i == many/2 {
			bad := "\x00" // not valid text in PostgreSQL
			visit.UserAgent = &bad
		}
		all.Go(func() {
			errs[i] = x.Do(func(ctx context.Context, u *work.Unit) error {
				var k db.Click
				k, err := s.Click(ctx, u, x.Program.ID, "ann", visit)
				if err == nil && k.PartnerID == "" {
					return errors.New("an empty click")
				}
				return err
			})
		})
	}
	all.Wait()
	for i, err := range errs {
		require.Equal(t, i == many/2, err != nil, "%d: %v", i, err)
	}
	require.Equal(t, []int64{many - 1, visitors}, worktest.Rows[int64](x,
		"SELECT count(*) FROM clicks UNION ALL SELECT count(*) FROM referrals WHERE current"))
}

// TestWriterLocked: a visit waits for a transaction that opened its visitor's referral. Visits in the same batch
// do not wait for it, and after a repetition its tenant is isolated for a while.
func TestWriterLocked(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), service(t)
	x.Partner("ann")
	u := work.New(x.Pool, work.Unit{OrgID: x.OrgID, RequestID: ident.New(ident.Run), Now: x.Now})
	w := newGated(x)
	x.Must(func(ctx context.Context, holder *work.Unit) error {
		if _, err := s.Click(ctx, holder, x.Program.ID, "ann", visitOf("ann", "one")); err != nil {
			return err
		}
		if _, err := holder.DB().Exec(ctx, "SELECT 1"); err != nil { // sends the queued statements
			return err
		}
		for i := range 2 {
			require.False(t, w.batcher.Isolated(x.OrgID), i)
			visits := []*pending{pend(x, s, u, "ann", "one"), pend(x, s, u, "ann", "two")}
			w.together(x, visits...)
			for _, p := range visits {
				require.True(t, pgtx.Again(p.err), "each is recorded alone, not %v", p.err)
			}
		}
		return nil
	})
	require.True(t, w.batcher.Isolated(x.OrgID))
	require.GreaterOrEqual(t, w.Stats().Retries, uint64(4))
	require.Equal(t, []int64{1}, worktest.Rows[int64](x, "SELECT count(*) FROM clicks"))
}

// TestWriterPanics: one of three visits panics. The batch is rolled back, and the others are recorded alone; a
// refused one stays refused.
func TestWriterPanics(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), service(t)
	x.Partner("ann")
	u := work.New(x.Pool, work.Unit{OrgID: x.OrgID, RequestID: ident.New(ident.Run), Now: x.Now})
	visits := []*pending{pend(x, s, u, "ann", "one"), pend(x, s, u, "nobody", "two"), pend(x, s, u, "ann", "three")}
	visits[2].service.Keeper, visits[2].IP = nil, "192.0.2.1" // its hash needs a key
	newGated(x).together(x, visits...)
	require.True(t, pgtx.Again(visits[0].err), visits[0].err)
	require.True(t, pgtx.Again(visits[2].err), visits[2].err)
	var refused *problem.Error
	require.ErrorAs(t, visits[1].err, &refused)
	require.Equal(t, problem.TrackingValueNotFound, refused.Code)
	require.Equal(t, []int64{0}, worktest.Rows[int64](x, "SELECT count(*) FROM clicks"))
}

// TestWriterCanceled does not write a visit whose request ends during the wait.
func TestWriterCanceled(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), service(t)
	x.Partner("ann")
	w := newGated(x)
	first := work.New(x.Pool, work.Unit{OrgID: x.OrgID, RequestID: ident.New(ident.Run), Now: x.Now})
	written := pend(x, s, first, "ann", "one")
	w.batcher.Add(written)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	u := first.WithTx(pgtx.Begin(x.Pool))
	_, err := w.write(ctx, s, u, arrival{Visit: visitOf("ann", "two"), programID: x.Program.ID, value: "ann"})
	require.ErrorIs(t, err, context.Canceled)
	w.open <- struct{}{}
	<-written.done
	require.NoError(t, written.err)
	require.Equal(t, []int64{1}, worktest.Rows[int64](x, "SELECT count(*) FROM clicks"))
}
