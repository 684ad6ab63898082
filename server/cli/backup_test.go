package cli

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
	"rail/server/outbound/webhook"
	"rail/server/postgres/backup"
	"rail/server/postgres/embedded"
	"rail/server/postgres/migrate"
	"rail/server/secret"
)

const phraseOfTests = "correct horse battery"

// at is an operator of the database at dsn.
func at(t *testing.T, dsn string, key [32]byte) rail {
	t.Helper()
	r := newRail(t)
	r.environ["RAIL_DATABASE_URL"], r.environ["RAIL_SECRET_KEY"] = dsn, hex.EncodeToString(key[:])
	return r.phrase(phraseOfTests)
}

func (r rail) phrase(text string) rail {
	r.environ["RAIL_BACKUP_PASSPHRASE"] = text
	return r
}

// opened returns a pool on the database of a running rail.
func (r rail) opened() *pgxpool.Pool {
	r.Helper()
	place, err := locate(r.Context(), r.config(), nil)
	require.NoError(r, err)
	return pgtest.Pool(r, place.dsn)
}

// TestBackupUnderLoad: a backup made while sales arrive is restored elsewhere, with consistent books, a working
// API key and a readable secret.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	s := apitest.Real(t)
	program := s.Program()
	s.Flow(program)
	customer := s.Customer(program, s.Partner(program))
	endpoint := s.Must(201, s.Post("/v1/webhook_endpoints", apitest.M{
		"program_id": program, "url": "https://hooks.example/",
	}))
	file := filepath.Join(t.TempDir(), "rail.backup")
	before, sold := backedUp(t, s, file, func() { s.Sale(program, customer) })

	to := newRail(t).phrase(phraseOfTests)
	require.Contains(t, to.must("restore", file), "no findings")
	require.Contains(t, to.running().must("audit"), "no findings")
	pool := to.opened()
	cfg := to.config()
	require.Equal(t, s.Config.SecretKey, cfg.SecretKey)
	replica := apitest.On(t, pool.Config().ConnString(), s.Clock, func(c *config.Config) { c.SecretKey = cfg.SecretKey })
	got := replica.Must(200, replica.Do("GET", "/v1/sales?program_id="+program, s.Key, nil)).Int("total_count")
	require.GreaterOrEqual(t, got, before)
	require.LessOrEqual(t, got, sold)
	replica.Must(201, replica.Do("POST", "/v1/sales", s.Key, apitest.SaleBody(program, customer)))
	balances := replica.Must(200, replica.Do("GET", "/v1/balances?program_id="+program, s.Key, nil)).Data()
	due, err := balances[0]["due_minor"].(json.Number).Int64()
	require.NoError(t, err)
	require.Equal(t, (got+1)*1000, due, "every sale, and the new one")
	var sealed []byte
	require.NoError(t,
		pool.QueryRow(t.Context(), "SELECT secret FROM webhook_endpoints WHERE id = $1", endpoint.String("id")).Scan(&sealed))
	keeper, err := secret.New(cfg.SecretKey)
	require.NoError(t, err)
	plain, err := keeper.Open(sealed, webhook.SecretPlace(endpoint.String("id"), false))
	require.NoError(t, err)
	require.Equal(t, endpoint.String("secret"), string(plain))
	require.Contains(t, to.must("audit"), "no findings")
}

// backedUp makes a backup while work runs repeatedly. It returns how often the work ran before and in total.
func backedUp(t *testing.T, s *apitest.Server, file string, work func()) (before, after int64) {
	t.Helper()
	var done atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for ctx.Err() == nil {
				work()
				done.Add(1)
			}
		})
	}
	wait.Until(t, func() bool { return done.Load() > 5 })
	for before = done.Load(); ; before = done.Load() {
		at(t, s.DSN, s.Config.SecretKey).must("backup", file)
		if done.Load() > before { // a write happened in the meantime
			break
		}
		require.NoError(t, os.Remove(file))
	}
	stop()
	all.Wait()
	return before, done.Load()
}

