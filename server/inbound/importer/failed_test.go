package importer_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/importtest"
	"rail/server/inbound/importer"
	"rail/server/work"
)

// refusing is a program that imports from Tolt, which answers as the handler does.
type refusing struct {
	*apitest.Server
	t           *testing.T
	fake        *importtest.Fake
	program, id string
}

func newRefusing(t *testing.T, tolt http.HandlerFunc) *refusing {
	t.Helper()
	x := &refusing{t: t, fake: importtest.Serve(t, tolt, importtest.Faults{})}
	x.Server = apitest.New(t, func(c *config.Config) { c.ImportURLTolt = x.fake.URL })
	x.program = x.Program(M{"currency": "USD"})
	x.begin()
	return x
}

// begin starts an import.
func (x *refusing) begin() {
	x.t.Helper()
	x.id = x.Must(201, x.Post("/v1/imports", M{
		"program_id": x.program, "source": "tolt", "source_account": "prg_1", "api_key": importtest.ToltKey,
	})).String("id")
}

// work works on the import once, and returns it.
func (x *refusing) work() apitest.Answer {
	x.t.Helper()
	_ = apitest.TryJob(x.t, x.Server, "run-imports") // the source's error
	return x.Must(200, x.Get("/v1/imports/"+x.id))
}

// stored returns a column of the import.
func stored[T any](x *refusing, column string) (v T) {
	x.t.Helper()
	err := x.Pool.QueryRow(x.t.Context(), "SELECT "+column+" FROM imports WHERE id = $1", x.id).Scan(&v)
	require.NoError(x.t, err)
	return v
}

// TestFailsAtOnce: an import fails at its first request if the source would refuse that again, without its key. The
// text of the failure can always be stored.
func TestFailsAtOnce(t *testing.T) {
	t.Parallel()
	status, text := 0, ""
	x := newRefusing(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	})
	for code, body := range map[int]string{
		400: `{"error": "no program prg_1 for ` + importtest.ToltKey + `"}`, 404: "\x00\xff", 301: "<html>",
		401: strings.Repeat("x", 199) + "é refused", 403: strings.Repeat("é", 600),
	} {
		status, text = code, body
		before := x.fake.Requests()
		m := x.work()
		require.Equal(t, "failed", m.Body["status"], code)
		require.NotContains(t, m.Body["error"], importtest.ToltKey)
		require.Equal(t, 1, x.fake.Requests()-before)
		require.True(t, stored[bool](x, "api_key IS NULL"))
		x.begin()
	}
}

// TestNeedsAccount: a source at the merchant's own address is not read without it.
func TestNeedsAccount(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	err := d.unit().Within(t.Context(), func(u *work.Unit) error {
		_, err := d.service.Start(t.Context(), u, importer.Order{ProgramID: d.program, Source: "affiliatewp", Key: new("a:b")})
		return err
	})
	require.ErrorContains(t, err, "source_account is required to read from AffiliateWP.")
}

// TestLaterPageRefused: a refusal of a later page is tried again, since much was read before.
func TestLaterPageRefused(t *testing.T) {
	t.Parallel()
	api := importtest.Tolt(importtest.NewWorld(7, 130, apitest.Start, products[2].shape), importtest.Oddities{})
	refuse := true
	x := newRefusing(t, func(w http.ResponseWriter, r *http.Request) {
		if refuse && strings.HasSuffix(r.URL.Path, "/links") && r.URL.Query().Has("starting_after") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		api.ServeHTTP(w, r)
	})
	require.Equal(t, "reading", x.work().Body["status"])
	require.Equal(t, 1, stored[int](x, "attempts"))
	x.Clock.Advance(3 * time.Second)
	refuse = false
	require.Equal(t, "ready", x.work().Body["status"])
}

// TestUnstorable: an import ends even if the reason cannot be stored.
func TestUnstorable(t *testing.T) {
	t.Parallel()
	x := newRefusing(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	_, err := x.Pool.Exec(t.Context(), "ALTER TABLE imports ADD CHECK (error NOT LIKE '%401%')")
	require.NoError(t, err)
	m := x.work()
	require.Equal(t, "failed", m.Body["status"])
	require.Equal(t, "The import failed, and the reason cannot be stored.", m.Body["error"])
	require.True(t, stored[bool](x, "api_key IS NULL"))
}

// TestBusySource: a wait that the source requests is no attempt. After an hour without progress it is one.
func TestBusySource(t *testing.T) {
	t.Parallel()
	x := newRefusing(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	for range 7 {
		require.Contains(t, x.work().Body["error"], "answered 429")
		require.Zero(t, stored[int](x, "attempts"))
		require.Equal(t, 600, stored[int](x, "extract(epoch FROM busy_until - '"+x.Clock.Now().String()+"')::int"))
		before := x.fake.Requests()
		x.Clock.Advance(599 * time.Second)
		x.work()
		require.Equal(t, before, x.fake.Requests(), "the source is not asked before")
		x.Clock.Advance(time.Second)
	}
	for attempt := 1; attempt <= 8; attempt++ {
		require.Equal(t, "reading", x.work().Body["status"])
		require.Equal(t, attempt, stored[int](x, "attempts"))
		before := x.fake.Requests()
		x.Clock.Advance(599 * time.Second)
		x.work()
		require.Equal(t, before, x.fake.Requests(), "the source is not asked before")
		x.Clock.Advance(30 * time.Minute)
	}
	require.Equal(t, "failed", x.work().Body["status"])
}
