package bar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"rail/server/auth"
	"rail/server/locale/plain"
	"rail/server/outbound/webhook"
	"rail/server/outbound/webhook/vectors"
	"rail/server/outbound/webhook/verify"
)

// checks is the state of G1.
type checks struct {
	sys                               *system
	o                                 *org
	own                               objects
	at                                string // a process without RAIL_WEBHOOK_ALLOW_CIDRS
	signatures, urls, inputs, headers int
}

// publishedVectors is G1: signatures, addresses, inputs and headers with known
// results. They are what other implementations are tested against, so that a change of
// one of them breaks clients, also where the service agrees with itself.
func publishedVectors(ctx context.Context, sys *system, _ Size) (f figures, err error) {
	p, err := sys.process(sys.dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	c := &checks{sys: sys, at: p.addr}
	if c.o, err = sys.org(ctx, "Vectors"); err != nil {
		return nil, err
	}
	if c.own, err = c.o.populate(ctx, sys.unique("vectors")); err != nil {
		return nil, err
	}
	c.signed()
	c.addresses(ctx)
	c.values(ctx)
	if err := c.inbound(ctx); err != nil {
		return nil, err
	}
	f.add("signatures", c.signatures)
	f.add("addresses", c.urls)
	f.add("inputs", c.inputs)
	f.add("signature headers", c.headers)
	return f, ctx.Err()
}

// signed checks that the published bodies get the published signatures, and that the
// receivers' code verifies them. A body with two secrets is one whose secret was rotated.
func (c *checks) signed() {
	for _, v := range vectors.Signatures {
		c.signatures++
		at := time.Unix(v.Time, 0)
		rail := webhook.RailSignature(at, []byte(v.Body), v.Secrets...)
		standard := webhook.StandardSignature(v.ID, at, []byte(v.Body), v.Secrets...)
		if v.Rail != "" && rail != v.Rail || standard != v.Standard {
			c.sys.fault("signatures of %s: %s and %s", v.ID, rail, standard)
		}
		h := http.Header{
			"Rail-Signature": {rail}, "Webhook-Id": {v.ID}, "Webhook-Timestamp": {fmt.Sprint(v.Time)},
			"Webhook-Signature": {standard},
		}
		for _, secret := range v.Secrets {
			if err := errors.Join(verify.Signature(h, []byte(v.Body), secret, at),
				verify.Standard(h, []byte(v.Body), secret, at)); err != nil {
				c.sys.fault("%s does not verify: %v", v.ID, err)
			}
		}
	}
}

// post sends to the process that is configured as operators run it: the others may call
// receivers on this machine.
func (c *checks) post(ctx context.Context, path string, body any, headers ...string) answer {
	a, err := c.sys.send(ctx, call{method: "POST", path: path, body: body, key: c.o.key, at: c.at, header: pairs(headers)})
	if err != nil && ctx.Err() == nil {
		c.sys.fault("%s: %v", path, err)
	}
	return a
}

// addresses creates an endpoint at each address, which must be refused or accepted
// as published. Private addresses must be refused in any spelling.
func (c *checks) addresses(ctx context.Context) {
	for _, u := range vectors.Refused {
		if strings.Contains(strings.ToLower(u), "rail.example.org") {
			continue // the host of the server in the other test
		}
		c.urls++
		a := c.post(ctx, "/v1/webhook_endpoints", M{"program_id": c.own["prg_"], "url": u})
		if a.status != 400 || a.param() != "url" && a.code() != "invalid_json" {
			c.sys.fault("the address %q: %d %s", u, a.status, a.raw)
		}
	}
	for _, u := range vectors.Accepted {
		c.urls++
		a := c.post(ctx, "/v1/webhook_endpoints", M{"program_id": c.own["prg_"], "url": u})
		if a.status != 201 {
			c.sys.fault("the address %q: %d %s", u, a.status, a.raw)
			continue
		}
		c.o.ask(ctx, "DELETE", "/v1/webhook_endpoints/"+a.text("id"), nil)
	}
}

// input is a value of a member and whether the service accepts it. The body contains the value exactly as written
// here.
type input struct {
	member, value string // JSON
	ok            bool
}

// saleInputs lists values of a sale's members: numbers that other parsers round or accept,
// currencies and times that do not exist, and texts that are not Unicode.
func saleInputs() (out []input) {
	for _, bad := range []string{
		"1e3", "1E0", "10.0", "1.5", `"10"`, "true", "null", "[]", "9223372036854775807", "9223372036854775808",
		"-9223372036854775809", "1e400", "1000000000000",
		"01", "+1", "0x10", "NaN", "Infinity", "-1", "0", "-0",
	} {
		out = append(out, input{"amount_minor", bad, false})
	}
	for _, bad := range []string{`"US"`, `"USDX"`, `"XXX"`, `"€"`, `""`, "1", "null"} {
		out = append(out, input{"currency", bad, false})
	}
	for _, bad := range []string{"-1", "5001", "1.0", `"0"`} {
		out = append(out, input{"tax_minor", bad, false}, input{"fee_minor", bad, false})
	}
	for _, bad := range []string{
		"2026-02-30T00:00:00Z", "2025-02-29T00:00:00Z", "2026-01-01T23:59:60Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00",
		"2026-01-01t00:00:00z", "2026-01-01T00:00:00+24:00",
		"2026-01-01T00:00:00,5Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "10000-01-01T00:00:00Z",
		"1969-01-01T00:00:00Z", "1767225600", "infinity", "now", "",
	} {
		out = append(out, input{"occurred_at", text(bad), false})
	}
	for _, bad := range []string{
		`"a\u0000b"`, "\"a\xffb\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xe2\x82\"", `"\ud800"`, `"\udc00\ud800"`, `""`,
		text(strings.Repeat("x", 256)), "null", "1",
	} {
		out = append(out, input{"external_charge_id", bad, false})
	}
	for _, good := range []string{
		`"\ud83d\ude00"`, text(strings.Repeat("😀", 255)), `"\u202e\u200b\u2028"`, `"e\u0301"`, `"%_\\'--$1"`,
	} {
		out = append(out, input{"product_name", good, true})
	}
	return append(out, input{"amount_minor", "1", true}, input{"amount_minor", "999999999999", true},
		input{"tax_minor", "0", true}, input{"tax_minor", "5000", true},
		input{"fee_minor", "0", true}, input{"fee_minor", "5000", true}, input{"fee_minor", "null", true},
		input{"currency", `"JPY"`, true}, input{"currency", `"usd"`, true},
		input{"occurred_at", text(time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")), true},
		input{"no_such_member", "1", false},
		input{"Amount_Minor", "5000", false})
}

// bodies returns texts that are not JSON objects, or that parsers read differently: with
// members twice, comments, other quotes, and so deep or so long that a parser may give up.
func bodies() []string {
	return []string{
		"", "null", "[]", `"x"`, "{} {}", "{} x", "\ufeff{}", "{/**/}", "{'a':1}", `{"a":NaN}`, `{"a":1,}`, `{"a":`,
		`{"name":"a","name":"b"}`, "{\"a\":\"\n\"}",
		strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33), strings.Repeat(`{"a":`, 100_000),
		strings.Repeat("[", 10_001), `{"` + strings.Repeat("k", 70_000) + `":1}`,
	}
}

// values sends each input in a sale that is valid otherwise, as a text: an encoder of
// JSON would not produce most of them.
func (c *checks) values(ctx context.Context) {
	for _, in := range saleInputs() {
		c.inputs++
		members := map[string]string{
			"program_id": text(c.own["prg_"]), "customer_id": text(c.own["cus_"]),
			"external_charge_id": text(c.sys.unique("ch")),
			"amount_minor":       "5000", "currency": `"USD"`,
		}
		members[in.member] = in.value
		var parts []string
		for name, value := range members {
			parts = append(parts, text(name)+":"+value)
		}
		a := c.post(ctx, "/v1/sales", "{"+strings.Join(parts, ",")+"}")
		if (a.status == 201) != in.ok || !in.ok && a.status != 400 {
			c.sys.fault("%s of %.80s: %d %s", in.member, in.value, a.status, a.raw)
		}
		if in.ok && in.member == "product_name" && text(a.text("product_name")) != text(plain.Name(unquoted(in.value))) {
			c.sys.fault("product_name of %.80s comes back as %q", in.value, a.text("product_name"))
		}
	}
	for _, body := range bodies() {
		c.inputs++
		if a := c.post(ctx, "/v1/tags", body, "Content-Type", "application/json"); a.status != 400 {
			c.sys.fault("the body %.80q: %d %s", body, a.status, a.raw)
		}
	}
}

// unquoted returns the text of a JSON string.
func unquoted(value string) string {
	var s string
	if err := json.Unmarshal([]byte(value), &s); err != nil {
		return err.Error()
	}
	return s
}

// inbound signs requests as a client does, with right and wrong signatures. The request
// changes nothing, so that each can be sent again.
func (c *checks) inbound(ctx context.Context) error {
	key, err := c.sys.newKey(ctx, c.o.id, true, "write")
	if err != nil {
		return err
	}
	other, err := c.sys.newKey(ctx, c.o.id, true, "write")
	if err != nil {
		return err
	}
	const body = `{"required":false}`
	now := time.Now().Unix()
	sum := func(key string, t any, body string) string {
		return fmt.Sprintf("%x", auth.Sign(key, fmt.Sprint(t), []byte(body)))
	}
	v1, ts := sum(key, now, body), fmt.Sprint(now)
	good := "t=" + ts + ",v1=" + v1
	// Order, spaces, upper case, further members and a second signature are allowed, as
	// receivers of our own webhooks allow them. A second time is not: which one counts?
	cases := map[string]bool{
		good: true, "t=" + ts + ", v1=" + v1: true, "v1=" + v1 + ",t=" + ts: true, good + ",x=1": true,
		"t=" + ts + ",v1=" + strings.ToUpper(v1):                 true,
		"t=" + ts + ",v1=" + sum(other, now, body) + ",v1=" + v1: true, good + ",v0=1": true,
		"t=" + ts + ",v1=" + sum(other, now, body): false, "t=" + ts + ",v1=" + sum(key, now, body+"\n"): false,
		"t=" + ts + ",v1=" + sum(key, now, ""):        false,
		"t=" + ts + ",v1=" + sum(key[10:], now, body): false, "t=" + ts + ",v1=" + v1[:63]: false,
		"t=" + ts + ",v1=" + v1 + "0": false, "t=" + ts + ",v1=": false,
		"t=" + ts + ",v0=" + v1: false, "t=" + ts + ",v2=" + v1: false, "v1=" + v1: false, "t=" + ts: false,
		"t=" + ts + ",t=" + ts + ",v1=" + v1: false, "": false,
		fmt.Sprintf("t=%d,t=%d,v1=%s", now, now+1, v1): false, "t=" + ts + "v1=" + v1: false, "x": false,
		"t= " + ts + ",v1=" + v1:             false,
		fmt.Sprintf("t=%d,v1=%s", now+1, v1): false, "t=,v1=" + v1: false, "t=1.5,v1=" + v1: false,
	}
	// The bound is 300 seconds. A minute on either side is for a slow run of this test.
	for off, ok := range map[int64]bool{
		0: true, -240: true, 240: true, -360: false, 360: false, -86400: false, 86400: false, -now: false, -now - 1: false,
		1<<63 - 1 - now: false,
	} {
		cases[fmt.Sprintf("t=%d,v1=%s", now+off, sum(key, now+off, body))] = ok
	}
	for header, ok := range cases {
		c.headers++
		a, err := c.sys.send(ctx, call{
			method: "POST", path: "/v1/inbound_signing", body: body, key: key, header: http.Header{"Rail-Signature": {header}},
		})
		if err != nil {
			return err
		}
		if ok && a.status != 200 || !ok && a.status != 401 {
			c.sys.fault("Rail-Signature %q: %d %s", header, a.status, a.raw)
		}
	}
	return nil
}
