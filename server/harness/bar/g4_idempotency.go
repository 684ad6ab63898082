package bar

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"rail/server/auth"
	"rail/server/http/middleware"
)

// keyed is the state of G4.
type keyed struct {
	sys              *system
	o, other         *org
	own              objects
	test, scopeless  string
	ops, cases, runs int
	conflicts        int                      // answers of 409 that were replayed
	last             map[string]storedRequest // by operation, for age
}

// storedRequest is a request whose key age lets expire.
type storedRequest struct {
	call  call
	first answer
}

// idempotency is G4: every POST, followed by further ones with the same key. A fault
// names the case:
//
//	I1   the same request gets the same bytes
//	I2   also with other white space and another order of members
//	I3   another value is refused, and the first request still replays
//	I4   another path is refused
//	I5   another query is refused
//	I6   another organization learns nothing of the key
//	I7   another API key of the organization gets the replay
//	I8   an API key without the scope is refused before the key is looked up
//	I9   of simultaneous callers one does the work, the others get its answer or 409
//	I11  after 24 hours the key is free
//	I12  an answer that is not stored leaves the key free
//	I13  a refusal after the work had begun is stored
//	I15  a key on any other method than POST is ignored
//	I16  a malformed key is refused
//
// The smoke size is the full size, since all of it takes a few seconds. G6 has many
// callers with one key, and G7 tests that a request that was cut off, or failed, leaves its key free.
func idempotency(ctx context.Context, sys *system, _ Size) (figures, error) {
	k := &keyed{sys: sys, last: map[string]storedRequest{}}
	if err := k.prepare(ctx); err != nil {
		return nil, err
	}
	for _, op := range sorted() {
		// Pages have no Idempotency-Key, and the server has no test clock.
		if op.method != "POST" || op.public || op.later || op.id == "setTestClock" {
			continue
		}
		k.ops++
		if err := k.rows(ctx, op); err != nil {
			return nil, err
		}
	}
	k.reads(ctx)
	if err := k.age(ctx); err != nil {
		return nil, err
	}
	if k.ops == 0 || k.runs != k.ops || k.conflicts == 0 {
		return nil, fmt.Errorf("%d of %d operations did their work, and %d conflicts were kept", k.runs, k.ops, k.conflicts)
	}
	var f figures
	f.add("operations", k.ops)
	f.add("cases", k.cases)
	return f, nil
}

// prepare makes two organizations and a flow whose commissions wait for approval,
// so that there is one to approve.
func (k *keyed) prepare(ctx context.Context) (err error) {
	if k.o, err = k.sys.org(ctx, "Keyed"); err != nil {
		return err
	}
	if k.other, err = k.sys.org(ctx, "Other"); err != nil {
		return err
	}
	if k.own, err = k.o.populate(ctx, k.sys.unique("keyed")); err != nil {
		return err
	}
	k.o.object(ctx, "/v1/flows", M{
		"program_id": k.own["prg_"], "name": "manual", "rate_type": "percent", "rate_value": 1000, "approval_mode": "manual",
		"priority": 1,
	})
	if k.test, err = k.sys.newKey(ctx, k.o.id, false, "read", "write"); err != nil {
		return err
	}
	k.scopeless, err = k.sys.newKey(ctx, k.o.id, true)
	return err
}

// request returns a new request of the operation that will succeed. Its body is a text,
// so that a repetition has the same bytes.
func (k *keyed) request(ctx context.Context, op *operation, key string) call {
	own := k.o.subject(ctx, op, k.own)
	c := call{
		op: op, method: "POST", path: with(op.in(own[op.prefix]), queryOf(op, own)), key: k.o.key,
		header: http.Header{"Idempotency-Key": {key}},
	}
	if op.body != nil {
		body := k.sys.wellFormed(op, own)
		if op.id == "createPayoutBatch" {
			body["partner_id"] = own["part_"]
		}
		c.body = text(body)
	}
	return c
}

// send sends a request and counts the case.
func (k *keyed) send(ctx context.Context, c call) answer {
	k.cases++
	a, err := k.sys.send(ctx, c)
	if err != nil && ctx.Err() == nil {
		k.sys.fault("%s: %v", c.path, err)
	}
	return a
}

