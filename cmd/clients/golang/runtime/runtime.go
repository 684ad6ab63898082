package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Release is the version of this client, which User-Agent names.
const Release = "0.0.0-dev"

const (
	maxAnswer = 64 << 20    // bytes of an answer
	maxWait   = time.Minute // a longer Retry-After ends the call with its error
)

// Option changes calls: all calls of a client, if given to New, or one call.
type Option func(*options)

type options struct {
	http    *http.Client
	timeout time.Duration
	retries int
	key     string
	header  http.Header
}

// WithHTTPClient sends requests by an http.Client of your own. The default follows no redirects, so the API key goes
// to no other server.
func WithHTTPClient(c *http.Client) Option { return func(o *options) { o.http = c } }

// WithTimeout limits the time of one try; the default is 30 seconds. The context limits the whole call.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithRetries sets how often a request is sent again after a lost answer, a 429 or a failure; the default is 3.
func WithRetries(n int) Option { return func(o *options) { o.retries = n } }

// WithIdempotencyKey sets the Idempotency-Key of one write. Without it, each call has a random key, which all of its
// tries share. A key from your own data, such as an order's id, also prevents a second object after a restart.
func WithIdempotencyKey(key string) Option { return func(o *options) { o.key = key } }

// WithHeader sets a header of the request.
func WithHeader(name, value string) Option {
	// A clone, because the options of the client stay as they are.
	return func(o *options) { o.header = o.header.Clone(); o.header.Set(name, value) }
}

// transport sends the requests of a client.
type transport struct {
	base, key, version string
	defaults           options
	position           atomic.Value                               // of the latest write, which later reads must show
	pause              func(context.Context, time.Duration) error // waits between two tries
}

// newTransport returns the transport of a client for a server's address and an API key.
func newTransport(base, key, version string, opts []Option) (*transport, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery+u.Fragment != "" {
		return nil, fmt.Errorf("client: %q is not an address such as https://rail.example.com", base)
	}
	follow := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o := options{&http.Client{CheckRedirect: follow}, 30 * time.Second, 3, "", http.Header{}}
	t := &transport{base: strings.TrimRight(base, "/"), key: key, version: version, defaults: o, pause: pause}
	t.position.Store("")
	for _, opt := range opts {
		opt(&t.defaults)
	}
	if t.defaults.key != "" {
		return nil, errors.New("client: an idempotency key belongs to one call, not to a client")
	}
	return t, nil
}

// request is a call of an operation.
type request struct {
	method, path string
	query        url.Values
	body         any  // encoded as JSON unless nil
	keyed        bool // whether the operation takes an Idempotency-Key
}

// call sends a request, again if necessary, and decodes the answer. It returns nil for an answer without a body.
func call[T any](ctx context.Context, t *transport, r request, opts []Option) (*T, error) {
	answer, err := t.send(ctx, r, opts)
	if err != nil || len(answer) == 0 {
		return nil, err
	}
	out := new(T)
	return out, decode(answer, out)
}

// send returns the body of a successful answer. All tries have the same Idempotency-Key, so the server does the work
// once, even if answers are lost.
func (t *transport) send(ctx context.Context, r request, opts []Option) ([]byte, error) {
	o := t.defaults
	for _, opt := range opts {
		opt(&o)
	}
	if r.keyed && o.key == "" {
		o.key = rand.Text()
	}
	body, err := json.Marshal(r.body)
	if err != nil {
		return nil, err
	}
	body = bytes.TrimPrefix(body, []byte("null")) // no body
	for try := 0; ; try++ {
		answer, err := t.try(ctx, r, body, o)
		delay, again := retry(r, err, try)
		if !again || try >= o.retries || t.pause(ctx, delay) != nil {
			return answer, err
		}
	}
}

// try sends a request once.
func (t *transport) try(ctx context.Context, r request, body []byte, o options) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, t.base+r.path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.URL.RawQuery = r.query.Encode()
	req.Header.Set("Authorization", "Bearer "+t.key)
	req.Header.Set("X-Rail-Version", t.version)
	req.Header.Set("User-Agent", "rail-go/"+Release+" "+runtime.Version())
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.keyed {
		req.Header.Set("Idempotency-Key", o.key)
	}
	if position, _ := t.position.Load().(string); position != "" && r.method == http.MethodGet {
		req.Header.Set("Rail-Position", position)
	}
	maps.Copy(req.Header, o.header)
	res, err := o.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("client: no answer: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // only read
	t.wrote(res.Header.Get("Rail-Position"))
	answer, err := io.ReadAll(http.MaxBytesReader(nil, res.Body, maxAnswer))
	if err == nil && (res.StatusCode < 200 || res.StatusCode > 299) {
		err = refused(res, answer)
	}
	return answer, err
}

