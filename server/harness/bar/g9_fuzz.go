package bar

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// fuzz is G9: generated requests. No answer may be 500 or above, and the description
// must allow every answer. A request is right, which exercises the rules behind the
// schema, or wrong in one point by the schema, which must be refused, or hostile, where
// any answer below 500 will do. The audit afterwards finds what a strange but accepted
// request did to the books.
func fuzz(ctx context.Context, sys *system, size Size) (figures, error) {
	f := &fuzzer{sys: sys, statusCounts: map[string]map[int]int{}, kinds: map[string]int{}}
	if err := f.prepare(ctx, size.of(6, 2)); err != nil {
		return nil, err
	}
	total := size.of(100_000, 3_000) // at least a dozen requests an operation in the smoke size
	began := time.Now()
	const workers = 10
	g, run := errgroup.WithContext(ctx)
	for i := range workers {
		g.Go(func() error { return f.work(run, i, total/workers) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return f.figures(size, total, time.Since(began))
}

// family is the growing pool of one program's objects. Requests of one family name each
// other's objects, so that references are mostly good and rules are reached.
type family struct {
	org    *org
	mu     sync.Mutex
	pool   map[string][]string
	handle string
	page   string // the publishable key of its pages
}

// Pages of families are at shop; people look at them with agent.
const (
	shop  = "https://shop.example"
	agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
)

// inspect makes most requests of browsers those of the family's own pages: without a key and an
// origin that fit, none would come further than these.
func (m *family) inspect(g *generator, c *call) {
	if g.oneIn(10) {
		return
	}
	c.header.Set("Origin", shop)
	c.header.Set("User-Agent", agent)
	body, ok := c.body.(M)
	if !ok {
		c.path = with(c.op.path, "key="+m.page)
		return
	}
	c.path, body["key"] = c.op.path, m.page
	if c.op.id == "createBrowserVisit" && g.oneIn(2) {
		body["value"] = m.handle
		delete(body, "click_id")
	}
}

// fuzzer is the state of G9.
type fuzzer struct {
	sys          *system
	families     []*family
	keys         []string // keys with some of the scopes
	mu           sync.Mutex
	statusCounts map[string]map[int]int // answers by operation and status
	kinds        map[string]int         // requests by kind: right, wrong or hostile
	took         []time.Duration
	followed     int // requests for what another one made or deleted
	went         int // objects that were deleted meanwhile with another object
}

// prepare makes n organizations, each with one object of every type to start
// from.
func (f *fuzzer) prepare(ctx context.Context, n int) error {
	for i := range n {
		o, err := f.sys.org(ctx, "Fuzz")
		if err != nil {
			return err
		}
		own, err := o.populate(ctx, f.sys.unique("fuzz"))
		if err != nil {
			return err
		}
		m := &family{org: o, pool: map[string][]string{}, handle: own["handle"]}
		m.page = o.object(ctx, "/v1/publishable_keys", M{
			"program_id": own["prg_"], "allowed_hosts": []string{"shop.example"}, "allow_leads": true,
		}).text("key")
		for prefix, id := range own {
			m.pool[prefix] = []string{id}
		}
		for range 3 { // of payouts that left in a file, which some are to fail
			m.pool["pyt_"] = append(m.pool["pyt_"], o.subject(ctx, operations()["markPayoutFailed"], own)["pyt_"])
		}
		for range 3 { // failed refunds, for a person to decide
			m.pool["inb_"] = append(m.pool["inb_"], o.failedRefund(ctx, own))
		}
		o.object(ctx, "/v1/customers/"+own["cus_"]+"/external_ids", M{"external_customer_id": attachedID}) // to detach
		f.families = append(f.families, m)
		// The families differ, so that rules meet in more than one combination.
		if i%2 == 0 { // for commissions to approve
			o.object(ctx, "/v1/flows", M{
				"program_id": own["prg_"], "name": "manual", "rate_type": "percent", "rate_value": 1000, "approval_mode": "manual",
				"priority": 1,
			})
		}
		if i == 1 { // for sales that evaluate the most conditions
			o.fillFlows(ctx, own)
		}
		if i == 0 {
			for _, scope := range []string{"read", "partners:write", "commissions:write", "payouts:write", "webhooks:write"} {
				key, err := f.sys.newKey(ctx, o.id, i%2 == 0, scope)
				if err != nil {
					return err
				}
				f.keys = append(f.keys, key)
			}
		}
	}
	return nil
}

// own picks one object of each type from the pool.
func (m *family) own(g *generator) objects {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := objects{"handle": m.handle}
	for _, prefix := range slices.Sorted(maps.Keys(m.pool)) {
		if prefix != "handle" {
			out[prefix] = pick(g.rnd, m.pool[prefix])
		}
	}
	out["prg_"] = m.pool["prg_"][0] // the program of the other objects
	return out
}

// add puts a new object into the pool. The first one, of populate, is never replaced: it
// fits the others of populate. Sixty are enough to choose from.
func (m *family) add(g *generator, prefix, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.pool[prefix]
	if slices.Contains(list, id) {
		return
	}
	if len(list) < 60 {
		m.pool[prefix] = append(list, id)
	} else {
		list[1+g.rnd.IntN(len(list)-1)] = id
	}
}

// remove takes a deleted object from the pool, unless it is the last.
func (m *family) remove(prefix, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if list := m.pool[prefix]; len(list) > 1 {
		m.pool[prefix] = slices.DeleteFunc(list, func(other string) bool { return other == id })
	}
}

// many reports whether the pool has n objects of a type.
func (m *family) many(prefix string, n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.pool[prefix]) >= n
}

// weight returns how often an operation is called: large answers, and operations
// that contend for one row, less often. Partners are rarely deleted, since their sales and
// links would go with them, and risk flags rarely resolved, since resolved ones cannot be reviewed.
func weight(op *operation) int {
	switch op.id {
	case "retrieveOpenAPIDocument", "retrieveLLMsFullText", "retrieveLLMsText", "deletePartner",
		"pingWebhookEndpoint", "createPayoutBatch", "banPartner", "resolveRiskFlag":
		return 1
	}
	return 6
}

// work sends n requests. Its random source depends on part only, so that a seed repeats
// the requests whatever the other workers do.
func (f *fuzzer) work(ctx context.Context, part, n int) error {
	g := &generator{sys: f.sys, rnd: f.sys.random("g9", part)}
	var deck []*operation
	for _, op := range sorted() {
		for range weight(op) {
			deck = append(deck, op)
		}
	}
	for range n {
		if err := f.one(ctx, g, deck[g.rnd.IntN(len(deck))]); err != nil {
			return err
		}
	}
	return nil
}

// one makes and sends one request. Three in ten have a body that breaks its schema, which
// only this function knows and checks, and a quarter are hostile.
func (f *fuzzer) one(ctx context.Context, g *generator, op *operation) error {
	m := pick(g.rnd, f.families)
	g.own = m.own(g)
	c := call{op: op, method: op.method, key: m.org.key, header: http.Header{}}
	c.path = with(op.in(g.own[op.prefix]), queryOf(op, g.own), f.query(g, op))
	kind, how := "right", ""
	if op.body != nil {
		c.body = f.body(g, op)
	}
	if op.browser {
		m.inspect(g, &c)
	}
	switch n := g.rnd.IntN(20); {
	case n < 6 && op.body != nil:
		valid := maps.Clone(c.body.(M)) // body returns an M
		if raw, broken := g.spoil(op.body, valid); broken != "" {
			kind, how, c.body = "wrong", broken, raw
		}
	case n < 11:
		kind = "hostile"
		f.malform(g, op, &c)
	}
	if op.public || g.oneIn(30) {
		c.header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", g.rnd.IntN(256), g.rnd.IntN(256), g.rnd.IntN(256)))
	}
	if op.id == "setInboundSigning" { // it may make the key unusable
		key, err := f.sys.newKey(ctx, m.org.id, true, "write")
		if err != nil {
			return err
		}
		c.key = key
	}
	began := time.Now()
	a, err := f.sys.send(ctx, c)
	if err != nil {
		return fmt.Errorf("%s: %w", op.id, err)
	}
	f.note(op, kind, a.status, time.Since(began))
	if kind == "wrong" && !op.later && (a.status < 400 || a.status > 499) {
		f.sys.fault("%s with a body %s answers %d: %v", op.id, how, a.status, c.body)
	}
	if c.method != op.method {
		return nil
	}
	return f.follow(ctx, g, m, op, a)
}

// body returns a body that fits the schema: the example, generated members, or
// both.
func (f *fuzzer) body(g *generator, op *operation) M {
	body := f.sys.wellFormed(op, g.own)
	if g.oneIn(2) {
		random := g.object(op.body, 0)
		if g.oneIn(2) {
			random = merged(body, random)
		}
		body = random
	}
	// What makes later requests fail is rare or left out, or most of the run would test one
	// refusal: programs that are paused, and receivers that are away.
	switch op.id {
	case "updateProgram":
		if !g.oneIn(50) {
			delete(body, "status")
		}
	case "createWebhookEndpoint", "updateWebhookEndpoint":
		if body["url"] != nil {
			body["url"] = f.sys.sink.web.URL + "/fuzz"
		}
	}
	return body
}

// query adds optional parameters of the operation, a quarter of them at a time: all at
// once would find nothing in any list.
func (f *fuzzer) query(g *generator, op *operation) string {
	q := url.Values{}
	for _, p := range op.query {
		if p.required || !g.oneIn(4) {
			continue
		}
		s := p.schema
		if p.list {
			s = s.Items.Value
		}
		switch v := g.value(s, p.name, 0).(type) {
		case nil:
		case string:
			q.Set(p.name, v)
		default:
			q.Set(p.name, text(v))
		}
		if (p.name == "starting_after" || p.name == "ending_before") && g.own[op.makes] != "" {
			q.Set(p.name, g.own[op.makes])
		}
	}
	return q.Encode()
}

// malform makes any part of a request invalid in any way. Where the path or the method
// changes, the answer is checked as one of whatever operation that is.
func (f *fuzzer) malform(g *generator, op *operation, c *call) {
	switch g.rnd.IntN(9) {
	case 0:
		if op.takesID() {
			c.op = nil // the path may be that of another operation
			c.path = with(op.in(pick(g.rnd, append(oddTexts, strings.Repeat("x", 300), newID("prg_")))), queryOf(op, g.own))
		}
	case 1, 2:
		if len(op.query) > 0 {
			c.path = with(op.in(g.own[op.prefix]), queryOf(op, g.own),
				url.QueryEscape(pick(g.rnd, op.query).name)+"="+url.QueryEscape(pick(g.rnd, oddTexts)))
		}
	case 3:
		c.path = with(op.in(g.own[op.prefix]), queryOf(op, g.own), pick(g.rnd, []string{
			"%zz", "a;b", "x=1", "=", "&&&", "limit=1&limit=2", "expand[]=x", "include[]=x", "%00=1", "program_id=prg_x",
		}))
	case 4:
		c.header.Set("Idempotency-Key", pick(g.rnd, []string{"", strings.Repeat("k", 256), "caf\u00e9", "same", "same"}))
	case 5:
		name := pick(g.rnd, []string{
			"Content-Type", "Content-Encoding", "X-Rail-Version", "Rail-Signature", "Rail-Position", "Authorization", "If-None-Match", "Accept",
		})
		c.header.Set(name, pick(g.rnd, []string{
			"x", "text/plain", "gzip", "application/json; charset=latin1", "t=1,v1=00", "Bearer " + pick(g.rnd, f.keys),
			"Basic x", "*",
		}))
	case 6:
		c.op, c.method = nil, pick(g.rnd, []string{"PUT", "PATCH", "HEAD", "OPTIONS", "DELETE", "GET", "POST"})
		if c.method == op.method || c.method == "DELETE" {
			c.method = "PUT"
		}
	default:
		if body, ok := c.body.(M); ok {
			body = maps.Clone(body)
			names := slices.Sorted(maps.Keys(op.body.Properties))
			for range 1 + g.rnd.IntN(3) {
				body[pick(g.rnd, names)] = g.anyValue(0)
			}
			c.body = body
		} else {
			c.key = pick(g.rnd, f.keys)
		}
	}
}

// follow updates the pool after an answer. It checks that a deleted object is gone,
// and now and then that a created one exists.
func (f *fuzzer) follow(ctx context.Context, g *generator, m *family, op *operation, a answer) error {
	id := a.text("id")
	if a.status/100 != 2 || id == "" {
		return nil
	}
	resource, _, _ := strings.Cut(op.path, "/{id}")
	show := operations()[f.shows(resource)]
	switch {
	case show == nil || show.later:
		return nil
	case op.method == "DELETE" && strings.HasSuffix(op.path, "/{id}"):
		m.remove(op.prefix, id)
		return f.expect(ctx, m, show, a, 404)
	case op.method != "POST" || op.takesID() || a.replayed():
		return nil
	}
	if g.oneIn(8) {
		if err := f.expect(ctx, m, show, a, 200); err != nil {
			return err
		}
	}
	if op.id == "createWebhookEndpoint" && m.many("whe_", 4) { // each event would go to hundreds of them
		_, err := f.sys.send(ctx, call{method: "DELETE", path: op.path + "/" + id, key: m.org.key})
		return err
	}
	if op.makes != "" && op.makes != "prg_" {
		m.add(g, op.makes, id)
	}
	if op.id == "createSale" && g.oneIn(3) {
		return f.commissionsOf(ctx, g, m, a)
	}
	return nil
}

// commissionsOf adds the commissions of a sale to the pool, so that some can be approved: commissions created by the
// API are already approved.
func (f *fuzzer) commissionsOf(ctx context.Context, g *generator, m *family, sale answer) error {
	a, err := f.sys.send(ctx, call{
		method: "GET", key: m.org.key,
		path: "/v1/commissions?program_id=" + sale.text("program_id") + "&sale_id=" + sale.text("id"),
	})
	if err != nil {
		return err
	}
	for _, commission := range a.data() {
		m.add(g, "com_", commission.text("id"))
	}
	return nil
}

// showing returns the operations that show one object, by the path of its list.
var showing = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, op := range sorted() {
		if resource, found := strings.CutSuffix(op.path, "/{id}"); found && op.method == "GET" {
			out[resource] = op.id
		}
	}
	return out
})

