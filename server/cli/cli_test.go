package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/auth"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/postgres/embedded"
	"rail/server/secret"
)

// rail is an operator at a shell, with a data directory.
type rail struct {
	*testing.T
	environ map[string]string
	now     *clock.Manual
	stderr  *screen // standard error of the running server
}

func newRail(t *testing.T) rail {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // for PostgreSQL's account, if root runs the tests
	return rail{t, map[string]string{"RAIL_DATA_DIR": filepath.Join(dir, "data"), "RAIL_ADDR": "127.0.0.1:0"},
		clock.NewManual(firstDay), &screen{}}
}

var firstDay = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// preparedDir is the folder that prepared makes.
var preparedDir string

// prepared makes a data directory with the database of a server's first start. Each test copies it, because making one
// takes seconds.
var prepared = sync.OnceValue(func() (err error) {
	if preparedDir, err = pgtest.TempDir(); err != nil {
		return err
	}
	return initialize(context.Background(), map[string]string{"RAIL_DATA_DIR": filepath.Join(preparedDir, "data")})
})

func TestMain(m *testing.M) { pgtest.Main(m, func() error { return os.RemoveAll(preparedDir) }) }

// initialize creates the database as a server's first start does.
func initialize(ctx context.Context, environ map[string]string) error {
	return opening{fresh: true, fill: true}.with(ctx, &Env{Clock: clock.NewManual(firstDay), Environ: environ},
		func(*database) error { return nil })
}

// initialized copies the database of a server's first start. The database does not run.
func (r rail) initialized() rail {
	r.Helper()
	require.NoDirExists(r, r.environ["RAIL_DATA_DIR"])
	require.NoError(r, prepared())
	out, err := exec.CommandContext(r.Context(), "cp", "-a", filepath.Join(preparedDir, "data"),
		r.environ["RAIL_DATA_DIR"]).CombinedOutput()
	require.NoError(r, err, "%s", out)
	return r
}

// running keeps the private database running, as a server does, so that commands join it.
func (r rail) running() rail {
	r.Helper()
	if !embedded.Exists(r.environ["RAIL_DATA_DIR"]) {
		r.initialized()
	}
	s, err := embedded.Start(r.Context(), embedded.Options{Dir: r.environ["RAIL_DATA_DIR"], Durable: true})
	require.NoError(r, err)
	r.Cleanup(func() { require.NoError(r, s.Stop()) })
	return r
}

func (r rail) run(args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = Run(r.Context(), &Env{Out: &o, Err: &e, Clock: r.now, Environ: r.environ}, args)
	return status, o.String(), e.String()
}

func (r rail) must(args ...string) string {
	r.Helper()
	status, out, errs := r.run(args...)
	require.Zero(r, status, "%v: %s%s", args, out, errs)
	return out
}

// object runs a command with --json and returns its result.
func (r rail) object(args ...string) map[string]any {
	r.Helper()
	return resultOf(r, r.must(append(args, "--json")...))
}

// resultOf returns the only output of a command with --json.
func resultOf(t require.TestingT, printed string) map[string]any {
	var v map[string]map[string]any
	require.NoError(t, json.Unmarshal([]byte(printed), &v), printed)
	require.Len(t, v, 1)
	require.NotNil(t, v["data"])
	return v["data"]
}

func names(v map[string]any) []string {
	var out []string
	for n := range v {
		out = append(out, n)
	}
	return out
}

