package bar

import (
	"context"
	"fmt"
	"math/bits"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"rail/server/auth"
)

// scopes is G3: every operation accepts or refuses every set of scopes and every fault of a credential as the table
// of needs says, and a refused call changes nothing. An accepted call names unknown objects, so that all rows can be
// compared at the end.
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
	if err := t.sets(ctx, size); err != nil {
		return nil, err
	}
	if err := t.credentials(ctx); err != nil {
		return nil, err
	}
	for table, rows := range sys.rows(ctx, o.id) {
		if rows != before[table] && table != "api_keys" && table != "idempotency_keys" { // the stage makes keys
			sys.fault("refused calls changed %s: %s, before %s", table, rows, before[table])
		}
	}
	if t.refused == 0 || t.admitted == 0 || t.unknown == 0 {
		return nil, fmt.Errorf("%d refused, %d admitted, %d not authenticated", t.refused, t.admitted, t.unknown)
	}
	var f figures
	f.add("calls refused for their scope", t.refused)
	f.add("accepted", t.admitted)
	f.add("refused for invalid credentials", t.unknown)
	return f, nil
}

// scopeCheck is the state of G3.
type scopeCheck struct {
	sys               *system
	o                 *org
	own               objects
	refused, admitted int // calls with a key
	unknown           int // calls without a valid credential
}

// needs returns the scopes of which a key must have one. The rules are written here
// by hand, so that a mistake in the description is found.
func needs(op *operation) []string {
	resource, _, _ := strings.Cut(strings.TrimPrefix(op.path, "/v1/"), "/")
	switch {
	case op.path == "/v1/inbound_signing":
		return nil
	case op.method == "GET", slices.Contains(
		[]string{"previewCampaignDraft", "previewFlows", "previewPayoutBatch", "rehearseAttribution", "rehearseFlows",
			"rehearseSale"}, op.id):
		return []string{"read", "write"} // which change nothing
	case op.id == "banPartner", op.id == "undoPartnerBan": // commissions are rejected by it
		return []string{"write"}
	case op.id == "resolveInboxEvent": // it makes commissions
		return []string{"commissions:write", "write"}
	}
	switch resource {
	case "partners", "partner_notes", "embed_tokens", "attribution_tokens", "groups", "tags", "applications", "links",
		"coupons":
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

// sets calls every operation with a key of each set of scopes. The smoke size has no
// scope, each scope alone, all but each, and all: what one scope allows or lacks shows
// there, and the full size adds the rest of the sets.
func (t *scopeCheck) sets(ctx context.Context, size Size) error {
	n := len(auth.Scopes)
	for set := range uint(1) << n {
		if has := bits.OnesCount(set); size.Smoke && has > 1 && has < n-1 {
			continue
		}
		var has []string
		for i, s := range auth.Scopes {
			if set>>i&1 == 1 {
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

// ops calls every operation with a key. An accepted call must not change the objects of later calls, so it names
// unknown objects.
func (t *scopeCheck) ops(ctx context.Context, has []string, key string) error {
	for _, op := range sorted() {
		if op.public {
			continue
		}
		want := needs(op)
		if !slices.Equal(want, op.scopes) { // clients read the description to know what to ask for
			t.sys.fault("%s needs %v, and the description says %v", op.id, want, op.scopes)
		}
		allowed := auth.Actor{Scopes: has}.Allows(want)
		own := t.own
		if allowed && op.method != "GET" { // admitted, but without an object that it could change
			own = unknownIDs(t.own)
		}
		c := call{op: op, method: op.method, path: with(op.in(own[op.prefix]), queryOf(op, own)), key: key}
		if op.body != nil {
			c.body = t.sys.wellFormed(op, own)
		}
		if allowed && op.id == "createProgram" { // it names no object; an empty body is refused
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

// checkDecision checks that a call was admitted, or refused by the names of the scopes
// that it needs.
func (t *scopeCheck) checkDecision(op *operation, has, want []string, allowed bool, a answer) {
	switch {
	case allowed && (a.status == 401 || a.status == 403):
		t.sys.fault("%s with %v: %d %s", op.id, has, a.status, a.raw)
	case allowed:
		t.admitted++
	case a.status != 403 || a.code() != "insufficient_scope" || a.kind() != "permission_error" ||
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

// credential is a way not to have one: headers, and the code of the refusal.
type credential struct {
	what, code string
	header     []string
}

// inTheQuery is the fault of a key in the query, where logs would show it.
const inTheQuery = "in the query"

// faulty returns every fault of a credential.
func (t *scopeCheck) faulty(ctx context.Context) ([]credential, error) {
	revoked, err := t.sys.newKey(ctx, t.o.id, true, "write")
	if err != nil {
		return nil, err
	}
	// The key is revoked before a server has seen it. Another test measures how soon servers drop a known key.
	if _, err := t.sys.pool.Exec(ctx, "UPDATE api_keys SET revoked_at = now() WHERE hash = $1",
		t.sys.keeper.HashAPIKey(revoked)); err != nil {
		return nil, err
	}
	k := t.o.key
	return []credential{
		{"none", "api_key_missing", nil},
		{"empty", "api_key_missing", []string{""}},
		{"basic", "api_key_invalid", []string{"Basic " + k}},
		{"bearer alone", "api_key_invalid", []string{"Bearer"}},
		{"unknown", "api_key_invalid", []string{"Bearer " + auth.NewToken(true)}},
		{"revoked", "api_key_revoked", []string{"Bearer " + revoked}},
		{"of another last character", "api_key_invalid", []string{"Bearer " + k[:len(k)-1] + "~"}},
		{"there twice", "api_key_invalid", []string{"Bearer " + k, "Bearer " + k}},
		{"huge", "api_key_invalid", []string{"Bearer " + strings.Repeat("x", 10_000)}},
		{inTheQuery, "api_key_missing", nil},
	}, nil
}

// credentials calls every operation with every fault of a credential. Each call comes from another address, because
// callers without a key are limited by address.
func (t *scopeCheck) credentials(ctx context.Context) error {
	faults, err := t.faulty(ctx)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for _, op := range sorted() {
		if op.public {
			continue
		}
		for _, f := range faults {
			t.unknown++
			c := call{op: op, method: op.method, path: with(op.in(t.own[op.prefix]), queryOf(op, t.own)), header: http.Header{}}
			n := t.unknown
			c.header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255))
			if f.header != nil {
				c.header["Authorization"] = f.header
			}
			if f.what == inTheQuery {
				c.path = with(op.in(t.own[op.prefix]), queryOf(op, t.own), "api_key="+t.o.key)
			}
			c.body = t.sys.body(op, t.own)
			g.Go(func() error {
				a, err := t.sys.send(ctx, c)
				if err == nil && (a.status != 401 || a.kind() != "authentication_error" || a.code() != f.code ||
					a.header.Get("WWW-Authenticate") != "Bearer") {
					t.sys.fault("%s with a credential that is %s: %d %s", op.id, f.what, a.status, a.raw)
				}
				return err
			})
		}
	}
	return g.Wait()
}
