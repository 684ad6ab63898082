package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/schema"
	"rail/server/app/config"
	"rail/server/harness/pgtest"
	"rail/server/money/ledger/check"
	"rail/server/postgres/migrate"
)

// schema sets the database's version, and the oldest program that it serves.
func (r rail) schema(version, floor uint) {
	r.Helper()
	_, err := r.opened().Exec(r.Context(), "UPDATE schema_migrations SET version = $1", version)
	require.NoError(r, err)
	_, err = r.opened().Exec(r.Context(), "UPDATE schema_floor SET version = $1", floor)
	require.NoError(r, err)
}

// older migrates a private database back to an earlier version.
func (r rail) older(version uint) {
	r.Helper()
	place, err := locate(r.Context(), r.config(), nil)
	require.NoError(r, err)
	require.NoError(r, migrate.To(r.Context(), place.direct, version))
}

// before returns the version before the last one.
func before(t *testing.T) (v uint) {
	t.Helper()
	latest, err := migrate.Latest()
	require.NoError(t, err)
	for v = latest - 1; ; v-- {
		if files, err := fs.Glob(schema.FS, fmt.Sprintf("%06d_*.up.sql", v)); err == nil && len(files) > 0 {
			return v
		}
	}
}

// TestUpgradeOfPrivate: any command that migrates a private database reports it, and leaves a backup from
// before, with which the upgrade can be reverted.
func TestUpgradeOfPrivate(t *testing.T) {
	r := newRail(t).running()
	r.must("org", "create", "--name", "Acme")
	r.older(before(t))
	status, _, errs := r.run("org", "list")
	require.Zero(t, status, errs)
	require.Regexp(t, `Upgrading the database: schema \d+ → \d+, 1 migration\nA backup from before the upgrade is in (\S+)\nThe database is at schema \d+\n`, errs)
	file := regexp.MustCompile(`is in (\S+)`).FindStringSubmatch(errs)[1]
	require.Regexp(t, `/upgrades/\S+-schema-\d+\.backup$`, file)
	_, _, again := r.run("org", "list")
	require.Empty(t, again, "once")

	to := newRail(t)
	require.NoError(t, os.MkdirAll(to.environ["RAIL_DATA_DIR"], 0o755))
	key, err := os.ReadFile(filepath.Join(r.environ["RAIL_DATA_DIR"], "secret.key"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(to.environ["RAIL_DATA_DIR"], "secret.key"), key, 0o600))
	to.must("restore", file)
	require.Contains(t, to.must("org", "list"), "Acme")

	r.environ["RAIL_UPGRADE_BACKUP"] = "off"
	r.older(before(t))
	_, _, errs = r.run("org", "list")
	require.NotContains(t, errs, "backup")
}

// TestUpgradeBackups: the newest backup of each of the last three schemas stays, so that an upgrade that starts again
// and again keeps the backup of the previous release. A binary too old for the database names a backup that it can read.
func TestUpgradeBackups(t *testing.T) {
	r := newRail(t).running()
	r.must("org", "create", "--name", "Acme")
	dir := filepath.Join(r.environ["RAIL_DATA_DIR"], "upgrades")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for _, name := range []string{"20250101-schema-8", "20250102-schema-9", "20250103-schema-9", "20250104-schema-10"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".backup"), nil, 0o600))
	}
	for range 4 {
		r.older(before(t))
		r.must("org", "list")
		r.now.Advance(time.Hour)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	last := fmt.Sprintf("20260901T150000.000Z-schema-%d.backup", before(t))
	for i, name := range []string{"20250103-schema-9.backup", "20250104-schema-10.backup", last} {
		files[i] = filepath.Base(files[i])
		require.Equal(t, name, files[i])
	}
	require.Len(t, files, 3)

	latest, err := migrate.Latest()
	require.NoError(t, err)
	newer := filepath.Join(dir, fmt.Sprintf("20270101-schema-%d.backup", latest+1))
	require.NoError(t, os.WriteFile(newer, nil, 0o600))
	r.schema(latest+9, latest+3)
	_, _, errs := r.run("org", "list")
	require.Contains(t, errs, "such as "+filepath.Join(dir, last)+", into another folder")
}

// TestUpgradeNeedsItsBackup: without a backup nothing is changed.
func TestUpgradeNeedsItsBackup(t *testing.T) {
	r := newRail(t).running()
	r.older(before(t))
	require.NoError(t, os.WriteFile(filepath.Join(r.environ["RAIL_DATA_DIR"], "upgrades"), nil, 0o600))
	status, _, errs := r.run("org", "list")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "nothing was upgraded")
	require.Contains(t, errs, "RAIL_UPGRADE_BACKUP=off")
	require.EqualValues(t, before(t), r.object("migrate", "version")["version"])
}

