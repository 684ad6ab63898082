package bar

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"rail/server/harness/contract"
)

// M is a JSON object.
type M = map[string]any

// call is a request. Headers with an empty list are left out.
type call struct {
	op           *operation // nil: found by path in the description
	method, path string
	key          string
	body         any // an M, or raw JSON as string, or nil
	header       http.Header
	at           string // address of a process; "" for each process in turn
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	raw    []byte
	body   M
	took   time.Duration
}

// text returns a member of the answer, or "" where it is missing or no text.
func (a answer) text(name string) string { s, _ := a.body[name].(string); return s }

// int returns a member of the answer, or 0 where it is missing or no integer.
func (a answer) int(name string) int64 {
	n, _ := a.body[name].(json.Number)
	i, _ := n.Int64()
	return i
}

// code, kind and param are the members of an error, and "" in a success.
func (a answer) code() string { return answer{body: a.object("error")}.text("code") }

func (a answer) kind() string { return answer{body: a.object("error")}.text("type") }

func (a answer) param() string { return answer{body: a.object("error")}.text("param") }

// object returns a member that is an object, or nil, whose members are all missing.
func (a answer) object(name string) M { m, _ := a.body[name].(M); return m }

// data returns each object of a list as an answer.
func (a answer) data() []answer {
	list, _ := a.body["data"].([]any)
	out := make([]answer, 0, len(list))
	for _, v := range list {
		m, _ := v.(M)
		out = append(out, answer{body: m})
	}
	return out
}

// replayed reports whether the answer is a stored one of the request's Idempotency-Key.
func (a answer) replayed() bool { return a.header.Get("Idempotent-Replayed") == "true" }

// shape returns what a client sees of an answer, without the request's own id,
// which differs each time. Headers count by their names: the values of dates and limits
// differ, but one more header for an object that exists would give that away.
func (a answer) shape() string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(a.header)), func(n string) bool { return n == "Rail-Request-Id" })
	raw := strings.ReplaceAll(string(a.raw), a.header.Get("Rail-Request-Id"), "")
	return fmt.Sprintf("%d %s %s", a.status, strings.Join(names, " "), raw)
}

// send sends a request and checks the answer. A broken connection is an error, a
// wrong answer is a fault. All stages send through here, so that each of their answers is
// checked against the description and for texts of another organization.
func (sys *system) send(ctx context.Context, c call) (answer, error) {
	var raw []byte
	switch b := c.body.(type) {
	case nil:
	case string:
		raw = []byte(b)
	default:
		var err error
		if raw, err = json.Marshal(b); err != nil {
			return answer{}, err
		}
	}
	at := c.at
	if at == "" {
		at = sys.processes[int(sys.turn.Add(1))%len(sys.processes)].addr
	}
	r, err := http.NewRequestWithContext(ctx, c.method, "http://"+at+c.path, bytes.NewReader(raw))
	if err != nil {
		return answer{}, err
	}
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	if len(raw) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(r.Header, c.header)
	began := time.Now()
	res, err := sys.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close() //nolint:errcheck // the body is read to its end
	a := answer{took: time.Since(began), status: res.StatusCode, header: res.Header}
	if a.raw, err = io.ReadAll(res.Body); err != nil {
		return answer{}, err
	}
	sys.answerCount.Add(1)
	sys.checkAnswer(c, r, a, raw)
	dec := json.NewDecoder(bytes.NewReader(a.raw))
	dec.UseNumber()
	_ = dec.Decode(&a.body) // texts and empty bodies are not JSON
	return a, nil
}

// checkAnswer reports a fault for an answer that the description does not allow,
// for a 500, and for any that shows a text of another organization. A caller that sent
// the text itself may get it back.
func (sys *system) checkAnswer(c call, r *http.Request, a answer, sent []byte) {
	var faults []error
	op := c.op
	if op != nil {
		faults = contract.Of(op.route, map[string]string{}, r, a.status, a.header, a.raw)
	} else {
		var id string
		id, faults = contract.Answer(r, a.status, a.header, a.raw)
		op = operations()[id]
	}
	for _, f := range faults {
		sys.fault("%v (sent %s)", f, sent)
	}
	if a.status >= 500 && (a.status != 501 || op == nil || !op.later) && (a.status != 503 || !sys.unavailable.Load()) {
		sys.fault("%s %s answered %d after %d ms: %s (sent %s)", c.method, c.path, a.status, a.took.Milliseconds(), a.raw, sent)
	}
	sys.mu.Lock()
	defer sys.mu.Unlock()
	for text, key := range sys.canary {
		if c.key != key && bytes.Contains(a.raw, []byte(text)) && !strings.Contains(c.path, text) &&
			!bytes.Contains(sent, []byte(text)) {
			sys.broken++
			sys.faults = append(sys.faults,
				fmt.Sprintf("- %s %s shows another organization's %q: %s", c.method, c.path, text, a.raw))
		}
	}
}

// ask sends a request with the organization's key. A broken connection gives an
// empty answer with status 0.
func (o *org) ask(ctx context.Context, method, path string, body any, headers ...string) answer {
	c := call{method: method, path: path, key: o.key, body: body, header: pairs(headers)}
	a, err := o.sys.send(ctx, c)
	if err != nil && ctx.Err() == nil {
		o.sys.fault("%s %s: %v", method, path, err)
	}
	return a
}

// get retrieves an object or a list with the key of all scopes.
func (o *org) get(ctx context.Context, path string) answer { return o.ask(ctx, "GET", path, nil) }

// post sends a body, with headers as pairs of a name and a value.
func (o *org) post(ctx context.Context, path string, body any, headers ...string) answer {
	return o.ask(ctx, "POST", path, body, headers...)
}

// createID posts a body and returns the id of the new object. Any other answer is a
// fault.
func (o *org) createID(ctx context.Context, path string, body any) string {
	return o.object(ctx, path, body).text("id")
}

// object posts a body and returns the new object. Any other answer is a fault.
func (o *org) object(ctx context.Context, path string, body any) answer {
	a := o.post(ctx, path, body)
	if a.status/100 != 2 && ctx.Err() == nil {
		o.sys.fault("POST %s %v: %d %s", path, body, a.status, a.raw)
	}
	return a
}

// pairs returns headers given as names and values in turn.
func pairs(headers []string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	return h
}