// shows returns the operation that shows an object of a list, or "".
func (f *fuzzer) shows(resource string) string { return showing()[resource] }

// expect retrieves an object that was just created or deleted, and whose id no other request
// had. A created object may already be deleted, together with its group or partner.
func (f *fuzzer) expect(ctx context.Context, m *family, show *operation, of answer, status int) error {
	id := of.text("id")
	own := objects{show.prefix: id}
	m.mu.Lock()
	own["prg_"] = m.pool["prg_"][0]
	m.mu.Unlock()
	a, err := f.sys.send(ctx, call{op: show, method: "GET", path: with(show.in(id), queryOf(show, own)), key: m.org.key})
	if err == nil && a.status != status {
		gone := false
		if a.status == 404 {
			gone, err = f.deleted(ctx, of)
		}
		if gone {
			f.mu.Lock()
			f.went++
			f.mu.Unlock()
		} else {
			f.sys.fault("%s of %s answers %d, not %d: %s", show.id, id, a.status, status, a.raw)
		}
	}
	f.mu.Lock()
	f.followed++
	f.mu.Unlock()
	return err
}

// deleted reports whether an event reports the deletion of an object, or of its partner, which also deletes the
// partner's objects. A lost object has no such event.
func (f *fuzzer) deleted(ctx context.Context, of answer) (gone bool, err error) {
	err = f.sys.pool.QueryRow(ctx,
		`SELECT EXISTS (SELECT 1 FROM events WHERE subject_id = ANY ($1) AND type LIKE '%.deleted')`,
		[]string{of.text("id"), of.text("partner_id")}).Scan(&gone)
	return gone, err
}