// contents returns the rows of every table in a backup, and the tables' definitions.
func contents(t *testing.T, pool *pgxpool.Pool) map[string]string {
	t.Helper()
	out := map[string]string{}
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), "SET timezone = 'UTC'")
	require.NoError(t, err)
	add := func(sql string) {
		rows, err := conn.Query(t.Context(), sql)
		require.NoError(t, err)
		var name, text string
		_, err = pgx.ForEachRow(rows, []any{&name, &text}, func() error {
			out[name] = text
			return nil
		})
		require.NoError(t, err)
	}
	add(`SELECT 'index ' || indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'`)
	add(`SELECT 'constraint ' || conrelid::regclass || ' ' || conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace`)
	add(`SELECT 'trigger ' || tgrelid::regclass || ' ' || tgname, tgenabled::text FROM pg_trigger WHERE NOT tgisinternal`)
	add(`SELECT 'balance ' || id, concat_ws(' ', program_id, partner_id, currency, pending_minor, due_minor, paid_minor, updated_at) FROM balance_sums`)
	rows, err := conn.Query(t.Context(),
		`SELECT table_name::text, string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) FROM information_schema.columns
		WHERE table_schema = 'public' AND udt_name <> 'xid8' AND table_name IN (SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition AND relpersistence = 'p')
			AND table_name NOT IN ('balances', 'ledger_mark', 'audit_mark', 'backup_mark', 'webhook_leases', 'portal_sessions', 'magic_links', 'key_fingerprints') GROUP BY 1`)
	require.NoError(t, err)
	columns := map[string]string{}
	var table, list string
	_, err = pgx.ForEachRow(rows, []any{&table, &list}, func() error {
		columns[table] = list
		return nil
	})
	require.NoError(t, err)
	for table, list := range columns {
		add(`SELECT 'rows of ` + table +
			`', count(*) || ' ' || coalesce(md5(string_agg(r::text, E'\n' ORDER BY r::text COLLATE "C")), '') FROM (SELECT ` +
			list + ` FROM ` + table + `) r`)
	}
	return out
}

// TestBackupIsWhole: every row and every part of the tables is restored, and the sequences continue.
func TestBackupIsWhole(t *testing.T) {
	t.Parallel()
	r := newRail(t).running()
	org := r.object("org", "create", "--name", "Acme")["id"].(string)
	r.must("sample", "load", "--org", org)
	file, phrase := filepath.Join(t.TempDir(), "rail.backup"), filepath.Join(t.TempDir(), "phrase")
	require.NoError(t, os.WriteFile(phrase, []byte(phraseOfTests+"\n"), 0o600))
	r.must("backup", file, "--passphrase-file", phrase)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	pool := r.opened()
	want := contents(t, pool)
	require.NotContains(t, want["rows of commissions"], "0 ")

	shown := r.phrase(phraseOfTests).must("restore", "key", file)
	key := r.config().SecretKey
	require.Equal(t, "RAIL_SECRET_KEY="+hex.EncodeToString(key[:])+"\n", shown)
	to := at(t, pgtest.DurableDSN(t), key)
	delete(to.environ, "RAIL_BACKUP_PASSPHRASE") // the key is given
	to.must("restore", file)
	restored := pgtest.Pool(t, to.environ["RAIL_DATABASE_URL"])
	got := contents(t, restored)
	for name := range want {
		require.Equal(t, want[name], got[name], name)
	}
	require.Len(t, got, len(want))
	last := func(p *pgxpool.Pool) (n int64) {
		require.NoError(t, p.QueryRow(t.Context(), "SELECT nextval(pg_get_serial_sequence('events', 'seq'))").Scan(&n))
		return n
	}
	require.Equal(t, last(pool), last(restored))
	var unfolded int
	require.NoError(t,
		restored.QueryRow(t.Context(),
			"SELECT count(*) FROM ledger_entries l JOIN balances b USING (partner_id, currency) WHERE l.created_xid >= b.folded_xid").Scan(&unfolded))
	require.Zero(t, unfolded, "the ledger is folded")
	restored.Close()
	status, _, errs := to.run("restore", file)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "the database is not empty")
}

