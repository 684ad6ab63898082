package config

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"golang.org/x/net/idna"

	"rail/server/team"
)

// rule is a variable's requirement. A refusal shows the value, unless it is a secret. A variable may have
// several rules; one without valid only has to parse.
type rule struct {
	variable, must string
	valid          func(*Config) bool
}

// Requirements of several variables, to follow "must be".
const (
	anAddress = "host:port, such as 127.0.0.1:8080"
	aWebSite  = "an http or https address without user, query and fragment, such as https://rail.example"
	aDatabase = "a PostgreSQL address, such as postgres://user:password@host:5432/name"
	aKey      = "32 bytes as 64 hex digits or base64, such as openssl rand -hex 32 prints"
	aSwitch   = "on or off (or yes, no, true, false, 1, 0)"
	// A provider's settings need the provider's address.
	withIssuer = "be set together with RAIL_OIDC_ISSUER"
	aNetwork   = "addresses or networks with commas between, such as 10.0.0.0/8,192.0.2.1"
)

// rules covers every variable, since a value that does not parse is refused with the text of its rule. The
// bounds are wide: they catch slips, such as a missing unit, and leave decisions to the operator.
var rules = []rule{
	{variable: "RAIL_ADDR", must: "be " + anAddress, valid: func(c *Config) bool { return unset(c.Addr, listenAddress) }},
	{variable: "RAIL_TLS_DOMAIN", must: "be host names with commas between, such as rail.example"},
	{
		variable: "RAIL_TLS_EMAIL", must: "be an email address, such as ops@shop.example",
		valid: func(c *Config) bool { return unset(c.TLSEmail, mailAddress) },
	},
	{
		variable: "RAIL_TLS_DIRECTORY", must: "be an https address, such as https://ca.example/acme/directory",
		valid: func(c *Config) bool { return webAddress(c.TLSDirectory) && strings.HasPrefix(c.TLSDirectory, "https:") },
	},
	{
		variable: "RAIL_TLS_HTTP_ADDR", must: "be " + anAddress + ", or off",
		valid: func(c *Config) bool { return c.RedirectAddr == "off" || unset(c.RedirectAddr, listenAddress) },
	},
	{
		variable: "RAIL_TLS_HTTP_ADDR", must: "not be set without RAIL_TLS_DOMAIN",
		valid: func(c *Config) bool { return c.RedirectAddr == "" || len(c.TLSDomains) > 0 },
	},
	{
		variable: "RAIL_METRICS_ADDR", must: "be " + anAddress,
		valid: func(c *Config) bool { return unset(c.MetricsAddr, listenAddress) },
	},
	{
		variable: "OTEL_EXPORTER_OTLP_ENDPOINT", must: "be " + aWebSite,
		valid: func(c *Config) bool { return unset(c.OTLPEndpoint, webAddress) },
	},
	{
		variable: "RAIL_CONSOLE_ADDR", must: "be " + anAddress,
		valid: func(c *Config) bool { return unset(c.ConsoleAddr, listenAddress) },
	},
	{
		variable: "RAIL_CONSOLE_URL", must: "be " + aWebSite,
		valid: func(c *Config) bool { return unset(c.ConsoleURL, webAddress) },
	},
	{
		variable: "RAIL_BASE_URL", must: "be " + aWebSite,
		valid: func(c *Config) bool { return unset(c.BaseURL, webAddress) },
	},
	{
		variable: "RAIL_BASE_URL", must: "begin with https:// if RAIL_TLS_DOMAIN is set",
		valid: func(c *Config) bool {
			return c.BaseURL == "" || len(c.TLSDomains) == 0 || strings.HasPrefix(c.BaseURL, "https:")
		},
	},
	{
		variable: "RAIL_SHORT_URL", must: "be " + aWebSite,
		valid: func(c *Config) bool { return unset(c.ShortURL, webAddress) },
	},
	{
		variable: "RAIL_STRIPE_URL", must: "be " + aWebSite,
		valid: func(c *Config) bool { return unset(c.StripeURL, webAddress) },
	},
	{
		variable: "RAIL_PAYPAL_URL", must: "be " + aWebSite,
		valid: func(c *Config) bool { return unset(c.PayPalURL, webAddress) },
	},
	{
		variable: "RAIL_IMPORT_URL_REWARDFUL", must: "be " + aWebSite,
		valid: func(c *Config) bool { return unset(c.ImportURLRewardful, webAddress) },
	},
	{
		variable: "RAIL_IMPORT_URL_TOLT", must: "be " + aWebSite,
		valid: func(c *Config) bool { return unset(c.ImportURLTolt, webAddress) },
	},
	{
		variable: "RAIL_IMPORT_URL_FIRSTPROMOTER", must: "be " + aWebSite,
		valid: func(c *Config) bool { return unset(c.ImportURLFirstPromoter, webAddress) },
	},
	{
		variable: "RAIL_IMPORT_URL_TAPFILIATE", must: "be " + aWebSite,
		valid: func(c *Config) bool { return unset(c.ImportURLTapfiliate, webAddress) },
	},
	{
		variable: "RAIL_IMPORT_URL_PARTNERSTACK", must: "be " + aWebSite,
		valid: func(c *Config) bool { return unset(c.ImportURLPartnerStack, webAddress) },
	},
	{
		variable: "RAIL_IMPORT_URL_DUB", must: "be " + aWebSite,
		valid: func(c *Config) bool { return unset(c.ImportURLDub, webAddress) },
	},
	{
		variable: "RAIL_DATABASE_URL", must: "be " + aDatabase,
		valid: func(c *Config) bool { return unset(c.DatabaseURL, database) },
	},
	{
		variable: "RAIL_DATABASE_SESSION_URL", must: "be " + aDatabase,
		valid: func(c *Config) bool { return unset(c.SessionURL, database) },
	},
	{variable: "RAIL_DATABASE_SESSION_URL", must: "not be set without RAIL_DATABASE_URL",
		valid: func(c *Config) bool {
			return c.SessionURL == "" || c.DatabaseURL != ""
		}},
	{variable: "RAIL_DATABASE_READ_URL", must: "be PostgreSQL addresses that begin with postgres://, with spaces between",
		valid: func(c *Config) bool {
			return !slices.ContainsFunc(c.ReadURLs(), func(v string) bool {
				return !strings.HasPrefix(v, "postgres://") && !strings.HasPrefix(v, "postgresql://") || !database(v)
			})
		}},
	{variable: "RAIL_DATABASE_READ_URL", must: "not be set without RAIL_DATABASE_URL",
		valid: func(c *Config) bool {
			return c.ReadURL == "" || c.DatabaseURL != ""
		}},
	{
		variable: "RAIL_DATA_DIR", must: "be a folder that exists or can be created",
		valid: func(c *Config) bool { return folder(c.DataDir) },
	},
	{
		variable: "RAIL_PG_BINDIR", must: "be the folder of postgres and initdb",
		valid: func(c *Config) bool { return unset(c.PGBinDir, isFolder) },
	},
	{
		variable: "RAIL_ARCHIVE_DIR", must: "be a folder that exists or can be created",
		valid: func(c *Config) bool { return unset(c.ArchiveDir, folder) },
	},
	{variable: "RAIL_ARCHIVE_DIR", must: "not be set with RAIL_DATABASE_URL: an external PostgreSQL has its own archive",
		valid: func(c *Config) bool {
			return c.ArchiveDir == "" || c.DatabaseURL == ""
		}},
	number("RAIL_ARCHIVE_DAYS", 1, 3650, func(c *Config) int64 { return int64(c.ArchiveDays) }),
	{variable: "RAIL_UPGRADE_BACKUP", must: "be " + aSwitch},
	{variable: "RAIL_SECRET_KEY", must: "be " + aKey, valid: func(c *Config) bool {
		return unset(c.SecretText, func(v string) bool { return parseKey(v, &c.SecretKey) })
	}},
	// With the operator's own database, there is no place for a generated key.
	{variable: "RAIL_SECRET_KEY", must: "be set with RAIL_DATABASE_URL: " + aKey,
		valid: func(c *Config) bool {
			return c.SecretText != "" || c.DatabaseURL == ""
		}},
	{variable: "RAIL_SECRET_KEY_PREVIOUS", must: "be " + aKey, valid: func(c *Config) bool {
		return unset(c.PreviousText, func(v string) bool { return parseKey(v, &c.previousKey) })
	}},
	{
		variable: "RAIL_LOG_FORMAT", must: "be text or json",
		valid: func(c *Config) bool { return among(c.LogFormat, "text", "json") },
	},
	{variable: "RAIL_LOG_LEVEL", must: "be debug, info, warn or error", valid: func(c *Config) bool {
		return among(c.LogLevel, "debug", "info", "warn", "error")
	}},
	{
		variable: "RAIL_SERVICE_NAME", must: "be one line of 1 to 64 characters",
		valid: func(c *Config) bool { return oneLine(c.ServiceName) },
	},
	{variable: "RAIL_SMTP_URL", must: "be smtp://user:password@host:port, smtps:// or dir:PATH",
		valid: func(c *Config) bool {
			return unset(c.SMTPURL, mailServer)
		}},
	{variable: "RAIL_MAIL_FROM", must: "be an email address, such as partners@shop.example", valid: func(c *Config) bool {
		return unset(c.MailFrom, mailAddress)
	}},
	{variable: "RAIL_MAIL_PIXEL", must: "be " + aSwitch},
	{
		variable: "RAIL_OIDC_ISSUER", must: "be " + aWebSite,
		valid: func(c *Config) bool { return unset(c.OIDCIssuer, webAddress) },
	},
	{variable: "RAIL_OIDC_CLIENT_ID", must: withIssuer, valid: func(c *Config) bool {
		return (c.OIDCClientID == "") == (c.OIDCIssuer == "")
	}},
	{variable: "RAIL_OIDC_CLIENT_SECRET", must: withIssuer, valid: func(c *Config) bool {
		return (c.OIDCClientSecret == "") == (c.OIDCIssuer == "")
	}},
	{variable: "RAIL_OIDC_ROLE", must: "be owner, manager, finance or viewer", valid: func(c *Config) bool {
		return unset(c.OIDCRole, func(v string) bool { return slices.Contains(team.Roles, team.Role(v)) })
	}},
	{variable: "RAIL_OIDC_ROLE", must: "not be set without RAIL_OIDC_ISSUER", valid: func(c *Config) bool {
		return c.OIDCRole == "" || c.OIDCIssuer != ""
	}},
	{variable: "RAIL_WEBHOOK_ALLOW_CIDRS", must: "be " + aNetwork},
	{variable: "RAIL_WEBHOOK_REQUIRE_HTTPS", must: "be " + aSwitch},
	{variable: "RAIL_TRUSTED_PROXIES", must: "be " + aNetwork},
	number("RAIL_ADDRESS_RATE_LIMIT", 1, 1_000_000, func(c *Config) int64 { return int64(c.AddressRateLimit) }),
	number("RAIL_FLOW_QUOTA", 0, 1_000_000_000, func(c *Config) int64 { return c.FlowQuota }),
	number("RAIL_REVENUE_METER_MINOR", 0, 99_999_999_999_999, func(c *Config) int64 { return c.RevenueMeterMinor }),
	{variable: "RAIL_FRAUD_MONITORING", must: "be " + aSwitch},
	{variable: "RAIL_HOLD_ON_HIGH_RISK", must: "be " + aSwitch},
	{variable: "RAIL_IGNORE_UNKNOWN_FIELDS", must: "be " + aSwitch},
	number("RAIL_DB_MAX_CONNS", 2, 1000, func(c *Config) int64 { return int64(c.DBMaxConns) }),
	{variable: "RAIL_SHUTDOWN_TIMEOUT", must: "be a time above 0 and up to 1h, such as 30s", valid: func(c *Config) bool {
		return c.ShutdownTimeout > 0 && c.ShutdownTimeout <= time.Hour
	}},
	{variable: "RAIL_AUDIT_RETENTION_DAYS", must: "be 0 or a whole number from 30 to 36500",
		valid: func(c *Config) bool {
			return c.AuditRetentionDays == 0 || c.AuditRetentionDays >= 30 && c.AuditRetentionDays <= 36_500
		}},
	{variable: "RAIL_TEST_CLOCK", must: "be " + aSwitch},
	{variable: "RAIL_CLICK_RETENTION_DAYS", must: "be 0 or a whole number from 90 to 36500",
		valid: func(c *Config) bool {
			return c.ClickRetentionDays == 0 || c.ClickRetentionDays >= 90 && c.ClickRetentionDays <= 36_500
		}},
	// The API promises replays for 30 days.
	number("RAIL_RETENTION_DAYS", 30, 36_500, func(c *Config) int64 { return int64(c.RetentionDays) }),
}

