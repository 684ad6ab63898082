package cli

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
)

// checked runs `rail config check` and returns its status and output.
func (r rail) checked(flags ...string) (int, string) {
	status, out, errs := r.run(append([]string{"config", "check"}, flags...)...)
	return status, out + errs
}

// TestConfigCheck: every obstacle to a start is reported, and nothing is created.
func TestConfigCheck(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	status, says := r.checked("--connect")
	require.Zero(t, status, says)
	require.Contains(t, says, "rail serve makes it, with its secret key")
	_, err := os.Stat(r.environ["RAIL_DATA_DIR"])
	require.ErrorIs(t, err, os.ErrNotExist, "it makes nothing")

	r.running()
	key, err := os.ReadFile(filepath.Join(r.environ["RAIL_DATA_DIR"], "secret.key"))
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	r.environ["RAIL_CONSOLE_ADDR"] = l.Addr().String()
	status, says = r.checked("--connect")
	require.Zero(t, status, says)
	require.Contains(t, says, "is in use, as it is while Rail runs")
	for name, c := range map[string]struct{ value, says string }{
		"RAIL_SECRET_KEY":      {strings.Repeat("ab", 32), "the database needs the key with the fingerprint"},
		"RAIL_SECRET_KEY_FILE": {"/none", "no such file"},
		"RAIL_ADDR":            {"192.0.2.1:80", "RAIL_ADDR: cannot listen on 192.0.2.1:80"},
		"RAIL_RETENTION_DAYS":  {"1", "it must be a whole number from 30"},
	} {
		was := r.environ[name]
		r.environ[name] = c.value
		status, says = r.checked("--connect")
		require.Equal(t, 1, status, name)
		require.Contains(t, says, c.says)
		require.NotContains(t, says, strings.TrimSpace(string(key)))
		r.environ[name] = was
	}
}

// TestConfigCheckOlder: a private database of an older release stays unchanged.
func TestConfigCheckOlder(t *testing.T) {
	t.Parallel()
	r := newRail(t).running()
	before := r.must("migrate", "down", "--yes")
	status, says := r.checked("--connect")
	require.Zero(t, status, says)
	require.Contains(t, says, "of an older release: rail serve brings it to this one")
	require.Equal(t, before, r.must("migrate", "version"))
}

// TestConfigShow shows effective values with their sources, and no secret.
func TestConfigShow(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	require.NoError(t, os.MkdirAll(r.environ["RAIL_DATA_DIR"], 0o755))
	file := filepath.Join(r.environ["RAIL_DATA_DIR"], "smtp")
	require.NoError(t, os.WriteFile(file, []byte("smtp://u:hunter2@h\n"), 0o600))
	r.environ["RAIL_SMTP_URL_FILE"], r.environ["RAIL_MAIL_PIXEL"] = file, "no"
	cfg, err := config.Load(r.environ)
	require.NoError(t, err)
	var shown struct{ Data []config.Setting }
	out := r.must("config", "show", "--json")
	require.NotContains(t, out, "hunter2")
	require.NoError(t, json.Unmarshal([]byte(out), &shown))
	got := map[string]config.Setting{}
	for _, s := range shown.Data {
		got[s.Variable] = s
	}
	require.Regexp(t, `^\*\*\* \(fingerprint [0-9a-f]{8}\)$`, got["RAIL_SECRET_KEY"].Value)
	require.Equal(t, cfg.KeyFrom, got["RAIL_SECRET_KEY"].From)
	for _, want := range []config.Setting{
		{Variable: "RAIL_SMTP_URL", Value: "***", From: file}, {Variable: "RAIL_MAIL_PIXEL", Value: "off", From: "environment"},
		{Variable: "RAIL_DB_MAX_CONNS", Value: "20", From: "default"}, {Variable: "RAIL_OIDC_ROLE", From: "default"},
	} {
		require.Equal(t, want, got[want.Variable])
	}
	r.environ["RAIL_LOG_FORMAT"] = "xml"
	status, out, errs := r.run("config", "show")
	require.Equal(t, 1, status)
	require.Contains(t, out, "RAIL_LOG_FORMAT")
	require.Contains(t, errs, "must be text or json")
}
