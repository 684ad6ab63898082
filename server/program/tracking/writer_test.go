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
	"rail/server/problem"
	"rail/server/work"
)

// visitOf is a visit with a value by a visitor.
func visitOf(value, visitor string) Visit {
	return Visit{VisitorToken: visitor, LandingURL: "https://shop.example/?ref=" + value}
}

// pend is a visit that waits to be written.
func pend(x *worktest.Tenant, s Service, u *work.Unit, value, visitor string) *pending {
	return newPending(s, u.WithTx(pgtx.Begin(x.Pool)), arrival{
		Visit: visitOf(value, visitor), programID: x.Program.ID, value: value,
		landingKey: destinationKey("https://shop.example/"),
	})
}

// TestWriterBatch writes visits of every fate together: in one transaction, two of one
// visitor with one referral, and what is refused leaves nothing.
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
	NewWriter(x.Pool).batch(t.Context(), visits)
	codes := map[int]problem.Code{1: problem.TrackingValueNotFound, 4: problem.ResourceNotFound}
	for i, p := range visits {
		<-p.done
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
	require.Len(t, worktest.Rows[string](x, "SELECT DISTINCT xmin::text FROM clicks"), 1)
	require.Equal(t, []int64{4, 3}, worktest.Rows[int64](x,
		"SELECT count(*) FROM clicks UNION ALL SELECT count(*) FROM referrals"))
	require.Equal(t, []string{"referral.created", "referral.created", "referral.created"}, x.Events())
}

// TestWriterBoards follows which visits go together: sixteen begin a second transaction beside a small one, and no
// browser has visits in both.
func TestWriterBoards(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), service(t)
	u := work.New(x.Pool, work.Unit{OrgID: x.OrgID, Now: x.Now})
	wait := func(w *Writer, visitors ...int) {
		for _, n := range visitors {
			w.waiting = append(w.waiting, pend(x, s, u, "ann", fmt.Sprint(n)))
		}
	}
	upTo := func(n int) (out []int) {
		for i := range n {
			out = append(out, i)
		}
		return out
	}
	w := NewWriter(x.Pool)
	wait(w, 0, 0, 1)
	w.running = 1
	first := w.board(nil)
	require.Len(t, first, 3, "of one browser two at once")
	wait(w, upTo(enough-1)...)
	require.False(t, w.crowded(), "too few for a second")
	wait(w, 100)
	require.True(t, w.crowded())
	w.running = 2
	second := w.board(nil)
	require.Len(t, second, enough-2)
	require.Len(t, w.waiting, 2, "the visits of 0 and 1 stay")
	require.Empty(t, w.board(second), "too few for both")
	require.Equal(t, 1, w.running)
	last := w.board(first)
	require.Len(t, last, 2)
	wait(w, upTo(3*enough)...)
	large := w.board(last)
	require.Len(t, large, 3*enough)
	wait(w, upTo(3*enough-1)...)
	require.False(t, w.crowded(), "too few beside a large one")
	wait(w, upTo(6*enough)...)
	require.True(t, w.crowded())
	require.Len(t, w.board(large), mostVisits)
}

// TestWriterReturns: of browsers that come again the batch has no click, but what they
// came back to, beside the first visit of another.
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
		NewWriter(x.Pool).batch(t.Context(), out)
		for _, p := range out {
			<-p.done
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

// TestWriterNeighbour has many visits at once, one of which the database refuses: it
// alone gets the error.
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
			bad := "\x00" // no text to PostgreSQL
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

// TestWriterLocked has a visit wait for a transaction that opened its visitor's
// referral: those beside it do not wait for that one's end.
func TestWriterLocked(t *testing.T) {
	t.Parallel()
	x, s := worktest.New(t), service(t)
	x.Partner("ann")
	u := work.New(x.Pool, work.Unit{OrgID: x.OrgID, RequestID: ident.New(ident.Run), Now: x.Now})
	visits := []*pending{pend(x, s, u, "ann", "one"), pend(x, s, u, "ann", "two")}
	x.Must(func(ctx context.Context, u *work.Unit) error {
		if _, err := s.Click(ctx, u, x.Program.ID, "ann", visitOf("ann", "one")); err != nil {
			return err
		}
		if _, err := u.DB().Exec(ctx, "SELECT 1"); err != nil { // sends what waits
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		NewWriter(x.Pool).batch(ctx, visits)
		return nil
	})
	for _, p := range visits {
		<-p.done
		require.True(t, pgtx.Again(p.err), "each is recorded alone, not %v", p.err)
	}
	require.Equal(t, []int64{1}, worktest.Rows[int64](x, "SELECT count(*) FROM clicks"))
}
