package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// secretFile writes a file and returns its path.
func secretFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o400))
	return path
}

// Every secret may be in a file, with or without a newline at the end.
func TestSecretFiles(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"RAIL_SECRET_KEY": key, "RAIL_SECRET_KEY_PREVIOUS": key + "\n", "RAIL_DATABASE_URL": "postgres://u:p@h/n\n",
		"RAIL_DATABASE_SESSION_URL": "postgres://u:p@h/s\r\n", "RAIL_DATABASE_READ_URL": "postgres://u:p@h/r", "RAIL_SMTP_URL": "smtp://u:p@h:587",
		"RAIL_OIDC_CLIENT_SECRET": "hush\n",
	}
	environ := map[string]string{"RAIL_OIDC_ISSUER": "https://id.example", "RAIL_OIDC_CLIENT_ID": "rail", "RAIL_SMTP_URL": ""}
	require.ElementsMatch(t, slices.Collect(maps.Keys(values)), slices.Collect(secrets()))
	for name := range secrets() {
		environ[name+"_FILE"] = secretFile(t, values[name])
	}
	c, err := Load(environ)
	require.NoError(t, err)
	require.Equal(t, []string{"postgres://u:p@h/n", "postgres://u:p@h/s", "smtp://u:p@h:587", "hush", key},
		[]string{c.DatabaseURL, c.SessionURL, c.SMTPURL, c.OIDCClientSecret, c.PreviousText})
	require.Equal(t, [32]byte(slices.Repeat([]byte{7}, 32)), c.SecretKey)
	require.Equal(t, environ["RAIL_SECRET_KEY_FILE"], c.KeyFrom)
}

// An invalid file is reported once, by the variable and the path.
func TestSecretFilesRefused(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none")
	for path, says := range map[string]string{
		missing: "no such file", t.TempDir(): "is a directory", secretFile(t, "\n"): "it is empty",
		secretFile(t, key+"\n"+key): "it has several", secretFile(t, strings.Repeat("x", maxSecretFile+1)): "it is larger",
		"/dev/zero": "it is larger",
	} {
		_, err := Read(map[string]string{"RAIL_DATABASE_URL": "postgres://h/n", "RAIL_SECRET_KEY_FILE": path})
		require.EqualError(t, err, "configuration:\nRAIL_SECRET_KEY_FILE is \""+path+
			"\": it must be a file with one line, of at most 16 KiB: "+says+
			map[bool]string{true: " or directory"}[path == missing])
	}
	_, err := Read(map[string]string{"RAIL_SMTP_URL": "smtp://h", "RAIL_SMTP_URL_FILE": secretFile(t, "smtp://h")})
	require.EqualError(t, err, "configuration:\nRAIL_SMTP_URL and RAIL_SMTP_URL_FILE are both set: one of them must go")
	_, err = Read(map[string]string{"RAIL_SECRET_KEY_FILE": secretFile(t, "hunter2")})
	require.ErrorContains(t, err, "RAIL_SECRET_KEY must be 32 bytes")
	require.NotContains(t, err.Error(), "hunter2")
	_, err = Read(map[string]string{"RAIL_ADDR_FILE": missing})
	require.ErrorContains(t, err, "RAIL_ADDR_FILE is not a variable of this program", "only secrets have files")
}
