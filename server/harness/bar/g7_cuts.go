package bar

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// cuts cuts the connection between a commit and its answer to the server, also a commit
// that several sales share. The server cannot know whether it committed, and answers each
// of them 503. A retry with the Idempotency-Key must then get the stored answer, one
// without it the same sale.
//
// The server has its own process and proxy, because kills of whole processes rarely hit these few microseconds.
func (s *storm) cuts(ctx context.Context, n int, f *figures) (err error) {
	proxy, dsn, err := newProxy(s.sys.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proxy.close()) }()
	p, err := s.sys.process(dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	s.sys.unavailable.Store(true)
	defer s.sys.unavailable.Store(false)
	before, requests, rounds, most := s.sales(ctx), 0, 0, 0
	for round := 0; rounds < n || most < 2; round++ {
		if round > 6*n {
			return fmt.Errorf("only %d of %d commits were cut off in %d rounds, with %d sales at most", rounds, n, round, most)
		}
		cut, err := s.cutRound(ctx, proxy, p.addr, round)
		if err != nil {
			return err
		}
		requests += sharing
		most = max(most, cut)
		if cut > 0 {
			rounds++
		}
	}
	if now := s.sales(ctx); now-before != requests {
		s.sys.fault("%d sales of %d requests whose commits were cut", now-before, requests)
	}
	f.add("commits with lost responses", rounds)
	f.add("sales in the largest", most)
	return nil
}

// sharing is how many sales are sent at once while a commit is cut: most of them share a
// transaction.
const sharing = 8

// cutRound records sales, one of whose commits is cut off, and repeats the requests. It
// returns how many sales were there before that, committed and not acknowledged.
func (s *storm) cutRound(ctx context.Context, proxy *proxy, at string, round int) (int, error) {
	var sent errgroup.Group
	var cut atomic.Int64
	proxy.armed.Store(1 + int64(round%4)) // the first commit is that of a lone sale, the third mostly of several
	for i := range sharing {
		sent.Go(func() error {
			committed, err := s.cutOne(ctx, at, s.customers[i], i%2 == 0)
			if committed {
				cut.Add(1)
			}
			return err
		})
	}
	err := sent.Wait()
	proxy.armed.Store(0)
	return int(cut.Load()), err
}

// cutOne records a sale whose commit may be cut off, and repeats the request if it was.
// It reports whether the sale was there before that.
func (s *storm) cutOne(ctx context.Context, at, customer string, keyed bool) (committed bool, err error) {
	charge, header := s.sys.unique("cut"), http.Header{}
	want := 200 // the sale is there already
	if keyed {
		header.Set("Idempotency-Key", charge)
		want = 201 // the first answer again
	}
	c := call{method: "POST", path: "/v1/sales", key: s.o.key, at: at, header: header, body: M{
		"program_id": s.program, "customer_id": customer, "external_charge_id": charge, "amount_minor": 500,
		"currency": "USD",
	}}
	a, err := s.sys.send(ctx, c)
	if err == nil && a.status == 201 {
		return false, nil // another commit was cut
	}
	if a.status != 503 {
		s.sys.fault("a cut commit answers %d %s %v", a.status, a.raw, err)
	}
	var id string
	err = s.sys.pool.QueryRow(ctx, "SELECT id FROM sales WHERE program_id = $1 AND external_charge_id = $2", s.program,
		charge).Scan(&id)
	committed = err == nil
	again, err := s.retry(ctx, c)
	if err != nil {
		return false, err
	}
	if committed && (again.status != want || again.replayed() != keyed || again.text("id") != id) {
		s.sys.fault("after a cut commit of %s the retry answers %d %s", id, again.status, again.raw)
	}
	return committed, nil
}

// sales counts the sales of the storm's program.
func (s *storm) sales(ctx context.Context) (n int) {
	if err := s.sys.pool.QueryRow(ctx,
		"SELECT count(*) FROM sales WHERE program_id = $1", s.program).Scan(&n); err != nil {
		s.sys.fault("%v", err)
	}
	return n
}
