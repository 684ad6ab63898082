package cli

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/wait"
)

// screen is an output that can be read while it is written.
type screen struct {
	sync.Mutex
	bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	return s.Buffer.Write(p)
}

// whole returns the complete lines written so far.
func (s *screen) whole() string {
	text := s.text()
	return text[:strings.LastIndex(text, "\n")+1]
}

func (s *screen) text() string {
	s.Lock()
	defer s.Unlock()
	return s.String()
}

// serving runs `rail serve --first-run` and returns its output once it answers, and a function that ends it.
func (r rail) serving() (printed string, end func()) {
	r.Helper()
	ctx, stop := context.WithCancel(r.Context())
	var out screen
	errs := r.stderr
	status := make(chan int, 1)
	go func() {
		status <- Run(ctx, &Env{Out: &out, Err: errs, Clock: r.now, Environ: r.environ, Terminal: true}, []string{"serve", "--first-run"})
	}()
	ready := func() bool {
		m := regexp.MustCompile(`listens on (\S+)`).FindStringSubmatch(out.text())
		if m == nil {
			return false
		}
		res, err := http.Get(m[1] + "/readyz")
		if err != nil {
			return false
		}
		defer res.Body.Close() // only read
		return res.StatusCode == http.StatusOK
	}
	end = sync.OnceFunc(func() {
		stop()
		if got := <-status; got != 0 {
			r.Errorf("status %d: %s", got, errs.text())
		}
	})
	r.Cleanup(end) // also if the test fails earlier
	wait.Until(r, ready, "the server does not answer")
	return out.text(), end
}

func apiKey(printed string) string {
	return regexp.MustCompile(`rail_live_\w+`).FindString(printed)
}

func TestFirstRun(t *testing.T) {
	r := newRail(t)
	printed, end := r.serving()
	path := filepath.Join(r.environ["RAIL_DATA_DIR"], "demo.key")
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, st.Mode().Perm())
	require.NotEmpty(t, apiKey(printed))
	first := r.starts(printed)
	require.Contains(t, printed, "Mails: files in "+filepath.Join(r.environ["RAIL_DATA_DIR"], "mail"))
	r.opens(printed)
	r.pasted(printed)
	require.Contains(t, r.must("org", "list"), "Demo", "commands work while the server runs")
	end()
	again, end := r.serving()
	require.NotEqual(t, first, r.starts(again), "each start makes another")
	require.Equal(t, apiKey(printed), apiKey(again))
	require.Equal(t, 1, strings.Count(r.must("org", "list"), "org_"))
	end()
	r.must("user", "create", "--email", "ada@shop.example", "--name", "Ada", "--role", "owner")
	require.NoError(t, os.Remove(path)) // a crash between the sample and the key
	third, end := r.serving()
	require.NotEqual(t, apiKey(printed), apiKey(third))
	require.NotContains(t, third, "/console/start/", "there is a user")
	require.Equal(t, 1, strings.Count(r.must("org", "list"), "org_"))
	end()
}

// starts returns the printed address of the console's first page, which creates an owner of the demo.
func (r rail) starts(printed string) string {
	r.Helper()
	found := regexp.MustCompile(`^Console: (http\S+/console/start/(\S+)) `).FindStringSubmatch(printed)
	require.NotNil(r, found, printed)
	var name string
	require.NoError(r, withDatabase(r.Context(), &Env{Clock: r.now, Environ: r.environ}, func(d *database) error {
		return d.pool.QueryRow(r.Context(), `SELECT o.name FROM user_links l JOIN organizations o ON o.id = l.org_id
			WHERE l.token_hash = sha256($1)`, []byte(found[2])).Scan(&name)
	}))
	require.Equal(r, "Demo", name)
	return found[1]
}

// opens follows the printed sign-in link to the portal, which shows earnings.
func (r rail) opens(printed string) {
	r.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(r, err)
	res, err := (&http.Client{Jar: jar}).Get(regexp.MustCompile(`http\S+/portal/sso/\S+`).FindString(printed))
	require.NoError(r, err)
	defer res.Body.Close() // only read
	page, err := io.ReadAll(res.Body)
	require.NoError(r, err)
	require.Equal(r, http.StatusOK, res.StatusCode)
	require.Equal(r, "/portal", res.Request.URL.Path)
	require.Regexp(r, `[1-9]\d*\.\d\d USD`, string(page))
}

// pasted runs the printed curl lines in a shell.
func (r rail) pasted(printed string) {
	r.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		r.Skip("no curl")
	}
	lines := regexp.MustCompile(`(?m)^  curl .*$`).FindAllString(printed, -1)
	require.Len(r, lines, 4)
	for _, line := range lines {
		cmd := exec.CommandContext(r.Context(), "sh", "-c", line+" --fail --silent --show-error")
		out, err := cmd.CombinedOutput()
		require.NoError(r, err, "%s\n%s", line, out)
	}
}

// A first run from before fingerprints existed proves its secret key by its API key.
func TestFirstRunOfBefore(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	_, end := r.serving()
	end()
	err := withDatabase(t.Context(), &Env{Environ: r.environ, Clock: r.now}, func(d *database) error {
		_, err := d.pool.Exec(t.Context(), "DELETE FROM key_fingerprints")
		return err
	})
	require.NoError(t, err)
	r.environ["RAIL_SECRET_KEY"] = strings.Repeat("07", 32)
	status, _, _ := r.run("org", "list")
	require.Equal(t, 1, status)
	delete(r.environ, "RAIL_SECRET_KEY")
	require.Contains(t, r.must("org", "list"), "Demo")
}

func TestFirstRunLeavesOthersAlone(t *testing.T) {
	r := newRail(t).initialized()
	r.must("org", "create", "--name", "Ours")
	printed, end := r.serving()
	require.Empty(t, apiKey(printed))
	require.NotContains(t, r.must("org", "list"), "Demo")
	end()
}

func TestKeepReplacesAsAWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.key")
	require.NoError(t, keep(path, "one"))
	require.NoError(t, keep(path, "two"))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close() // only read
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, "two\n", string(text))
}

// A second server reports which server uses the address, before it creates anything.
func TestAddressInUse(t *testing.T) {
	t.Parallel()
	running := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(running.Close)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = other.Close() })
	go func() {
		for {
			c, err := other.Accept()
			if err != nil {
				return
			}
			_ = c.Close() // speaks no HTTP
		}
	}()
	r := newRail(t)
	for address, says := range map[string]string{
		running.Listener.Addr().String(): "Rail is already running: open " + running.URL + ", or set RAIL_ADDR",
		other.Addr().String():            other.Addr().String() + " is in use",
	} {
		r.environ["RAIL_ADDR"] = address
		status, _, errs := r.run("serve", "--first-run")
		require.Equal(t, 1, status)
		require.Contains(t, errs, says)
	}
	require.NoDirExists(t, r.environ["RAIL_DATA_DIR"])
}

// TestReadsEnglish checks which partners the printed link of a first run may sign in.
func TestReadsEnglish(t *testing.T) {
	t.Parallel()
	require.Equal(t, []int{1, 1, 1, 0, 0}, []int{
		readsEnglish(db.Partner{}), readsEnglish(db.Partner{LanguageCode: new("en")}),
		readsEnglish(db.Partner{LanguageCode: new("en-GB")}), readsEnglish(db.Partner{LanguageCode: new("ja")}),
		readsEnglish(db.Partner{LanguageCode: new("de")}),
	})
}
