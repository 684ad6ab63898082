package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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
		"RAIL_DATABASE_URL": "postgres://x/y", "RAIL_ADDR": "nowhere", "RAIL_LOG_FORMAT": "xml", "RAIL_ADDRES": "typo",
		"RAIL_DATADIR":      "typo",
		"RAIL_DB_MAX_CONNS": "many", "RAIL_RETENTION_DAYS": "3", "RAIL_TRUSTED_PROXIES": "not-an-address",
	})
	require.Error(t, err)
	for _, want := range []string{
		"RAIL_SECRET_KEY", "RAIL_ADDR", "RAIL_LOG_FORMAT", "RAIL_ADDRES is not a variable of this program: did you mean RAIL_ADDR?",
		"RAIL_DATADIR is not a variable of this program: did you mean RAIL_DATA_DIR?", "RAIL_DB_MAX_CONNS",
		"RAIL_RETENTION_DAYS", "not-an-address",
	} {
		require.Contains(t, err.Error(), want)
	}
}

// TestRetention: by default, personal data is not kept permanently.
func TestRetention(t *testing.T) {
	t.Parallel()
	c, err := Read(map[string]string{})
	require.NoError(t, err)
	require.Equal(t, 760, c.ClickRetentionDays)
	require.Zero(t, c.AuditRetentionDays)
	require.Equal(t, 30, c.RetentionDays)
	c, err = Read(map[string]string{"RAIL_CLICK_RETENTION_DAYS": "0"})
	require.NoError(t, err)
	require.Zero(t, c.ClickRetentionDays)
}

// TestUnknownVariables: a name that resembles one of Rail's stops the start, others do not.
func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	for name, nearest := range map[string]string{
		"RAIL_URL": "", "RAIL_KEY": "", "RAIL_HOST": "", "RAIL_TOKEN": "", "RAIL_WEBHOOK_SECRET": "", "RAIL_ENV": "",
		// Variables that Kubernetes sets in a pod beside a service named rail.
		"RAIL_PORT": "", "RAIL_PORT_80_TCP": "", "RAIL_PORT_80_TCP_ADDR": "", "RAIL_SERVICE_HOST": "", "RAIL_SERVICE_PORT": "", "RAIL_SERVICE_PORT_HTTP": "",
		"RAIL_ADR": "RAIL_ADDR", "RAIL_BASEURL": "RAIL_BASE_URL", "RAIL_DATABASE_URI": "RAIL_DATABASE_URL", "RAIL_SMTP": "RAIL_SMTP_URL",
		"RAIL_SECRET_KEYS": "RAIL_SECRET_KEY", "RAIL_TRUSTED_PROXY": "RAIL_TRUSTED_PROXIES", "RAIL_PG_BINDIRS": "RAIL_PG_BINDIR",
		"RAIL_BACKUP_PASSPRHASE": "RAIL_BACKUP_PASSPHRASE", "RAIL_API_URLS": "RAIL_API_URL",
	} {
		c, err := Read(map[string]string{name: "x"})
		if nearest == "" {
			require.NoError(t, err)
			require.Equal(t, []string{name + " is not a variable of this program, and is ignored"}, c.Warnings)
			continue
		}
		require.ErrorContains(t, err, name+" is not a variable of this program: did you mean "+nearest+"?", name)
	}
	c, err := Read(map[string]string{"RAIL_API_KEY": "x", "RAIL_TEST_X": "x", "RAILWAY": "x"})
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
}

const (
	key        = "0707070707070707070707070707070707070707070707070707070707070707"
	notASwitch = "must be on or off (or yes, no, true, false, 1, 0)"
)