// TestNewerDatabase: a binary too old for the database reports that in a line, and a compatible one warns.
func TestNewerDatabase(t *testing.T) {
	r := newRail(t).running()
	latest, err := migrate.Latest()
	require.NoError(t, err)
	r.schema(latest+9, latest+3)
	for _, command := range []string{"serve", "org list", "migrate up"} {
		status, _, errs := r.run(strings.Fields(command)...)
		require.Equal(t, 1, status)
		require.Contains(t, errs, "the database is newer than this program")
		require.Contains(t, errs, "Start the newer release")
		_, failed, _ := strings.Cut(errs, "rail "+command+": ")
		require.Len(t, strings.Split(strings.TrimSpace(failed), "\n"), 1, errs)
	}
	r.schema(latest+9, latest)
	_, end := r.serving()
	defer end()
	require.Contains(t, r.stderr.text(), "warning: the database is at schema")
}

// TestUnreleasedDatabase: a database with the migrations of before the first release is refused in one line.
func TestUnreleasedDatabase(t *testing.T) {
	r := newRail(t).running()
	r.schema(64, 56)
	for _, command := range []string{"serve", "org list", "migrate up"} {
		status, _, errs := r.run(strings.Fields(command)...)
		require.Equal(t, 1, status)
		require.Contains(t, errs, "rail "+command+": the database is from before the first release and cannot be upgraded: "+
			"start with an empty one (it is at migration 64)\n")
	}
}

// TestMigrateUpOfUnproven: migrating succeeds with status 0, whatever else a server needs before its start.
func TestMigrateUpOfUnproven(t *testing.T) {
	t.Parallel()
	r := at(t, pgtest.DurableDSN(t), [32]byte{1})
	pool := pgtest.Pool(t, r.environ["RAIL_DATABASE_URL"])
	require.NoError(t, migrate.To(t.Context(), r.environ["RAIL_DATABASE_URL"], before(t)))
	_, err := pool.Exec(t.Context(), `INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'Acme', now());
		INSERT INTO api_keys (id, org_id, user_id, hash, last4, scopes, livemode, rate_limit, version, created_at)
		VALUES ('key_1', 'org_1', 'usr_1', '\x00', 'abcd', '{read}', true, 25, '2026-08-21', now())`)
	require.NoError(t, err)
	status, out, errs := r.run("migrate", "up")
	require.Zero(t, status, errs)
	require.Contains(t, out, "schema version")
	require.Contains(t, errs, "The tables are ready. Before a server starts: the database has no secret key recorded yet")
	status, _, errs = r.run("serve")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "has no secret key recorded yet")
}

// TestUpgradeCheck reports what an upgrade would do, and does nothing.
func TestUpgradeCheck(t *testing.T) {
	t.Parallel()
	r := at(t, pgtest.DurableDSN(t), [32]byte{1})
	dsn := r.environ["RAIL_DATABASE_URL"]
	require.Contains(t, r.must("upgrade", "check"), "the database is at the version of this binary")
	latest, err := migrate.Latest()
	require.NoError(t, err)
	const baseline = 113 // 114 only changes report sums
	require.NoError(t, migrate.To(t.Context(), dsn, baseline))
	require.Contains(t, r.must("upgrade", "check"), fmt.Sprintf("servers of schema %d can continue", baseline))
	const from = baseline - 1
	require.NoError(t, migrate.To(t.Context(), dsn, from))
	require.Contains(t, r.must("upgrade", "check"), fmt.Sprintf("servers of schema %d are refused", from))
	require.EqualValues(t, from, r.object("upgrade", "check")["schema"])
	require.EqualValues(t, from, r.object("migrate", "version")["version"])
	_, err = pgtest.Pool(t, dsn).Exec(t.Context(), "UPDATE schema_migrations SET version = $1", latest+5)
	require.NoError(t, err)
	status, out, _ := r.run("upgrade", "check")
	require.Equal(t, 1, status)
	require.Contains(t, out, "blocked by: the database is newer than this binary")
}

func TestNouns(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"1 organization": counted(1, "organization"), "0 sales": counted(0, "sale"), "2 ledger entries": counted(2, "ledger entry"),
		"4 webhook secrets": "4 " + rowsOf(check.Rows{Table: "webhook_secret", N: 4}),
		"1 payout":          "1 " + rowsOf(check.Rows{Table: "payouts", N: 1}), "1 ledger entry": "1 " + rowsOf(check.Rows{Table: "ledger_entries", N: 1}),
		"2 clicks": "2 " + rowsOf(check.Rows{Table: "clicks", N: 2}), "2 payout details": "2 " + rowsOf(check.Rows{Table: "payout details", N: 2}),
	} {
		require.Equal(t, want, got)
	}
}

