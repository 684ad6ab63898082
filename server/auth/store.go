package auth

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
	"rail/server/secret"
	"rail/server/work/quota"
)

// cacheTTL is how long a look-up is cached, from before it was sent.
const cacheTTL = 900 * time.Millisecond

// Settled is how long after the commit of a change to a key, or to its organization's plan, every replica has
// applied it: no later request is answered from an older look-up. It allows clocks whose speeds differ by a
// tenth.
const Settled = cacheTTL + cacheTTL/9

// lookupTimeout bounds a look-up, which several requests may share.
const lookupTimeout = 3 * time.Second

// maxCached bounds the memory that invalid keys can use.
const maxCached = 20_000

// useInterval is the precision of a key's stored last use.
const useInterval = time.Minute

// ErrUnknown is returned for a token that is not a key.
var ErrUnknown = errors.New("auth: unknown key")

// ErrNotAsked is returned if the caller may not look up a token now.
var ErrNotAsked = errors.New("auth: key not looked up")

// Store finds keys by their tokens.
type Store struct {
	pool   *pgxpool.Pool
	keeper *secret.Keeper
	clock  clock.Clock
	group  singleflight.Group
	ask    func(ctx context.Context, token string, hash []byte) (db.APIKeyByHashRow, error) // query, except in tests

	mu              sync.Mutex
	seen, strangers map[string]cachedLookup
	used            map[string]time.Time // stored last use, by key id
}

// cachedLookup is the result of a look-up: a key, or that there is none.
type cachedLookup struct {
	key Key
	err error
	at  time.Time // start of the look-up, by the process's clock
}

// NewStore returns a store over the database.
func NewStore(pool *pgxpool.Pool, keeper *secret.Keeper, c clock.Clock) *Store {
	s := &Store{
		pool: pool, keeper: keeper, clock: c, seen: map[string]cachedLookup{}, strangers: map[string]cachedLookup{},
		used: map[string]time.Time{},
	}
	s.ask = s.query
	return s
}

// Find returns the key of a token, also a revoked one, or ErrUnknown. It looks up only plausible tokens, and
// unknown ones only if mayAsk allows it, which bounds the cost of guesses.
func (s *Store) Find(ctx context.Context, token string, mayAsk func() bool) (Key, error) {
	if !Plausible(token) {
		return Key{}, ErrUnknown
	}
	hash := string(s.keeper.HashAPIKey(token))
	began := clock.Real()
	r, ok := s.recall(hash)
	for began.Sub(r.at) >= cacheTTL { // again if another request's look-up began too long ago
		found, err, _ := s.group.Do(hash, func() (any, error) {
			if !ok && !mayAsk() {
				return nil, ErrNotAsked
			}
			return s.load(ctx, token, hash)
		})
		if err != nil {
			return Key{}, err
		}
		r = found.(cachedLookup) //nolint:forcetypeassert // load returns nothing else
	}
	return r.key, r.err
}

// recall returns the cached look-up of any age, and reports whether it found a key.
func (s *Store) recall(hash string) (cachedLookup, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.seen[hash]; ok {
		return r, true
	}
	return s.strangers[hash], false
}

// load looks a token up and caches the result. Several requests may share it, so the first one's cancellation
// does not end it.
func (s *Store) load(ctx context.Context, token, hash string) (any, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
	defer cancel()
	r := cachedLookup{at: clock.Real()}
	row, err := s.ask(ctx, token, []byte(hash))
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
	into := s.seen
	if r.err != nil { // guesses must not evict keys
		into = s.strangers
		delete(s.seen, hash)
	}
	if len(into) >= maxCached {
		clear(into)
	}
	into[hash] = r
	return r, nil
}

// query finds the key by its hash. A key hashed with a former secret key is stored again with the current one.
func (s *Store) query(ctx context.Context, token string, hash []byte) (db.APIKeyByHashRow, error) {
	row, err := queries.APIKeyByHash(ctx, s.pool, hash)
	for _, old := range s.keeper.FormerAPIKeyHashes(token) {
		if !errors.Is(err, pgx.ErrNoRows) {
			break
		}
		if row, err = queries.APIKeyByHash(ctx, s.pool, old); err == nil {
			err = queries.APIKeyRehash(ctx, s.pool, db.APIKeyRehashParams{Hash: hash, ID: row.APIKey.ID})
		}
	}
	return row, err
}

// Clear clears the cache, so that this replica sees a changed key at once.
func (s *Store) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.seen)
	clear(s.strangers)
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
	return queries.APIKeySetLastUsed(ctx, s.pool, db.APIKeySetLastUsedParams{ID: k.ID, Now: &now, StaleBefore: &stale})
}

var queries = db.New()

// fromRow returns the key with the limits of its organization's plan.
func fromRow(r db.APIKeyByHashRow) Key {
	k := r.APIKey
	return Key{
		Actor: Actor{
			ID: k.ID, OrgID: k.OrgID, UserID: k.UserID, Scopes: k.Scopes,
			Plan: quota.Own{FlowQuota: r.FlowQuota, RevenueMeterMinor: r.RevenueMeterMinor, FraudMonitoring: r.FraudMonitoring},
		},
		Live: k.Livemode, RateLimit: int(k.RateLimit), SigningRequired: k.SigningRequired, Revoked: k.RevokedAt != nil,
	}
}
