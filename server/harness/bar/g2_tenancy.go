package bar

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rail/server/ident"
)

// canary is the prefix of every text of the organization that no other may see. It is in
// no word of the service's own.
const canary = "cnry"

// sweep sends ids in every place for an id in the description.
type sweep struct {
	sys                     *system
	ours, other             *org
	own, elsewhere          objects // of two programs of ours
	theirs                  objects // of the other organization
	gone                    objects // of ours, deleted
	before                  map[string]string
	places, calls, refusals int
}

// place is a place for an id in requests of an operation, and how a request with an
// id of no object there is refused.
type place struct {
	op          *operation
	name        string
	prefix      string
	kind        placeKind
	ask         func(id string) call
	status      int
	code, param string
}

// inItem precedes the name of a place in an item of a batch, which is refused like a separate body.
const inItem = "items[0]."

// placeKind says in which part of a request a place is.
type placeKind int

const (
	inPath placeKind = iota
	inQuery
	asCursor
	inBody
)

// tenancy is G2: another organization's id and an id that never existed get the
// same bytes in every place, and the other organization's data neither shows nor
// changes. The same request with an id of ours succeeds, so that it is the id that
// is refused.
//
// It is the one stage whose smoke size is its full size: a place that is left out is
// a place where a leak is not seen.
func tenancy(ctx context.Context, sys *system, _ Size) (figures, error) {
	s, err := newSweep(ctx, sys)
	if err != nil {
		return nil, err
	}
	if err := s.deleteEach(ctx); err != nil {
		return nil, err
	}
	for _, op := range sorted() {
		if op.public || op.later || op.id == "listWebhookEvents" { // the catalogue of event types has no tenant
			continue
		}
		for _, p := range s.placesOf(op) {
			s.places++
			if err := s.checkPlace(ctx, p); err != nil {
				return nil, err
			}
		}
	}
	s.unchanged(ctx, "refused requests")
	s.checkOwnObjects(ctx)
	if err := s.uniques(ctx); err != nil {
		return nil, err
	}
	if s.places < 2*len(sorted()) || s.refusals < 2*s.places {
		return nil, fmt.Errorf("the sweep lost its way: %d places, %d refusals", s.places, s.refusals)
	}
	var f figures
	f.add("positions of ids", s.places)
	f.add("calls", s.calls)
	f.add("errors with equal bytes", s.refusals)
	f.add("tables of the other organization unchanged", len(s.before))
	return f, nil
}

// newSweep fills two organizations. It notes the rows of the other one as soon as its jobs are done, before any
// request.
func newSweep(ctx context.Context, sys *system) (s *sweep, err error) {
	s = &sweep{sys: sys, gone: objects{}}
	if s.ours, err = sys.org(ctx, "Ours"); err != nil {
		return nil, err
	}
	if s.other, err = sys.org(ctx, "Theirs"); err != nil {
		return nil, err
	}
	if s.own, err = s.ours.populate(ctx, sys.unique("ours")); err != nil {
		return nil, err
	}
	// Its commissions wait for approval, so that there is one to approve.
	s.ours.object(ctx, "/v1/flows", M{
		"program_id": s.own["prg_"], "name": "manual", "rate_type": "percent", "rate_value": 1000, "approval_mode": "manual",
		"priority": 1,
	})
	if s.elsewhere, err = s.ours.populate(ctx, sys.unique("elsewhere")); err != nil {
		return nil, err
	}
	stem := sys.unique(canary)
	sys.guard(stem, s.other.key)
	if s.theirs, err = s.other.populate(ctx, stem); err != nil {
		return nil, err
	}
	if s.before, err = sys.settledRows(ctx, s.other.id); err != nil {
		return nil, err
	}
	// Rows that are not there cannot change.
	for _, table := range []string{
		"programs", "groups", "tags", "partners", "partner_tags", "links", "tracking_values", "coupons", "clicks",
		"referrals", "customers", "flows", "sales", "commissions", "events", "payouts",
	} {
		if strings.HasPrefix(s.before[table], "0 rows") || s.before[table] == "" {
			return nil, fmt.Errorf("the other organization has nothing in %s", table)
		}
	}
	return s, nil
}

