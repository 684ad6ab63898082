package bar

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/dataset"
	"rail/server/harness/paypaltest"
	"rail/server/ident"
	"rail/server/postgres"
	"rail/server/secret"
)

// system is the system under test: two server processes and one PostgreSQL. Requests go
// to the processes in turn, so that whatever one keeps in memory shows as a difference.
type system struct {
	cluster     *cluster
	dsn         string
	binary      string
	pool        *pgxpool.Pool
	keeper      *secret.Keeper
	processes   []*instance
	http        *http.Client
	seed        uint64
	secretKey   [32]byte
	sink        *sink
	paypal      *paypaltest.Server // the PayPal of all processes, and its clock
	clock       *clock.Manual
	paypalWeb   *httptest.Server
	bug         string       // run only the seeded bugs whose names contain this text
	counter     atomic.Int64 // of unique names
	turn        atomic.Int64 // of the processes
	unavailable atomic.Bool  // during kills, when 503 is allowed
	answerCount atomic.Int64 // answers in all

	mu      sync.Mutex
	faults  []string
	broken  int               // all faults, including unlisted ones
	similar map[string]int    // number of faults with the same status, of which three are kept
	canary  map[string]string // by text, the only key that may see it
}

// digits finds the status in a fault's text: faults with the same status are
// mostly one fault.
var digits = regexp.MustCompile(`answer(s|ed) \d\d\d`)

// mostFaults is how many faults are printed; further ones are counted.
const mostFaults = 12

// newSystem starts two servers on a new database, so that a stage does not affect another system.
func newSystem(ctx context.Context, c *cluster, binary string, seed uint64) (*system, error) {
	dsn, err := c.database(ctx)
	if err != nil {
		return nil, err
	}
	sys, err := newSystemOn(ctx, dsn, binary, seed)
	if err == nil {
		sys.cluster = c
	}
	return sys, err
}

// newSystemOn starts two servers on a database that has Rail's tables.
func newSystemOn(ctx context.Context, dsn, binary string, seed uint64) (*system, error) {
	sys := &system{dsn: dsn, binary: binary, seed: seed, canary: map[string]string{}, similar: map[string]int{}}
	sys.http = &http.Client{
		Timeout:       20 * time.Second,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for i := range sys.secretKey {
		sys.secretKey[i] = byte(i + 1)
	}
	var err error
	if sys.keeper, err = secret.New(sys.secretKey); err != nil {
		return nil, err
	}
	if sys.pool, err = postgres.Open(ctx, sys.dsn, postgres.Options{MaxConns: 8, Check: true}); err != nil {
		return nil, err
	}
	sys.sink = newSink()
	sys.clock = clock.NewManual(clock.Real())
	sys.paypal = paypaltest.New(paypaltest.Config{Clock: sys.clock, Seed: seed})
	sys.paypalWeb = httptest.NewServer(sys.paypal)
	sys.paypal.SetURL(sys.paypalWeb.URL)
	for range 2 {
		p, err := sys.process(sys.dsn, "RAIL_WEBHOOK_ALLOW_CIDRS=127.0.0.0/8", "RAIL_PAYPAL_URL="+sys.paypalWeb.URL)
		if err != nil {
			sys.close()
			return nil, err
		}
		sys.processes = append(sys.processes, p)
	}
	return sys, nil
}

// process starts another server process.
func (sys *system) process(dsn string, environ ...string) (*instance, error) {
	for product := range (config.Config{}).ImportURLs() { // nothing listens there
		environ = append(environ, "RAIL_IMPORT_URL_"+strings.ToUpper(product)+"=http://127.0.0.1:1")
	}
	return newInstance(sys.binary, dsn, sys.secretKey, environ...)
}

// close ends the servers. A server that does not end cleanly is a fault.
func (sys *system) close() {
	for _, p := range sys.processes {
		if err := p.end(); err != nil {
			sys.fault("%v", err)
		}
	}
	sys.pool.Close()
	sys.sink.close()
	sys.paypalWeb.Close()
}

// random returns a source that depends on the seed, stage and part only.
func (sys *system) random(stage string, part int) *rand.Rand {
	var n uint64
	for _, c := range stage {
		n = n*131 + uint64(c)
	}
	return rand.New(rand.NewPCG(sys.seed, n<<16+uint64(part)))
}

// fault records a fault, which fails the stage. The stage goes on: what else is wrong
// says more about the cause than the first fault alone.
func (sys *system) fault(format string, args ...any) {
	sys.mu.Lock()
	defer sys.mu.Unlock()
	sys.broken++
	text := fmt.Sprintf(format, args...)
	kind := digits.FindString(text)
	if sys.similar[kind]++; len(sys.faults) < mostFaults && sys.similar[kind] <= 3 {
		sys.faults = append(sys.faults, "- "+text[:min(len(text), 900)])
	}
}

// take returns the faults since the last call, and their number.
func (sys *system) take() ([]string, int) {
	sys.mu.Lock()
	defer sys.mu.Unlock()
	faults, n := sys.faults, sys.broken
	sys.faults, sys.broken, sys.similar = nil, 0, map[string]int{}
	return faults, n
}

// unique returns a name that no other call returns. Given such a stem, it consists
// of lower-case letters, digits and hyphens, as handles must.
func (sys *system) unique(stem string) string {
	return fmt.Sprintf("%s-%06d", stem, sys.counter.Add(1))
}

// org is an organization with a key of all scopes.
type org struct {
	sys     *system
	id, key string
}

// org adds an organization with a key of all scopes.
func (sys *system) org(ctx context.Context, name string) (*org, error) {
	o := &org{sys: sys, id: ident.New(ident.Organization)}
	err := db.New().OrganizationInsert(ctx, sys.pool, db.OrganizationInsertParams{
		ID: o.id, Name: name, OwnerEmail: new("owner@rail.example"), CreatedAt: clock.System{}.Now(),
	})
	if err != nil {
		return nil, err
	}
	o.key, err = sys.newKey(ctx, o.id, true, "read", "write")
	return o, err
}

// newKey adds a key that no stage brings to its rate limit. Limits have tests of their
// own, and G11 uses keys with the usual one.
func (sys *system) newKey(ctx context.Context, org string, live bool, scopes ...string) (string, error) {
	return sys.limitedKey(ctx, org, live, dataset.NoLimit, scopes...)
}

// limitedKey adds a key with a rate limit in requests a second.
func (sys *system) limitedKey(
	ctx context.Context, org string, live bool, limit int32, scopes ...string,
) (string, error) {
	return dataset.Key{Org: org, Live: live, Limit: limit, Scopes: scopes}.Insert(ctx, sys.pool, sys.keeper,
		clock.System{}.Now())
}

// guard makes it a fault if an answer to another key contains the text.
func (sys *system) guard(text, key string) {
	sys.mu.Lock()
	defer sys.mu.Unlock()
	sys.canary[text] = key
}

// count returns the number of faults since the last take.
func (sys *system) count() int {
	sys.mu.Lock()
	defer sys.mu.Unlock()
	return sys.broken
}
