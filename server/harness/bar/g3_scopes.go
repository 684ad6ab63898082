package bar

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"rail/server/auth"
)

// scopes is G3: every operation is admitted or refused as the table of needs says,
// for every set of scopes and every fault of a credential, and a refused call
// changes nothing.
func scopes(ctx context.Context, sys *system, size Size) (figures, error) {
	o, err := sys.org(ctx, "Scopes")
	if err != nil {
		return nil, err
	}
	own, err := o.populate(ctx, sys.unique("scopes"))
	if err != nil {
		return nil, err
	}
	for _, op := range sorted() {
		if op.takesID() && own[op.prefix] == "" {
			own[op.prefix] = newID(op.prefix) // for operations that answer 501
		}
	}
	before, err := sys.settledRows(ctx, o.id)
	if err != nil {
		return nil, err
	}
	t := &scopeCheck{sys: sys, o: o, own: own}
	if err := t.sets(ctx, size.of(1, 4)); err != nil {
		return nil, err
	}
	if err := t.credentials(ctx); err != nil {
		return nil, err
	}
	for table, rows := range sys.rows(ctx, o.id) {
		if rows != before[table] && table != "idempotency_keys" {
			sys.fault("refused calls changed %s: %s, before %s", table, rows, before[table])
		}
	}
	if t.refused == 0 || t.admitted == 0 || t.unknown == 0 {
		return nil, fmt.Errorf("%d refused, %d admitted, %d not authenticated", t.refused, t.admitted, t.unknown)
	}
	var f figures
	f.add("calls refused for their scope", t.refused)
	f.add("admitted", t.admitted)
	f.add("with faulty credentials refused", t.unknown)
	return f, nil
}

// scopeCheck is the state of G3.
type scopeCheck struct {
	sys                        *system
	o                          *org
	own                        objects
	refused, admitted, unknown int
}

// needs returns the scopes of which a key must have one. The rules are written here
// by hand, so that a mistake in the description is found.
func needs(op *operation) []string {
	resource, _, _ := strings.Cut(strings.TrimPrefix(op.path, "/v1/"), "/")
	switch {
	case op.path == "/v1/inbound_signing":
		return nil
	case op.method == "GET":
		return []string{"read", "write"}
	}
	switch resource {
	case "partners", "groups", "tags", "applications", "links", "coupons":
		return []string{"partners:write", "write"}
	case "clicks", "customers", "sales", "refunds", "commissions", "flows":
		return []string{"commissions:write", "write"}
	case "payouts", "payout_batches":
		return []string{"payouts:write", "write"}
	case "webhook_endpoints", "webhook_deliveries":
		return []string{"webhooks:write", "write"}
	}
	return []string{"write"}
}

// sets calls every operation with a key of each set of scopes.
func (t *scopeCheck) sets(ctx context.Context, step int) error {
	for bits := 0; bits < 1<<len(auth.Scopes); bits += step {
		var has []string
		for i, s := range auth.Scopes {
			if bits>>i&1 == 1 {
				has = append(has, s)
			}
		}
		key, err := t.sys.newKey(ctx, t.o.id, true, has...)
		if err != nil {
			return err
		}
		if err := t.ops(ctx, has, key); err != nil {
			return err
		}
	}
	return nil
}

func (t *scopeCheck) ops(ctx context.Context, has []string, key string) error {
	for _, op := range sorted() {
		if op.public {
			continue
		}
		want := needs(op)
		if !slices.Equal(want, op.scopes) {
			t.sys.fault("%s needs %v, and the description says %v", op.id, want, op.scopes)
		}
		allowed := auth.Key{Scopes: has}.Allows(want)
		own := t.own
		if allowed && op.method != "GET" { // admitted, but without an object that it could change
			own = unknownIDs(t.own)
		}
		c := call{op: op, method: op.method, path: with(op.in(own[op.prefix]), queryOf(op, own)), key: key}
		if op.body != nil {
			c.body = t.sys.wellFormed(op, own)
		}
		if allowed && op.id == "createProgram" {
			c.body = M{}
		}
		a, err := t.sys.send(ctx, c)
		if err != nil {
			return err
		}
		t.checkDecision(op, has, want, allowed, a)
	}
	return nil
}

func (t *scopeCheck) checkDecision(op *operation, has, want []string, allowed bool, a answer) {
	switch {
	case allowed && (a.status == 401 || a.status == 403):
		t.sys.fault("%s with %v: %d %s", op.id, has, a.status, a.raw)
	case allowed:
		t.admitted++
	case a.status != 403 || a.code() != "insufficient_scope" ||
		!strings.Contains(string(a.raw), strings.Join(want, " or ")):
		t.sys.fault("%s with %v must be refused: %d %s", op.id, has, a.status, a.raw)
	default:
		t.refused++
	}
}

// unknownIDs returns an id of no object for each type of own.
func unknownIDs(own objects) objects {
	out := objects{"handle": "nobody-at-all"}
	for prefix := range own {
		if prefix != "handle" {
			out[prefix] = newID(prefix)
		}
	}
	return out
}

// credentials calls every operation with every fault of a credential. Each call
// comes from an address of its own, since callers without a key are limited by
// address.
func (t *scopeCheck) credentials(ctx context.Context) error {
	revoked, err := t.sys.newKey(ctx, t.o.id, true, "write")
	if err != nil {
		return err
	}
	if _, err := t.sys.pool.Exec(ctx, "UPDATE api_keys SET revoked_at = now() WHERE hash = $1",
		t.sys.keeper.HashAPIKey(revoked)); err != nil {
		return err
	}
	k := t.o.key
	faults := map[string][]string{
		"none": nil, "empty": {""}, "basic": {"Basic " + k}, "bearer alone": {"Bearer"},
		"unknown": {"Bearer " + auth.NewToken(true)}, "revoked": {"Bearer " + revoked},
		"last character": {"Bearer " + k[:len(k)-1] + "~"}, "twice": {"Bearer " + k, "Bearer " + k},
		"huge": {"Bearer " + strings.Repeat("x", 10_000)}, "in the query": nil,
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	n := 0
	for _, op := range sorted() {
		if op.public {
			continue
		}
		for name, header := range faults {
			n++
			c := call{op: op, method: op.method, path: with(op.in(t.own[op.prefix]), queryOf(op, t.own)), header: http.Header{}}
			c.header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255))
			if header != nil {
				c.header["Authorization"] = header
			}
			if name == "in the query" {
				c.path = with(op.in(t.own[op.prefix]), queryOf(op, t.own), "api_key="+k)
			}
			if op.body != nil {
				c.body = t.sys.wellFormed(op, t.own)
			}
			g.Go(func() error {
				a, err := t.sys.send(ctx, c)
				if err == nil && (a.status != 401 || a.header.Get("WWW-Authenticate") != "Bearer") {
					t.sys.fault("%s with a credential that is %s: %d %s", op.id, name, a.status, a.raw)
				}
				return err
			})
		}
	}
	t.unknown = n
	return g.Wait()
}