// replays repeats a request and expects the first answer.
func (k *keyed) replays(ctx context.Context, row string, c call, first answer) answer {
	a := k.send(ctx, c)
	if a.status != first.status || !bytes.Equal(a.raw, first.raw) || !a.replayed() ||
		a.header.Get("Rail-Request-Id") == first.header.Get("Rail-Request-Id") {
		k.sys.fault("%s %s: not the first answer: %d %s, first %d %s", row, c.op.id, a.status, a.raw, first.status, first.raw)
	}
	return a
}

// refused sends a request and expects a refusal that is not a replay.
func (k *keyed) refused(ctx context.Context, row string, c call, status int, code string) {
	a := k.send(ctx, c)
	reused := code == "idempotency_key_reused"
	if a.status != status || a.code() != code || a.replayed() || reused && a.param() != "Idempotency-Key" {
		k.sys.fault("%s %s %s: want %d %s, got %d %s", row, c.op.id, c.path, status, code, a.status, a.raw)
	}
}

// rows runs every case with an operation. The events are counted around the cases in
// which no work may be done.
func (k *keyed) rows(ctx context.Context, op *operation) error {
	key := k.sys.unique("key") + strings.Repeat("k", 255)
	c := k.request(ctx, op, key[:255])
	first := k.send(ctx, c) // of the longest key that there may be
	if first.status/100 != 2 || first.replayed() {
		k.sys.fault("%s: the first of a key answers %d %s", op.id, first.status, first.raw)
		return ctx.Err()
	}
	k.runs++
	before, err := k.events(ctx)
	if err != nil {
		return err
	}
	k.replays(ctx, "I1", c, first)
	k.changed(ctx, op, c, first)
	k.callers(ctx, op, c, first)
	k.replays(ctx, "I3", c, first)
	after, err := k.events(ctx)
	if err != nil {
		return err
	}
	if after != before {
		k.sys.fault("%s: replays and refusals wrote %d events", op.id, after-before)
	}
	k.last[op.id] = storedRequest{c, first}
	k.unstored(ctx, op)
	k.stored(ctx, op)
	k.atOnce(ctx, op)
	k.malformed(ctx, op)
	return ctx.Err()
}

// events counts the events of the organization: work that was done twice shows
// there.
func (k *keyed) events(ctx context.Context) (n int, err error) {
	err = k.sys.pool.QueryRow(ctx, "SELECT count(*) FROM events WHERE org_id = $1", k.o.id).Scan(&n)
	return n, err
}

// changed checks that the same request in another form is replayed (I2), and that
// another request is refused (I3 to I5).
func (k *keyed) changed(ctx context.Context, op *operation, c call, first answer) {
	if body, ok := c.body.(string); ok {
		c.body = reordered(body)
		k.replays(ctx, "I2", c, first)
		if other := k.otherBody(op, body); other != "" {
			c.body = other
			k.refused(ctx, "I3", c, 422, "idempotency_key_reused")
		}
		c.body = body
	}
	elsewhere := c
	switch {
	case op.takesID():
		elsewhere.path = with(op.in(newID(op.prefix)))
	case op.id == "createTag":
		elsewhere.op, elsewhere.path = operations()["createGroup"], "/v1/groups"
		elsewhere.body = text(M{"program_id": k.own["prg_"], "name": "x"})
	default:
		elsewhere.op, elsewhere.path = operations()["createTag"], "/v1/tags"
		elsewhere.body = text(M{"program_id": k.own["prg_"], "name": "x"})
	}
	k.refused(ctx, "I4", elsewhere, 422, "idempotency_key_reused")
	if op.parameter("program_id") != nil && !strings.Contains(c.path, "?") {
		c.path = with(c.path, "program_id="+k.own["prg_"])
		k.refused(ctx, "I5", c, 422, "idempotency_key_reused")
	}
}

