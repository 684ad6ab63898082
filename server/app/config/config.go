// Package config is the program's configuration: one struct, read from the environment and checked as a whole
// before anything starts.
//
// There is no configuration file. Read checks and changes nothing; Load also finds or creates the secret key.
// Every mistake is reported at once, each with the valid values. An unknown RAIL_ variable is a mistake if it
// resembles a known one, and otherwise a warning, since other programs may use the prefix.
package config

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"rail/server/postgres/embedded"
	"rail/server/problem"
	"rail/server/work/quota"
)

// Config is everything that an operator can set. The tags of a field are its variable, its default and, in desc,
// its description, from which the help is generated; secret marks values that must not be shown. Fields that end
// in Text hold raw values; their parsed values are in other fields.
type Config struct {
	Addr                   string            `env:"RAIL_ADDR" desc:"address to listen on; 127.0.0.1:8080 unless set, and :443 with RAIL_TLS_DOMAIN"`
	BaseURL                string            `env:"RAIL_BASE_URL" desc:"address at which clients reach the service; http:// and RAIL_ADDR, or https:// and RAIL_TLS_DOMAIN, unless set"`
	TLSDomains             []string          `env:"RAIL_TLS_DOMAIN" desc:"comma-separated host names for which the server gets certificates by ACME; RAIL_ADDR then serves https, and must be reachable on port 443"`
	TLSEmail               string            `env:"RAIL_TLS_EMAIL" desc:"email address for the certificate authority's notices; none unless set"`
	TLSDirectory           string            `env:"RAIL_TLS_DIRECTORY" envDefault:"https://acme-v02.api.letsencrypt.org/directory" desc:"the certificate authority's ACME directory"`
	RedirectAddr           string            `env:"RAIL_TLS_HTTP_ADDR" desc:"address that redirects from http:// to https://; :80 with RAIL_TLS_DOMAIN unless set; off disables it"`
	DatabaseURL            string            `env:"RAIL_DATABASE_URL" secret:"" desc:"PostgreSQL to use; a private one in RAIL_DATA_DIR unless set"`
	SessionURL             string            `env:"RAIL_DATABASE_SESSION_URL" secret:"" desc:"the same database without a transaction pooler, for migrations and one lock; RAIL_DATABASE_URL unless set"`
	ReadURL                string            `env:"RAIL_DATABASE_READ_URL" secret:"" desc:"space-separated addresses of standbys of RAIL_DATABASE_URL, for the API's reads; none unless set"`
	DataDir                string            `env:"RAIL_DATA_DIR" envDefault:".rail" desc:"folder of the private PostgreSQL and the generated secret key"`
	PGBinDir               string            `env:"RAIL_PG_BINDIR" desc:"folder with the programs (postgres, initdb) of the private PostgreSQL; those of the version that made the database, or the newest ones for a new database, unless set"`
	ArchiveDir             string            `env:"RAIL_ARCHIVE_DIR" desc:"folder for a continuous archive of the private PostgreSQL, from which rail restore can restore any point in time; none unless set"`
	ArchiveDays            int               `env:"RAIL_ARCHIVE_DAYS" envDefault:"7" desc:"days that the archive reaches back"`
	UpgradeBackup          bool              `env:"RAIL_UPGRADE_BACKUP" envDefault:"true" desc:"make a backup of the private PostgreSQL in RAIL_DATA_DIR/upgrades before a new release upgrades it"`
	SecretText             string            `env:"RAIL_SECRET_KEY" secret:"" desc:"32 bytes as 64 hex digits or base64; needed with RAIL_DATABASE_URL, else generated into RAIL_DATA_DIR"`
	PreviousText           string            `env:"RAIL_SECRET_KEY_PREVIOUS" secret:"" desc:"the former key while it is being replaced; see rail secrets rotate"`
	MetricsAddr            string            `env:"RAIL_METRICS_ADDR" desc:"address of the Prometheus /metrics; off unless set"`
	OTLPEndpoint           string            `env:"OTEL_EXPORTER_OTLP_ENDPOINT" desc:"OpenTelemetry collector that gets traces by OTLP over HTTP, such as http://127.0.0.1:4318; none unless set"`
	ConsoleAddr            string            `env:"RAIL_CONSOLE_ADDR" desc:"address of the console alone; RAIL_ADDR serves it unless set"`
	ConsoleURL             string            `env:"RAIL_CONSOLE_URL" desc:"address at which browsers reach the console; RAIL_BASE_URL, or http:// and RAIL_CONSOLE_ADDR, unless set"`
	LogFormat              string            `env:"RAIL_LOG_FORMAT" envDefault:"text" desc:"text or json"`
	LogLevel               string            `env:"RAIL_LOG_LEVEL" envDefault:"info" desc:"debug, info, warn or error"`
	ServiceName            string            `env:"RAIL_SERVICE_NAME" envDefault:"Rail" desc:"product name in webhooks' User-Agent and in mails"`
	ShortURL               string            `env:"RAIL_SHORT_URL" desc:"address of short links; RAIL_BASE_URL with /r unless set"`
	StripeURL              string            `env:"RAIL_STRIPE_URL" desc:"address of Stripe's API; Stripe's own unless set"`
	PayPalURL              string            `env:"RAIL_PAYPAL_URL" desc:"address of PayPal's API, in both modes; PayPal's own unless set"`
	ImportURLRewardful     string            `env:"RAIL_IMPORT_URL_REWARDFUL" desc:"address of Rewardful's API for imports; Rewardful's own unless set"`
	ImportURLTolt          string            `env:"RAIL_IMPORT_URL_TOLT" desc:"address of Tolt's API for imports; Tolt's own unless set"`
	ImportURLFirstPromoter string            `env:"RAIL_IMPORT_URL_FIRSTPROMOTER" desc:"address of FirstPromoter's API for imports; FirstPromoter's own unless set"`
	ImportURLTapfiliate    string            `env:"RAIL_IMPORT_URL_TAPFILIATE" desc:"address of Tapfiliate's API for imports; Tapfiliate's own unless set"`
	ImportURLPartnerStack  string            `env:"RAIL_IMPORT_URL_PARTNERSTACK" desc:"address of PartnerStack's API for imports; PartnerStack's own unless set"`
	ImportURLDub           string            `env:"RAIL_IMPORT_URL_DUB" desc:"address of Dub's API for imports; Dub's own unless set"`
	SMTPURL                string            `env:"RAIL_SMTP_URL" secret:"" desc:"smtp://user:pass@host:port, or dir:PATH to write mails as files; no mail unless set"`
	MailFrom               string            `env:"RAIL_MAIL_FROM" desc:"sender address of mails; rail@ and the host of RAIL_BASE_URL unless set"`
	MailPixel              bool              `env:"RAIL_MAIL_PIXEL" envDefault:"true" desc:"measure openings of campaigns with an image"`
	OIDCIssuer             string            `env:"RAIL_OIDC_ISSUER" desc:"OpenID Connect provider for signing in to the console, such as https://accounts.google.com; none unless set"`
	OIDCClientID           string            `env:"RAIL_OIDC_CLIENT_ID" desc:"this service's client id at the provider; required with RAIL_OIDC_ISSUER"`
	OIDCClientSecret       string            `env:"RAIL_OIDC_CLIENT_SECRET" secret:"" desc:"its client secret; required with RAIL_OIDC_ISSUER"`
	OIDCRole               string            `env:"RAIL_OIDC_ROLE" desc:"role of users of the provider without an invitation, while there is one organization: owner, manager, finance or viewer; none unless set"`
	WebhookAllowCIDRs      []netip.Prefix    `env:"RAIL_WEBHOOK_ALLOW_CIDRS" desc:"private networks that webhooks may reach, comma-separated; for development only"`
	WebhookHTTPSOnly       bool              `env:"RAIL_WEBHOOK_REQUIRE_HTTPS" envDefault:"false" desc:"refuse http:// webhook addresses"`
	TrustedProxies         []netip.Prefix    `env:"RAIL_TRUSTED_PROXIES" desc:"comma-separated addresses or networks whose X-Forwarded-For is trusted"`
	AddressRateLimit       int               `env:"RAIL_ADDRESS_RATE_LIMIT" envDefault:"25" desc:"requests a second of one network address without a valid API key, including pages and short links"`
	FlowQuota              int64             `env:"RAIL_FLOW_QUOTA" envDefault:"0" desc:"active flows a program; 0 for no limit"`
	RevenueMeterMinor      int64             `env:"RAIL_REVENUE_METER_MINOR" envDefault:"0" desc:"monthly revenue of a program in its currency, in minor units, above which approvals stop; 0 for no limit"`
	FraudMonitoring        bool              `env:"RAIL_FRAUD_MONITORING" envDefault:"true" desc:"run the risk checks"`
	HoldOnHighRisk         bool              `env:"RAIL_HOLD_ON_HIGH_RISK" envDefault:"false" desc:"exclude partners with an open high risk flag from payouts, and hold their payouts back from payment rails"`
	IgnoreUnknownFields    bool              `env:"RAIL_IGNORE_UNKNOWN_FIELDS" envDefault:"false" desc:"ignore unknown body members instead of refusing them"`
	DBMaxConns             int               `env:"RAIL_DB_MAX_CONNS" envDefault:"20" desc:"connections to the database"`
	ShutdownTimeout        time.Duration     `env:"RAIL_SHUTDOWN_TIMEOUT" envDefault:"30s" desc:"time for requests in flight to end when the server stops"`
	RetentionDays          int               `env:"RAIL_RETENTION_DAYS" envDefault:"30" desc:"retention of events and deliveries in days, at least 30; whole months are dropped"`
	ClickRetentionDays     int               `env:"RAIL_CLICK_RETENTION_DAYS" envDefault:"760" desc:"retention of clicks and referrals without a customer in days, at least 90; 0 keeps them; figures and those with a customer stay"`
	AuditRetentionDays     int               `env:"RAIL_AUDIT_RETENTION_DAYS" envDefault:"0" desc:"retention of the audit log in days, at least 30; 0 keeps it"`
	TestClock              bool              `env:"RAIL_TEST_CLOCK" envDefault:"false" desc:"for tests only: let the API move the time of the server forward; refused if the database has a live API key, payout rail or processor connection"`
	Warnings               []string          `env:"-"` // shown to the operator; they do not stop the server
	SecretKey              [32]byte          `env:"-"` // from SecretText or the data directory
	KeyFrom                string            `env:"-"` // the variable or the file of SecretKey
	previousKey            [32]byte          `env:"-"`
	sources                map[string]string `env:"-"` // environment, or the file, of each variable that is set
}

