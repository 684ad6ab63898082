package auth

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/plan"
	"rail/server/secret"
)

// remember is how long a look-up is believed. It bounds the time for which a
// revoked key still passes, and a former plan still holds, on every replica, to
// one second.
const remember = 900 * time.Millisecond

// patience bounds a look-up, which several requests may wait for.
const patience = 3 * time.Second

// maxRemembered bounds the memory that invalid keys can take.
const maxRemembered = 20_000

// useInterval is how exactly the last use of a key is kept.
const useInterval = time.Minute

// ErrUnknown is returned for a token that is no key.
var ErrUnknown = errors.New("auth: unknown key")

// Store finds keys by their tokens.
type Store struct {
	pool   *pgxpool.Pool
	keeper *secret.Keeper
	clock  clock.Clock
	group  singleflight.Group

	mu              sync.Mutex
	seen, strangers map[string]remembered
	used            map[string]time.Time // last use written, by key id
}

type remembered struct {
	key Key
	err error
	at  time.Time // when the look-up began, by the process's own clock
}

// NewStore returns a store over the database.
func NewStore(pool *pgxpool.Pool, keeper *secret.Keeper, c clock.Clock) *Store {
	return &Store{pool: pool, keeper: keeper, clock: c, seen: map[string]remembered{}, strangers: map[string]remembered{}, used: map[string]time.Time{}}
}

// Find returns the key of a token, revoked ones included, or ErrUnknown.
func (s *Store) Find(ctx context.Context, token string) (Key, error) {
	if !strings.HasPrefix(token, livePrefix) && !strings.HasPrefix(token, testPrefix) {
		return Key{}, ErrUnknown
	}
	hash := string(s.keeper.HashAPIKey(token))
	began := time.Now()
	s.mu.Lock()
	r, ok := s.seen[hash]
	if !ok {
		r, ok = s.strangers[hash]
	}
	s.mu.Unlock()
	if ok && began.Sub(r.at) < remember {
		return r.key, r.err
	}
	found := s.group.DoChan(hash, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		return s.load(ctx, token, hash, began)
	})
	select {
	case <-ctx.Done():
		return Key{}, ctx.Err()
	case f := <-found:
		if f.Err != nil {
			return Key{}, f.Err
		}
		r = f.Val.(remembered) //nolint:forcetypeassert // load returns nothing else
		return r.key, r.err
	}
}

func (s *Store) load(ctx context.Context, token, hash string, began time.Time) (any, error) {
	row, err := s.look(ctx, token, []byte(hash))
	r := remembered{at: began}
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
	}
	if len(into) >= maxRemembered {
		clear(into)
	}
	into[hash] = r
	return r, nil
}

// look finds the key by its hash. One that is stored under a former secret key
// of the server is stored anew, under the current one.
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

// Used notes the use of a key, at most once a minute.
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
	return queries.APIKeyUsed(ctx, s.pool, db.APIKeyUsedParams{ID: k.ID, Now: &now, StaleBefore: &stale})
}

var queries = db.New()

func fromRow(r db.APIKeyByHashRow) Key {
	k := r.APIKey
	return Key{
		ID: k.ID, OrgID: k.OrgID, UserID: k.UserID, Live: k.Livemode, Scopes: k.Scopes,
		RateLimit: int(k.RateLimit), SigningRequired: k.SigningRequired, Revoked: k.RevokedAt != nil,
		Plan: plan.Own{FlowQuota: r.FlowQuota, RevenueMeterMinor: r.RevenueMeterMinor, FraudMonitoring: r.FraudMonitoring},
	}
}
