package config

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDefaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := Load(map[string]string{"RAIL_DATA_DIR": dir})
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:8080", c.BaseURL)
	again, err := Load(map[string]string{"RAIL_DATA_DIR": dir})
	require.NoError(t, err)
	require.Equal(t, c.SecretKey, again.SecretKey, "the generated key is kept")
	require.NotEqual(t, [32]byte{}, c.SecretKey)
}

func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Load(map[string]string{
		"RAIL_DATABASE_URL": "postgres://x/y", "RAIL_ADDR": "nowhere", "RAIL_LOG_FORMAT": "xml", "RAIL_ADRESS": "typo",
		"RAIL_DB_MAX_CONNS": "many", "RAIL_RETENTION_DAYS": "3", "RAIL_TRUSTED_PROXIES": "not-an-address",
	})
	require.Error(t, err)
	for _, want := range []string{"RAIL_SECRET_KEY", "RAIL_ADDR", "RAIL_LOG_FORMAT", "RAIL_ADRESS", "DBMaxConns", "RAIL_RETENTION_DAYS", "not-an-address"} {
		require.Contains(t, err.Error(), want)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		strings.Repeat("ab", 32):                       true,
		"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=": true,
		strings.Repeat("ab", 31):                       false,
		"short":                                        false,
	} {
		_, err := Load(map[string]string{"RAIL_DATABASE_URL": "postgres://x/y", "RAIL_SECRET_KEY": text})
		require.Equal(t, ok, err == nil, "%s: %v", text, err)
	}
}

func TestUsageNamesEverything(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"RAIL_ADDR", "RAIL_WEBHOOK_ALLOW_CIDRS", "RAIL_SMTP_URL", "default .rail"} {
		require.Contains(t, Usage(), want)
	}
}

func TestKeyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	environ := map[string]string{"RAIL_DATA_DIR": dir}
	keys := make([][32]byte, 16)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			c, err := Load(environ)
			require.NoError(t, err)
			keys[i] = c.SecretKey
		})
	}
	wg.Wait()
	for _, k := range keys {
		require.Equal(t, keys[0], k, "processes that start at once share one key")
	}
	require.NoError(t, os.Chmod(filepath.Join(dir, "secret.key"), 0o644))
	_, err := Load(environ)
	require.ErrorContains(t, err, "chmod 600")
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{
		"RAIL_ADDR": {"x:99999", "x", "x:y"}, "RAIL_METRICS_ADDR": {"junk"}, "RAIL_SMTP_URL": {"junk", "dir:"}, "RAIL_DATABASE_URL": {"::::"},
		"RAIL_DATABASE_SESSION_URL": {"postgres://h/x", "::"}, "RAIL_BASE_URL": {"shop.example"}, "RAIL_SHORT_URL": {"ftp://x"},
	} {
		for _, v := range values {
			_, err := Load(map[string]string{"RAIL_DATA_DIR": t.TempDir(), "RAIL_SECRET_KEY": strings.Repeat("ab", 32), name: v})
			require.ErrorContains(t, err, name, v)
		}
	}
	c, err := Load(map[string]string{"RAIL_DATA_DIR": t.TempDir(), "RAIL_ADDR": ":8080"})
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:8080", c.BaseURL)
}