// small returns a backup of a database with one organization.
func small(t *testing.T, flags ...string) (file string, key [32]byte) {
	t.Helper()
	r := newRail(t).initialized().phrase(phraseOfTests)
	r.must("org", "create", "--name", "Acme")
	file = filepath.Join(t.TempDir(), "rail.backup")
	r.must(append([]string{"backup", file}, flags...)...)
	return file, r.config().SecretKey
}

// refuses runs a restore that must fail and leave nothing behind.
func (r rail) refuses(file, why string) {
	r.Helper()
	status, out, errs := r.run("restore", file)
	require.Equal(r, 1, status, "%s%s", out, errs)
	require.Contains(r, errs, why)
	require.False(r, embedded.Exists(r.environ["RAIL_DATA_DIR"]), "a database was made")
	require.NoFileExists(r, filepath.Join(r.environ["RAIL_DATA_DIR"], "secret.key"))
}

// repacked returns a backup with changed entries, still well formed.
func repacked(t *testing.T, file string, change func(name string, body []byte) (string, []byte)) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	unpacked, err := zstd.NewReader(bytes.NewReader(raw))
	require.NoError(t, err)
	defer unpacked.Close()
	var out bytes.Buffer
	packed, err := zstd.NewWriter(&out)
	require.NoError(t, err)
	from, to := tar.NewReader(unpacked), tar.NewWriter(packed)
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		body, err := io.ReadAll(from)
		require.NoError(t, err)
		name, body := change(h.Name, body)
		if name == "" {
			continue
		}
		require.NoError(t, to.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(body))}))
		_, err = to.Write(body)
		require.NoError(t, err)
	}
	require.NoError(t, errors.Join(to.Close(), packed.Close()))
	changed := filepath.Join(t.TempDir(), "changed")
	require.NoError(t, os.WriteFile(changed, out.Bytes(), 0o600))
	return changed
}

// TestDamagedBackup: a truncated or changed file is refused before anything is written.
func TestDamagedBackup(t *testing.T) {
	t.Parallel()
	file, key := small(t)
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	r := newRail(t).phrase(phraseOfTests)
	other := filepath.Join(t.TempDir(), "other")
	for _, n := range []int{0, 1, 100, len(raw) / 4, len(raw) / 2, len(raw) * 3 / 4, len(raw) - 40} {
		require.NoError(t, os.WriteFile(other, raw[:n], 0o600))
		r.refuses(other, "the backup is damaged")
		flipped := bytes.Clone(raw)
		flipped[n] = ^flipped[n]
		require.NoError(t, os.WriteFile(other, flipped, 0o600))
		r.refuses(other, "")
	}
	for name, change := range map[string]func(string, []byte) (string, []byte){
		"a row": func(n string, b []byte) (string, []byte) {
			return n, bytes.ReplaceAll(b, []byte("Acme"), []byte("Evil"))
		},
		"a table's name": func(n string, b []byte) (string, []byte) {
			return strings.Replace(n, "tables/organizations", "tables/programs", 1), b
		},
		"a table less": func(n string, b []byte) (string, []byte) { return dropped(n, "tables/organizations"), b },
		"the end":      func(n string, b []byte) (string, []byte) { return dropped(n, "end.json"), b },
		"the proof":    func(n string, b []byte) (string, []byte) { return dropped(n, "proof"), b },
		"the time": func(n string, b []byte) (string, []byte) {
			return n, bytes.Replace(b, []byte(`"created_at":"2026`), []byte(`"created_at":"2025`), 1)
		},
	} {
		t.Log(name)
		r.refuses(repacked(t, file, change), "the backup is damaged")
	}
	same := repacked(t, file, func(n string, b []byte) (string, []byte) { return n, b })
	keeper := r.keeper(key)
	require.NoError(t, backup.Check(t.Context(), same, keeper, func(string, int64) {}))
	newer := repacked(t, file, func(n string, b []byte) (string, []byte) {
		return n, bytes.Replace(b, []byte(`"format":1`), []byte(`"format":2`), 1)
	})
	r.refuses(newer, "a newer Rail made it")
	r.phrase("correct horse batteries").refuses(file, "this is not the passphrase")
	delete(r.environ, "RAIL_BACKUP_PASSPHRASE")
	r.refuses(file, "no passphrase")
	r.refuses(filepath.Join(t.TempDir(), "nothing"), "no such file")

	// A file that changed after the check leaves the tables empty.
	dsn := pgtest.DSN(t)
	changed := repacked(t, file, func(n string, b []byte) (string, []byte) {
		return n, bytes.ReplaceAll(b, []byte("Acme"), []byte("Evil"))
	})
	_, err = backup.Restore(t.Context(), dsn, changed, keeper, func(string, int64) {})
	require.ErrorIs(t, err, backup.ErrDamaged)
	_, err = backup.Restore(t.Context(), dsn, file, keeper, func(string, int64) {})
	require.NoError(t, err, "and can be filled yet")
}

