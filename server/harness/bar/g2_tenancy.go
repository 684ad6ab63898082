package bar

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rail/server/ident"
)

// canary is the prefix of every text of the organization that no other may see.
const canary = "cnry"

// sweep sends ids in every place for an id in the description.
type sweep struct {
	sys                            *system
	own, elsewhere, theirs, gone   objects
	ours                           *org
	slots, calls, controls, denied int
	weak                           []string
}

// place is a place for an id in requests of an operation.
type place struct {
	op     *operation
	name   string
	prefix string
	inPath bool
	ask    func(id string) call
}

// tenancy is G2: another organization's id and an id that never existed get the
// same bytes in every place, and the other organization's data neither shows nor
// changes.
func tenancy(ctx context.Context, sys *system, size Size) (figures, error) {
	s, other, err := newSweep(ctx, sys)
	if err != nil {
		return nil, err
	}
	before, err := sys.settledRows(ctx, other.id)
	if err != nil {
		return nil, err
	}
	for _, op := range sorted() {
		if op.public || op.later || op.id == "listWebhookEvents" { // the catalogue of event types has no tenant
			continue
		}
		if op.prefix == "camp_" { // a campaign that is being sent cannot change
			s.own = s.ours.subject(ctx, op, s.own)
		}
		for _, p := range s.places(op) {
			s.slots++
			if size.Smoke && s.slots%2 == 0 && !p.inPath {
				continue
			}
			if err := s.checkPlace(ctx, p); err != nil {
				return nil, err
			}
		}
	}
	for table, rows := range sys.rows(ctx, other.id) {
		if rows != before[table] {
			sys.fault("rows of %s of the other organization changed: %s, before %s", table, rows, before[table])
		}
	}
	if err := s.uniques(ctx, other); err != nil {
		return nil, err
	}
	if s.denied == 0 || s.controls < s.slots/4 {
		return nil, fmt.Errorf("the sweep lost its way: %d slots, %d controls, %d refusals", s.slots, s.controls, s.denied)
	}
	var f figures
	f.add("slots", s.slots)
	f.add("calls", s.calls)
	f.add("refusals equal to the byte", s.denied)
	f.add("tables of the other organization unchanged", len(before))
	if len(s.weak) > 0 {
		f.add("slots without a control ("+strings.Join(s.weak, ", ")+")", len(s.weak))
	}
	return f, nil
}

func newSweep(ctx context.Context, sys *system) (*sweep, *org, error) {
	ours, err := sys.org(ctx, "Ours")
	if err != nil {
		return nil, nil, err
	}
	other, err := sys.org(ctx, "Theirs")
	if err != nil {
		return nil, nil, err
	}
	s := &sweep{sys: sys, ours: ours, gone: objects{}}
	if s.own, err = ours.populate(ctx, sys.unique("ours")); err != nil {
		return nil, nil, err
	}
	if s.elsewhere, err = ours.populate(ctx, sys.unique("elsewhere")); err != nil {
		return nil, nil, err
	}
	stem := sys.unique(canary)
	sys.guard(stem, other.key)
	if s.theirs, err = other.populate(ctx, stem); err != nil {
		return nil, nil, err
	}
	return s, other, s.deleteEach(ctx)
}

// deleteEach creates and deletes an object of each type that can be deleted.
func (s *sweep) deleteEach(ctx context.Context) error {
	for _, op := range sorted() {
		if op.method != "DELETE" || op.later {
			continue
		}
		resource, _, _ := strings.Cut(op.path, "/{id}")
		for _, maker := range sorted() {
			if maker.method == "POST" && maker.path == resource && maker.makes == op.prefix {
				body := s.sys.wellFormed(maker, s.own)
				delete(body, "is_default")
				id := s.ours.made(ctx, maker.path, body)
				if a := s.ours.ask(ctx, "DELETE", op.in(id), nil); a.status != 200 {
					return fmt.Errorf("%s: %d %s", op.id, a.status, a.raw)
				}
				s.gone[op.prefix] = id
			}
		}
	}
	if len(s.gone) < 6 {
		return fmt.Errorf("only %d types could be deleted", len(s.gone))
	}
	return nil
}

// places returns the places for ids in an operation's requests.
func (s *sweep) places(op *operation) []place {
	var out []place
	base := func(query, body any) call {
		q, _ := query.(string)
		c := call{op: op, method: op.method, path: with(op.in(s.own[op.prefix]), queryOf(op, s.own), q), key: s.ours.key}
		if op.body != nil {
			c.body = body
		}
		return c
	}
	if op.takesID() {
		out = append(out, place{op, "{id}", op.prefix, true, func(id string) call {
			c := base("", s.sys.wellFormed(op, s.own))
			c.path = with(op.in(id), queryOf(op, s.own))
			return c
		}})
	}
	for _, p := range op.query {
		prefix := idPrefix(p.schema)
		if (p.name == "starting_after" || p.name == "ending_before") && op.pages() {
			prefix = op.makes
		}
		if prefix == "" {
			continue
		}
		out = append(out, place{op, p.name, prefix, false, func(id string) call {
			c := base("", s.sys.wellFormed(op, s.own))
			own := maps.Clone(s.own)
			if p.required {
				own[prefix] = id
				c.path = with(op.in(s.own[op.prefix]), queryOf(op, own))
			} else {
				c.path = with(op.in(s.own[op.prefix]), queryOf(op, s.own), p.name+"="+id)
			}
			return c
		}})
	}
	if op.body != nil {
		for _, sl := range slots(op.body, nil) {
			if sl.prefix == "flb_" && !op.takesID() {
				continue // a new flow has no branch to name
			}
			out = append(out, place{op, sl.name(), sl.prefix, false, func(id string) call {
				return base("", sl.put(s.bodyFor(op, sl), id))
			}})
		}
	}
	return out
}