// reordered returns a JSON object with its members backwards and with other white space.
func reordered(body string) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		return body
	}
	names := slices.Sorted(maps.Keys(members))
	slices.Reverse(names)
	for i, name := range names {
		names[i] = fmt.Sprintf("\n\t%s : %s", text(name), members[name])
	}
	return " {" + strings.Join(names, " ,") + " } "
}

// otherBody returns the body with one value changed, still well formed.
func (k *keyed) otherBody(op *operation, body string) string {
	var m M
	if json.Unmarshal([]byte(body), &m) != nil {
		return ""
	}
	for name, v := range m {
		p := property(op.body, name)
		if p == nil {
			continue
		}
		if s, isText := v.(string); isText &&
			(distinct[name] || name == "reason" || name == "label" || name == "note" || name == "description") &&
			p.Pattern == "" && p.Format == "" && len(p.Enum) == 0 {
			m[name] = s + "x"
			return text(m)
		}
	}
	return ""
}

// callers sends the key as another organization and with other API keys (I6 to I8).
func (k *keyed) callers(ctx context.Context, op *operation, c call, first answer) {
	stranger := c
	stranger.key = k.other.key
	a := k.send(ctx, stranger)
	body, _ := c.body.(string)
	names := op.takesID() || strings.Contains(body, k.own["prg_"]) // an object, which the stranger does not have
	if a.replayed() || a.status == 422 || names && a.status != 404 {
		k.sys.fault("I6 %s: another organization learns of the key: %d %s", op.id, a.status, a.raw)
	}
	colleague := c
	colleague.key = k.test
	if middleware.ActsOnKey(op.id) {
		k.refused(ctx, "I7", colleague, 422, "idempotency_key_reused")
	} else if a := k.replays(ctx, "I7", colleague, first); a.header.Get("X-Rail-Livemode") != "false" {
		k.sys.fault("I7 %s: the replay is not marked as a test key's", op.id)
	}
	if len(op.scopes) > 0 {
		c.key = k.scopeless
		k.refused(ctx, "I8", c, 403, "insufficient_scope")
	}
}

// unstored checks that answers that are not stored leave the key free (I12).
func (k *keyed) unstored(ctx context.Context, op *operation) {
	c := k.request(ctx, op, k.sys.unique("free"))
	stranger := c
	stranger.key = auth.NewToken(true)
	stranger.header = c.header.Clone()
	stranger.header.Set("X-Forwarded-For", fmt.Sprintf("10.9.%d.%d", k.cases>>8&255, k.cases&255))
	k.refused(ctx, "I12", stranger, 401, "api_key_invalid")
	if len(op.scopes) > 0 {
		c.key = k.scopeless
		k.refused(ctx, "I12", c, 403, "insufficient_scope")
		c.key = k.o.key
	}
	if op.body != nil {
		bad := c
		bad.body = `{"no_such_member":1}`
		if a := k.send(ctx, bad); a.status != 400 {
			k.sys.fault("I12 %s: %d %s", op.id, a.status, a.raw)
		}
		bad.body, bad.header = c.body, c.header.Clone()
		bad.header.Set("Content-Type", "text/plain")
		k.refused(ctx, "I12", bad, 415, "unsupported_media_type")
	}
	if a := k.send(ctx, c); a.status/100 != 2 || a.replayed() {
		k.sys.fault("I12 %s: the key was taken by an answer that is not kept: %d %s", op.id, a.status, a.raw)
	}
}

// stored checks that an error after the work had begun is stored (I13): for an unknown object, and for work that was
// already done, with its existing object.
func (k *keyed) stored(ctx context.Context, op *operation) {
	again := k.last[op.id].call
	again.header = http.Header{"Idempotency-Key": {k.sys.unique("again")}}
	if a := k.send(ctx, again); a.status == 409 {
		k.conflicts++
		k.replays(ctx, "I13", again, a)
	}
	c := k.request(ctx, op, k.sys.unique("refusal"))
	if op.takesID() {
		c.path = op.in(newID(op.prefix))
	} else if body, ok := c.body.(string); ok && strings.Contains(body, k.own["prg_"]) {
		c.body = strings.ReplaceAll(body, k.own["prg_"], newID("prg_"))
	} else {
		return
	}
	first := k.send(ctx, c)
	if first.status != 404 {
		k.sys.fault("I13 %s: %d %s", op.id, first.status, first.raw)
	}
	k.replays(ctx, "I13", c, first)
}