// deleteEach deletes the objects of a third program of the caller. A deleted object must be refused like an unknown
// one.
func (s *sweep) deleteEach(ctx context.Context) error {
	doomed, err := s.ours.populate(ctx, s.sys.unique("doomed"))
	if err != nil {
		return err
	}
	// A customer with sales is kept.
	doomed["cus_"] = s.ours.createID(ctx, "/v1/customers", M{"program_id": doomed["prg_"], "partner_id": doomed["part_"]})
	s.detach(ctx, doomed["cus_"])
	var last []*operation
	for _, op := range sorted() {
		switch {
		case op.id == "detachExternalID":
		case op.method != "DELETE" || op.later:
		case op.id == "deletePartner": // takes its links, coupons and payouts with it
			last = append(last, op)
		default:
			s.deleteOne(ctx, op, doomed[op.prefix])
		}
	}
	for _, op := range last {
		s.deleteOne(ctx, op, doomed[op.prefix])
	}
	if len(s.gone) < 6 {
		return fmt.Errorf("only %d types could be deleted", len(s.gone))
	}
	return nil
}

// detach detaches an id from a customer, which stays.
func (s *sweep) detach(ctx context.Context, id string) {
	s.ours.object(ctx, "/v1/customers/"+id+"/external_ids", M{"external_customer_id": attachedID})
	a := s.ours.ask(ctx, "DELETE", operations()["detachExternalID"].in(id), nil)
	if a.status != 200 || a.text("id") != id {
		s.sys.fault("detachExternalID: %d %s", a.status, a.raw)
	}
}

// deleteOne deletes an object and notes it as gone.
func (s *sweep) deleteOne(ctx context.Context, op *operation, id string) {
	a := s.ours.ask(ctx, "DELETE", op.in(id), nil)
	if a.status != 200 || a.text("id") != id || a.body["deleted"] != true {
		s.sys.fault("%s: %d %s", op.id, a.status, a.raw)
	}
	s.gone[op.prefix] = id
}

// unchanged checks that the other organization's rows have not changed.
func (s *sweep) unchanged(ctx context.Context, by string) {
	for table, rows := range s.sys.rows(ctx, s.other.id) {
		if rows != s.before[table] {
			s.sys.fault("%s changed rows of %s of the other organization: %s, before %s", by, table, rows, s.before[table])
		}
	}
}

// checkOwnObjects checks that our own objects still exist: a refused request changes none of the other objects that
// it names.
func (s *sweep) checkOwnObjects(ctx context.Context) {
	for _, own := range []objects{s.own, s.elsewhere} {
		for _, op := range sorted() {
			if op.method != "GET" || !op.takesID() || op.later || op.makes != op.prefix {
				continue
			}
			if a := s.ours.get(ctx, with(op.in(own[op.prefix]), queryOf(op, own))); a.status != 200 {
				s.sys.fault("%s is gone after the sweep: %d %s", own[op.prefix], a.status, a.raw)
			}
		}
	}
}

// placesOf returns the places for ids in an operation's requests.
func (s *sweep) placesOf(op *operation) []place {
	var out []place
	if op.takesID() {
		out = append(out, place{op, "{id}", op.prefix, inPath, func(id string) call {
			c := s.request(op, s.sys.body(op, s.own))
			c.path = with(op.in(id), queryOf(op, s.own))
			return c
		}, 404, "resource_not_found", ""})
	}
	out = append(out, s.queryPlaces(op)...)
	named := false
	if op.body != nil {
		for _, sl := range slots(op.body, nil) {
			if sl.prefix == "flb_" && !op.takesID() {
				continue // a new flow has no branch to name
			}
			named = named || sl.name() == "program_id"
			at := place{op, sl.name(), sl.prefix, inBody, func(id string) call {
				c := s.request(op, sl.put(s.bodyFor(op, sl), id))
				if op.id == "mergeCustomer" && sl.name() == "customer_id" { // into another one than the body names
					c.path = op.in(s.own["merged"])
				}
				return c
			}, 404, "resource_not_found", strings.TrimPrefix(sl.name(), inItem)}
			if sl.prefix == "flb_" { // a branch is a part of its flow, and no object
				at.status, at.code = 400, "invalid_reference"
			}
			out = append(out, at)
		}
	}
	// Every POST about an object may name the object's program, also where the
	// description does not list it.
	if op.method == "POST" && !named && (op.takesID() || op.id == "createTaxFormStatus") && op.prefix != "prg_" {
		out = append(out, place{op, "program_id", "prg_", inBody, func(id string) call {
			return s.request(op, merged(M{"program_id": id}, s.sys.wellFormed(op, s.own), M{"program_id": id}))
		}, 404, "resource_not_found", "program_id"})
	}
	return out
}

