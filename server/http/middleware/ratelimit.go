package middleware

import (
	"context"
	"math"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"rail/server/clock"
	"rail/server/problem"
)

// maxBuckets bounds the memory of a limiter, because an attacker can choose addresses freely.
const maxBuckets = 50_000

// budget holds the values of the X-RateLimit headers.
type budget struct {
	limit, remaining int
	reset            int64 // unix seconds at which the bucket is full again
}

// limiter has a token bucket for each caller on this replica: a burst of one second's allowance,
// refilled evenly. When the recent buckets reach half of maxBuckets, it drops the buckets that
// have not been used since the last time. Idle buckets are full, so dropping them changes nothing.
type limiter struct {
	clock       clock.Clock
	mu          sync.Mutex
	recent, old map[string]*bucket
}

// bucket holds the tokens at a time. The next use adds the tokens accrued since then.
type bucket struct {
	tokens float64
	at     time.Time
}

// newLimiter returns a limiter without buckets; a caller's first request gets a full one.
func newLimiter(c clock.Clock) *limiter { return &limiter{clock: c, recent: map[string]*bucket{}} }

// take takes one token of the caller's bucket and reports whether there was one. limit is the size
// of the bucket and its refill rate a second.
func (l *limiter) take(caller string, limit int) (budget, bool) {
	now := l.clock.Now().Time
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(caller, limit, now)
	if passed := now.Sub(b.at).Seconds(); passed > 0 {
		b.tokens = math.Min(float64(limit), b.tokens+passed*float64(limit))
	}
	b.at = now // even after the clock was set back
	ok := b.tokens >= 1
	if ok {
		b.tokens--
	}
	return budgetOf(limit, b.tokens, now), ok
}

// bucket returns the caller's bucket, and moves it from the old ones to the recent ones. The caller
// holds l.mu.
func (l *limiter) bucket(caller string, limit int, now time.Time) *bucket {
	if b := l.recent[caller]; b != nil {
		return b
	}
	b := l.old[caller]
	if b == nil {
		b = &bucket{tokens: float64(limit), at: now}
	}
	if len(l.recent) >= maxBuckets/2 {
		l.recent, l.old = map[string]*bucket{}, l.recent
	}
	l.recent[caller] = b
	return b
}

// owe takes n more tokens, even below zero: the caller waits longer for its next request.
func (l *limiter) owe(caller string, limit, n int) {
	now := l.clock.Now().Time
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bucket(caller, limit, now).tokens -= float64(n)
}

// giveBack returns a token. It ignores buckets that are no longer recent, which refill anyway.
func (l *limiter) giveBack(caller string, limit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.recent[caller]; b != nil {
		b.tokens = math.Min(float64(limit), b.tokens+1)
	}
}

// budgetOf returns the header values of a bucket. The reset is rounded up to a whole second, so
// that the bucket is full at that time.
func budgetOf(limit int, tokens float64, now time.Time) budget {
	missing := (float64(limit) - tokens) / float64(limit)
	return budget{limit, int(tokens), now.Add(time.Duration(math.Ceil(missing)) * time.Second).Unix()}
}

// rateLimit charges the request to its key, over all replicas, or without a key to its address, on
// this replica: invalid requests must not reach the database (step 5).
func (f *Front) rateLimit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := stateOf(c)
		if s.route.Browser { // pages and API clients have separate buckets
			b, ok := f.pages.take(f.Payer(c), f.AddressLimit)
			s.budget = &b
			if !ok {
				return limited(b.limit)
			}
			return next(c)
		}
		// Public operations have no key here; all others do.
		if !s.keyed {
			if err := f.pay(c, s); err != nil {
				return err
			}
			return next(c)
		}
		if s.actor.Person { // the page's request was charged
			return next(c)
		}
		b, ok := f.shared.take(c.Request().Context(), s.key.ID, s.key.RateLimit)
		s.budget = &b
		if !ok {
			return limited(b.limit)
		}
		return next(c)
	}
}

// pay takes a token of the address's bucket, at most once per request, since several steps call it.
func (f *Front) pay(c echo.Context, s *state) error {
	if s.paid {
		return nil
	}
	b, ok := f.limiter.take(f.Payer(c), f.AddressLimit)
	s.budget = &b
	if !ok {
		return limited(b.limit)
	}
	s.paid = true
	return nil
}

// owe charges the key for n requests more. Pages of the console are limited per person instead.
func (f *Front) owe(ctx context.Context, s *state, n int) {
	if !s.actor.Person {
		f.shared.owe(ctx, s.key.ID, s.key.RateLimit, n)
	}
}

// giveBack returns the token of a look-up that found a key: a request with a valid key is charged
// only to its key.
func (f *Front) giveBack(c echo.Context, s *state) {
	if s.paid {
		f.limiter.giveBack(f.Payer(c), f.AddressLimit)
		s.paid, s.budget = false, nil
	}
}

// Payer returns the name of the bucket: an IPv4 address or an IPv6 /64, within which a caller can
// choose its address.
func (f *Front) Payer(c echo.Context) string {
	host := f.ClientAddress(c)
	a, err := netip.ParseAddr(host)
	if err != nil {
		return "addr " + host
	}
	if a = a.Unmap().WithZone(""); a.Is6() {
		return "addr " + netip.PrefixFrom(a, 64).Masked().String()
	}
	return "addr " + a.String()
}

// limited returns the 429. The bucket is full again after one second.
func limited(limit int) error {
	e := problem.New(problem.RateLimitExceeded, "More than %d requests a second.", limit)
	e.RetryAfter = 1
	return e
}

// ClientAddress returns the address of the caller: that of the connection or, behind trusted
// proxies, the last forwarded address that is not a trusted proxy.
func (f *Front) ClientAddress(c echo.Context) string {
	host, _, err := net.SplitHostPort(c.Request().RemoteAddr)
	if err != nil {
		host = c.Request().RemoteAddr
	}
	// Each proxy appends the address of its client, so read the list from its end, as long as the
	// proxy that wrote an entry is trusted.
	hops := strings.Split(strings.Join(c.Request().Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && f.trusted(host); i-- {
		next := strings.TrimSpace(hops[i])
		if _, err := netip.ParseAddr(next); err != nil {
			break
		}
		host = next
	}
	return host
}

// trusted reports whether an address is one of the operator's proxies, whose X-Forwarded-For is
// trusted.
func (f *Front) trusted(host string) bool {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	for _, p := range f.TrustedProxies {
		if p.Contains(addr.Unmap()) {
			return true
		}
	}
	return false
}
