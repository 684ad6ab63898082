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

// canary begins every text of the organization that nobody else may see.
const canary = "cnry"

// sweep asks for ids in every place of the description where one can stand.
type sweep struct {
	w                              *world
	own, elsewhere, theirs, gone   things
	ours                           *org
	slots, calls, controls, denied int
	weak                           []string
}

// place is where an id stands in requests of an operation.
type place struct {
	op     *operation
	name   string
	prefix string
	inPath bool
	ask    func(id string) call
}

// tenancy is G2: another organization's id and one that never existed answer the
// same bytes everywhere, and nothing of the other organization shows or changes.
func tenancy(ctx context.Context, w *world, size Size) (figures, error) {
	s, other, err := newSweep(ctx, w)
	if err != nil {
		return nil, err
	}
	before, err := w.settledRows(ctx, other.id)
	if err != nil {
		return nil, err
	}
	for _, op := range sorted() {
		if op.public || op.later || op.id == "listWebhookEvents" { // the catalogue is of no program
			continue
		}
		if op.prefix == "camp_" { // one that is being sent takes no change
			s.own = s.ours.subject(ctx, op, s.own)
		}
		for _, p := range s.places(op) {
			s.slots++
			if size.Smoke && s.slots%2 == 0 && !p.inPath {
				continue
			}
			if err := s.judge(ctx, p); err != nil {
				return nil, err
			}
		}
	}
	for table, rows := range w.rows(ctx, other.id) {
		if rows != before[table] {
			w.fault("rows of %s of the other organization changed: %s, before %s", table, rows, before[table])
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

func newSweep(ctx context.Context, w *world) (*sweep, *org, error) {
	ours, err := w.org(ctx, "Ours")
	if err != nil {
		return nil, nil, err
	}
	other, err := w.org(ctx, "Theirs")
	if err != nil {
		return nil, nil, err
	}
	s := &sweep{w: w, ours: ours, gone: things{}}
	if s.own, err = ours.populate(ctx, w.unique("ours")); err != nil {
		return nil, nil, err
	}
	if s.elsewhere, err = ours.populate(ctx, w.unique("elsewhere")); err != nil {
		return nil, nil, err
	}
	stem := w.unique(canary)
	w.guard(stem, other.key)
	if s.theirs, err = other.populate(ctx, stem); err != nil {
		return nil, nil, err
	}
	return s, other, s.bury(ctx)
}

// bury makes an object of each type that can be deleted, and deletes it.
func (s *sweep) bury(ctx context.Context) error {
	for _, op := range sorted() {
		if op.method != "DELETE" || op.later {
			continue
		}
		resource, _, _ := strings.Cut(op.path, "/{id}")
		for _, maker := range sorted() {
			if maker.method == "POST" && maker.path == resource && maker.makes == op.prefix {
				body := s.w.wellFormed(maker, s.own)
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

// places are where ids stand in an operation's requests.
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
			c := base("", s.w.wellFormed(op, s.own))
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
			c := base("", s.w.wellFormed(op, s.own))
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
				continue // a new flow has no branch that could be named
			}
			out = append(out, place{op, sl.name(), sl.prefix, false, func(id string) call {
				return base("", sl.put(s.bodyFor(op, sl), id))
			}})
		}
	}
	return out
}

// bodyFor is a body in which the slot can stand: what excludes it is left out.
func (s *sweep) bodyFor(op *operation, sl slot) M {
	body := s.w.wellFormed(op, s.own)
	for _, pair := range [][2]string{{"partner_id", "group_id"}, {"partner_id", "click_id"}} {
		for i, name := range pair {
			if sl.path[0] == name && !slices.Contains(op.body.Required, pair[1-i]) {
				delete(body, pair[1-i])
				if op.id == "updateFlow" && op.body.Properties[pair[1-i]] != nil {
					body[pair[1-i]] = nil // what stands would stay
				}
			}
		}
	}
	if op.id == "createWebhookEndpoint" {
		body["event_types"] = []any{"commission.created"} // a partner's may take these
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
		body["rate_type"], body["rate_value"], body["action"], body["target_group_id"] = "percent", 1, "generate_commission", nil
	}
	return body
}

func (s *sweep) send(ctx context.Context, c call) (answer, error) {
	s.calls++
	return s.w.send(ctx, c)
}

// judge asks for every kind of id in one place.
func (s *sweep) judge(ctx context.Context, p place) error {
	if p.op.method != "DELETE" { // bury has shown that these work
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
	// a list goes on behind what was deleted, and filters by it
	if s.gone[p.prefix] != "" && (p.inPath || p.op.method != "GET") {
		same["deleted"] = s.gone[p.prefix]
	}
	for _, kind := range slices.Sorted(maps.Keys(same)) {
		got, err := s.refused(ctx, p, same[kind])
		if err != nil {
			return err
		}
		if got != unknown {
			s.w.fault("%s %s: a %s id answers\n%s, an unknown one\n%s", p.op.id, p.name, kind, got, unknown)
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

// named tells whether the request names a program that an object of another one
// cannot be of.
func (s *sweep) named(p place) bool {
	if p.prefix == "prg_" || p.inPath || p.prefix == "tax_" {
		return false
	}
	c, _ := p.ask("x").body.(M)
	return p.op.takesID() || c["program_id"] != nil ||
		p.op.parameter("program_id") != nil && p.op.parameter("program_id").required
}

// refused asks for an id that must be refused and returns what was to be seen,
// with the id taken out.
func (s *sweep) refused(ctx context.Context, p place, id string) (string, error) {
	c := p.ask(id)
	if p.inPath { // as it is: some are escaped already
		c.path = strings.Replace(c.path, p.op.in(id), strings.Replace(p.op.path, "{id}", id, 1), 1)
	}
	a, err := s.send(ctx, c)
	if err != nil {
		return "", err
	}
	if a.status != 404 && a.status != 400 {
		s.w.fault("%s %s: %q answers %d %s", p.op.id, p.name, id, a.status, a.raw)
	}
	return strings.ReplaceAll(a.shape(), id, "ID"), nil
}

// newID is an id of a type that no object has.
func newID(prefix string) string {
	id := ident.New(ident.Prefix(prefix))
	if prefix == "bal_" {
		return id + "_usd"
	}
	return id
}

// uniques: what is unique is unique within an organization, so that a refusal
// tells nothing of another one's data.
func (s *sweep) uniques(ctx context.Context, other *org) error {
	stem := s.theirs["handle"]
	same, err := s.w.org(ctx, "Same")
	if err != nil {
		return err
	}
	s.w.mu.Lock()
	delete(s.w.canary, stem) // what they send themselves comes back
	s.w.mu.Unlock()
	own, err := same.populate(ctx, stem)
	if err != nil {
		return err
	}
	for prefix, id := range s.theirs {
		if prefix != "handle" && own[prefix] == id {
			s.w.fault("two organizations share %s", id)
		}
	}
	keyed := func(o *org, program string) answer {
		return o.post(ctx, "/v1/tags", M{"program_id": program, "name": "keyed"}, "Idempotency-Key", "same")
	}
	first, second := keyed(other, s.theirs["prg_"]), keyed(same, own["prg_"])
	if first.status != 201 || second.status != 201 || second.replayed() || first.text("id") == second.text("id") {
		s.w.fault("an Idempotency-Key is shared: %d %s, %d %s", first.status, first.raw, second.status, second.raw)
	}
	return nil
}

// rows is a fingerprint of everything that an organization owns, by table, but
// for what jobs write (balances are folded from ledger entries, which count).
func (w *world) rows(ctx context.Context, org string) map[string]string {
	out := map[string]string{}
	tables, err := w.pool.Query(ctx, `SELECT DISTINCT table_name::text FROM information_schema.columns
		WHERE table_schema = 'public' AND column_name = 'org_id' AND table_name NOT IN ('api_keys', 'balances', 'mails', 'report_days', 'report_sums')`)
	if err != nil {
		w.fault("rows: %v", err)
		return out
	}
	var names []string
	for tables.Next() {
		var name string
		if err := tables.Scan(&name); err != nil {
			w.fault("rows: %v", err)
		}
		names = append(names, name)
	}
	tables.Close()
	for _, table := range names {
		var n int
		var sum string
		if err := w.pool.QueryRow(ctx,
			`SELECT count(*), md5(coalesce(string_agg(t::text, E'\n' ORDER BY t::text), '')) FROM `+table+` t WHERE org_id = $1`,
			org).Scan(&n, &sum); err != nil {
			w.fault("rows of %s: %v", table, err)
		}
		out[table] = fmt.Sprint(n, " rows ", sum)
	}
	return out
}

// settledRows waits until the jobs have done what the organization gave them.
func (w *world) settledRows(ctx context.Context, org string) (map[string]string, error) {
	last := w.rows(ctx, org)
	for range 20 {
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return nil, err
		}
		now := w.rows(ctx, org)
		if maps.Equal(now, last) && strings.HasPrefix(now["tally_entries"], "0 ") { // a busy fold comes late
			return now, nil
		}
		last = now
	}
	return nil, fmt.Errorf("the rows of %s do not settle", org)
}
