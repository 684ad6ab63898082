package bar

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// cuts cuts the connection between a commit and its answer to the server. The server
// cannot know whether it committed, and answers 503. A retry with the Idempotency-Key
// must then get the stored answer, one without it the same sale.
//
// The server has a process and a proxy of its own: kills of whole processes rarely hit
// these few microseconds.
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
	before, made := s.sales(ctx), 0
	for cut := 0; cut < n; made++ {
		if made > 3*n {
			return fmt.Errorf("only %d of %d commits were cut off in %d requests", cut, n, made)
		}
		committed, err := s.cutOne(ctx, proxy, p.addr, made%2 == 0)
		if err != nil {
			return err
		}
		if committed {
			cut++
		}
	}
	if now := s.sales(ctx); now-before != made {
		s.sys.fault("%d sales of %d requests whose commits were cut", now-before, made)
	}
	f.add("commits cut from their answers", n)
	return nil
}

// cutOne records a sale whose commit is cut off, and repeats the request. It reports
// whether the sale was there before that, committed and not acknowledged.
func (s *storm) cutOne(ctx context.Context, proxy *proxy, at string, keyed bool) (committed bool, err error) {
	charge, header := s.sys.unique("cut"), http.Header{}
	want := 200 // the sale is there already
	if keyed {
		header.Set("Idempotency-Key", charge)
		want = 201 // the first answer again
	}
	c := call{method: "POST", path: "/v1/sales", key: s.o.key, at: at, header: header, body: M{
		"program_id": s.program, "customer_id": s.customers[0], "external_charge_id": charge, "amount_minor": 500,
		"currency": "USD",
	}}
	proxy.armed.Store(true)
	a, err := s.sys.send(ctx, c)
	proxy.armed.Store(false)
	if err == nil && a.status == 201 {
		return false, nil // the commit of a job was cut instead
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
