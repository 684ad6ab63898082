// Package attempt bounds how often something is tried: a password, a code, a mail to an
// address that somebody has typed. Attempts are kept in the database, so that the bounds
// hold over all servers.
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

// Book is where attempts are noted.
type Book struct {
	Pool   *pgxpool.Pool
	Keeper *secret.Keeper
	Clock  clock.Clock
}

// Subject is who or what attempts are counted of, such as "account:ada@example.com", and how
// many the Window may have. Only a keyed hash of Key is stored.
type Subject struct {
	Key  string
	Most int64
}

// Noted are attempts that can be taken back.
type Noted []int64

// Note notes an attempt before it is known how it ends, so that many at once are counted too.
// One too many is not counted itself, and refused as rate_limit_exceeded until the oldest
// leaves the window.
func (b Book) Note(ctx context.Context, subjects ...Subject) (Noted, error) {
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
	return nil, errors.Join(b.Forget(ctx, noted), tooMany(now, until))
}

// Forget takes attempts back that did not fail, also when who made them has gone.
func (b Book) Forget(ctx context.Context, noted Noted) error {
	return queries.SignInForget(context.WithoutCancel(ctx), b.Pool, slices.Clone(noted))
}

// tooMany refuses an attempt until a time.
func tooMany(now, until clock.Time) error {
	wait := until.Sub(now.Time)
	p := problem.New(problem.RateLimitExceeded, "Too many attempts. Try again in %d minutes.", int(math.Ceil(wait.Minutes())))
	p.RetryAfter = int(math.Ceil(wait.Seconds()))
	return p
}

// Network is what of an address one person can hardly change: all of an IPv4 address, and the
// first half of an IPv6 one.
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