// request returns a request with the ids of own and the body, and with further
// parts of a query.
func (s *sweep) request(op *operation, body any, query ...string) call {
	path := with(op.in(s.own[op.prefix]), append([]string{queryOf(op, s.own)}, query...)...)
	return call{op: op, method: op.method, path: path, key: s.ours.key, body: body}
}

// queryPlaces returns the places in the query: filters and cursors.
func (s *sweep) queryPlaces(op *operation) []place {
	var out []place
	for _, p := range op.query {
		at := place{
			op: op, name: p.name, prefix: idPrefix(p.schema), kind: inQuery,
			status: 404, code: "resource_not_found", param: p.name,
		}
		if (p.name == "starting_after" || p.name == "ending_before") && op.pages() {
			at.prefix, at.kind, at.status, at.code = op.makes, asCursor, 400, "invalid_cursor"
		}
		if at.prefix == "" {
			continue
		}
		at.ask = func(id string) call {
			if !p.required {
				return s.request(op, s.sys.body(op, s.own), p.name+"="+id)
			}
			own := maps.Clone(s.own)
			own[at.prefix] = id
			c := s.request(op, s.sys.body(op, s.own))
			c.path = with(op.in(s.own[op.prefix]), queryOf(op, own))
			return c
		}
		out = append(out, at)
	}
	return out
}

// bodyFor returns a body that accepts the slot, without the members that exclude
// it. A body that is refused for those would be refused whatever the id is, and the place
// not tested.
func (s *sweep) bodyFor(op *operation, sl slot) M {
	body := s.sys.wellFormed(op, s.own)
	excluding(op, body, sl.path)
	if op.id == "createWebhookEndpoint" {
		body["event_types"] = []any{"commission.created"} // a type that endpoints of partners can subscribe to
	}
	if sl.path[0] == "target_group_id" {
		for _, name := range []string{"rate_type", "rate_value", "branches"} {
			delete(body, name)
			if op.takesID() && name != "branches" {
				body[name] = nil
			}
		}
		if op.takesID() {
			body["branches"] = []any{}
		}
		body["action"] = "switch_group"
	}
	if op.id == "rehearseFlows" && sl.path[0] == "flow" && sl.path[1] == "target_group_id" {
		delete(body, "flow_id")
		body["flow"] = M{"action": "switch_group"}
	}
	if sl.path[0] == "branches" {
		body["branches"] = []any{M{"conditions": []any{}, "rate_type": "percent", "rate_value": 1}}
		body["rate_type"], body["rate_value"] = "percent", 1
		body["action"], body["target_group_id"] = "generate_commission", nil
	}
	return body
}

// excluding removes from a body, or from the first item of a batch, the members that
// exclude the place at path.
func excluding(op *operation, body M, path []string) {
	if path[0] == "items" && len(path) > 2 {
		items, _ := body["items"].([]any)
		item, _ := items[0].(M)
		body, path = item, path[2:]
	}
	for _, pair := range [][2]string{
		{"partner_id", "group_id"}, {"partner_id", "click_id"}, {"customer_id", "click_id"},
		{"customer_id", "external_customer_id"}, {"customer_id", "partner_id"}, {"partner_id", "partner"}, {"partner_id", "link_id"},
		{"payout_ids", "batch_id"},
	} {
		for i, name := range pair {
			if path[0] == name && !slices.Contains(op.body.Required, pair[1-i]) {
				delete(body, pair[1-i])
				if op.id == "updateFlow" && op.body.Properties[pair[1-i]] != nil {
					body[pair[1-i]] = nil // null, or an update would keep the other one
				}
			}
		}
	}
}

