package bar

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// paging is G5: every list is walked in both directions while others write. A walk returns an object that existed
// throughout exactly once, and an object that was created or deleted meanwhile at most once. TestPagingWalks tests
// unchanging lists, their order, total_count and has_more, on a clock that can produce equal times.
func paging(ctx context.Context, sys *system, size Size) (figures, error) {
	p := &pages{sys: sys, gone: map[string]bool{}, base: map[string][]string{}}
	if err := p.prepare(ctx, size.of(60, 12)); err != nil {
		return nil, err
	}
	for _, op := range p.lists() {
		ids, err := p.walk(ctx, op, "starting_after", "", 100)
		if err != nil {
			return nil, err
		}
		p.base[op.id] = ids
	}
	if err := p.underWriters(ctx, size.of(3, 1)); err != nil {
		return nil, err
	}
	if p.written.Load() == 0 || len(p.gone) == 0 || p.walks.Load() == 0 {
		return nil, fmt.Errorf("%d objects written, %d deleted, %d walks", p.written.Load(), len(p.gone), p.walks.Load())
	}
	var f figures
	f.add("lists", len(p.base))
	f.add("objects at the start", p.count())
	f.add("walks", p.walks.Load())
	f.add("written meanwhile", p.written.Load())
	f.add("deleted", len(p.gone))
	f.add("cursors deleted during a walk", p.resumed.Load())
	return f, nil
}

// pages is the state of G5.
type pages struct {
	sys            *system
	o              *org
	own            objects
	base           map[string][]string // ids at the start, by list
	mu             sync.Mutex
	gone           map[string]bool // objects deleted, or about to be
	spare          []string        // objects that a writer may delete
	walks, written atomic.Int64    // walks to the end, and objects created
	resumed        atomic.Int64    // number of cursors deleted under a walk
	over           atomic.Bool
}

// count returns the number of objects at the start.
func (p *pages) count() (n int) {
	for _, ids := range p.base {
		n += len(ids)
	}
	return n
}

// lists returns the lists with cursors, without the last fifty deliveries: rows
// leave that list while it is read.
func (p *pages) lists() []*operation {
	var out []*operation
	for _, op := range sorted() {
		if op.pages() && !op.later && op.id != "listWebhookDeliveries" {
			out = append(out, op)
		}
	}
	return out
}

// prepare fills the lists.
func (p *pages) prepare(ctx context.Context, n int) (err error) {
	if p.o, err = p.sys.org(ctx, "Pages"); err != nil {
		return err
	}
	if p.own, err = p.o.populate(ctx, p.sys.unique("pages")); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for range n {
		g.Go(func() error { p.write(ctx, true); return ctx.Err() })
	}
	return g.Wait()
}

// write calls each operation that creates an object. Spare objects may be deleted later.
func (p *pages) write(ctx context.Context, spare bool) {
	for _, op := range makers() {
		own := p.own
		if op.id == "createPayoutBatch" {
			own = p.o.subject(ctx, op, p.own)
		}
		body := p.sys.wellFormed(op, own)
		if op.id == "createPayoutBatch" {
			body["partner_id"] = own["part_"]
		}
		a := p.o.post(ctx, op.path, body)
		if a.status/100 != 2 && a.status != 409 && ctx.Err() == nil {
			p.sys.fault("%s: %d %s", op.id, a.status, a.raw)
			continue
		}
		p.written.Add(1)
		if spare && a.status == 201 {
			p.addDeletable(op, a.text("id"))
		}
		if !spare && pause(ctx, 10*time.Millisecond) != nil { // a walk must be able to overtake the writers
			return
		}
	}
}

// makers returns the operations that create an object. Endpoints are left out: a program
// may have few of them, and each would get all the events.
func makers() (out []*operation) {
	for _, op := range sorted() {
		if op.method == "POST" && !op.takesID() && !op.later && op.makes != "" && op.id != "createWebhookEndpoint" {
			out = append(out, op)
		}
	}
	return out
}

// addDeletable lists an object that a writer may delete. No other call needs its type.
func (p *pages) addDeletable(op *operation, id string) {
	if !slices.Contains([]string{"tag_", "lnk_", "res_", "flw_"}, op.makes) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spare = append(p.spare, op.path+"/"+id)
}

// remove deletes one of the objects of the start. It is noted before the call, since
// a walk may miss it from then on. A few are kept, or the last lists would be empty.
func (p *pages) remove(ctx context.Context, rnd *rand.Rand) {
	p.mu.Lock()
	if len(p.spare) < 4 {
		p.mu.Unlock()
		return
	}
	i := rnd.IntN(len(p.spare))
	path := p.spare[i]
	p.spare = slices.Delete(p.spare, i, i+1)
	p.gone[path[strings.LastIndex(path, "/")+1:]] = true
	p.mu.Unlock()
	if a := p.o.ask(ctx, "DELETE", path, nil); a.status != 200 && ctx.Err() == nil {
		p.sys.fault("DELETE %s: %d %s", path, a.status, a.raw)
	}
}

