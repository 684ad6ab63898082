package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// answer is a prepared answer of a fake server. Without a status, the server cuts the connection.
type answer struct {
	status     int
	retryAfter string
	position   string
	body       string
}

// fake is a server with prepared answers. It repeats the last.
type fake struct {
	*httptest.Server
	answers []answer
	got     []*http.Request
	bodies  []string
	pauses  []time.Duration
}

func newFake(t *testing.T, answers ...answer) *fake {
	t.Helper()
	f := &fake{answers: answers}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a := f.answers[min(len(f.got), len(f.answers)-1)]
		f.got, f.bodies = append(f.got, r), append(f.bodies, string(body))
		if a.status == 0 {
			panic(http.ErrAbortHandler)
		}
		if a.retryAfter != "" {
			w.Header().Set("Retry-After", a.retryAfter)
		}
		if a.position != "" {
			w.Header().Set("Rail-Position", a.position)
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}))
	t.Cleanup(f.Close)
	return f
}

// client returns a transport to the server that pauses for no time.
func (f *fake) client(t *testing.T, opts ...Option) *transport {
	t.Helper()
	c, err := newTransport(f.URL+"/", "rail_live_1", "2026-08-21", opts)
	require.NoError(t, err)
	c.pause = func(ctx context.Context, d time.Duration) error {
		f.pauses = append(f.pauses, d)
		return ctx.Err()
	}
	return c
}

type thing struct {
	ID   string `json:"id"`
	Free any    `json:"free"`
}

var (
	created   = answer{status: 201, body: `{"id":"thing_1","free":{"n":9007199254740993},"unknown":1}`}
	lost      = answer{}
	write     = request{method: "POST", path: "/v1/things", body: thing{ID: "x"}, keyed: true}
	envelope  = `{"error":{"type":"conflict_error","code":"%s","message":"No.","param":"id","request_id":"req_1"},"existing":{"id":"thing_0"}}`
	inFlight  = answer{status: 409, retryAfter: "1", body: fmt.Sprintf(envelope, "idempotency_in_progress")}
	taken     = answer{status: 409, body: fmt.Sprintf(envelope, "thing_taken")}
	notReally = answer{status: 502, body: "<html>Bad gateway</html>"}
)

func TestTriesHaveOneKey(t *testing.T) {
	t.Parallel()
	f := newFake(t, lost, inFlight, answer{status: 429, retryAfter: "7"}, created)
	out, err := call[thing](t.Context(), f.client(t), write, nil)
	require.NoError(t, err)
	require.Equal(t, thing{"thing_1", map[string]any{"n": json.Number("9007199254740993")}}, *out)
	require.Len(t, f.got, 4)
	for i, r := range f.got {
		require.Equal(t, f.got[0].Header.Get("Idempotency-Key"), r.Header.Get("Idempotency-Key"))
		require.JSONEq(t, `{"id":"x","free":null}`, f.bodies[i])
	}
	require.Len(t, f.got[0].Header.Get("Idempotency-Key"), 26)
	require.Less(t, f.pauses[0], 500*time.Millisecond)
	require.GreaterOrEqual(t, f.pauses[0], 250*time.Millisecond)
	require.GreaterOrEqual(t, f.pauses[1], time.Second)
	require.Equal(t, 7*time.Second, f.pauses[2])

	_, err = call[thing](t.Context(), f.client(t), write, nil)
	require.NoError(t, err)
	require.NotEqual(t, f.got[0].Header.Get("Idempotency-Key"), f.got[4].Header.Get("Idempotency-Key"))
}