// Load reads the configuration from environ (a map of variables; nil for the process's environment) with the
// secret key, and reports every problem at once.
func Load(environ map[string]string) (Config, error) {
	c, err := Read(environ)
	if err == nil {
		err = c.LoadKey()
	}
	return c, err
}

// ImportURLs returns the addresses that replace those of products to import from, by the product's name.
func (c Config) ImportURLs() map[string]string {
	return map[string]string{
		"rewardful": c.ImportURLRewardful, "tolt": c.ImportURLTolt, "firstpromoter": c.ImportURLFirstPromoter,
		"tapfiliate": c.ImportURLTapfiliate, "partnerstack": c.ImportURLPartnerStack, "dub": c.ImportURLDub,
	}
}

// Read is Load without the secret key: it neither reads nor writes a file.
func Read(environ map[string]string) (Config, error) {
	if environ == nil {
		environ = env.ToMap(os.Environ())
	}
	environ, sources, refused := readFiles(environ)
	c := Config{sources: sources}
	err := env.ParseWithOptions(&c, env.Options{Environment: environ, FuncMap: map[reflect.Type]env.ParserFunc{
		reflect.TypeFor[[]netip.Prefix](): func(v string) (any, error) { return networks(v) },
		reflect.TypeFor[[]string]():       func(v string) (any, error) { return hosts(v) },
		reflect.TypeFor[bool]():           func(v string) (any, error) { return Switch(v) },
	}})
	// A value that does not parse is in unparsed, so that it is reported like one out of range.
	mistyped, foreign := unknown(environ)
	c.Warnings = foreign
	problems := append(c.check(environ, unparsed(err), refused), mistyped...)
	c.fill()
	if len(problems) > 0 {
		return c, fmt.Errorf("configuration:\n%w", errors.Join(problems...))
	}
	return c, nil
}