// page requests one page. The page's data about the whole list changes meanwhile; the only check is that a page is no
// longer than the list.
func (p *pages) page(ctx context.Context, op *operation, cursor, from string, limit int) (ids []string, more bool,
	err error) {
	query := fmt.Sprintf("limit=%d", limit)
	if from != "" {
		query += "&" + cursor + "=" + from
	}
	if q := op.parameter("limit"); q != nil && q.schema.Max != nil && float64(limit) > *q.schema.Max {
		query = strings.Replace(query, fmt.Sprint("limit=", limit), fmt.Sprint("limit=", int(*q.schema.Max)), 1)
	}
	c := call{op: op, method: "GET", path: with(op.in(p.own[op.prefix]), p.window(op), query), key: p.o.key}
	a, err := p.sys.send(ctx, c)
	if err != nil {
		return nil, false, err
	}
	if a.code() == "invalid_cursor" && p.isDeleted(from) {
		return nil, false, errGone
	}
	if a.status != 200 {
		return nil, false, fmt.Errorf("%s: %d %s", c.path, a.status, a.raw)
	}
	for _, o := range a.data() {
		ids = append(ids, o.text("id"))
	}
	more, _ = a.body["has_more"].(bool)
	if _, counted := a.body["total_count"]; counted && int64(len(ids)) > a.int("total_count") {
		p.sys.fault("%s: %d objects on a page of %d in all", c.path, len(ids), a.int("total_count"))
	}
	return ids, more, nil
}

// window returns the query that the list requires, over its whole time.
func (p *pages) window(op *operation) string {
	q := queryOf(op, p.own)
	if at := strings.Index(q, "to="); at >= 0 {
		q = q[:at] + "to=2099-01-01" + strings.TrimLeft(q[at+3:], "0123456789-")
	}
	return q
}

// walk follows a cursor to the end of the list and returns the ids in the order of
// the list.
func (p *pages) walk(ctx context.Context, op *operation, cursor, from string, limit int) ([]string, error) {
	var all []string
	start := from
	for range 5000 {
		ids, more, err := p.page(ctx, op, cursor, from, limit)
		if errors.Is(err, errGone) {
			from = p.stepBack(all, cursor, start)
			continue
		}
		if err != nil {
			return nil, err
		}
		if cursor == "starting_after" {
			all = append(all, ids...)
		} else {
			all = append(slices.Clone(ids), all...)
		}
		if !more || len(ids) == 0 {
			p.walks.Add(1)
			return all, nil
		}
		if from = ids[len(ids)-1]; cursor == "ending_before" {
			from = ids[0]
		}
	}
	return nil, fmt.Errorf("the walk of %s does not end", op.id)
}

// errGone is returned for a cursor whose object was deleted. The service refuses
// it, and a client goes on from the object before.
var errGone = errors.New("the cursor is gone")

// isDeleted reports whether an object was deleted, or is about to be.
func (p *pages) isDeleted(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone[id]
}

// stepBack returns the last object of a walk that is not deleted. A client with a refused cursor can do the same.
func (p *pages) stepBack(all []string, cursor, start string) string {
	p.resumed.Add(1)
	if cursor == "starting_after" {
		all = slices.Clone(all)
		slices.Reverse(all)
	}
	for _, id := range all {
		if !p.isDeleted(id) {
			return id
		}
	}
	return start
}

// underWriters walks every list while others write: in pages of seven, which end in the middle of the writers'
// additions, of a hundred, and once of one.
func (p *pages) underWriters(ctx context.Context, times int) error {
	g, run := errgroup.WithContext(ctx)
	for i := range 4 {
		g.Go(func() error {
			rnd := p.sys.random("g5", i)
			for !p.over.Load() && run.Err() == nil {
				p.write(run, false)
				p.remove(run, rnd)
			}
			return nil
		})
	}
	walkers, walking := errgroup.WithContext(ctx)
	walkers.SetLimit(6)
	for n := range times {
		for _, op := range p.lists() {
			for _, limit := range []int{1, 7, 100} {
				if limit == 1 && n != 1 {
					continue // would take hundreds of requests
				}
				for _, cursor := range []string{"starting_after", "ending_before"} {
					if limit == 1 && cursor == "ending_before" {
						continue // pages of one towards the newest never catch up with the writers
					}
					walkers.Go(func() error { return p.walkDuringWrites(walking, op, cursor, limit) })
				}
			}
		}
	}
	err := walkers.Wait()
	p.over.Store(true)
	if other := g.Wait(); err == nil {
		err = other
	}
	return err
}

// walkDuringWrites checks one walk while others write. A backward walk starts at the last existing object, because
// without a cursor it would begin at the other end.
func (p *pages) walkDuringWrites(ctx context.Context, op *operation, cursor string, limit int) error {
	base, from := p.base[op.id], ""
	if cursor == "ending_before" {
		for len(base) > 0 && p.isDeleted(base[len(base)-1]) {
			base = base[:len(base)-1]
		}
		if len(base) == 0 {
			return nil
		}
		from = base[len(base)-1]
		base = base[:len(base)-1]
	}
	seen, err := p.walk(ctx, op, cursor, from, limit)
	if err != nil {
		return err
	}
	times := map[string]int{}
	for _, id := range seen {
		if times[id]++; times[id] > 1 {
			p.sys.fault("%s by %d, %s: %s twice", op.id, limit, cursor, id)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range base {
		if times[id] == 0 && !p.gone[id] {
			p.sys.fault("%s by %d, %s: %s was there all the time and is missing", op.id, limit, cursor, id)
		}
	}
	return nil
}