// atOnce checks that one of simultaneous callers does the work (I9).
func (k *keyed) atOnce(ctx context.Context, op *operation) {
	c := k.request(ctx, op, k.sys.unique("once"))
	answers := make([]answer, 8)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			a, err := k.sys.send(ctx, c)
			if err != nil && ctx.Err() == nil {
				k.sys.fault("I9 %s: %v", op.id, err)
			}
			answers[i] = a
		})
	}
	wg.Wait()
	k.cases += len(answers)
	did := 0
	for _, a := range answers {
		switch {
		case a.status/100 == 2 && !a.replayed():
			did++
		case a.status/100 == 2:
		case a.status == 409 && a.code() == "idempotency_in_progress" && a.header.Get("Retry-After") >= "1":
		default:
			k.sys.fault("I9 %s: %d %s", op.id, a.status, a.raw)
		}
	}
	if did != 1 {
		k.sys.fault("I9 %s: %d of %d callers at once did the work", op.id, did, len(answers))
	}
}

// malformed checks that malformed keys are refused (I16).
func (k *keyed) malformed(ctx context.Context, op *operation) {
	c := k.request(ctx, op, "")
	for _, bad := range [][]string{{""}, {strings.Repeat("k", 256)}, {"caf\u00e9"}, {"a\tb"}, {"one", "two"}} {
		c.header = http.Header{"Idempotency-Key": bad}
		a := k.send(ctx, c)
		if a.status != 400 || a.code() != "parameter_invalid" || a.param() != "Idempotency-Key" {
			k.sys.fault("I16 %s %q: %d %s", op.id, bad, a.status, a.raw)
		}
	}
}

// reads checks that a key on any other method than POST is ignored (I15).
func (k *keyed) reads(ctx context.Context) {
	var before, after int
	count := func(n *int) {
		if err := k.sys.pool.QueryRow(ctx, "SELECT count(*) FROM idempotency_keys WHERE org_id = $1",
			k.o.id).Scan(n); err != nil {
			k.sys.fault("%v", err)
		}
	}
	count(&before)
	for _, op := range sorted() {
		if op.method == "POST" || op.public || op.later {
			continue
		}
		own := unknownIDs(k.own)
		if op.method == "GET" {
			own = k.own
		}
		c := call{
			op: op, method: op.method, path: with(op.in(own[op.prefix]), queryOf(op, own)), key: k.o.key,
			header: http.Header{"Idempotency-Key": {"read"}},
		}
		for range 2 {
			if a := k.send(ctx, c); a.replayed() || a.status == 422 {
				k.sys.fault("I15 %s: %d %s", op.id, a.status, a.raw)
			}
		}
	}
	if count(&after); after != before {
		k.sys.fault("I15: reads and deletions stored %d keys", after-before)
	}
}

// age makes the keys nearly 24 hours old, and then older (I11). It comes last, for all operations at once. A sale
// that is then recorded again is the existing one, found by its charge.
func (k *keyed) age(ctx context.Context) error {
	for _, step := range []string{"23:58:00", "00:03:00"} {
		if _, err := k.sys.pool.Exec(ctx,
			"UPDATE idempotency_keys SET created_at = created_at - $1::interval WHERE org_id = $2", step, k.o.id); err != nil {
			return err
		}
		for id, old := range k.last {
			if step == "23:58:00" {
				if a := k.send(ctx, old.call); !bytes.Equal(a.raw, old.first.raw) || !a.replayed() {
					k.sys.fault("I11 %s: two minutes before the day is over: %d %s", id, a.status, a.raw)
				}
				continue
			}
			a := k.send(ctx, old.call)
			if a.replayed() || id == "createSale" && (a.status != 200 || a.text("id") != old.first.text("id")) {
				k.sys.fault("I11 %s: after a day: %d %s", id, a.status, a.raw)
			}
		}
	}
	return nil
}
