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

// remember is how long a look-up is trusted, counted from before it was sent.
const remember = 900 * time.Millisecond

// Settled is how long after the commit of a change of a key, or of its
// organization's plan, every replica goes by it: no request that begins later is
// answered by a look-up from before the change. It leaves clocks that run at
// different speeds a tenth.
const Settled = remember + remember/9

// patience bounds a look-up, which several requests may wait for.
const patience = 3 * time.Second

// maxRemembered bounds the memory that invalid keys can take.
const maxRemembered = 20_000

// useInterval is how exact the stored time of a key's last use is.
const useInterval = time.Minute

// ErrUnknown is returned for a token that is no key.
var ErrUnknown = errors.New("auth: unknown key")

// ErrNotAsked is returned where the caller may not have a token looked up now.
var ErrNotAsked = errors.New("auth: key not looked up")

// Store finds keys by their tokens.
type Store struct {
	pool   *pgxpool.Pool
	keeper *secret.Keeper
	clock  clock.Clock
	group  singleflight.Group
	ask    func(ctx context.Context, token string, hash []byte) (db.APIKeyByHashRow, error) // look, but for tests

	mu              sync.Mutex
	seen, strangers map[string]remembered
	used            map[string]time.Time // last use written, by key id
}

// remembered is the result of a look-up: a key, or that there is none.
type remembered struct {
	key Key
	err error
	at  time.Time // when the look-up began, by the process's own clock
}

// NewStore returns a store over the database.
func NewStore(pool *pgxpool.Pool, keeper *secret.Keeper, c clock.Clock) *Store {
	s := &Store{
		pool: pool, keeper: keeper, clock: c, seen: map[string]remembered{}, strangers: map[string]remembered{},
		used: map[string]time.Time{},
	}
	s.ask = s.look
	return s
}

// Find returns the key of a token, also a revoked one, or ErrUnknown. A token that
// does not look like a key is not looked up, and an unknown one only if mayAsk
// agrees: that bounds what guesses cost the database.
func (s *Store) Find(ctx context.Context, token string, mayAsk func() bool) (Key, error) {
	if !Plausible(token) {
		return Key{}, ErrUnknown
	}
	hash := string(s.keeper.HashAPIKey(token))
	began := clock.Real()
	r, known := s.recall(hash)
	for began.Sub(r.at) >= remember { // also where the look-up of another request began too long ago
		found, err, _ := s.group.Do(hash, func() (any, error) {
			if !known && !mayAsk() {
				return nil, ErrNotAsked
			}
			return s.load(ctx, token, hash)
		})
		if err != nil {
			return Key{}, err
		}
		r = found.(remembered) //nolint:forcetypeassert // load returns nothing else
	}
	return r.key, r.err
}

// recall returns what the last look-up found, of whatever age, and reports whether
// it found a key.
func (s *Store) recall(hash string) (remembered, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.seen[hash]; ok {
		return r, true
	}
	return s.strangers[hash], false
}

// load looks a token up and remembers the result. Several requests may wait for
// it, so that the end of the first one's context does not end it.
func (s *Store) load(ctx context.Context, token, hash string) (any, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	r := remembered{at: clock.Real()}
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
	if r.err != nil { // guesses must not push keys out
		into = s.strangers
		delete(s.seen, hash)
	}
	if len(into) >= maxRemembered {
		clear(into)
	}
	into[hash] = r
	return r, nil
}

// look finds the key by its hash. A key that is stored under a former secret key
// of the server is stored again, under the current one.
func (s *Store) look(ctx context.Context, token string, hash []byte) (db.APIKeyByHashRow, error) {
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

// Forget drops what is remembered, so that a change of a key is seen at once
// by this replica.
func (s *Store) Forget() {
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return queries.APIKeyUsed(ctx, s.pool, db.APIKeyUsedParams{ID: k.ID, Now: &now, StaleBefore: &stale})
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
