// Package attempt limits how often something is tried: a password, a code, a mail to a typed address. Attempts
// are stored in the database, so that the limits hold across servers.
package attempt

import (
	"context"
	"errors"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/problem"
	"rail/server/secret"
)

// Window is how long an attempt counts.
const Window = 15 * time.Minute

var queries = db.New()

// Book counts attempts.
type Book struct {
	Pool   *pgxpool.Pool
	Keeper *secret.Keeper
	Clock  clock.Clock
}

// Subject is the account or address whose attempts count, such as "account:ada@example.com", and its limit
// within the Window. Only a keyed hash of Key is stored.
type Subject struct {
	Key  string
	Most int64
}

// Attempts are counted attempts that can be removed.
type Attempts []int64

// Note counts an attempt before its result is known, so that concurrent attempts count too. An attempt beyond
// the limit is not counted, and refused as rate_limit_exceeded until the oldest leaves the window.
func (b Book) Note(ctx context.Context, subjects ...Subject) (Attempts, error) {
	now := b.Clock.Now()
	keys, most := make([][]byte, len(subjects)), map[string]int64{}
	for i, s := range subjects {
		keys[i] = b.Keeper.HashSignIn(s.Key)
		most[string(keys[i])] = s.Most
	}
	noted, err := queries.SignInAttempt(ctx, b.Pool, db.SignInAttemptParams{Subjects: keys, Now: now})
	if err != nil {
		return nil, err
	}
	rows, err := queries.SignInAttempts(ctx, b.Pool, db.SignInAttemptsParams{Subjects: keys, Since: now.Plus(-Window)})
	if err != nil {
		return nil, err
	}
	var until clock.Time
	for _, r := range rows {
		if end := r.Since.Plus(Window); r.N > most[string(r.Subject)] && end.After(until.Time) {
			until = end
		}
	}
	if until.IsZero() {
		return noted, nil
	}
	return nil, errors.Join(b.Remove(ctx, noted), tooMany(now, until))
}

// Remove removes attempts that succeeded, even after the request was cancelled.
func (b Book) Remove(ctx context.Context, noted Attempts) error {
	return queries.SignInForget(context.WithoutCancel(ctx), b.Pool, slices.Clone(noted))
}

// tooMany refuses an attempt until a time.
func tooMany(now, until clock.Time) error {
	wait := until.Sub(now.Time)
	p := problem.New(problem.RateLimitExceeded, "Too many attempts. Try again in %d minutes.", int(math.Ceil(wait.Minutes())))
	p.RetryAfter = int(math.Ceil(wait.Seconds()))
	return p
}

// Network returns the part of an address that a client cannot vary: the IPv4 address or the IPv6 /64.
func Network(from string) string {
	a, err := netip.ParseAddr(from)
	if err != nil {
		return from
	}
	if a = a.Unmap().WithZone(""); a.Is4() {
		return a.String()
	}
	p, err := a.Prefix(64)
	if err != nil {
		return ""
	}
	return p.String()
}