func TestUsage(t *testing.T) {
	r := newRail(t)
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"", 2, "Running the server:\n  config"},
		{"help", 0, "Exit status: 0"},
		{"help key", 0, "Revoke an API key"},
		{"help orgs", 2, "did you mean rail org?"},
		{"help key create", 0, "--rate-limit REQUESTS"},
		{"key create --help", 0, "rail key create --scope read,write"},
		{"serve --help", 0, "RAIL_DATABASE_URL"},
		{"job run --help", 0, "fold-balances"},
		{"org", 2, "create      Add an organization"},
		{"orgs", 2, `no command "orgs"`},
		{"org crate", 2, "did you mean rail org create?"},
		{"version", 0, "contract 2026-08-21"},
		{"--version", 0, "contract 2026-08-21"},
		{"completion bash", 0, "bash completion V2 for rail"},
		{"completion zsh", 0, "#compdef rail"},
		{"completion fish", 0, "fish completion for rail"},
		{"completion", 2, "zsh         Write it for zsh"},
		{"completion fsh", 2, "did you mean rail completion fish?"},
		{"completion bash now", 2, `rail completion bash takes no arguments: "now" is not expected`},
		{"__complete job run fold", 0, "fold-balances"},
		{"__complete processor connect lem", 0, "lemon_squeezy"},
		{"migrate down --steps many", 2, `--steps is "many": it must be a number`},
		{"key create --test=maybe --scope read", 2, `--test is "maybe": it must be on or off`},
		{"key create --scope", 2, "--scope needs a value"},
		{"key revoke", 2, "KEY_ID is missing"},
		{"backup a b", 2, `rail backup takes only FILE: "b" is not expected`},
		{"key", 2, "rail key: a COMMAND is missing"},
		{"audit --help", 0, "--connections N"},
		{"serve --help", 0, "RAIL_BACKUP_PASSPHRASE"},
		{"serve --help", 0, "RAIL_PG_BINDIR"},
		{"serve --help", 0, "RAIL_API_KEY"},
		{"help", 0, `Use "rail COMMAND --help"`},
		{"help", 0, "completion    Write a shell completion script"},
		{"key create --scope admin", 2, `no scope "admin"`},
		{"key create", 2, "--scope is needed"},
		{"key create --scope read --rate-limit 0", 2, "--rate-limit must be"},
		{"org create", 2, "--name must have"},
		{"org create --name x --owner-email x", 2, "--owner-email must be"},
		{"job run nothing", 2, `no job "nothing"`},
		{"job run foldbalances", 2, "did you mean fold-balances?"},
		{"job run clean-up --now yesterday", 2, "--now must be"},
		{"migrate down", 2, "--yes"},
		{"link rate-override lnk_1", 2, "give one of"},
		{"link rate-override lnk_1 --percent 50001", 2, "--percent must be 0 to 50000"},
		{"link rate-override --percent 1 --clear lnk_1", 2, "give one of"},
		{"help health", 0, "--url URL"},
		{"health --url localhost", 2, "--url must be"},
		{"audit --loud", 2, "no flag --loud"},
	} {
		status, out, errs := r.run(strings.Fields(c.args)...)
		require.Equal(t, c.status, status, c.args)
		require.Contains(t, out+errs, c.says, c.args)
	}
	_, err := os.Stat(r.environ["RAIL_DATA_DIR"])
	require.ErrorIs(t, err, os.ErrNotExist, "a mistyped command must touch nothing")
}

func TestOrganizationsAndKeys(t *testing.T) {
	r := newRail(t).running()
	org := r.object("org", "create", "--name", "Ada & Söhne", "--owner-email", "ada@example.com")
	require.ElementsMatch(t, []string{"id", "name", "owner_email", "created_at"}, names(org))
	require.Equal(t, "Ada & Söhne", org["name"])
	key := r.object("key", "create", "--org", fmt.Sprint(org["id"]), "--scope", "write,read", "--scope", "read", "--test",
		"--rate-limit", "7")
	require.ElementsMatch(t, []string{"id", "key", "scopes", "livemode", "rate_limit", "created_at"}, names(key))
	require.Equal(t, []any{"read", "write"}, key["scopes"])
	require.Equal(t, false, key["livemode"])
	require.EqualValues(t, 7, key["rate_limit"])
	token, id := fmt.Sprint(key["key"]), fmt.Sprint(key["id"])
	require.True(t, strings.HasPrefix(token, "rail_test_"))
	listed := r.must("key", "list", "--json")
	require.NotContains(t, listed, token)
	require.Contains(t, listed, `"id":"`+id+`","last4":"`+token[len(token)-4:]+`"`)
	require.Contains(t, listed, `"revoked_at":null`)
	r.found(token, false)
	r.must("key", "revoke", id)
	require.Contains(t, r.must("key", "list"), "revoked")
	r.found(token, true)
	status, _, errs := r.run("key", "revoke", id)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "is already revoked")
	r.must("org", "create", "--name", "Second")
	status, _, errs = r.run("key", "list")
	require.Equal(t, 2, status)
	require.Contains(t, errs, "choose one with --org")
	status, _, errs = r.run("key", "list", "--org", "org_none")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "rail org list")
}

