package publishable

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/work/quota"
)

const (
	// cacheTTL is how long a look-up is cached: as with API keys, a revoked key is refused everywhere a second later.
	cacheTTL = 900 * time.Millisecond
	// lookupTimeout bounds a look-up, which several requests may share.
	lookupTimeout = 3 * time.Second
	// maxCached bounds the cached look-ups, some 4 MiB: at the bound the cache is cleared, which costs each key a
	// query.
	maxCached = 10_000
	// useInterval is the precision of a key's stored last use.
	useInterval = time.Minute
)

// ErrUnknown is returned for a token that is not a publishable key.
var ErrUnknown = errors.New("publishable: unknown key")

// Key is a publishable key with the fields that browsers' requests need.
type Key struct {
	ID, OrgID, ProgramID string
	AllowLeads, Revoked  bool
	CookieDays           int64     // lifetime of the visitor cookie
	Plan                 quota.Own // limits of the key's organization
	hosts                []string
}

// Allows reports whether pages of the origin may use the key.
func (k Key) Allows(o Origin) bool { return Allows(k.hosts, o) }

// Store finds keys by their tokens.
type Store struct {
	pool  *pgxpool.Pool
	clock clock.Clock
	group singleflight.Group

	mu   sync.Mutex
	seen map[string]cachedLookup
	used map[string]time.Time // stored last use, by key id
}

// cachedLookup is the result of a look-up: a key, or that there is none.
type cachedLookup struct {
	key Key
	err error
	at  time.Time // start of the look-up, by the process's clock
}

// NewStore returns a store over the database.
func NewStore(pool *pgxpool.Pool, c clock.Clock) *Store {
	return &Store{pool: pool, clock: c, seen: map[string]cachedLookup{}, used: map[string]time.Time{}}
}

// Find returns the key of a token, also a revoked one, or ErrUnknown.
func (s *Store) Find(ctx context.Context, token string) (Key, error) {
	if !IsKey(token) {
		return Key{}, ErrUnknown
	}
	began := clock.Real()
	s.mu.Lock()
	r := s.seen[token]
	s.mu.Unlock()
	for began.Sub(r.at) >= cacheTTL { // again if another request's look-up began too long ago
		found, err, _ := s.group.Do(token, func() (any, error) { return s.load(ctx, token) })
		if err != nil {
			return Key{}, err
		}
		r = found.(cachedLookup) //nolint:forcetypeassert // load returns nothing else
	}
	return r.key, r.err
}

// load looks a token up and caches the result. Several requests may share it, so the first one's cancellation
// does not end it.
func (s *Store) load(ctx context.Context, token string) (any, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
	defer cancel()
	r := cachedLookup{at: clock.Real()}
	row, err := queries.PublishableKeyFind(ctx, s.pool, token)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		r.err = ErrUnknown
	case err != nil:
		return nil, err
	default:
		r.key = fromRow(row)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) >= maxCached {
		clear(s.seen)
	}
	s.seen[token] = r
	return r, nil
}

// AllowsAny reports whether pages of the origin may use any key.
func (s *Store) AllowsAny(ctx context.Context, o Origin) (bool, error) {
	return queries.PublishableHostAllowed(ctx, s.pool, o.Names())
}

// Used records the use of a key, at most once a minute.
func (s *Store) Used(ctx context.Context, k Key) error {
	now := s.clock.Now()
	s.mu.Lock()
	last, ok := s.used[k.ID]
	due := !ok || now.Sub(last) >= useInterval
	if due {
		s.used[k.ID] = now.Time
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	stale := now.Plus(-useInterval)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
	defer cancel()
	return queries.PublishableKeySetLastUsed(ctx, s.pool, db.PublishableKeySetLastUsedParams{
		ID: k.ID, OrgID: k.OrgID, Now: &now, StaleBefore: &stale,
	})
}

func fromRow(r db.PublishableKeyFindRow) Key {
	k := r.PublishableKey
	return Key{
		ID: k.ID, OrgID: k.OrgID, ProgramID: k.ProgramID, AllowLeads: k.AllowLeads, Revoked: k.RevokedAt != nil,
		CookieDays: r.CookieDays, hosts: k.AllowedHosts,
		Plan: quota.Own{FlowQuota: r.FlowQuota, RevenueMeterMinor: r.RevenueMeterMinor, FraudMonitoring: r.FraudMonitoring},
	}
}
