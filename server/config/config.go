// Package config is the program's configuration: one struct, read from the
// environment and judged as a whole before anything starts.
package config

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/jackc/pgx/v5"

	"rail/server/pgembed"
	"rail/server/plan"
)

// Config is everything that an operator can set. Each field says its variable,
// its default and, in desc, what it means.
type Config struct {
	Addr                string         `env:"RAIL_ADDR" envDefault:"127.0.0.1:8080" desc:"address to listen on"`
	BaseURL             string         `env:"RAIL_BASE_URL" desc:"address at which clients reach the service; http:// and RAIL_ADDR unless set"`
	DatabaseURL         string         `env:"RAIL_DATABASE_URL" desc:"PostgreSQL to use; a private one in RAIL_DATA_DIR unless set"`
	SessionURL          string         `env:"RAIL_DATABASE_SESSION_URL" desc:"the same database past a pooler of transactions, for migrations and for one lock; RAIL_DATABASE_URL unless set"`
	DataDir             string         `env:"RAIL_DATA_DIR" envDefault:".rail" desc:"where the private PostgreSQL and the generated secret key live"`
	SecretText          string         `env:"RAIL_SECRET_KEY" desc:"32 bytes as 64 hex digits or base64; needed with RAIL_DATABASE_URL, else generated into RAIL_DATA_DIR"`
	PreviousText        string         `env:"RAIL_SECRET_KEY_PREVIOUS" desc:"the former key while it is being replaced; see rail secrets rotate"`
	MetricsAddr         string         `env:"RAIL_METRICS_ADDR" desc:"address of the Prometheus /metrics; off unless set"`
	LogFormat           string         `env:"RAIL_LOG_FORMAT" envDefault:"text" desc:"text or json"`
	LogLevel            string         `env:"RAIL_LOG_LEVEL" envDefault:"info" desc:"debug, info, warn or error"`
	ServiceName         string         `env:"RAIL_SERVICE_NAME" envDefault:"Rail" desc:"product name in webhooks' User-Agent and in mails"`
	ShortURL            string         `env:"RAIL_SHORT_URL" desc:"where short links live; RAIL_BASE_URL with /r unless set"`
	SMTPURL             string         `env:"RAIL_SMTP_URL" desc:"smtp://user:pass@host:port, or dir:PATH to write mails as files; no mail unless set"`
	MailFrom            string         `env:"RAIL_MAIL_FROM" desc:"address that mails come from; rail@ and the host of RAIL_BASE_URL unless set"`
	MailPixel           bool           `env:"RAIL_MAIL_PIXEL" envDefault:"true" desc:"measure by a picture in campaigns how many open them"`
	WebhookAllowCIDRs   []netip.Prefix `env:"RAIL_WEBHOOK_ALLOW_CIDRS" desc:"private networks that webhooks may reach, comma-separated; for development only"`
	WebhookHTTPSOnly    bool           `env:"RAIL_WEBHOOK_REQUIRE_HTTPS" envDefault:"false" desc:"refuse http:// webhook addresses"`
	TrustedProxies      []netip.Prefix `env:"RAIL_TRUSTED_PROXIES" desc:"addresses or networks whose X-Forwarded-For counts, comma-separated"`
	AddressRateLimit    int            `env:"RAIL_ADDRESS_RATE_LIMIT" envDefault:"25" desc:"requests a second of one address without a valid API key, with its pages and short links"`
	FlowQuota           int64          `env:"RAIL_FLOW_QUOTA" envDefault:"0" desc:"active flows a program; 0 for no limit"`
	RevenueMeterMinor   int64          `env:"RAIL_REVENUE_METER_MINOR" envDefault:"0" desc:"what a program may take a month in its own currency, in minor units, before its approvals stop; 0 for no limit"`
	FraudMonitoring     bool           `env:"RAIL_FRAUD_MONITORING" envDefault:"true" desc:"run the risk checks"`
	HoldOnHighRisk      bool           `env:"RAIL_HOLD_ON_HIGH_RISK" envDefault:"false" desc:"keep partners with an open high risk flag out of payouts, and payouts of theirs from payment rails"`
	IgnoreUnknownFields bool           `env:"RAIL_IGNORE_UNKNOWN_FIELDS" envDefault:"false" desc:"ignore body members that the description does not know, instead of refusing them"`
	DBMaxConns          int            `env:"RAIL_DB_MAX_CONNS" envDefault:"20" desc:"connections to the database"`
	ShutdownTimeout     time.Duration  `env:"RAIL_SHUTDOWN_TIMEOUT" envDefault:"30s" desc:"time for requests in flight to end when the server stops"`
	RetentionDays       int            `env:"RAIL_RETENTION_DAYS" envDefault:"30" desc:"days for which events and deliveries are kept; at least 30"`
	SecretKey           [32]byte       `env:"-"` // from SecretText or the data directory
	KeyFrom             string         `env:"-"` // the variable or the file that SecretKey is from
	previousKey         [32]byte       `env:"-"`
}