// Without a database, no command but serve creates one, and each names the folder.
func TestNoDatabase(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	for _, args := range needDatabase {
		status, out, errs := r.run(strings.Fields(args)...)
		require.Equal(t, 1, status, args)
		require.Contains(t, errs, "there is no Rail database in "+r.environ["RAIL_DATA_DIR"]+": set RAIL_DATA_DIR", args)
		require.Empty(t, out)
	}
	_, err := os.Stat(r.environ["RAIL_DATA_DIR"])
	require.ErrorIs(t, err, os.ErrNotExist)
}

// needDatabase are commands that require an existing database.
var needDatabase = []string{
	"migrate up", "migrate down --yes", "migrate version", "org create --name x", "org list", "org plan org_1",
	"key create --scope read", "key list", "key revoke key_1",
	"link rate-override lnk_1 --clear", "sample load", "sample clear", "secrets rotate", "secrets adopt --yes",
	"payouts export --batch batch_1 --format wise", "payouts paid pyt_1",
	"payouts fail pyt_1 --reason x", "processor connect generic --program prg_1", "processor list --program prg_1",
	"processor check pco_1", "processor disconnect pco_1",
	"payout-rail connect paypal --program prg_1 --client-id x --client-secret-file x", "payout-rail list --program prg_1",
	"statement-key rotate", "statement-key list",
	"payout-rail check prl_1", "payout-rail limit prl_1 --batch 1 --day 1", "payout-rail disconnect prl_1", "pubkey create --program prg_1 --host x.example",
	"pubkey list --program prg_1", "pubkey revoke pub_1", "stripe backfill --since 2026-01-01",
	"user create --email ada@shop.example --name Ada --role owner", "user list", "user first-link", "user role ada@shop.example --role viewer",
	"user reset ada@shop.example", "user disable ada@shop.example", "user enable ada@shop.example",
	"job run clean-up", "audit", "backup nowhere", "export --program prg_1 --out nowhere", "archive base", "status",
	"upgrade check", "doctor", "import csv --program prg_1 --files .", "imports run imp_1", "imports undo imp_1",
	"imports show imp_1", "imports balances imp_1", "imports problems imp_1",
}

// needNone are the other commands.
var needNone = []string{
	"archive list", "config check", "config init", "config show", "serve", "health", "restore", "restore key", "version", "man", "listen", "trigger", "demo",
	"mcp", "verify", "docs export",
}

func TestCommandsAreListed(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		listed := slices.Contains(needNone, c.name) ||
			slices.ContainsFunc(needDatabase,
				func(args string) bool { return args == c.name || strings.HasPrefix(args, c.name+" ") })
		require.True(t, listed, "%s: list it in needDatabase or needNone", c.name)
	}
}

// Every command that uses the secret key refuses a wrong one, and names both.
func TestWrongKey(t *testing.T) {
	t.Parallel()
	r := newRail(t).running()
	r.environ["RAIL_SECRET_KEY"] = strings.Repeat("07", 32)
	file, err := secret.New(r.keyOfFile())
	require.NoError(t, err)
	keeper, err := secret.New([32]byte(bytes.Repeat([]byte{7}, 32)))
	require.NoError(t, err)
	for _, args := range append(needDatabase, "serve", "serve --first-run") {
		if slices.Contains([]string{"migrate down --yes", "migrate version", "upgrade check", "secrets adopt --yes"}, args) {
			continue // they use no key, or replace it
		}
		status, out, errs := r.run(strings.Fields(args)...)
		require.Equal(t, 1, status, args)
		require.Contains(t, errs,
			"needs the key with the fingerprint "+file.Fingerprint()+", RAIL_SECRET_KEY has "+keeper.Fingerprint(), args)
		require.Empty(t, out, args)
	}
	require.Contains(t, r.must("secrets", "adopt", "--yes"), keeper.Fingerprint())
	require.Contains(t, r.must("org", "list"), "ID")
	delete(r.environ, "RAIL_SECRET_KEY")
	_, _, errs := r.run("audit")
	require.Contains(t, errs, filepath.Join(r.environ["RAIL_DATA_DIR"], "secret.key")+" has "+file.Fingerprint())
	require.Contains(t, errs, "was replaced on 2026-09-01")
}