func TestTries(t *testing.T) {
	t.Parallel()
	unkeyed := request{method: "POST", path: "/t/c", body: thing{}}
	read, remove := request{method: "GET", path: "/v1/things"}, request{method: "DELETE", path: "/v1/things/1"}
	for name, c := range map[string]struct {
		request request
		answer  answer
		options []Option
		tries   int
	}{
		"a read without an answer":     {read, lost, nil, 4},
		"a deletion without an answer": {remove, lost, nil, 4},
		"a 500":                        {read, answer{status: 500}, nil, 4},
		"a write in progress":          {write, inFlight, nil, 4},
		"another number of retries":    {write, lost, []Option{WithRetries(1)}, 2},
		"no retries":                   {write, lost, []Option{WithRetries(0)}, 1},
		"a refusal":                    {write, taken, nil, 1},
		"a 501":                        {read, answer{status: 501}, nil, 1},
		"a redirect":                   {read, answer{status: 302}, nil, 1},
		"a long Retry-After":           {read, answer{status: 503, retryAfter: "61"}, nil, 1},
		"an invalid Retry-After":       {read, answer{status: 503, retryAfter: "soon"}, nil, 4},
		"a write without a key":        {unkeyed, lost, nil, 1},
		"its 500":                      {unkeyed, answer{status: 500}, nil, 1},
		"its 429":                      {unkeyed, answer{status: 429}, nil, 4},
	} {
		f := newFake(t, c.answer)
		_, err := call[thing](t.Context(), f.client(t), c.request, c.options)
		require.Error(t, err, name)
		require.Len(t, f.got, c.tries, name)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	_, err := call[thing](t.Context(), newFake(t, taken).client(t), write, nil)
	require.ErrorIs(t, err, ErrorCode("thing_taken"))
	require.NotErrorIs(t, err, ErrorCode("thing_other"))
	var e *Error
	require.ErrorAs(t, fmt.Errorf("wrapped: %w", err), &e)
	require.Equal(t, Error{
		Status: 409, Type: "conflict_error", Code: "thing_taken", Message: "No.", Param: "id", RequestID: "req_1",
		Existing: json.RawMessage(`{"id":"thing_0"}`),
	}, *e)
	require.EqualError(t, err, `409 thing_taken: No. (request "req_1")`)

	_, err = call[thing](t.Context(), newFake(t, notReally).client(t), write, []Option{WithRetries(0)})
	require.ErrorAs(t, err, &e)
	require.Equal(t, Error{Status: 502, Message: `"<html>Bad gateway</html>"`}, *e)

	_, err = call[thing](t.Context(), newFake(t, answer{status: 200, body: "{"}).client(t), write, nil)
	require.Error(t, err)
	_, err = call[thing](t.Context(), newFake(t, created).client(t), request{method: "POST", body: func() {}}, nil)
	require.Error(t, err)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	read := request{method: "GET", path: "/v1/things"}
	none, err := call[thing](t.Context(), newFake(t, answer{status: 204}).client(t), read, nil)
	require.NoError(t, err)
	require.Nil(t, none)
}

// TestPosition checks that reads ask for the effects of the last write of the same client.
func TestPosition(t *testing.T) {
	t.Parallel()
	f := newFake(t, answer{status: 200, position: "1-a", body: "{}"}, created, answer{status: 200, position: "1-b", body: "{}"}, created)
	c := f.client(t)
	read := request{method: "GET", path: "/v1/things"}
	for _, r := range []request{write, read, write, write, read} {
		_, err := call[thing](t.Context(), c, r, nil)
		require.NoError(t, err)
	}
	var got []string
	for _, r := range f.got {
		got = append(got, r.Header.Get("Rail-Position"))
	}
	require.Equal(t, []string{"", "1-a", "", "", "1-b"}, got)
}

// TestLatestPosition checks that an answer that arrives late does not replace the position of a later write.
func TestLatestPosition(t *testing.T) {
	t.Parallel()
	var answers []answer
	for _, position := range []string{"1-ff", "1-fe", "1-100", "2-1", "1-200", "10-1", "9-2"} {
		answers = append(answers, answer{status: 200, position: position, body: "{}"})
	}
	f := newFake(t, answers...)
	c := f.client(t)
	var got []string
	for range answers {
		_, err := call[thing](t.Context(), c, write, nil)
		require.NoError(t, err)
		got = append(got, c.position.Load().(string))
	}
	require.Equal(t, []string{"1-ff", "1-ff", "1-100", "2-1", "2-1", "10-1", "10-1"}, got)
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	f := newFake(t, created)
	c := f.client(t, WithHeader("Rail-Position", "1-a"))
	_, err := call[thing](t.Context(), c, write, []Option{WithIdempotencyKey("order 1"), WithHeader("X-Trace", "t")})
	require.NoError(t, err)
	_, err = call[thing](t.Context(), c, request{method: "GET", path: "/v1/things/a%2Fb", query: query(struct {
		Expand []string `json:"expand[],omitzero"`
	}{[]string{"a", "b"}})}, nil)
	require.NoError(t, err)
	h := f.got[0].Header
	require.Equal(t, "Bearer rail_live_1", h.Get("Authorization"))
	require.Equal(t, "2026-08-21", h.Get("X-Rail-Version"))
	require.Equal(t, "order 1", h.Get("Idempotency-Key"))
	require.Equal(t, "application/json", h.Get("Content-Type"))
	require.Equal(t, "1-a t", h.Get("Rail-Position")+" "+h.Get("X-Trace"))
	require.Regexp(t, `^rail-go/\S+ go1\.`, h.Get("User-Agent"))
	h = f.got[1].Header
	require.Empty(t, h.Get("Idempotency-Key")+h.Get("Content-Type")+h.Get("X-Trace"))
	require.Equal(t, "/v1/things/a%2Fb?expand%5B%5D=a&expand%5B%5D=b", f.got[1].URL.String())
	require.Empty(t, f.bodies[1])
}

// TestRedirect checks that the API key goes to no other server.
func TestRedirect(t *testing.T) {
	t.Parallel()
	other := newFake(t, created)
	web := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(web.Close)
	c, err := newTransport(web.URL, "key", "v", nil)
	require.NoError(t, err)
	_, err = call[thing](t.Context(), c, write, nil)
	require.ErrorContains(t, err, "307")
	require.Empty(t, other.got)
}

func TestTimes(t *testing.T) {
	t.Parallel()
	stuck := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // then the end of the connection is noticed
		<-r.Context().Done()
	}))
	t.Cleanup(stuck.Close)
	c, err := newTransport(stuck.URL, "key", "v", []Option{WithHTTPClient(stuck.Client()), WithRetries(0)})
	require.NoError(t, err)
	_, err = call[thing](t.Context(), c, write, []Option{WithTimeout(time.Millisecond)})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, pause(ended, time.Hour), context.Canceled)
	require.NoError(t, pause(t.Context(), 0))
	f := newFake(t, lost)
	_, err = call[thing](ended, f.client(t), write, nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestNewTransport(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "rail.example.com", "ftp://rail.example.com", "https://", "https://x/?a=1", "https://x/#a", ":"} {
		_, err := newTransport(base, "key", "v", nil)
		require.ErrorContains(t, err, "is not an address", base)
	}
	_, err := newTransport("https://rail.example.com", "key", "v", []Option{WithIdempotencyKey("k")})
	require.ErrorContains(t, err, "belongs to one call")
}

