package server_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A figure is a number in a page that is a constant of the source.
type figure struct {
	page string // from the module's folder
	text string // of the page, with % in place of the number
	of   string // the file and the constant, such as team/session.go Idle
	unit int64  // of the number, in the constant's unit
}

// The units of figures.
const (
	kilo   = 1 << 10
	mega   = 1 << 20
	milli  = int64(time.Millisecond)
	second = int64(time.Second)
	minute = int64(time.Minute)
	hour   = int64(time.Hour)
)

// The pages with limits.
const (
	ofHTTP     = "server/http/README.md"
	ofConsole  = "server/http/console/README.md"
	ofPortal   = "server/http/portal/README.md"
	ofMoney    = "server/money/README.md"
	ofWebhooks = "server/outbound/webhook/README.md"
	ofOperator = "cmd/rail/README.md"
	ofUpgrades = "cmd/rail/upgrade.md"
)

// figures are the limits that pages promise.
var figures = []figure{
	{ofHTTP, "(% requests a second unless", "auth/key.go DefaultRateLimit", 1},
	{ofHTTP, "and % requests a second for a publishable key", "http/middleware/browser.go publishableLimit", 1},
	{ofHTTP, "stores at most % buckets", "http/middleware/ratelimit.go maxBuckets", 1},
	{ofHTTP, "caches % look-ups of keys", "program/publishable/store.go maxCached", 1},
	{ofHTTP, "A body has at most % KiB", "http/middleware/browser.go maxBrowserBody", kilo},
	{ofHTTP, "A server accepts % connections", "app/connections.go maxConnections", 1},
	{ofHTTP, "and % from one address", "app/connections.go maxOfAddress", 1},
	{ofHTTP, "reads a body of up to % MiB", "http/middleware/limits.go MaxBody", mega},
	{ofHTTP, "One of more than % KiB", "http/hooks/places.go smallBody", kilo},
	{ofHTTP, "A body has at most % MiB", "inbound/inbox/receive.go MaxBody", mega},
	{ofHTTP, "needs one of % places", "http/hooks/places.go maxPlaces", 1},
	{ofHTTP, "and one of % of its address", "http/hooks/places.go placesOfAddress", 1},
	{ofHTTP, "(% if the address is above its limit)", "http/hooks/places.go placesBeyond", 1},
	{ofHTTP, "waits up to % s for a place", "http/hooks/places.go placeTimeout", second},
	{ofHTTP, "that has had one for % ms", "http/hooks/places.go grace", milli},
	{ofHTTP, "allowance of % MiB of the organization", "http/middleware/idempotency.go maxStoredBytes", mega},
	{ofHTTP, "If a batch takes more than % ms", "postgres/pgtx/share/group_commit.go memberTimeout", milli},
	{ofConsole, "A bulk change has at most % rows", "http/console/money.go maxTicked", 1},
	{ofConsole, "A CSV has at most % rows", "http/console/file.go maxFileRows", 1},
	{ofConsole, "A form has at most % kB", "http/site/posted.go maxForm", kilo},
	{ofConsole, "a file % MB", "http/site/visit.go maxFile", mega},
	{ofConsole, "CSV files of an import % MB", "inbound/importer/files.go MaxUpload", mega},
	{ofConsole, "(at least % characters)", "team/password.go minPassword", 1},
	{ofConsole, "and % recovery codes", "team/factor.go recoveryCodes", 1},
	{ofConsole, "A session ends after % hours without use", "team/session.go Idle", hour},
	{ofConsole, "without use and after % days at the latest", "team/session.go absolute", 24 * hour},
	{ofConsole, "After % wrong passwords", "team/attempts.go perAccount", 1},
	{ofConsole, "or % from an address", "team/attempts.go perAddress", 1},
	{ofConsole, "of an account within % minutes", "auth/attempt/attempt.go Window", minute},
	{ofPortal, "A CSV has the latest % commissions", "http/portal/tables.go tableRows", 1},
	{ofPortal, "a statement %.", "http/portal/payouts.go statementRows", 1},
	{ofPortal, "A session lasts % days after its last use", "program/partner/session.go SessionLife", 24 * hour},
	{ofPortal, "within % hours of signing in", "program/partner/session.go freshFor", hour},
	{ofPortal, "all networks together % for an address", "program/partner/mailed.go linksToAddress", 1},
	{ofPortal, "for an address and % in total", "program/partner/mailed.go linksFromAddress", 1},
	{ofPortal, "at most % links a day", "program/partner/mailed.go linksOfDay", 1},
	{ofPortal, "Fewer than % partners are not shown", "http/portal/board.go boardLeast", 1},
	{ofPortal, "partners see the % partners with the most", "http/portal/board.go boardRows", 1},
	{ofMoney, "generates the payouts of % partners", "money/payout/page.go pageSize", 1},
	{ofMoney, "has at most % statements", "http/verify/ledger.go maxHashes", 1},
	{ofMoney, "A flow has at most % KiB of conditions", "program/flow/flow.go maxConditions", kilo},
	{ofMoney, "active flows % KiB", "program/flow/flow.go maxActiveConditions", kilo},
	{ofMoney, "A server caches up to % MiB", "money/commission/flows.go maxCacheBytes", mega},
	{ofMoney, "A report by period has at most % rows", "money/report/report.go MaxBuckets", 1},
	{ofWebhooks, "answer with any 2xx within % seconds", "outbound/webhook/attempt.go Deadline", second},
	{ofWebhooks, "A delivery has % attempts", "outbound/webhook/schedule.go MaxAttempts", 1},
	{ofWebhooks, "An event waits at most % seconds", "outbound/webhook/sender.go longestWait", second},
	{ofWebhooks, "A server sends to % endpoints at once", "outbound/webhook/sender.go maxBusy", 1},
	{ofOperator, "N requests a second; the default is %.", "auth/key.go DefaultRateLimit", 1},
	{ofOperator, "A server sends over % connections", "outbound/mail/send.go workers", 1},
	{ofOperator, "A campaign to more than % partners", "outbound/campaign/campaign.go maxCounted", 1},
	{ofOperator, "less than % MB of free disk space", "telemetry/disk/disk.go Least", mega},
	{ofOperator, "When it exceeds % MB", "postgres/embedded/launch.go maxLog", mega},
	{ofOperator, "more than 5, 15 and % minutes overdue", "app/ready.go lateInbox", minute},
	{ofOperator, "more than %, 15 and 2 minutes overdue", "app/ready.go lateWebhook", minute},
	{ofOperator, "more than 5, % and 2 minutes overdue", "app/ready.go lateMail", minute},
	{ofOperator, "Queues are counted up to %.", "work/backlog/backlog.go Most", 1},
	{ofOperator, "is more than % seconds behind", "postgres/standby/standby.go MaxLag", second},
	{ofOperator, "Each standby is checked every % ms", "postgres/standby/watch.go every", milli},
	{ofOperator, "the database, at most every % seconds", "work/backlog/backlog.go cacheTTL", second},
	{ofOperator, "seconds and for at most %.", "work/backlog/backlog.go readTimeout", second},
	{ofOperator, "ignored after % days", "work/waiting.go MaxWait", 24 * hour},
	{ofUpgrades, "then yields for about a second and retries, up to % times", "postgres/migrate/atomic.go attempts", 1},
	{ofUpgrades, "each of the last % schemas the newest backup stays", "cli/upgrade.go maxUpgrades", 1},
}