func (r rail) keyOfFile() [32]byte {
	r.Helper()
	cfg, err := config.Load(map[string]string{"RAIL_DATA_DIR": r.environ["RAIL_DATA_DIR"]})
	require.NoError(r, err)
	return cfg.SecretKey
}

// A database without its key gets no new one, by any command.
func TestLostKey(t *testing.T) {
	t.Parallel()
	r := newRail(t).initialized()
	path := filepath.Join(r.environ["RAIL_DATA_DIR"], "secret.key")
	require.NoError(t, os.Remove(path))
	for _, args := range []string{"serve", "serve --first-run", "org list", "audit", "migrate up"} {
		status, _, errs := r.run(strings.Fields(args)...)
		require.Equal(t, 1, status, args)
		require.Contains(t, errs, "restore "+path, args)
		require.NoFileExists(t, path)
	}
}

// found checks that servers recognize the key.
func (r rail) found(token string, revoked bool) {
	r.Helper()
	err := withDatabase(r.Context(), &Env{Environ: r.environ, Clock: r.now}, func(d *database) error {
		keeper, err := secret.New(d.config.SecretKey)
		require.NoError(r, err)
		k, err := auth.NewStore(d.pool, keeper, r.now).Find(context.Background(), token, always)
		require.Equal(r, revoked, k.Revoked)
		return err
	})
	require.NoError(r, err)
}

func TestPrivateDatabaseOutlivesCommands(t *testing.T) {
	r := newRail(t).initialized()
	r.must("org", "create", "--name", "Kept")
	require.Contains(t, r.must("org", "list"), "Kept")
	require.Regexp(t, `\n\d+ checks over 1 organization, 0 sales, .*: no findings\n$`, r.must("audit"))
	require.Equal(t, []any{}, r.object("audit")["findings"])
	for _, job := range []string{"clean-up", "fold-balances"} {
		r.must("job", "run", job, "--now", "2026-09-01T00:00:00Z")
	}
}

// An audit reports its checks with the number of rows, and its findings.
func TestAudit(t *testing.T) {
	t.Parallel()
	r := newRail(t).running()
	r.must("org", "create", "--name", "Acme")
	r.must("sample", "load")
	v := r.object("audit")
	require.EqualValues(t, 1, v["organizations"])
	first := v["checks"].([]any)[0].(map[string]any)
	require.Equal(t, "M01", first["equation"])
	require.Positive(t, first["rows"].(map[string]any)["commissions"])
	err := withDatabase(t.Context(), &Env{Environ: r.environ, Clock: r.now}, func(d *database) error {
		_, err := d.pool.Exec(t.Context(),
			"UPDATE sales SET refunded_at = now() WHERE id = (SELECT sale_id FROM commissions WHERE kind = 'referral' AND status = 'approved' AND sale_id IS NOT NULL LIMIT 1)")
		return err
	})
	require.NoError(t, err)
	status, out, _ := r.run("audit")
	require.Equal(t, 1, status)
	require.Regexp(t, `(?m)^M16 +1 +\S+ +a refunded sale has no open commission.* \(\d+ sales, \d+ commissions\)$`, out)
	require.Regexp(t, `(?m)^M16 is broken: a refunded sale has no open commission.*\n  M16 sample_com_\w+: approved`, out)
	require.Regexp(t, `: \d+ findings \(at most 100 of each equation are listed\)\n$`, out)
	require.NotEmpty(t, func() (found []any) {
		_, raw, _ := r.run("audit", "--json")
		return resultOf(t, raw)["findings"].([]any)
	}())
}