// Load reads the configuration from environ (a map of variables; nil for the
// process's own environment) with the secret key, and names every problem at once.
func Load(environ map[string]string) (Config, error) {
	c, err := Read(environ)
	if err == nil {
		err = c.LoadKey()
	}
	return c, err
}

// Read is Load without the secret key: it reads no file and makes none.
func Read(environ map[string]string) (Config, error) {
	if environ == nil {
		environ = env.ToMap(os.Environ())
	}
	var c Config
	var problems []error
	err := env.ParseWithOptions(&c, env.Options{Environment: environ, FuncMap: map[reflect.Type]env.ParserFunc{
		reflect.TypeFor[netip.Prefix](): func(v string) (any, error) { return network(v) },
	}})
	if err != nil {
		problems = append(problems, parseProblems(err)...)
	}
	problems = append(problems, unknown(environ)...)
	problems = append(problems, c.check()...)
	if len(problems) > 0 {
		return c, fmt.Errorf("configuration:\n%w", errors.Join(problems...))
	}
	return c, nil
}

// Address is RAIL_ADDR alone, for those who only call a server: it reads no
// other variable and makes no key.
func Address(environ map[string]string) string {
	if environ == nil {
		environ = env.ToMap(os.Environ())
	}
	if v := environ["RAIL_ADDR"]; v != "" {
		return v
	}
	f, _ := reflect.TypeFor[Config]().FieldByName("Addr")
	return f.Tag.Get("envDefault")
}

func parseProblems(err error) []error {
	var all env.AggregateError
	if errors.As(err, &all) {
		return all.Errors
	}
	return []error{err}
}