// variables has every variable with valid values, and with invalid ones and the reasons.
var variables = map[string]struct {
	good, bad []string
	says      string
}{
	"RAIL_ADDR": {
		[]string{":8080", "[::1]:0", "rail:65535", ""}, []string{"nowhere", "x:99999", "x:y", "127.0.0.1", "8080"},
		"must be host:port",
	},
	"RAIL_TLS_DOMAIN": {
		[]string{"rail.example", "rail.example, Links.Example", "bücher.example", ""},
		[]string{"localhost", "192.0.2.1", "rail.example,", "https://rail.example", "rail.example:443", "*.rail.example", "a b.example", "rail."},
		"must be host names",
	},
	"RAIL_TLS_EMAIL":     {[]string{"ops@rail.example", ""}, []string{"ops", "a@b.example, c@d.example"}, "must be an email address"},
	"RAIL_TLS_DIRECTORY": {[]string{"https://ca.example:14000/dir", ""}, []string{"http://ca.example/dir", "ca.example"}, "must be an https address"},
	"RAIL_TLS_HTTP_ADDR": {[]string{""}, []string{"80", "no", ":80"}, "RAIL_TLS_HTTP_ADDR"},
	"OTEL_EXPORTER_OTLP_ENDPOINT": {
		[]string{"http://127.0.0.1:4318", ""}, []string{"127.0.0.1:4318", "grpc://x"}, "must be an http or https address",
	},
	"RAIL_CONSOLE_ADDR": {[]string{":8081", ""}, []string{"junk", "8081"}, "must be host:port"},
	"RAIL_CONSOLE_URL": {
		[]string{"https://console.example/", ""}, []string{"console.example", "https://x?y"}, "must be an http or https address",
	},
	"RAIL_METRICS_ADDR": {[]string{"127.0.0.1:9090", ""}, []string{"junk", "9090"}, "must be host:port"},
	"RAIL_BASE_URL": {[]string{"https://rail.example", "http://h:8080/api/", ""},
		[]string{
			"shop.example", "ftp://x", "https://", "https://x?y=1", "https://x#y", "https://x?", "https://me:pw@x",
			"https://x:0x", "//x",
		}, "must be an http or https address without user, query and fragment"},
	"RAIL_SHORT_URL": {
		[]string{"https://r.example", ""}, []string{"ftp://x", "https://x?y"}, "must be an http or https address",
	},
	"RAIL_PAYPAL_URL": {
		[]string{"http://127.0.0.1:12111", ""}, []string{"api-m.paypal.com", "https://k:s@x"}, "must be an http or https address",
	},
	"RAIL_IMPORT_URL_REWARDFUL": {
		[]string{"http://127.0.0.1:12111/v1", ""}, []string{"api.example", "https://k:s@x"}, "must be an http or https address",
	},
	"RAIL_IMPORT_URL_TOLT": {
		[]string{"http://127.0.0.1:12111/v1", ""}, []string{"api.example", "https://k:s@x"}, "must be an http or https address",
	},
	"RAIL_IMPORT_URL_FIRSTPROMOTER": {
		[]string{"http://127.0.0.1:12111/v1", ""}, []string{"api.example", "https://k:s@x"}, "must be an http or https address",
	},
	"RAIL_IMPORT_URL_TAPFILIATE": {
		[]string{"http://127.0.0.1:12111/v1", ""}, []string{"api.example", "https://k:s@x"}, "must be an http or https address",
	},
	"RAIL_IMPORT_URL_PARTNERSTACK": {
		[]string{"http://127.0.0.1:12111/v1", ""}, []string{"api.example", "https://k:s@x"}, "must be an http or https address",
	},
	"RAIL_IMPORT_URL_DUB": {
		[]string{"http://127.0.0.1:12111/v1", ""}, []string{"api.example", "https://k:s@x"}, "must be an http or https address",
	},
	"RAIL_STRIPE_URL": {
		[]string{"http://127.0.0.1:12111", ""}, []string{"api.stripe.com", "https://k:s@x"}, "must be an http or https address",
	},
	"RAIL_DATABASE_URL": {
		[]string{"postgres://u:p@h:5432/n", "host=h user=u"}, []string{"::::", "postgres://u:hunter2@h:port/n", "junk"},
		"must be a PostgreSQL address",
	},
	"RAIL_DATABASE_SESSION_URL": {
		[]string{""}, []string{"::", "postgres://u:hunter2@h:port/n"}, "must be a PostgreSQL address",
	},
	"RAIL_DATABASE_READ_URL": {
		[]string{""}, []string{"host=h", "postgres://h/n junk", "postgres://u:hunter2@h:port/n"},
		"must be PostgreSQL addresses that begin with postgres://",
	},
	"RAIL_DATA_DIR":       {[]string{"/none/yet", "."}, []string{"config.go"}, "must be a folder"},
	"RAIL_PG_BINDIR":      {[]string{".", ""}, []string{"/none/yet", "config.go"}, "must be the folder of postgres"},
	"RAIL_UPGRADE_BACKUP": {switches, []string{"maybe"}, notASwitch},
	"RAIL_ARCHIVE_DIR":    {[]string{"/none/yet", ".", ""}, []string{"config.go"}, "must be a folder"},
	"RAIL_ARCHIVE_DAYS":   {[]string{"1", "3650"}, []string{"0", "week"}, "must be a whole number from 1 to 3650"},
	"RAIL_SECRET_KEY": {
		[]string{key, "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}, []string{key[2:], "short", key + "07"},
		"must be 32 bytes",
	},
	"RAIL_SECRET_KEY_PREVIOUS": {[]string{key, ""}, []string{key[2:], "short"}, "must be 32 bytes"},
	"RAIL_LOG_FORMAT":          {[]string{"text", "JSON", ""}, []string{"xml", "js"}, "must be text or json"},
	"RAIL_LOG_LEVEL": {
		[]string{"debug", "INFO"}, []string{"loud", "0"}, "must be debug, info, warn or error",
	},
	"RAIL_SERVICE_NAME": {
		[]string{"Acme partners", "Söhne"}, []string{" ", "a\nb", strings.Repeat("x", 65)}, "must be one line",
	},
	"RAIL_SMTP_URL": {
		[]string{"smtp://u:p@h:587", "smtps://h", "dir:mail", ""},
		[]string{"junk", "dir:", "smtp://", "http://h", "smtp://u:hunter2@h:x", "smtp://h:99999"}, "must be smtp://",
	},
	"RAIL_MAIL_FROM": {
		[]string{"a@b.example", ""}, []string{"not an address", "rail", "A <a@b.example>", "a@b.example, c@d.example"},
		"must be an email address",
	},
	"RAIL_MAIL_PIXEL": {switches, []string{"maybe", "2", "y"}, notASwitch},
	"RAIL_OIDC_ISSUER": {
		[]string{""}, []string{"id.example", "https://u:p@id.example", "https://id.example?x"}, "must be an http or https address",
	},
	"RAIL_OIDC_CLIENT_ID":     {[]string{""}, []string{"rail"}, "must be set together with RAIL_OIDC_ISSUER"},
	"RAIL_OIDC_CLIENT_SECRET": {[]string{""}, []string{"hunter2"}, "must be set together with RAIL_OIDC_ISSUER"},
	"RAIL_OIDC_ROLE":          {[]string{""}, []string{"king", "Owner"}, "must be owner, manager, finance or viewer"},
	"RAIL_WEBHOOK_ALLOW_CIDRS": {
		[]string{"127.0.0.0/8, ::1", ""}, []string{"here", "10.0.0.0/33", "10.0.0.0/8,"}, "must be addresses or networks",
	},
	"RAIL_WEBHOOK_REQUIRE_HTTPS": {switches, []string{"maybe"}, notASwitch},
	"RAIL_TRUSTED_PROXIES": {
		[]string{"10.0.0.1"}, []string{"not-an-address"}, "must be addresses or networks",
	},
	"RAIL_ADDRESS_RATE_LIMIT": {
		[]string{"1", "1000000"}, []string{"0", "1000001", "some", "1.5"}, "must be a whole number from 1 to 1000000",
	},
	"RAIL_FLOW_QUOTA": {
		[]string{"0", "5"}, []string{"-1", "none", "1e3", "99999999999999999999"}, "must be a whole number from 0 to",
	},
	"RAIL_REVENUE_METER_MINOR":   {[]string{"0"}, []string{"-1", "10.00"}, "must be a whole number from 0 to"},
	"RAIL_FRAUD_MONITORING":      {switches, []string{"of", "maybe"}, notASwitch},
	"RAIL_HOLD_ON_HIGH_RISK":     {switches, []string{"maybe"}, notASwitch},
	"RAIL_IGNORE_UNKNOWN_FIELDS": {switches, []string{"maybe"}, notASwitch},
	"RAIL_DB_MAX_CONNS": {
		[]string{"2", "1000"}, []string{"1", "1001", "many"}, "must be a whole number from 2 to 1000",
	},
	"RAIL_SHUTDOWN_TIMEOUT": {
		[]string{"1ms", "1h"}, []string{"0", "30", "-1s", "soon", "2h"}, "must be a time above 0",
	},
	"RAIL_CLICK_RETENTION_DAYS": {[]string{"0", "90"}, []string{"89", "-1", "for ever"},
		"must be 0 or a whole number from 90"},
	"RAIL_TEST_CLOCK": {[]string{"on", "0"}, []string{"maybe"}, "must be on or off"},
	"RAIL_AUDIT_RETENTION_DAYS": {[]string{"0", "30"}, []string{"29", "-1", "36501"},
		"must be 0 or a whole number from 30"},
	"RAIL_RETENTION_DAYS": {[]string{"30"}, []string{"29", "month"}, "must be a whole number from 30 to"},
}

var switches = []string{"on", "off", "yes", "No", "true", "false", "1", "0", "ON", "True"}

// Each variable accepts valid values, and refuses others with its name, the value and the valid values.
func TestVariables(t *testing.T) {
	t.Parallel()
	for f := range reflect.TypeFor[Config]().Fields() {
		if name := f.Tag.Get("env"); name != "-" {
			require.Contains(t, variables, name, "no values to try")
			require.True(t, slices.ContainsFunc(rules, func(r rule) bool { return r.variable == name }), "%s has no rule", name)
		}
	}
	for name, v := range variables {
		environ := func(value string) map[string]string {
			return map[string]string{"RAIL_DATA_DIR": t.TempDir(), "RAIL_SECRET_KEY": key, name: value}
		}
		for _, good := range v.good {
			_, err := Read(environ(good))
			require.NoError(t, err, "%s=%s", name, good)
		}
		require.NotEmpty(t, v.bad, name)
		for _, bad := range v.bad {
			_, err := Read(environ(bad))
			require.ErrorContains(t, err, v.says, "%s=%s", name, bad)
			refused := fmt.Sprintf("\n%s is %q: it must ", name, bad)
			if isSecret(name) {
				refused = "\n" + name + " must "
				require.NotContains(t, err.Error(), "hunter2")
				require.NotContains(t, err.Error(), key[2:])
			}
			require.Contains(t, err.Error(), refused)
			for f := range reflect.TypeFor[Config]().Fields() {
				require.NotContains(t, err.Error(), f.Name, "a field of Go")
			}
		}
	}
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	c, err := Read(map[string]string{"RAIL_TRUSTED_PROXIES": "172.30.7.1, 10.1.2.3/8,::1"})
	require.NoError(t, err)
	require.Equal(t, "[172.30.7.1/32 10.0.0.0/8 ::1/128]", fmt.Sprint(c.TrustedProxies))
}

// The console's address is set, or follows from its listener.
func TestConsoleBase(t *testing.T) {
	t.Parallel()
	for want, environ := range map[string]map[string]string{
		"http://127.0.0.1:8080": {}, "https://rail.example": {"RAIL_BASE_URL": "https://rail.example/"},
		"http://10.0.0.1:8081":    {"RAIL_CONSOLE_ADDR": "10.0.0.1:8081", "RAIL_BASE_URL": "https://rail.example"},
		"http://127.0.0.1:8081":   {"RAIL_CONSOLE_ADDR": ":8081"},
		"https://console.example": {"RAIL_CONSOLE_ADDR": ":8081", "RAIL_CONSOLE_URL": "https://console.example/"},
	} {
		c, err := Read(environ)
		require.NoError(t, err)
		require.Equal(t, want, c.ConsoleBase())
	}
}

// Requirements between variables.
func TestVariablesTogether(t *testing.T) {
	t.Parallel()
	_, err := Read(map[string]string{"RAIL_DATABASE_SESSION_URL": "postgres://h/n"})
	require.ErrorContains(t, err, "RAIL_DATABASE_SESSION_URL must not be set without RAIL_DATABASE_URL")
	_, err = Read(map[string]string{"RAIL_DATABASE_READ_URL": "postgres://h/n"})
	require.ErrorContains(t, err, "RAIL_DATABASE_READ_URL must not be set without RAIL_DATABASE_URL")
	_, err = Read(map[string]string{"RAIL_OIDC_ROLE": "viewer"})
	require.ErrorContains(t, err, "must not be set without RAIL_OIDC_ISSUER")
	_, err = Read(map[string]string{"RAIL_OIDC_ISSUER": "https://id.example/"})
	require.ErrorContains(t, err, "RAIL_OIDC_CLIENT_ID must be set together with RAIL_OIDC_ISSUER")
	require.ErrorContains(t, err, "RAIL_OIDC_CLIENT_SECRET must be set together with RAIL_OIDC_ISSUER")
	_, err = Read(map[string]string{
		"RAIL_OIDC_ISSUER": "https://id.example/", "RAIL_OIDC_CLIENT_ID": "rail", "RAIL_OIDC_CLIENT_SECRET": "hush",
		"RAIL_OIDC_ROLE": "viewer",
	})
	require.NoError(t, err)
	_, err = Read(map[string]string{"RAIL_DATABASE_URL": "postgres://h/n"})
	require.ErrorContains(t, err, "RAIL_SECRET_KEY must be set with RAIL_DATABASE_URL")
	_, err = Read(map[string]string{
		"RAIL_DATABASE_URL": "postgres://h/n", "RAIL_DATABASE_SESSION_URL": "postgres://h/n", "RAIL_SECRET_KEY": key,
	})
	require.NoError(t, err)
	c, err := Read(map[string]string{
		"RAIL_DATABASE_URL": "postgres://h/n", "RAIL_DATABASE_READ_URL": " postgres://a/n\npostgresql://b/n ", "RAIL_SECRET_KEY": key,
	})
	require.NoError(t, err)
	require.Equal(t, []string{"postgres://a/n", "postgresql://b/n"}, c.ReadURLs())
}

// One variable is enough for https.
func TestTLS(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ domain, addr, redirect, wantAddr, wantRedirect, wantURL string }{
		{"rail.example", "", "", ":443", ":80", "https://rail.example"},
		{"b.example,a.example", "10.0.0.1:443", "off", "10.0.0.1:443", "", "https://b.example"},
		{"Rail.Example", ":8443", ":8080", ":8443", ":8080", "https://rail.example:8443"},
	} {
		environ := map[string]string{"RAIL_TLS_DOMAIN": c.domain, "RAIL_ADDR": c.addr, "RAIL_TLS_HTTP_ADDR": c.redirect}
		got, err := Read(environ)
		require.NoError(t, err)
		require.Equal(t, []string{c.wantAddr, c.wantRedirect, c.wantURL}, []string{got.Addr, got.RedirectAddr, got.BaseURL})
		addr, host := Address(environ)
		require.Equal(t, []string{c.wantAddr, got.TLSDomains[0]}, []string{addr, host})
	}
	_, err := Read(map[string]string{"RAIL_TLS_DOMAIN": "rail.example", "RAIL_BASE_URL": "http://rail.example"})
	require.ErrorContains(t, err, "must begin with https://")
	_, err = Read(map[string]string{"RAIL_TLS_DOMAIN": strings.Repeat("a.example,", maxHosts) + "a.example"})
	require.ErrorContains(t, err, "RAIL_TLS_DOMAIN")
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

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"": "http://127.0.0.1:8080", ":8080": "http://127.0.0.1:8080", "rail:1": "http://rail:1",
	} {
		c, err := Read(map[string]string{"RAIL_ADDR": addr})
		require.NoError(t, err)
		require.Equal(t, want, c.BaseURL)
	}
	c, err := Read(map[string]string{"RAIL_BASE_URL": "https://rail.example/"})
	require.NoError(t, err)
	require.Equal(t, "https://rail.example", c.BaseURL)
}

// A private database without its key gets no new one.
func TestLostKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte("15\n"), 0o600))
	_, err := Load(map[string]string{"RAIL_DATA_DIR": dir})
	require.ErrorIs(t, err, ErrNoKey)
	require.NoFileExists(t, filepath.Join(dir, "secret.key"))
	_, err = Load(map[string]string{"RAIL_DATA_DIR": dir, "RAIL_SECRET_KEY": key})
	require.NoError(t, err)
}