// An incremental audit starts at the last clean one, and names it.
func TestAuditSinceLast(t *testing.T) {
	t.Parallel()
	r := newRail(t).running()
	r.must("org", "create", "--name", "Acme")
	r.must("sample", "load")
	status, out, errs := r.run("audit", "--since-last", "--connections", "2")
	require.Zero(t, status, errs)
	require.Contains(t, errs, "this database has no clean audit yet: checking everything")
	require.Regexp(t, `checks over 1 organization, .*: no findings\n$`, out)
	status, out, errs = r.run("audit", "--since-last")
	require.Zero(t, status)
	require.NotContains(t, errs, "no clean audit yet")
	require.Regexp(t, `checks over \d+ partners changed since 20\S+ \(the last full audit was at 20\S+\) in .*: no findings\n$`, out)
	since := r.object("audit", "--since-last")["since"].(map[string]any)
	require.Contains(t, since, "partners")
	require.Nil(t, r.object("audit")["since"])
	status, _, errs = r.run("audit", "--connections", "0")
	require.Equal(t, 2, status)
	require.Contains(t, errs, "--connections must be at least 1")
}

// Progress is shown from the third second on, every ten seconds without a terminal.
func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w strings.Builder
		p := newProgress(&w)
		stop := p.start()
		require.NoError(t, clock.Wait(t.Context(), 3*time.Second))
		p.say("checking %d of %d", 2, 30)
		fmt.Fprintln(p, "a message")
		require.NoError(t, clock.Wait(t.Context(), 10*time.Second))
		release := p.hold()
		require.NoError(t, clock.Wait(t.Context(), 10*time.Second))
		release()
		require.NoError(t, clock.Wait(t.Context(), 10*time.Second))
		stop()
		require.NoError(t, clock.Wait(t.Context(), time.Minute))
		require.Equal(t, "2s: at work\na message\n12s: checking 2 of 30\n32s: checking 2 of 30\n", w.String())
	})
}

// On a terminal it is one line, replaced by messages.
func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w strings.Builder
		p := newProgress(&w)
		p.every, p.before, p.after = time.Second, "<", ""
		stop := p.start()
		require.NoError(t, clock.Wait(t.Context(), 3*time.Second+time.Millisecond))
		fmt.Fprint(p, "one\n")
		fmt.Fprint(p, "two\n")
		stop()
		require.Equal(t, "<2s: at work<3s: at work<one\ntwo\n", w.String())
	})
}

// With --json every command prints only one object on standard output; errors are objects, too.
func TestJSONHasOneShape(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	for _, args := range append(slices.Clone(needDatabase), "restore nowhere", "restore key nowhere", "health --url http://127.0.0.1:1",
		"serve --prot 1", "key create", "doctor nowhere", "nothing") {
		status, out, errs := r.run(append(strings.Fields(args), "--json")...)
		require.NotZero(t, status, args)
		require.Empty(t, out, args)
		var v struct{ Error struct{ Message string } }
		require.NoError(t, json.Unmarshal([]byte(errs), &v), "%s: %s", args, errs)
		require.NotEmpty(t, v.Error.Message, args)
	}
	r = r.running()
	org := r.object("org", "create", "--name", "Acme")["id"].(string)
	for _, args := range []string{
		"sample load", "sample clear", "job run clean-up", "key create --scope read", "user create --email a@b.example --name A --role owner",
		"org plan " + org, "migrate up", "migrate version", "secrets rotate", "audit", "version",
		"backup " + filepath.Join(t.TempDir(), "b") + " --without-key", "man " + t.TempDir(),
		"docs export " + t.TempDir(),
	} {
		require.NotEmpty(t, r.object(strings.Fields(args)...), args)
	}
}