// number returns the rule of a whole number.
func number(variable string, least, most int64, value func(*Config) int64) rule {
	return rule{variable: variable, must: fmt.Sprintf("be a whole number from %d to %d", least, most),
		valid: func(c *Config) bool {
			return value(c) >= least && value(c) <= most
		}}
}

// refusal returns an error with the variable, its value and its requirement.
func (r rule) refusal(value string) error {
	if isSecret(r.variable) || value == "" {
		return fmt.Errorf("%s must %s", r.variable, r.must)
	}
	return fmt.Errorf("%s is %q: it must %s", r.variable, value, r.must)
}

// unset reports whether a value is empty or valid; most variables are optional.
func unset(v string, is func(string) bool) bool { return v == "" || is(v) }

// among reports whether v is one of the words, in any case.
func among(v string, words ...string) bool { return slices.Contains(words, strings.ToLower(v)) }

// Switch parses a switch in variables and flags. It fails for anything else: a mistyped "of" must not turn
// something on.
func Switch(v string) (bool, error) {
	switch strings.ToLower(v) {
	case "on", "yes", "true", "1":
		return true, nil
	case "off", "no", "false", "0":
		return false, nil
	}
	return false, errors.New("it must be " + aSwitch)
}

// networks parses comma-separated networks.
func networks(v string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for one := range strings.SplitSeq(v, ",") {
		n, err := network(one)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// maxHosts is the number of certificates that an authority issues within its rate limit.
const maxHosts = 50

// hosts parses comma-separated host names, in the form that certificates use. No authority issues one for a name
// without a dot.
func hosts(v string) ([]string, error) {
	var out []string
	for one := range strings.SplitSeq(v, ",") {
		host, err := idna.Lookup.ToASCII(strings.TrimSpace(one))
		_, isAddress := netip.ParseAddr(host)
		if err != nil || isAddress == nil || !strings.Contains(host, ".") || strings.HasSuffix(host, ".") || len(host) > 253 {
			return nil, fmt.Errorf("%q is not a host name", one)
		}
		out = append(out, host)
	}
	if len(out) > maxHosts {
		return nil, fmt.Errorf("more than %d", maxHosts)
	}
	return out, nil
}

// network parses a network, or a single address as a network.
func network(v string) (netip.Prefix, error) {
	v = strings.TrimSpace(v)
	if p, err := netip.ParsePrefix(v); err == nil {
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(v)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// listenAddress reports whether v is host:port with a valid port.
func listenAddress(v string) bool {
	_, port, err := net.SplitHostPort(v)
	return err == nil && isPort(port)
}

// isPort reports whether v is a port number, including 0, with which the system chooses one.
func isPort(v string) bool {
	_, err := strconv.ParseUint(v, 10, 16)
	return err == nil
}

// database reports whether v can be an address of PostgreSQL, without connecting.
func database(v string) bool {
	_, err := pgx.ParseConfig(v)
	return err == nil
}

// folder reports whether v is a folder or does not exist. It is created when it is needed.
func folder(v string) bool {
	st, err := os.Stat(v)
	return errors.Is(err, os.ErrNotExist) || err == nil && st.IsDir()
}

// isFolder reports whether v is a folder.
func isFolder(v string) bool {
	st, err := os.Stat(v)
	return err == nil && st.IsDir()
}

// oneLine reports whether v can be used in a header and as a mail's sender.
func oneLine(v string) bool {
	return strings.TrimSpace(v) != "" && len([]rune(v)) <= 64 && !strings.ContainsFunc(v, unicode.IsControl)
}

// mailServer reports whether v is a way to send mails: by a server, or as files into a folder.
func mailServer(v string) bool {
	if path, ok := strings.CutPrefix(v, "dir:"); ok {
		return path != ""
	}
	u, err := url.Parse(v)
	return err == nil && (u.Scheme == "smtp" || u.Scheme == "smtps") && u.Hostname() != "" && unset(u.Port(), isPort)
}

// mailAddress reports whether v is an address without a name: the name is the service's or a program's.
func mailAddress(v string) bool {
	a, err := mail.ParseAddress(v)
	return err == nil && a.Address == v
}

// webAddress reports whether v is an address to which paths can be added.
func webAddress(v string) bool {
	u, err := url.Parse(v)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && unset(u.Port(), isPort) &&
		u.User == nil && !strings.ContainsAny(v, "?#")
}

// parseKey parses exactly 32 bytes, as hex or base64, and reports success. 64 hex digits are valid base64 too,
// of 48 bytes, so hex is tried first.
func parseKey(text string, into *[32]byte) bool {
	raw, err := hex.DecodeString(text)
	if err != nil {
		raw, err = base64.StdEncoding.DecodeString(text)
	}
	return err == nil && copy(into[:], raw) == len(raw) && len(raw) == len(into)
}