func TestOptional(t *testing.T) {
	t.Parallel()
	out, err := json.Marshal(struct {
		A Optional[string]   `json:"a,omitzero"`
		B Optional[string]   `json:"b,omitzero"`
		C Optional[int64]    `json:"c,omitzero"`
		D Optional[[]string] `json:"d,omitzero"`
		E []string           `json:"e,omitzero"`
		F []string           `json:"f,omitzero"`
	}{B: Null[string](), C: Set[int64](0), D: Set([]string{}), F: []string{}})
	require.NoError(t, err)
	require.JSONEq(t, `{"b":null,"c":0,"d":[],"f":[]}`, string(out))
}

func TestQuery(t *testing.T) {
	t.Parallel()
	type params struct {
		Text  string         `json:"text,omitzero"`
		Count int64          `json:"count,omitzero"`
		Flag  Optional[bool] `json:"flag,omitzero"`
		Many  []string       `json:"many,omitzero"`
		Each  []string       `json:"each[],omitzero"`
	}
	require.Empty(t, query(params{}))
	require.Empty(t, query((*params)(nil)))
	require.Equal(t, "count=3&each%5B%5D=a&each%5B%5D=b&flag=false&many=a%2Cb&text=a+%26+%3C",
		query(&params{"a & <", 3, Set(false), []string{"a", "b"}, []string{"a", "b"}}).Encode())
}

func TestEach(t *testing.T) {
	t.Parallel()
	all := []string{"e", "d", "c", "b", "a"} // newest first
	page := func(back bool) func(string) ([]string, bool, error) {
		return func(cursor string) ([]string, bool, error) {
			at := slices.Index(all, cursor)
			if back {
				return slices.Clone(all[max(0, at-2):at]), at > 2, nil
			}
			return slices.Clone(all[at+1 : min(len(all), at+3)]), at+3 < len(all), nil
		}
	}
	same := func(one string) string { return one }
	var got []string
	for one, err := range each(false, same, page(false)) {
		require.NoError(t, err)
		got = append(got, one)
	}
	require.Equal(t, all, got)
	got = nil
	first := true
	for one, err := range each(true, same, func(cursor string) ([]string, bool, error) {
		if first {
			first, cursor = false, "b"
		}
		return page(true)(cursor)
	}) {
		require.NoError(t, err)
		got = append(got, one)
	}
	require.Equal(t, []string{"c", "d", "e"}, got)
	for one := range each(false, same, page(false)) {
		require.Equal(t, "e", one)
		break
	}
	calls := 0
	for _, err := range each(false, same, func(string) ([]string, bool, error) {
		calls++
		return nil, true, errors.New("away")
	}) {
		require.EqualError(t, err, "away")
	}
	for range each(false, same, func(string) ([]string, bool, error) { // an empty page ends the list
		calls++
		return nil, true, nil
	}) {
		t.Fail()
	}
	require.Equal(t, 2, calls)
}