// unparsed returns the variables whose values cannot be parsed as a number, a switch or a duration.
func unparsed(err error) map[string]bool {
	out := map[string]bool{}
	// Fields that parsed are set in spite of the error.
	var all env.AggregateError
	errors.As(err, &all)
	for _, one := range all.Errors {
		if failed, ok := errors.AsType[env.ParseError](one); ok {
			f, _ := reflect.TypeFor[Config]().FieldByName(failed.Name)
			out[f.Tag.Get("env")] = true
		}
	}
	return out
}

// check returns every invalid value, so that an operator need not restart for each mistake. A refused secret has
// no value.
func (c *Config) check(environ map[string]string, unparsed map[string]bool, refused map[string]error) []error {
	out := slices.Collect(maps.Values(refused))
	slices.SortFunc(out, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	for _, r := range rules {
		if refused[r.variable] != nil {
			continue
		}
		if unparsed[r.variable] || r.valid != nil && !r.valid(c) {
			out = append(out, r.refusal(environ[r.variable]))
		}
	}
	return out
}

// fill sets defaults that depend on other values.
func (c *Config) fill() {
	c.Addr = cmp.Or(c.Addr, address(len(c.TLSDomains) > 0))
	if len(c.TLSDomains) > 0 {
		c.RedirectAddr = cmp.Or(c.RedirectAddr, ":80")
		c.BaseURL = cmp.Or(c.BaseURL, overTLS(c.TLSDomains[0], c.Addr))
	}
	if c.RedirectAddr == "off" {
		c.RedirectAddr = ""
	}
	c.BaseURL = cmp.Or(c.BaseURL, local(c.Addr))
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	c.LogFormat = strings.ToLower(c.LogFormat)
}

// local returns the address of a listener for this machine.
func local(addr string) string {
	if strings.HasPrefix(addr, ":") {
		return "http://127.0.0.1" + addr
	}
	return "http://" + addr
}

// ReadURLs returns the addresses of the standbys.
func (c *Config) ReadURLs() []string { return strings.Fields(c.ReadURL) }

// overTLS returns the https address of a host that listens on addr, without the default port.
func overTLS(host, addr string) string {
	if _, port, _ := net.SplitHostPort(addr); port != "443" {
		host += ":" + port
	}
	return "https://" + host
}

// address returns the default of RAIL_ADDR.
func address(tls bool) string {
	if tls {
		return ":443"
	}
	return "127.0.0.1:8080"
}

// Address returns RAIL_ADDR and the first host of RAIL_TLS_DOMAIN, or "", for commands that only call a server:
// it reads no other variable and creates no key, so it works without the rest of the configuration.
func Address(environ map[string]string) (addr, host string) {
	if environ == nil {
		environ = env.ToMap(os.Environ())
	}
	if all, err := hosts(environ["RAIL_TLS_DOMAIN"]); err == nil {
		host = all[0]
	}
	return cmp.Or(environ["RAIL_ADDR"], address(host != "")), host
}

// ofCommands are the variables of commands, with their descriptions. They may be set for a server too.
var ofCommands = [][2]string{
	{"RAIL_BACKUP_PASSPHRASE", "passphrase for the secret key in backups, and in the archive's base backups"},
	{"RAIL_API_URL", "the server for rail listen and rail demo; RAIL_ADDR on this machine unless set"},
	{"RAIL_API_KEY", "the API key for rail listen and rail demo; the first run's unless set"},
	{"RAIL_IMPORT_API_KEY", "the API key of the product to import from, for rail import"},
	{"RAIL_PROCESSOR_API_KEY", "the processor's API key, for rail processor connect"},
	{"RAIL_PROCESSOR_SECRET", "the processor's signing secret, for rail processor connect"},
}

// variableNames returns the names of all variables.
func variableNames() (all []string) {
	for f := range reflect.TypeFor[Config]().Fields() {
		all = append(all, f.Tag.Get("env"))
	}
	for name := range secrets() {
		all = append(all, name+fileSuffix)
	}
	for _, v := range ofCommands {
		all = append(all, v[0])
	}
	return all
}

// unknown returns an error for each unknown RAIL_ variable that resembles a known one: a mistyped name must not
// be ignored silently. For others, such as a client's RAIL_URL, it returns a warning.
func unknown(environ map[string]string) (mistyped []error, foreign []string) {
	all := variableNames()
	// A map has no order; two runs with the same mistakes should print the same.
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		// RAIL_TEST_ variables are for tests of this program, which may run beside a server.
		if !strings.HasPrefix(name, "RAIL_") || strings.HasPrefix(name, "RAIL_TEST_") || slices.Contains(all, name) {
			continue
		}
		if nearest := closest(name, all); nearest != "" {
			mistyped = append(mistyped, fmt.Errorf("%s is not a variable of this program: did you mean %s?", name, nearest))
		} else {
			foreign = append(foreign, name+" is not a variable of this program, and is ignored")
		}
	}
	return mistyped, foreign
}