// network reads a network, or a single address as the network of itself.
func network(v string) (netip.Prefix, error) {
	v = strings.TrimSpace(v)
	if p, err := netip.ParsePrefix(v); err == nil {
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(v)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a network", v)
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// unknown names RAIL_ variables that mean nothing: a mistyped name must not be
// passed over.
func unknown(environ map[string]string) []error {
	known := map[string]bool{"RAIL_PG_BINDIR": true}
	for f := range reflect.TypeFor[Config]().Fields() {
		known[f.Tag.Get("env")] = true
	}
	var out []error
	for name := range environ {
		if strings.HasPrefix(name, "RAIL_") && !strings.HasPrefix(name, "RAIL_TEST_") && !known[name] {
			out = append(out, fmt.Errorf("%s is not a variable of this program", name))
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Error() < out[j].Error() })
	return out
}

// check judges values and fills what follows from others.
func (c *Config) check() []error {
	var out []error
	problem := func(name, format string, args ...any) {
		out = append(out, fmt.Errorf("%s %s", name, fmt.Sprintf(format, args...)))
	}
	for name, v := range map[string]string{"RAIL_ADDR": c.Addr, "RAIL_METRICS_ADDR": c.MetricsAddr} {
		if (v != "" || name == "RAIL_ADDR") && !listenAddress(v) {
			problem(name, "must be host:port, such as 127.0.0.1:8080")
		}
	}
	if c.BaseURL == "" {
		c.BaseURL = "http://" + c.Addr
		if strings.HasPrefix(c.Addr, ":") {
			c.BaseURL = "http://127.0.0.1" + c.Addr
		}
	}
	if c.SMTPURL != "" && !mailAddress(c.SMTPURL) {
		problem("RAIL_SMTP_URL", "must be smtp://, smtps:// or dir:PATH")
	}
	for name, v := range map[string]string{"RAIL_DATABASE_URL": c.DatabaseURL, "RAIL_DATABASE_SESSION_URL": c.SessionURL} {
		if _, err := pgx.ParseConfig(v); v != "" && err != nil {
			problem(name, "is not a PostgreSQL address")
		}
	}
	if c.SessionURL != "" && c.DatabaseURL == "" {
		problem("RAIL_DATABASE_SESSION_URL", "means nothing without RAIL_DATABASE_URL")
	}
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	for name, v := range map[string]string{"RAIL_BASE_URL": c.BaseURL, "RAIL_SHORT_URL": c.ShortURL} {
		if v != "" && !webAddress(v) {
			problem(name, "must be an http or https address")
		}
	}
	if c.DatabaseURL != "" && c.SecretText == "" {
		problem("RAIL_SECRET_KEY", "is needed with RAIL_DATABASE_URL: 32 random bytes, such as `openssl rand -hex 32` prints")
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		problem("RAIL_LOG_FORMAT", "must be text or json")
	}
	switch c.LogLevel {
	case "debug", "info", "warn", "error":
	default:
		problem("RAIL_LOG_LEVEL", "must be debug, info, warn or error")
	}
	for name, v := range map[string]int64{"RAIL_FLOW_QUOTA": c.FlowQuota, "RAIL_REVENUE_METER_MINOR": c.RevenueMeterMinor} {
		if v < 0 {
			problem(name, "must not be negative")
		}
	}
	if c.AddressRateLimit < 1 || c.AddressRateLimit > 1_000_000 {
		problem("RAIL_ADDRESS_RATE_LIMIT", "must be 1 to 1000000")
	}
	if c.DBMaxConns < 2 || c.DBMaxConns > 1000 {
		problem("RAIL_DB_MAX_CONNS", "must be 2 to 1000")
	}
	if c.RetentionDays < 30 {
		problem("RAIL_RETENTION_DAYS", "must be at least 30")
	}
	if c.ShutdownTimeout <= 0 {
		problem("RAIL_SHUTDOWN_TIMEOUT", "must be positive")
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Error() < out[j].Error() })
	return out
}

// listenAddress tells whether v is host:port with a port that exists.
func listenAddress(v string) bool {
	_, port, err := net.SplitHostPort(v)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n <= 65535
}

func mailAddress(v string) bool {
	if path, ok := strings.CutPrefix(v, "dir:"); ok {
		return path != ""
	}
	u, err := url.Parse(v)
	return err == nil && (u.Scheme == "smtp" || u.Scheme == "smtps") && u.Host != ""
}

func webAddress(v string) bool {
	u, err := url.Parse(v)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// ErrNoKey means that a private database is there without the secret key that
// belongs to it. It needs that one: another would open nothing.
var ErrNoKey = errors.New("the database has no secret key beside it")

// LoadKey reads the secret key. It makes one where there is neither a key nor a
// private database yet.
func (c *Config) LoadKey() error {
	if c.PreviousText != "" {
		if err := parseKey("RAIL_SECRET_KEY_PREVIOUS", c.PreviousText, &c.previousKey); err != nil {
			return err
		}
	}
	if c.SecretText != "" {
		c.KeyFrom = "RAIL_SECRET_KEY"
		return parseKey(c.KeyFrom, c.SecretText, &c.SecretKey)
	}
	path, err := filepath.Abs(filepath.Join(c.DataDir, "secret.key"))
	if err != nil {
		return err
	}
	c.KeyFrom = path
	// Looked at before the key: a server that makes both makes the key first.
	there := pgembed.Exists(c.DataDir)
	if err := c.readKey(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if there {
		return fmt.Errorf("%w: %s is missing; put it back, or set RAIL_SECRET_KEY to what it held", ErrNoKey, path)
	}
	if err := c.makeKey(path); err != nil {
		return err
	}
	return c.readKey(path) // as it is on the disk: another process may have been first
}

func (c *Config) readKey(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be read by others (%o): chmod 600 it, and change the key if others may have read it", path, info.Mode().Perm())
	}
	return parseKey(path, strings.TrimSpace(string(raw)), &c.SecretKey)
}

// makeKey writes a fresh key under a name of its own and then gives it the
// right one, so that nobody ever reads half a key.
func (c *Config) makeKey(path string) error {
	if err := os.MkdirAll(c.DataDir, 0o755); err != nil { //nolint:gosec // PostgreSQL's account must pass through
		return err
	}
	var key [32]byte
	if _, err := rand.Read(key[:]); err != nil {
		return err
	}
	f, err := os.CreateTemp(c.DataDir, "secret.key.*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(hex.EncodeToString(key[:]) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// Plan is the limits of organizations that have none of their own.
func (c *Config) Plan() plan.Plan {
	return plan.Plan{FlowQuota: c.FlowQuota, RevenueMeterMinor: c.RevenueMeterMinor, FraudMonitoring: c.FraudMonitoring}
}

// MailSender is the address that mails come from.
func (c *Config) MailSender() string {
	if c.MailFrom != "" {
		return c.MailFrom
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Hostname() == "" {
		return "rail@localhost"
	}
	return "rail@" + u.Hostname()
}

// FormerKeys are the secret keys that still open what they sealed.
func (c *Config) FormerKeys() [][32]byte {
	if c.PreviousText == "" {
		return nil
	}
	return [][32]byte{c.previousKey}
}

func parseKey(from, text string, into *[32]byte) error {
	raw, err := hex.DecodeString(text)
	if err != nil {
		raw, err = base64.StdEncoding.DecodeString(text)
	}
	if err != nil || len(raw) != len(into) {
		return fmt.Errorf("%s must be 32 bytes as 64 hex digits or base64", from)
	}
	copy(into[:], raw)
	return nil
}

// Usage describes every variable, for `rail serve --help`.
func Usage() string {
	var b strings.Builder
	for f := range reflect.TypeFor[Config]().Fields() {
		name := f.Tag.Get("env")
		if name == "-" {
			continue
		}
		fmt.Fprintf(&b, "  %-28s %s", name, f.Tag.Get("desc"))
		if d := f.Tag.Get("envDefault"); d != "" {
			fmt.Fprintf(&b, " (default %s)", d)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
