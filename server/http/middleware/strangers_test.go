package middleware_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/auth"
	"rail/server/harness/apitest"
)

// limit is the option of a server that allows an address without a key n requests.
func limit(n int) apitest.Option { return func(c *config.Config) { c.AddressRateLimit = n } }

// junk is a token in the form of a key, except for its last character.
func junk(live bool) string {
	token := auth.NewToken(live)
	last := byte('0')
	if token[len(token)-1] == last {
		last = '1'
	}
	return token[:len(token)-1] + string(last)
}

func TestAddressLimit(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, limit(25))
	for i := range 25 {
		a := s.Do("GET", "/v1/programs", []string{"", "rail_live_nobody", junk(true), auth.NewToken(true)}[i%4], nil)
		require.Equal(t, 401, a.Status)
		require.Equal(t, fmt.Sprint(24-i), a.Header.Get("X-RateLimit-Remaining"))
	}
	for _, key := range []string{"", "rail_live_nobody", junk(true), auth.NewToken(true)} {
		a := s.Do("GET", "/v1/programs", key, nil)
		refuse(t, 429, "rate_limit_error", "rate_limit_exceeded", a)
		require.Equal(t, "1", a.Header.Get("Retry-After"))
	}
	refuse(t, 429, "rate_limit_error", "rate_limit_exceeded", s.Do("GET", "/v1/openapi.json", "", nil))
	s.Clock.Advance(time.Second)
	s.Must(200, s.Do("GET", "/v1/openapi.json", "", nil))
}

// TestBadTokensCostNoQuery: a token that cannot be a key causes no query. A token that can be a key causes one only
// while its address is below the rate limit.
func TestBadTokensCostNoQuery(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, limit(25))
	ask := func(key string) apitest.Answer { return s.Do("GET", "/v1/programs", key, nil) }
	_, err := s.Pool.Exec(t.Context(), "ALTER TABLE api_keys RENAME TO away")
	require.NoError(t, err)
	require.Equal(t, 500, ask(auth.NewToken(true)).Status, "a key is looked up")
	for range 25 {
		refuse(t, 401, "authentication_error", "api_key_invalid", ask(junk(true)))
	}
	refuse(t, 429, "rate_limit_error", "rate_limit_exceeded", ask(auth.NewToken(true)))
}

// TestKeysOfOneAddress: the first use of any number of valid keys costs their address nothing.
func TestKeysOfOneAddress(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, limit(1))
	for range 5 {
		key := s.NewKey(s.Org, true, "read")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { require.Equal(t, 200, s.Do("GET", "/v1/programs", key, nil).Status) })
		}
		all.Wait()
	}
}

// TestBodiesOfStrangersAreNotRead: a request without a key is answered before a byte of its body
// has arrived.
func TestBodiesOfStrangersAreNotRead(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, limit(4))
	slow, _ := s.NewKeyWith(s.Org, true, 1, "write")
	revoked, id := s.NewKeyWith(s.Org, true, 1000, "write")
	_, err := s.Pool.Exec(t.Context(), "UPDATE api_keys SET revoked_at = now() WHERE id = $1", id)
	require.NoError(t, err)
	s.Must(200, s.Do("POST", "/v1/inbound_signing", slow, M{"required": false}))
	for _, c := range []struct {
		key    string
		status int
	}{
		{"", 401}, {junk(true), 401}, {auth.NewToken(true), 401}, {revoked, 401}, {"", 429}, {auth.NewToken(true), 429},
		{slow, 429},
	} {
		require.Equal(t, c.status, withoutBody(t, s, "POST", "/v1/sales", c.key), c.key)
	}
}

// withoutBody sends the head of a request with a large body, and returns the status of the answer.
func withoutBody(t *testing.T, s *apitest.Server, method, path, key string) int {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close() // no response is pending
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = fmt.Fprintf(conn,
		"%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 1048575\r\n\r\n", method, path, key)
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err, "the server waits for the body")
	defer res.Body.Close() // already read
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// TestLivemodeOnEveryRefusal: every refusal of a test key is marked, and none of a live key.
func TestLivemodeOnEveryRefusal(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	for live, header := range map[bool]string{false: "false", true: ""} {
		key, readOnly := s.NewKey(s.Org, live, "read", "write"), s.NewKey(s.Org, live, "read")
		slow, _ := s.NewKeyWith(s.Org, live, 1, "read")
		signed := s.NewKey(s.Org, live, "write")
		revoked, id := s.NewKeyWith(s.Org, live, 1000, "read")
		_, err := s.Pool.Exec(t.Context(), "UPDATE api_keys SET revoked_at = now() WHERE id = $1", id)
		require.NoError(t, err)
		s.Must(200, s.Do("POST", "/v1/inbound_signing", signed, M{"required": true}))
		s.Must(200, s.Do("GET", "/v1/programs", slow, nil))
		tag := fmt.Sprintf(`{"program_id":%q,"name":"t%v"}`, program, live)
		s.Must(201, s.Do("POST", "/v1/tags", key, tag))
		for _, c := range []struct {
			status            int
			method, path, key string
			body              any
			header            []string
		}{
			{404, "GET", "/v1/nothing", key, nil, nil},
			{404, "GET", "/v1", key, nil, nil},
			{405, "PUT", "/v1/programs", key, nil, nil},
			{405, "POST", "/llms.txt", key, nil, nil},
			{404, "GET", "/v1/programs/prg_none", key, nil, nil},
			{400, "GET", "/v1/programs?x=1", key, nil, nil},
			{400, "GET", "/v1/programs", key, nil, []string{"X-Rail-Version", "2020-01-01"}},
			{400, "POST", "/v1/tags", key, `{`, nil},
			{400, "POST", "/v1/tags", key, tag, []string{"Idempotency-Key", ""}},
			{401, "GET", "/v1/programs", revoked, nil, nil},
			{401, "GET", "/v1/programs", signed, nil, nil},
			{401, "GET", "/v1/programs", key, nil, []string{"Rail-Signature", "x"}},
			{403, "POST", "/v1/tags", readOnly, tag, nil},
			{409, "POST", "/v1/tags", key, tag, nil},
			{413, "POST", "/v1/tags", key, `{"name":"` + strings.Repeat("x", 1<<20) + `"}`, nil},
			{415, "POST", "/v1/tags", key, tag, []string{"Content-Type", "text/plain"}},
			{429, "GET", "/v1/programs", slow, nil, nil},
			{200, "GET", "/v1/openapi.json", key, nil, nil},
		} {
			a := s.Must(c.status, s.Do(c.method, c.path, c.key, c.body, c.header...))
			require.Equal(t, header, a.Header.Get("X-Rail-Livemode"), "%d %s %s", c.status, c.method, c.path)
		}
	}
}
