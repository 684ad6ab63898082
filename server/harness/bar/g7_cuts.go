package bar

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// cuts cuts the connection between a commit and its answer to the server. A retry
// with the Idempotency-Key must get the stored answer, one without it the same sale.
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
	cut := 0
	for cut < n {
		if made > 3*n {
			return fmt.Errorf("only %d of %d commits were cut off in %d requests", cut, n, made)
		}
		charge, header := s.sys.unique("cut"), http.Header{}
		if made%2 == 0 {
			header.Set("Idempotency-Key", charge)
		}
		made++
		c := call{method: "POST", path: "/v1/sales", key: s.o.key, at: p.addr, header: header, body: M{
			"program_id": s.program, "customer_id": s.customers[0], "external_charge_id": charge, "amount_minor": 500,
			"currency": "USD",
		}}
		proxy.armed.Store(true)
		a, err := s.sys.send(ctx, c)
		proxy.armed.Store(false)
		if err == nil && a.status == 201 {
			continue // the commit of a job was cut instead
		}
		if a.status != 503 {
			s.sys.fault("a cut commit answers %d %s %v", a.status, a.raw, err)
		}
		var id string
		if err := s.sys.pool.QueryRow(ctx,
			"SELECT id FROM sales WHERE program_id = $1 AND external_charge_id = $2", s.program,
			charge).Scan(&id); err == nil {
			cut++ // committed, and not acknowledged
		}
		want, replayed := 200, false
		if header.Get("Idempotency-Key") != "" {
			want, replayed = 201, true
		}
		again, err := s.retry(ctx, c)
		if err != nil {
			return err
		}
		if id != "" && (again.status != want || again.replayed() != replayed || again.text("id") != id) {
			s.sys.fault("after a cut commit of %s the retry answers %d %s", id, again.status, again.raw)
		}
	}
	if now := s.sales(ctx); now-before != made {
		s.sys.fault("%d sales of %d requests whose commits were cut", now-before, made)
	}
	f.add("commits cut from their answers", cut)
	return nil
}

func (s *storm) sales(ctx context.Context) (n int) {
	if err := s.sys.pool.QueryRow(ctx,
		"SELECT count(*) FROM sales WHERE program_id = $1", s.program).Scan(&n); err != nil {
		s.sys.fault("%v", err)
	}
	return n
}
