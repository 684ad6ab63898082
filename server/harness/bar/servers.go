package bar

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/auth"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/postgres"
	"rail/server/secret"
)

// world is what the stages work on: two server processes and one PostgreSQL.
type world struct {
	cluster   *cluster
	dsn       string
	binary    string
	pool      *pgxpool.Pool
	keeper    *secret.Keeper
	processes []*instance
	http      *http.Client
	seed      uint64
	secretKey [32]byte
	sink      *sink
	bug       string // of the seeded bugs only those whose names hold this
	counter   atomic.Int64
	turn      atomic.Int64
	away      atomic.Bool // the database or a process is being killed: 503 is an answer
	asked     atomic.Int64

	mu     sync.Mutex
	faults []string
	broken int
	told   map[string]int    // faults that are alike, by the first number in them
	canary map[string]string // by a text of its own, the organization that alone may see it
}

var digits = regexp.MustCompile(`answer(s|ed) \d\d\d`)

// mostFaults are told in words; the others are counted.
const mostFaults = 12

func newWorld(ctx context.Context, c *cluster, binary string, seed uint64) (*world, error) {
	w := &world{cluster: c, binary: binary, seed: seed, canary: map[string]string{}, told: map[string]int{}}
	w.http = &http.Client{
		Timeout:       20 * time.Second,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for i := range w.secretKey {
		w.secretKey[i] = byte(i + 1)
	}
	var err error
	if w.keeper, err = secret.New(w.secretKey); err != nil {
		return nil, err
	}
	if w.dsn, err = c.database(ctx); err != nil {
		return nil, err
	}
	if w.pool, err = postgres.Open(ctx, w.dsn, postgres.Options{MaxConns: 8, Check: true}); err != nil {
		return nil, err
	}
	w.sink = newSink()
	for range 2 {
		p, err := w.process(w.dsn, "RAIL_WEBHOOK_ALLOW_CIDRS=127.0.0.0/8")
		if err != nil {
			w.close()
			return nil, err
		}
		w.processes = append(w.processes, p)
	}
	return w, nil
}

// process starts one more server of this world.
func (w *world) process(dsn string, environ ...string) (*instance, error) {
	return newInstance(w.binary, dsn, w.secretKey, environ...)
}

func (w *world) close() {
	for _, p := range w.processes {
		if err := p.end(); err != nil {
			w.fault("%v", err)
		}
	}
	w.pool.Close()
	w.sink.close()
}

// random is a source that the seed alone decides.
func (w *world) random(stage string, part int) *rand.Rand {
	var n uint64
	for _, c := range stage {
		n = n*131 + uint64(c)
	}
	return rand.New(rand.NewPCG(w.seed, n<<16+uint64(part)))
}

// fault notes something that must not be.
func (w *world) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken++
	text := fmt.Sprintf(format, args...)
	kind := digits.FindString(text)
	if w.told[kind]++; len(w.faults) < mostFaults && w.told[kind] <= 3 {
		w.faults = append(w.faults, "- "+text[:min(len(text), 900)])
	}
}

// take returns the faults since the last call.
func (w *world) take() ([]string, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	faults, n := w.faults, w.broken
	w.faults, w.broken, w.told = nil, 0, map[string]int{}
	return faults, n
}

// unique returns a name that no other call returns, of lower-case letters,
// digits and hyphens.
func (w *world) unique(stem string) string { return fmt.Sprintf("%s-%06d", stem, w.counter.Add(1)) }

// org is an organization with a key of every right.
type org struct {
	w       *world
	id, key string
}

func (w *world) org(ctx context.Context, name string) (*org, error) {
	o := &org{w: w, id: ident.New(ident.Organization)}
	err := db.New().OrganizationInsert(ctx, w.pool, db.OrganizationInsertParams{
		ID: o.id, Name: name, CreatedAt: clock.System{}.Now(),
	})
	if err != nil {
		return nil, err
	}
	o.key, err = w.newKey(ctx, o.id, true, "read", "write")
	return o, err
}

// newKey adds a key that the limit of requests does not stop.
func (w *world) newKey(ctx context.Context, org string, live bool, scopes ...string) (string, error) {
	return w.limitedKey(ctx, org, live, 1_000_000, scopes...)
}

// limitedKey adds a key with a limit of requests a second.
func (w *world) limitedKey(ctx context.Context, org string, live bool, limit int32, scopes ...string) (string, error) {
	token := auth.NewToken(live)
	if scopes == nil {
		scopes = []string{}
	}
	return token, db.New().APIKeyInsert(ctx, w.pool, db.APIKeyInsertParams{
		ID: ident.New(ident.APIKey), OrgID: org, UserID: ident.New(ident.User), Hash: w.keeper.HashAPIKey(token),
		Last4:    token[len(token)-4:],
		Livemode: live, Scopes: scopes, RateLimit: limit, Version: "2026-08-21", CreatedAt: clock.System{}.Now(),
	})
}

// guard lets no answer to another organization hold the text.
func (w *world) guard(text, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.canary[text] = key
}

// count returns how many faults there are since they were last taken.
func (w *world) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}