// TestForeignVariable: other programs' variables do not stop a server, and cause a warning.
func TestForeignVariable(t *testing.T) {
	r := newRail(t)
	r.environ["RAIL_URL"] = "https://rail.example"
	_, end := r.serving()
	require.Contains(t, r.stderr.text(), "warning: RAIL_URL is not a variable of this program, and is ignored")
	end()
	require.Contains(t, r.must("config", "check"), "RAIL_URL is not a variable")
	file := filepath.Join(t.TempDir(), "rail.env")
	r.must("config", "init", file)
	status, _, errs := r.run("config", "init", file)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "exists")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "#RAIL_PG_BINDIR=")
}

// TestHiddenVariables: the configuration knows the variables of secrets in flags.
func TestHiddenVariables(t *testing.T) {
	t.Parallel()
	for _, h := range []hidden{hiddenSecret, hiddenKey, hiddenImportKey, hiddenAPIKey} {
		c, err := config.Read(map[string]string{h.variable: "x"})
		require.NoError(t, err)
		require.Empty(t, c.Warnings)
	}
}

// TestFullDisk: a server does not start on a nearly full disk, and the configuration check reports it.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a small disk")
	}
	r := newRail(t)
	small := filepath.Dir(r.environ["RAIL_DATA_DIR"])
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=150m,mode=0755"); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(small, 0)) })
	for _, args := range []string{"serve", "config check"} {
		status, _, errs := r.run(strings.Fields(args)...)
		require.Equal(t, 1, status)
		require.Contains(t, errs, "has 150 MB free, and a server needs 200 MB to start: free some space")
	}
	require.NoDirExists(t, r.environ["RAIL_DATA_DIR"], "nothing was written")
}

// TestBackupIsNoted: the database records a backup after it is made, so the backup itself does not have the
// record.
func TestBackupIsNoted(t *testing.T) {
	t.Parallel()
	r := at(t, pgtest.DurableDSN(t), [32]byte{1})
	backups := func(r rail) (n int) {
		require.NoError(t, pgtest.Pool(t, r.environ["RAIL_DATABASE_URL"]).QueryRow(t.Context(), "SELECT count(*) FROM backup_mark").Scan(&n))
		return n
	}
	file := filepath.Join(t.TempDir(), "b")
	r.must("migrate", "up")
	r.must("backup", file)
	require.Equal(t, 1, backups(r))
	require.NoError(t, os.Remove(file))
	r.must("backup", file)
	to := at(t, pgtest.DurableDSN(t), [32]byte{1})
	to.must("restore", file)
	require.Zero(t, backups(to))
}

// TestStatus: one screen shows the state of Rail, even without a running server.
func TestStatus(t *testing.T) {
	t.Parallel()
	r := at(t, pgtest.DurableDSN(t), [32]byte{1})
	r.must("migrate", "up")
	require.Regexp(t, `Last backup +never\nLast clean audit +never\n$`, r.must("status"))
	r.must("audit")
	r.must("backup", filepath.Join(t.TempDir(), "b"))
	r.now.Advance(3 * time.Hour)
	_, err := pgtest.Pool(t, r.environ["RAIL_DATABASE_URL"]).Exec(t.Context(), `INSERT INTO organizations (id, name, created_at)
		VALUES ('org_1', 'Acme', now()); INSERT INTO mails (id, org_id, purpose, key, recipient, subject, body, status, attempts, next_attempt_at, created_at)
		VALUES ('mail_1', 'org_1', 'x', 'x', 'a@b.example', '', '', 'queued', 1, '2026-09-01T14:00:00Z', '2026-09-01T13:00:00Z')`)
	require.NoError(t, err)
	out := r.must("status")
	require.LessOrEqual(t, len(strings.Split(out, "\n")), 24, "one screen")
	require.Regexp(t, `Mails +1 wait, the oldest has been due for 1h0m0s; the mail server has accepted none for 2h0m0s\n`, out)
	require.Regexp(t, `Last backup +3h0m0s ago\n`, out)
	s := r.object("status")
	require.EqualValues(t, 7200, s["mail_server_failing"])
	require.EqualValues(t, 10_800, s["backup_age"])
	require.Equal(t, s["latest"], s["schema"])
}