// note counts an answer.
func (f *fuzzer) note(op *operation, kind string, status int, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.statusCounts[op.id] == nil {
		f.statusCounts[op.id] = map[int]int{}
	}
	f.statusCounts[op.id][status]++
	f.kinds[kind]++
	if op.id != "pingWebhookEndpoint" { // it waits for the receiver
		f.took = append(f.took, took)
	}
}

// beyondFuzz are the operations that random requests cannot make succeed, with the reason.
var beyondFuzz = map[string]string{
	"retrieveTestClock":      "404 without a test clock",
	"setTestClock":           "404 without a test clock",
	"sendPayoutBatch":        "confirms the exact number and sum; G4 and G13 send batches",
	"reportRailResult":       "needs a payout that a service's rail is paying; G4 reports one",
	"dismissPayoutAttention": "needs a payout that needs attention; G4 dismisses one",
	"undoPartnerBan":         "needs a partner with a scheduled ban; G4 undoes one",
}

// figures returns the counts. An operation that never succeeded was not tested,
// which is an error of a full run. The smoke size is too small to demand it.
func (f *fuzzer) figures(size Size, total int, took time.Duration) (figures, error) {
	var err error
	answers, least := 0, total
	for _, op := range sorted() {
		statuses := f.statusCounts[op.id]
		sum, well := 0, 0
		for status, n := range statuses {
			sum += n
			if status/100 == 2 {
				well += n
			}
		}
		answers += sum
		if weight(op) > 1 {
			least = min(least, sum)
		}
		if !size.Smoke && well == 0 && !op.later && beyondFuzz[op.id] == "" {
			err = errors.Join(err, fmt.Errorf("%s never succeeded in %d requests: %v", op.id, sum, statuses))
		}
	}
	slices.Sort(f.took)
	var out figures
	out.add("requests", answers)
	out.add("follow-up requests", f.followed)
	out.add("of them for objects deleted with a group or a partner", f.went)
	out.add("responses of 500 or above or against the description", f.sys.count())
	out.add("valid requests", f.kinds["right"])
	out.add("schema violations, all refused", f.kinds["wrong"])
	out.add("hostile requests", f.kinds["hostile"])
	out.add("requests at least per operation", least)
	out.add("requests/s", int(float64(answers)/took.Seconds()))
	out.add("ms p99", f.took[len(f.took)*99/100].Milliseconds())
	out.add("ms at most", f.took[len(f.took)-1].Milliseconds())
	return out, err
}