// small are the numbers that pages write as words.
var small = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen " +
	"fourteen fifteen sixteen seventeen eighteen nineteen twenty")

// words returns a pattern of the ways to write a number.
func words(n int64) string {
	digits := strconv.FormatInt(n, 10)
	if n >= 1000 {
		digits = digits[:len(digits)-3] + "," + digits[len(digits)-3:]
	}
	out := regexp.QuoteMeta(digits)
	if n < int64(len(small)) {
		out += "|" + small[n]
	}
	for tens, name := range map[int64]string{30: "thirty", 50: "fifty"} {
		if n == tens {
			out += "|" + name
		}
	}
	return "(?:" + out + ")"
}

// TestFiguresInPages compares the limits that pages promise with the constants of the source.
func TestFiguresInPages(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for _, f := range figures {
		if texts[f.page] == "" {
			text, err := os.ReadFile(filepath.Join(root, f.page))
			require.NoError(t, err)
			texts[f.page] = strings.Join(strings.Fields(string(text)), " ")
		}
		file, name, _ := strings.Cut(f.of, " ")
		value := valueOf(t, file, name)
		require.Zero(t, value%f.unit, "%s: %d", f.of, value)
		pattern := strings.Replace(regexp.QuoteMeta(f.text), "%", words(value/f.unit), 1)
		if !regexp.MustCompile(pattern).MatchString(texts[f.page]) {
			promise := strings.Replace(f.text, "%", strconv.FormatInt(value/f.unit, 10), 1)
			t.Errorf("%s does not contain %q: %s is %d", f.page, promise, f.of, value)
		}
	}
}

// valueOf evaluates a constant of numbers and units of time.
func valueOf(t *testing.T, file, name string) (out int64) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	found := false
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != name || len(spec.Values) != 1 {
			return true
		}
		e := spec.Values[0]
		source := string(text[set.Position(e.Pos()).Offset:set.Position(e.End()).Offset])
		units := map[string]int64{"Millisecond": milli, "Second": second, "Minute": minute, "Hour": hour}
		for unit, n := range units {
			source = strings.ReplaceAll(source, "time."+unit, strconv.FormatInt(n, 10))
		}
		got, err := types.Eval(token.NewFileSet(), nil, token.NoPos, source)
		require.NoError(t, err, "%s %s", file, name)
		out, found = constant.Int64Val(got.Value)
		return false
	})
	require.True(t, found, "%s has no constant %s", file, name)
	return out
}
