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

// maxBuckets bounds the memory of a limiter: an attacker can choose addresses
// freely.
const maxBuckets = 50_000

// budget is the numbers of the X-RateLimit headers.
type budget struct {
	limit, remaining int
	reset            int64 // unix seconds at which the bucket is full again
}

// limiter has a token bucket for each caller: a burst of one second's allowance,
// refilled evenly. It knows this replica's requests only. Once half of what it may
// keep is new, it forgets those who have not asked since the last time: idle
// buckets are full, so that many callers at once cost the others nothing.
type limiter struct {
	clock        clock.Clock
	mu           sync.Mutex
	recent, past map[string]*bucket
}

// bucket is the tokens that were left at a moment; what has flowed in since is
// computed when the bucket is used next.
type bucket struct {
	tokens float64
	at     time.Time
}

// newLimiter returns a limiter without buckets; a caller's first request gets a
// full one.
func newLimiter(c clock.Clock) *limiter { return &limiter{clock: c, recent: map[string]*bucket{}} }

// take takes one token of the caller's bucket and reports whether there was one.
// limit is both the size of the bucket and the tokens that flow in a second.
func (l *limiter) take(caller string, limit int) (budget, bool) {
	now := l.clock.Now().Time
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(caller, limit, now)
	if passed := now.Sub(b.at).Seconds(); passed > 0 {
		b.tokens = math.Min(float64(limit), b.tokens+passed*float64(limit))
	}
	b.at = now // also where the clock was set back
	ok := b.tokens >= 1
	if ok {
		b.tokens--
	}
	return budgetOf(limit, b.tokens, now), ok
}

// bucket returns the caller's bucket among the recent ones, moving it there from
// the past ones. The caller holds l.mu.
func (l *limiter) bucket(caller string, limit int, now time.Time) *bucket {
	if b := l.recent[caller]; b != nil {
		return b
	}
	b := l.past[caller]
	if b == nil {
		b = &bucket{tokens: float64(limit), at: now}
	}
	if len(l.recent) >= maxBuckets/2 {
		l.recent, l.past = map[string]*bucket{}, l.recent
	}
	l.recent[caller] = b
	return b
}

// owe takes n tokens more, also those that are not there: the caller waits the
// longer for its next request.
func (l *limiter) owe(caller string, limit, n int) {
	now := l.clock.Now().Time
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bucket(caller, limit, now).tokens -= float64(n)
}

// giveBack puts a token back that was taken. A bucket that is no longer among the
// recent ones fills up by itself.
func (l *limiter) giveBack(caller string, limit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.recent[caller]; b != nil {
		b.tokens = math.Min(float64(limit), b.tokens+1)
	}
}

// budgetOf returns what the headers say of a bucket. The reset is rounded up to a
// whole second, so that a client that waits for it finds the bucket full.
func budgetOf(limit int, tokens float64, now time.Time) budget {
	missing := (float64(limit) - tokens) / float64(limit)
	return budget{limit, int(tokens), now.Add(time.Duration(math.Ceil(missing)) * time.Second).Unix()}
}

// rateLimit counts the request against its key, over all replicas, or without a
// key against its address, which each replica counts for itself: junk must not
// cost the database anything (step 5).
func (f *Front) rateLimit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := stateOf(c)
		if s.route.Browser { // visitors of pages and callers of the API do not take from each other
			b, ok := f.pages.take(f.Payer(c), f.AddressLimit)
			s.budget = &b
			if !ok {
				return limited(b.limit)
			}
			return next(c)
		}
		// Public operations come here without a key; the others are keyed by now.
		if !s.keyed {
			if err := f.pay(c, s); err != nil {
				return err
			}
			return next(c)
		}
		if s.actor.Person { // bounded where the page was asked for
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

// pay takes a token of the address's bucket, at most once a request: several
// steps ask for it, and a request must not be charged twice.
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

// owe charges the key for n requests more. Pages of the console are bounded per person instead.
func (f *Front) owe(ctx context.Context, s *state, n int) {
	if !s.actor.Person {
		f.shared.owe(ctx, s.key.ID, s.key.RateLimit, n)
	}
}

// giveBack returns what was paid for a look-up that found a key: a request with a
// valid key counts against its key alone.
func (f *Front) giveBack(c echo.Context, s *state) {
	if s.paid {
		f.limiter.giveBack(f.Payer(c), f.AddressLimit)
		s.paid, s.budget = false, nil
	}
}

// Payer returns the name of the bucket: an address, or for IPv6 the network of 64
// bits, in which a caller has as many addresses as it likes.
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

// limited returns the 429. A second later the bucket is full again, so that this
// is always enough of a wait.
func limited(limit int) error {
	e := problem.New(problem.RateLimitExceeded, "More than %d requests a second.", limit)
	e.RetryAfter = 1
	return e
}

// ClientAddress returns the address of the caller: the connection's, or, when
// that is a trusted proxy, the last forwarded address that is not one.
func (f *Front) ClientAddress(c echo.Context) string {
	host, _, err := net.SplitHostPort(c.Request().RemoteAddr)
	if err != nil {
		host = c.Request().RemoteAddr
	}
	// Each proxy appends the address that it saw, so the list is read from its
	// end, as long as the hop that wrote an entry is trusted.
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

// trusted reports whether an address is one of the operator's own proxies, whose
// X-Forwarded-For is believed.
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