// Every command has examples with valid usage.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		require.NotEmpty(t, c.examples, c.name)
		for example := range strings.Lines(c.examples) {
			_, call, found := strings.Cut(" "+strings.TrimSpace(example), " rail ")
			require.True(t, found, example)
			call, _, _ = strings.Cut(call, " >")
			cmd, rest, err := tree(&Env{}).Find(words(call))
			require.NoError(t, err, example)
			require.Equal(t, "rail "+c.name, cmd.CommandPath(), example)
			require.NoError(t, cmd.ParseFlags(rest), example)
			require.NoError(t, cmd.Args(cmd, cmd.Flags().Args()), example)
		}
	}
}

// words splits a line as a shell does, as far as examples need it.
func words(line string) []string {
	return regexp.MustCompile(`"[^"]*"|\S*\$\([^)]*\)\S*|\S+`).FindAllString(line, -1)
}

// The manual has a page for each command, with the same bytes each time.
func TestManual(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	one, two := t.TempDir(), t.TempDir()
	r.must("man", one)
	r.must("man", two)
	for _, c := range commands() {
		name := "rail-" + strings.ReplaceAll(c.name, " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(one, name))
		require.NoError(t, err)
		require.Contains(t, string(page), ".SH EXAMPLE", name)
		again, err := os.ReadFile(filepath.Join(two, name))
		require.NoError(t, err)
		require.Equal(t, string(page), string(again), name)
	}
}

// The export has the same bytes each time, and writes nothing into a folder with files.
func TestDocsExport(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	one, two := filepath.Join(t.TempDir(), "new", "docs"), t.TempDir()
	require.Contains(t, r.must("docs", "export", one), "open "+filepath.Join(one, "index.html"))
	r.must("docs", "export", two)
	names := filesBelow(t, one)
	require.Equal(t, names, filesBelow(t, two))
	require.Contains(t, names, "guides/webhooks.html")
	for _, name := range names {
		page, err := os.ReadFile(filepath.Join(one, name))
		require.NoError(t, err)
		again, err := os.ReadFile(filepath.Join(two, name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(page, again), name)
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("mine"), 0o600))
	_, _, errs := r.run("docs", "export", "")
	require.Contains(t, errs, "the name of the folder is empty")
	for _, taken := range []string{one, filepath.Dir(file)} {
		before := filesBelow(t, taken)
		status, _, errs := r.run("docs", "export", taken)
		require.Equal(t, 1, status)
		require.Contains(t, errs, taken+" is not empty")
		require.Equal(t, before, filesBelow(t, taken))
	}
	status, _, errs := r.run("docs", "export", file)
	require.Equal(t, 1, status)
	require.Contains(t, errs, file+" is not a folder")
}

// filesBelow returns the paths of all files of a folder.
func filesBelow(t *testing.T, folder string) (names []string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	}))
	return names
}

func TestForeignDatabaseIsNotMigratedUnasked(t *testing.T) {
	r := newRail(t)
	s, err := embedded.Start(t.Context(), embedded.Options{Dir: r.environ["RAIL_DATA_DIR"], Durable: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	r.environ["RAIL_DATABASE_URL"] = s.DSN("postgres")
	_, _, missing := r.run("serve")
	require.Contains(t, missing, "RAIL_SECRET_KEY must be set with RAIL_DATABASE_URL")
	r.environ["RAIL_SECRET_KEY"] = strings.Repeat("07", 32)
	status, _, errs := r.run("org", "list")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "no tables: run rail serve or rail migrate up to create them")
	r.must("migrate", "up")
	require.Contains(t, r.must("org", "list"), "ID")
	r.must("migrate", "down", "--yes")
	for _, command := range []string{"serve", "org list"} {
		status, _, errs := r.run(strings.Fields(command)...)
		require.Equal(t, 1, status)
		require.Contains(t, errs, "run rail migrate up")
	}
	require.Contains(t, r.must("migrate", "up"), "schema version")
	require.Contains(t, r.must("org", "list"), "ID")
}

func TestReachable(t *testing.T) {
	cfg := config.Config{BaseURL: "https://rail.example", Addr: ":0"}
	require.Equal(t, "https://rail.example", reachable(cfg, nil))
}