// closest returns the variable that was probably meant, "" if none is close.
func closest(name string, all []string) string {
	if plain, ok := strings.CutSuffix(name, fileSuffix); ok && slices.Contains(all, plain) {
		return plain // it has no file variant
	}
	return problem.Nearest(name, slices.DeleteFunc(slices.Clone(all), func(k string) bool {
		return strings.HasSuffix(k, fileSuffix) != strings.HasSuffix(name, fileSuffix)
	}))
}

// ErrNoKey means that a private database exists without its secret key. A new key could open nothing, so none is
// created.
var ErrNoKey = errors.New("the secret key of the database is missing")

// LoadKey reads the secret key from its file if no variable has it. It creates a key only if there is neither a
// key nor a private database yet, and returns ErrNoKey if there is only a database.
func (c *Config) LoadKey() error {
	if c.SecretText != "" {
		c.KeyFrom = "RAIL_SECRET_KEY"
		if from := c.sources[c.KeyFrom]; from != environment {
			c.KeyFrom = from
		}
		return nil
	}
	path, err := c.keyFile()
	if err != nil {
		return err
	}
	c.KeyFrom = path
	// Checked before the key: a server that creates both creates the key first.
	exists := embedded.Exists(c.DataDir)
	if err := c.readKey(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if exists {
		return fmt.Errorf("%w: restore %s, or set RAIL_SECRET_KEY to its content", ErrNoKey, path)
	}
	if err := c.makeKey(path); err != nil {
		return err
	}
	return c.readKey(path) // from the disk: another process may have been first
}

// keyFile returns the path of the secret key of a private database.
func (c *Config) keyFile() (string, error) {
	return filepath.Abs(filepath.Join(c.DataDir, "secret.key"))
}

// Fresh reports whether LoadKey would create a key: none is given, and no private database needs one.
func (c *Config) Fresh() bool {
	path, err := c.keyFile()
	if err == nil {
		_, err = os.Stat(path)
	}
	return c.SecretText == "" && errors.Is(err, fs.ErrNotExist) && !embedded.Exists(c.DataDir)
}

// KeepKey writes the secret key for a private database that is about to be created.
func (c *Config) KeepKey(key [32]byte) error {
	path, err := c.keyFile()
	if err != nil {
		return err
	}
	return c.writeKey(path, key)
}

// readKey reads the key from a file that only its owner can read. It refuses a file that others can read instead
// of changing its mode: they may have read it already.
func (c *Config) readKey(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be read by other users (%o): run chmod 600 on it, and change the key if it may have been read", path,
			info.Mode().Perm())
	}
	if !parseKey(strings.TrimSpace(string(raw)), &c.SecretKey) {
		return fmt.Errorf("%s must contain %s", path, aKey)
	}
	return nil
}