// bodyFor returns a body that accepts the slot, without the members that exclude
// it.
func (s *sweep) bodyFor(op *operation, sl slot) M {
	body := s.sys.wellFormed(op, s.own)
	for _, pair := range [][2]string{{"partner_id", "group_id"}, {"partner_id", "click_id"}} {
		for i, name := range pair {
			if sl.path[0] == name && !slices.Contains(op.body.Required, pair[1-i]) {
				delete(body, pair[1-i])
				if op.id == "updateFlow" && op.body.Properties[pair[1-i]] != nil {
					body[pair[1-i]] = nil // null, or an update would keep the other one
				}
			}
		}
	}
	if op.id == "createWebhookEndpoint" {
		body["event_types"] = []any{"commission.created"} // one that endpoints of partners may subscribe to
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
	if sl.path[0] == "branches" {
		body["branches"] = []any{M{"conditions": []any{}, "rate_type": "percent", "rate_value": 1}}
		body["rate_type"], body["rate_value"] = "percent", 1
		body["action"], body["target_group_id"] = "generate_commission", nil
	}
	return body
}

func (s *sweep) send(ctx context.Context, c call) (answer, error) {
	s.calls++
	return s.sys.send(ctx, c)
}

// checkPlace sends every kind of id in one place.
func (s *sweep) checkPlace(ctx context.Context, p place) error {
	if p.op.method != "DELETE" { // deleteEach has tested the deletions
		a, err := s.send(ctx, p.ask(s.own[p.prefix]))
		if err != nil {
			return err
		}
		if a.status/100 == 2 || a.status == 409 {
			s.controls++
		} else {
			s.weak = append(s.weak, p.op.id+" "+p.name)
		}
	}
	unknown, err := s.refused(ctx, p, newID(p.prefix))
	if err != nil {
		return err
	}
	same := map[string]string{"foreign": s.theirs[p.prefix], "sample": "sample_" + newID(p.prefix)}
	// A list accepts a deleted object as a cursor and as a filter.
	if s.gone[p.prefix] != "" && (p.inPath || p.op.method != "GET") {
		same["deleted"] = s.gone[p.prefix]
	}
	for _, kind := range slices.Sorted(maps.Keys(same)) {
		got, err := s.refused(ctx, p, same[kind])
		if err != nil {
			return err
		}
		if got != unknown {
			s.sys.fault("%s %s: a %s id answers\n%s, an unknown one\n%s", p.op.id, p.name, kind, got, unknown)
		}
		s.denied++
	}
	others := []string{s.own["tag_"], "x", "%27", strings.Repeat("x", 300), "..%2fx", "%00", "%ff"}
	if p.prefix == "tag_" {
		others[0] = s.own["prg_"]
	}
	if s.named(p) {
		others = append(others, s.elsewhere[p.prefix])
	}
	for _, id := range others {
		if _, err := s.refused(ctx, p, id); err != nil {
			return err
		}
	}
	return nil
}

// named reports whether the request names a program, so that objects of other
// programs must be refused.
func (s *sweep) named(p place) bool {
	if p.prefix == "prg_" || p.inPath || p.prefix == "tax_" {
		return false
	}
	c, _ := p.ask("x").body.(M)
	return p.op.takesID() || c["program_id"] != nil ||
		p.op.parameter("program_id") != nil && p.op.parameter("program_id").required
}

// refused sends an id that must be refused and returns the shape of the answer
// without the id.
func (s *sweep) refused(ctx context.Context, p place, id string) (string, error) {
	c := p.ask(id)
	if p.inPath { // unescaped: some ids are escaped already
		c.path = strings.Replace(c.path, p.op.in(id), strings.Replace(p.op.path, "{id}", id, 1), 1)
	}
	a, err := s.send(ctx, c)
	if err != nil {
		return "", err
	}
	if a.status != 404 && a.status != 400 {
		s.sys.fault("%s %s: %q answers %d %s", p.op.id, p.name, id, a.status, a.raw)
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
func (s *sweep) uniques(ctx context.Context, other *org) error {
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
	keyed := func(o *org, program string) answer {
		return o.post(ctx, "/v1/tags", M{"program_id": program, "name": "keyed"}, "Idempotency-Key", "same")
	}
	first, second := keyed(other, s.theirs["prg_"]), keyed(same, own["prg_"])
	if first.status != 201 || second.status != 201 || second.replayed() || first.text("id") == second.text("id") {
		s.sys.fault("an Idempotency-Key is shared: %d %s, %d %s", first.status, first.raw, second.status, second.raw)
	}
	return nil
}

// rows returns a fingerprint of each table's rows of an organization. It leaves
// out what jobs write: balances, for example, are folded from ledger entries.
func (sys *system) rows(ctx context.Context, org string) map[string]string {
	out := map[string]string{}
	tables, err := sys.pool.Query(ctx, `SELECT DISTINCT table_name::text FROM information_schema.columns
		WHERE table_schema = 'public' AND column_name = 'org_id'
			AND table_name NOT IN ('api_keys', 'balances', 'mails', 'report_days', 'report_sums')`)
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

// settledRows waits until the jobs have nothing left to do for the organization.
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