// dropped returns a name, or "" if it has the prefix.
func dropped(name, prefix string) string {
	if strings.HasPrefix(name, prefix) {
		return ""
	}
	return name
}

// TestBackupWithoutKey: the key can be left out, with a message, and is then required.
func TestBackupWithoutKey(t *testing.T) {
	t.Parallel()
	r := newRail(t).initialized()
	r.must("org", "create", "--name", "Acme")
	file := filepath.Join(t.TempDir(), "rail.backup")
	for phrase, why := range map[string]string{"": "--without-key", "short": "at least 12 characters"} {
		status, _, errs := r.phrase(phrase).run("backup", file)
		require.Equal(t, 1, status)
		require.Contains(t, errs, why)
		require.NoFileExists(t, file)
	}
	status, out, errs := r.run("backup", "--without-key", file)
	require.Zero(t, status, errs)
	require.Contains(t, out, "WITHOUT its secret key")
	require.Contains(t, errs, "Without that key no API key")
	status, _, errs = r.run("backup", "--without-key", file)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "exists already")
	to := newRail(t)
	to.refuses(file, "the backup does not contain its secret key")
	to.environ["RAIL_SECRET_KEY"] = strings.Repeat("ab", 32)
	to.refuses(file, "the secret key does not belong to this database")
	key := r.config().SecretKey
	to.environ["RAIL_SECRET_KEY"] = hex.EncodeToString(key[:])
	to.must("restore", file)
	require.Contains(t, to.must("org", "list"), "Acme")
	status, _, errs = to.run("restore", "key", file)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "does not contain its secret key")
}

// TestBackupOfAnOlderRelease: a database that is not migrated yet is backed up unchanged, and migrated when it
// is restored.
func TestBackupOfAnOlderRelease(t *testing.T) {
	t.Parallel()
	key := [32]byte{1}
	from := at(t, pgtest.DurableDSN(t), key)
	from.must("migrate", "up") // records the key
	require.NoError(t, migrate.To(t.Context(), from.environ["RAIL_DATABASE_URL"], before(t)))
	pool := pgtest.Pool(t, from.environ["RAIL_DATABASE_URL"])
	_, err := pool.Exec(t.Context(),
		"INSERT INTO organizations (id, name, created_at) VALUES ('org_1', E'A\\tc\\\\me\\n', now()); CREATE TABLE foreigner (x int); INSERT INTO foreigner VALUES (1)")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "rail.backup")
	from.must("backup", file)
	var version int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT version FROM schema_migrations").Scan(&version))
	require.EqualValues(t, before(t), version)
	to := at(t, pgtest.DurableDSN(t), key)
	to.must("restore", file)
	require.Equal(t, to.object("migrate", "version")["latest"], to.object("migrate", "version")["version"])
	require.Contains(t, to.must("org", "list", "--json"), `A\tc\\me\n`)
}

// TestRestoreIsAlone: no server may run on the database at the same time.
func TestRestoreIsAlone(t *testing.T) {
	t.Parallel()
	file, key := small(t)
	to := at(t, pgtest.DurableDSN(t), key)
	pool := pgtest.Pool(t, to.environ["RAIL_DATABASE_URL"])
	status, _, errs := to.run("restore", file)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "stop the servers first")
	pool.Close()
	to.must("restore", file)
}