// send sends a request and counts it. Of a batch of one item it returns the answer
// of that.
func (s *sweep) send(ctx context.Context, c call) (answer, error) {
	s.calls++
	a, err := s.sys.send(ctx, c)
	if items := a.data(); err == nil && a.text("object") == "batch_result" && len(items) == 1 {
		a.status, a.body = int(items[0].int("status")), M{"error": items[0].body["error"]}
		a.raw, err = json.Marshal(a.body)
	}
	return a, err
}

// checkPlace sends every kind of id in one place.
func (s *sweep) checkPlace(ctx context.Context, p place) error {
	if err := s.accepted(ctx, p); err != nil {
		return err
	}
	unknown, err := s.refused(ctx, p, newID(p.prefix), true)
	if err != nil {
		return err
	}
	same := map[string]string{"foreign": s.theirs[p.prefix], "sample": "sample_" + newID(p.prefix)}
	// A list accepts a deleted object as a cursor and as a filter.
	if s.gone[p.prefix] != "" && (p.kind == inPath || p.op.method != "GET") {
		same["deleted"] = s.gone[p.prefix]
	}
	if p.kind == asCursor {
		same["upper-case"] = strings.ToUpper(s.own[p.prefix])
	}
	for i, id := range s.malformed(p) {
		if p.kind == asCursor && !slices.Contains(noText, id) {
			same[fmt.Sprint("malformed ", i)] = id // whatever is no cursor is refused alike
		} else if _, err := s.refused(ctx, p, id, false); err != nil {
			return err
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(same)) {
		got, err := s.refused(ctx, p, same[kind], true)
		if err != nil {
			return err
		}
		if got != unknown {
			s.sys.fault("%s %s: a %s id answers\n%s, an unknown one\n%s", p.op.id, p.name, kind, got, unknown)
		}
		s.refusals++
	}
	return nil
}

// accepted sends an id of ours, which must succeed. The object that it changes is made
// for it: those of own stay as they are for the refusals.
func (s *sweep) accepted(ctx context.Context, p place) error {
	if p.op.method == "DELETE" {
		return nil // deleteEach has tested the deletions
	}
	own := s.own
	defer func() { s.own = own }()
	if p.op.method != "GET" {
		s.own = s.ours.subject(ctx, p.op, own)
	}
	a, err := s.send(ctx, p.ask(s.own[p.prefix]))
	if err == nil && a.status/100 != 2 {
		s.sys.fault("%s %s: an id of ours answers %d %s", p.op.id, p.name, a.status, a.raw)
	}
	return err
}

// noText lists what every parameter refuses before it is looked at as an id.
var noText = []string{strings.Repeat("x", 300), "%00", "%ff"}

// malformed returns what is no id of the place's type, and the id of an object that is
// outside of the program that the request names.
func (s *sweep) malformed(p place) []string {
	out := []string{s.own["tag_"], "x", "%20", "%27", strings.Repeat("x", 255), "..%2fx"}
	out = append(out, noText...)
	if p.prefix == "tag_" {
		out[0] = s.own["prg_"]
	}
	if s.namesProgram(p) {
		out = append(out, s.elsewhere[p.prefix])
	}
	return out
}

// namesProgram reports whether the request names a program, so that objects of other
// programs must be refused.
func (s *sweep) namesProgram(p place) bool {
	if p.prefix == "prg_" || p.kind == inPath || p.prefix == "tax_" {
		return false
	}
	c, _ := p.ask("x").body.(M)
	return p.op.takesID() || c["program_id"] != nil ||
		p.op.parameter("program_id") != nil && p.op.parameter("program_id").required
}

// refused sends an id that must be refused and returns the shape of the answer
// without the id. An id of the right form must be refused as the place says.
func (s *sweep) refused(ctx context.Context, p place, id string, exactly bool) (string, error) {
	c := p.ask(id)
	if p.kind == inPath { // unescaped: some ids are escaped already
		c.path = strings.Replace(c.path, p.op.in(id), strings.Replace(p.op.filled(), "{id}", id, 1), 1)
	}
	a, err := s.send(ctx, c)
	if err != nil {
		return "", err
	}
	as := a.status == p.status && a.code() == p.code && a.param() == p.param
	if exactly && !as || a.status != 404 && a.status != 400 {
		s.sys.fault("%s %s: %q answers %d %s, not %d %s of %q", p.op.id, p.name, id, a.status, a.raw, p.status, p.code,
			p.param)
	}
	return strings.ReplaceAll(a.shape(), id, "ID"), nil
}

// newID returns an id of a type that no object has.
func newID(prefix string) string {
	id := ident.New(ident.Prefix(prefix))
	if prefix == "bal_" {
		return id + "_usd"
	}
	return id
}

// uniques checks that values need to be unique within their organization only, so
// that a refusal shows nothing of another organization's data.
func (s *sweep) uniques(ctx context.Context) error {
	stem := s.theirs["handle"]
	same, err := s.sys.org(ctx, "Same")
	if err != nil {
		return err
	}
	s.sys.mu.Lock()
	delete(s.sys.canary, stem) // the other organization gets back what it sends
	s.sys.mu.Unlock()
	own, err := same.populate(ctx, stem)
	if err != nil {
		return err
	}
	for prefix, id := range s.theirs {
		if prefix != "handle" && own[prefix] == id {
			s.sys.fault("two organizations share %s", id)
		}
	}
	s.unchanged(ctx, "the same values of another organization")
	keyed := func(o *org, program string) answer {
		return o.post(ctx, "/v1/tags", M{"program_id": program, "name": "keyed"}, "Idempotency-Key", "same")
	}
	first := keyed(s.other, s.theirs["prg_"])
	if s.before, err = s.sys.settledRows(ctx, s.other.id); err != nil {
		return err
	}
	second := keyed(same, own["prg_"])
	if first.status != 201 || second.status != 201 || second.replayed() || first.text("id") == second.text("id") {
		s.sys.fault("an Idempotency-Key is shared: %d %s, %d %s", first.status, first.raw, second.status, second.raw)
	}
	s.unchanged(ctx, "the same Idempotency-Key")
	return nil
}

// rows returns a fingerprint of each table's rows of an organization. The tables are
// those with its id in a column, so that a new one needs no line here. It leaves out what
// jobs write at any time: balances, for example, are folded from ledger entries, which
// are compared.
func (sys *system) rows(ctx context.Context, org string) map[string]string {
	out := map[string]string{}
	tables, err := sys.pool.Query(ctx, `SELECT DISTINCT table_name::text FROM information_schema.columns
		WHERE table_schema = 'public' AND column_name = 'org_id'
			AND table_name NOT IN ('balances', 'mails', 'report_days', 'report_sums')`)
	if err != nil {
		sys.fault("rows: %v", err)
		return out
	}
	var names []string
	for tables.Next() {
		var name string
		if err := tables.Scan(&name); err != nil {
			sys.fault("rows: %v", err)
		}
		names = append(names, name)
	}
	tables.Close()
	for _, table := range names {
		var n int
		var sum string
		if err := sys.pool.QueryRow(ctx,
			`SELECT count(*), md5(coalesce(string_agg(t::text, E'\n' ORDER BY t::text), '')) FROM `+table+` t WHERE org_id = $1`,
			org).Scan(&n, &sum); err != nil {
			sys.fault("rows of %s: %v", table, err)
		}
		out[table] = fmt.Sprint(n, " rows ", sum)
	}
	return out
}

// settledRows waits until the jobs have nothing left to do for the organization. What
// they change later would look like a change by a request.
func (sys *system) settledRows(ctx context.Context, org string) (map[string]string, error) {
	last := sys.rows(ctx, org)
	for range 20 {
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return nil, err
		}
		now := sys.rows(ctx, org)
		if maps.Equal(now, last) && strings.HasPrefix(now["tally_entries"], "0 ") { // a busy fold is late
			return now, nil
		}
		last = now
	}
	return nil, fmt.Errorf("the rows of %s do not settle", org)
}