// makeKey writes a new key.
func (c *Config) makeKey(path string) error {
	var key [32]byte
	if _, err := rand.Read(key[:]); err != nil {
		return err
	}
	return c.writeKey(path, key)
}

// writeKey writes a key under a temporary name and links it to the final one, so that no process reads half a
// key. An existing key stays: unlike a rename, a link does not replace it.
func (c *Config) writeKey(path string, key [32]byte) error {
	if err := os.MkdirAll(c.DataDir, 0o755); err != nil { // PostgreSQL's account must be able to enter
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

// Plan returns the default limits of organizations. 0 is no limit.
func (c *Config) Plan() quota.Plan {
	return quota.Plan{FlowQuota: c.FlowQuota, RevenueMeterMinor: c.RevenueMeterMinor, FraudMonitoring: c.FraudMonitoring}
}

// MailSender returns the sender address of mails. Without a public host, that is rail@localhost, which few mail
// servers accept.
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

// FormerKeys returns the former keys, which still open values that they sealed.
func (c *Config) FormerKeys() [][32]byte {
	if c.PreviousText == "" {
		return nil
	}
	return [][32]byte{c.previousKey}
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
	b.WriteString("Variables of commands:\n")
	for _, v := range ofCommands {
		fmt.Fprintf(&b, "  %-28s %s\n", v[0], v[1])
	}
	b.WriteString("A secret may be in a file, named by another variable:\n")
	for name := range secrets() {
		fmt.Fprintf(&b, "  %s\n", name+fileSuffix)
	}
	return b.String()
}

// ConsoleBase returns the public address of the console.
func (c *Config) ConsoleBase() string {
	switch {
	case c.ConsoleURL != "":
		return strings.TrimSuffix(c.ConsoleURL, "/")
	case c.ConsoleAddr != "":
		return local(c.ConsoleAddr)
	}
	return c.BaseURL
}

// usageLine matches a variable in the help, with its description and its default.
var usageLine = regexp.MustCompile(`(?m)^  ((?:RAIL|OTEL)_\w+)(?: +(.*?)(?: \(default (.*)\))?)?$`)

// Example returns an environment file with all variables, commented out.
func Example() string {
	var b strings.Builder
	b.WriteString("# Every variable of Rail with its default. This file can be used by systemd (EnvironmentFile), Docker\n" +
		"# (--env-file) and a shell; keep secrets in separate files, named by the variables in _FILE.\n")
	for _, m := range usageLine.FindAllStringSubmatch(Usage(), -1) {
		if m[2] != "" {
			fmt.Fprintf(&b, "\n# %s\n", m[2])
		}
		fmt.Fprintf(&b, "#%s=%s\n", m[1], m[3])
	}
	return b.String()
}