// wrote stores the position of a write, unless it knows a later one: answers may arrive in another order.
func (t *transport) wrote(position string) {
	for {
		last, _ := t.position.Load().(string)
		if rank(position) <= rank(last) || t.position.CompareAndSwap(last, position) {
			return
		}
	}
}

// rank returns a position in a form that sorts. A position is the hex numbers of a timeline and of a place in it.
func rank(position string) string {
	timeline, place, _ := strings.Cut(position, "-")
	return fmt.Sprintf("%8s-%16s", timeline, place)
}

// retry reports whether a failed try is repeated, and after which delay.
func retry(r request, err error, tries int) (delay time.Duration, again bool) {
	// Half of the delay is random: clients that failed together do not return together.
	full := 500 * time.Millisecond << min(tries, 4)
	delay = full/2 + mathrand.N(full/2)
	safe := r.keyed || r.method != http.MethodPost
	var e *Error
	if !errors.As(err, &e) {
		return delay, err != nil && safe
	}
	passing := slices.Contains([]int{500, 502, 503, 504}, e.Status) || e.Code == "idempotency_in_progress"
	again = safe && passing || e.Status == http.StatusTooManyRequests
	return max(delay, e.RetryAfter), again && e.RetryAfter <= maxWait
}

// pause waits for a time, or for the end of the context.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Error is a refusal of the server. Find it by errors.As, or compare its code:
//
//	if errors.Is(err, client.ErrorCodePartnerEmailTaken) { … }
type Error struct {
	Status    int       `json:"-"`       // of HTTP
	Type      string    `json:"type"`    // the class of the code
	Code      ErrorCode `json:"code"`    // never changes; empty if the answer is not from Rail, such as a proxy's page
	Message   string    `json:"message"` // for people, and may change
	Param     string    `json:"param"`   // the invalid parameter, as a path
	RequestID string    `json:"request_id"`
	// Existing is the object that prevents a creation, as JSON of the object's type.
	Existing   json.RawMessage `json:"-"`
	RetryAfter time.Duration   `json:"-"` // zero if the server names no delay
}

// ErrorCode is the code of an Error. It is an error itself, for errors.Is.
type ErrorCode string //nolint:errname // the name of the API

// Error returns the code.
func (c ErrorCode) Error() string { return string(c) }

// Is reports whether target is the code of the error.
func (e *Error) Is(target error) bool { return target == e.Code }

// Error returns the status, the code, the message and the id of the request.
func (e *Error) Error() string {
	return fmt.Sprintf("%d %s: %s (request %q)", e.Status, e.Code, e.Message, e.RequestID)
}

// refused returns the error of an answer.
func refused(res *http.Response, answer []byte) error {
	var body struct {
		Error    Error
		Existing json.RawMessage
	}
	if json.Unmarshal(answer, &body) != nil || body.Error.Code == "" { // not from Rail: a proxy's page
		body.Error = Error{Message: fmt.Sprintf("%.200q", answer)}
	}
	e := body.Error
	seconds, _ := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 31)
	e.Status, e.Existing, e.RetryAfter = res.StatusCode, body.Existing, time.Duration(seconds)*time.Second
	return &e
}

// Optional is a member of a request. Its zero value leaves the member out. Set gives it a value; Null sends null,
// which clears a nullable member.
type Optional[T any] []T

// Set returns an optional member with a value.
func Set[T any](value T) Optional[T] { return Optional[T]{value} }

// Null returns an optional member that is null.
func Null[T any]() Optional[T] { return Optional[T]{} }

// MarshalJSON encodes the value, or null.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if len(o) == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(o[0])
}

// decode decodes JSON. Numbers in members of any type stay exact as json.Number.
func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}

// query encodes a struct of parameters by the names of its tags. A list is a=1&a=2 if its name ends in [], or a=1,2.
func query(params any) url.Values {
	raw, _ := json.Marshal(params) //nolint:errchkjson // strings, numbers and flags
	var members map[string]any
	_ = decode(raw, &members)
	q := url.Values{}
	for name, value := range members {
		list, ok := value.([]any)
		if !ok && value != nil {
			list = []any{value}
		}
		for _, one := range list {
			q.Add(name, fmt.Sprint(one))
		}
		if len(list) > 0 && !strings.HasSuffix(name, "[]") {
			q.Set(name, strings.Join(q[name], ","))
		}
	}
	return q
}

// each yields the objects of all pages; an error is the last. A page follows an object or, going back, precedes it.
func each[T any](back bool, id func(T) string, page func(cursor string) ([]T, bool, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor, more := "", true; more; {
			data, again, err := page(cursor)
			if more = again && len(data) > 0; back {
				slices.Reverse(data)
			}
			for _, one := range data {
				if cursor = id(one); !yield(one, nil) {
					return
				}
			}
			if err != nil {
				yield(*new(T), err)
			}
		}
	}
}
