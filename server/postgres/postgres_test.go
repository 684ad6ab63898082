package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"rail/server/harness/pgtest"
	"rail/server/postgres"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestSession(t *testing.T) {
	dsn := strings.Replace(pgtest.DSN(t), "timezone=America%2FSt_Johns", "lock_timeout=77", 1)
	pool, err := postgres.Open(t.Context(), dsn, postgres.Options{MaxConns: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if got := pool.Config().MaxConns; got != 3 {
		t.Errorf("MaxConns %d", got)
	}
	for name, want := range map[string]string{
		"application_name": "rail", "TimeZone": "UTC", "plan_cache_mode": "auto", "jit": "off",
		"statement_timeout": "5s", "lock_timeout": "77ms", "idle_in_transaction_session_timeout": "10s",
		"client_connection_check_interval": "1s", "enable_seqscan": "off",
	} {
		var got string
		if err := pool.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %q, want %q (%v)", name, got, want, err)
		}
	}
}

func TestTimesAreUTC(t *testing.T) {
	pool := pgtest.New(t)
	var one time.Time
	var many []time.Time
	if err := pool.QueryRow(t.Context(), "SELECT now(), ARRAY[now()]").Scan(&one, &many); err != nil {
		t.Fatal(err)
	}
	if one.Location() != time.UTC || many[0].Location() != time.UTC {
		t.Error(one, many)
	}
}

// The tests' private server is not durable, and a session can change only some of the settings, so
// the error must name the others.
func TestCheck(t *testing.T) {
	dsn := pgtest.DSN(t)
	var fsync string
	if err := pgtest.Pool(t, dsn).QueryRow(t.Context(), "SHOW fsync").Scan(&fsync); err != nil {
		t.Fatal(err)
	}
	pool, err := postgres.Open(t.Context(), dsn+"&synchronous_commit=off", postgres.Options{Check: true})
	if err == nil {
		pool.Close()
	}
	if !errors.Is(err, postgres.ErrNotDurable) || !strings.Contains(err.Error(), "synchronous_commit") {
		t.Error(err)
	}
	pool, err = postgres.Open(t.Context(), dsn+"&synchronous_commit=on", postgres.Options{Check: true})
	if err == nil {
		pool.Close()
	}
	if errors.Is(err, postgres.ErrNotDurable) != (fsync == "off") {
		t.Error(fsync, err)
	}
}

func TestOpenFails(t *testing.T) {
	for _, dsn := range []string{"postgres://%zz", "host=/nowhere user=x dbname=y"} {
		if _, err := postgres.Open(t.Context(), dsn, postgres.Options{}); err == nil {
			t.Error("opened", dsn)
		}
	}
}

// The modes that send JSON as bytes would fail on the first flow, so Open refuses them.
func TestModes(t *testing.T) {
	dsn := pgtest.DSN(t)
	for mode, works := range map[string]bool{
		"cache_statement": true, "cache_describe": true, "describe_exec": true, "exec": false, "simple_protocol": false,
	} {
		pool, err := postgres.Open(t.Context(), dsn+"&default_query_exec_mode="+mode, postgres.Options{})
		if err == nil {
			pool.Close()
		}
		if (err == nil) != works || err != nil && !strings.Contains(err.Error(), "cache_describe") {
			t.Error(mode, err)
		}
	}
}
