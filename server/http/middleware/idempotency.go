package middleware

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

// HeaderIdempotencyKey is the header that lets a client repeat a POST without repeating its work.
const HeaderIdempotencyKey = "Idempotency-Key"

// replayFor is how long a key replays its first response; after that the key is new.
const replayFor = work.Replay

const (
	// inFlight is the status of a claim that is committed before its answer.
	inFlight = http.StatusProcessing
	// claimTTL is how long such a claim keeps its key if its server crashes. It is longer than the
	// work may take.
	claimTTL = 30 * time.Second
	// releaseTimeout bounds the release of a claim after the request's time is over.
	releaseTimeout = time.Second
)

const (
	// smallAnswer is the largest stored answer that is not counted: the work itself writes as much.
	smallAnswer = 4 << 10
	// maxStoredBytes bounds the bytes of an organization's larger answers: at once, and again
	// within a day.
	maxStoredBytes = 256 << 20
)

var queries = db.New()

// record is the claim of one Idempotency-Key by one request.
type record struct {
	org, key    string
	fingerprint []byte
	ahead       bool // the claim is committed before the work begins
	claimed     bool // the claim is committed without an answer
}

// newRecord returns the claim of a POST with a key, or nil. Other methods ignore the header,
// because repeating them changes nothing.
func (f *Front) newRecord(c echo.Context, s *state) (*record, error) {
	values := c.Request().Header.Values(HeaderIdempotencyKey)
	if c.Request().Method != http.MethodPost || len(values) == 0 {
		return nil, nil //nolint:nilnil // no key is not an error
	}
	if len(values) > 1 || !printable(values[0]) {
		return nil, problem.Invalid(HeaderIdempotencyKey,
			"Idempotency-Key must be one key of 1 to 255 printable ASCII characters.")
	}
	return &record{org: s.actor.OrgID, key: values[0], fingerprint: fingerprint(c, s), ahead: s.route.waits()}, nil
}

// ActsOnKey reports whether an operation changes the caller's API key: another key with the same
// Idempotency-Key makes another request.
func ActsOnKey(operation string) bool { return operation == "setInboundSigning" }

// printable reports whether a key is 1 to 255 printable ASCII characters or spaces.
func printable(key string) bool {
	if len(key) < 1 || len(key) > 255 {
		return false
	}
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return false
		}
	}
	return true
}

// fingerprint distinguishes requests by method, path, query and body, and by the API key if
// ActsOnKey. It ignores the order of names and white space in the body.
func fingerprint(c echo.Context, s *state) []byte {
	h, body := sha256.New(), s.body
	_, _ = io.WriteString(h, c.Request().Method+" "+c.Request().URL.Path+"?"+c.QueryParams().Encode()+"\n")
	if ActsOnKey(s.route.ID) {
		_, _ = io.WriteString(h, s.actor.ID+"\n")
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(body))
	// As float64, different large numbers would become equal.
	dec.UseNumber()
	if dec.Decode(&v) == nil {
		if canonical, err := json.Marshal(v); err == nil {
			body = canonical
		}
	}
	h.Write(body)
	return h.Sum(nil)
}

// doneError is the error of work that was done before; it carries the first response.
type doneError struct{ response *buffered }

func (doneError) Error() string { return "middleware: the work has been done before" }

// take claims the key for work in tx. Only the first attempt of a request claims ahead.
func (f *Front) take(ctx context.Context, tx *pgtx.Tx, c echo.Context, r *record) error {
	switch {
	case r.claimed: // by an earlier attempt
		return nil
	case r.ahead:
		return f.claimAhead(ctx, c, r)
	}
	return f.claim(ctx, tx, c, r)
}

// claimAhead claims the key in a separate transaction, for work during which no transaction is
// open. After a crash before the answer, the claim remains for claimTTL.
func (f *Front) claimAhead(ctx context.Context, c echo.Context, r *record) error {
	err := pgtx.Within(ctx, f.Pool, func(tx *pgtx.Tx) error {
		if err := f.claim(ctx, tx, c, r); err != nil {
			return err
		}
		none, err := f.Keeper.Seal(nil, IdempotencyPlace(r.org, r.key))
		if err != nil {
			return err
		}
		return writeRow(ctx, tx.Later(), r, inFlight, none, stateOf(c).now)
	})
	r.claimed = err == nil
	return err
}

// release deletes a claim without an answer, so that the key is unused again. If that fails, the
// claim expires.
func (f *Front) release(ctx context.Context, r *record) {
	if r == nil || !r.claimed {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := queries.IdempotencyRelease(ctx, f.Pool, db.IdempotencyReleaseParams{OrgID: r.org, Key: r.key}); err != nil {
		f.Log.Warn("cannot release an Idempotency-Key; it expires later", "org_id", r.org, "error", err)
	}
}

// claim locks the key for this transaction, in one round trip with its BEGIN. In a shared
// transaction it is sent with the first reads of the work, which fail if another request has or had
// the key. A repeated request may then wait for the locks of its work, up to share.LockWait,
// together with the other members; all retry alone, and the retry sees the stored answer. The lock
// ends with the connection, so that a crash leaves nothing behind.
func (f *Front) claim(ctx context.Context, tx *pgtx.Tx, c echo.Context, r *record) error {
	s := stateOf(c)
	if err := tx.Claim("key " + r.org + " " + r.key); err != nil {
		return err
	}
	locked := false
	return tx.Precheck(ctx,
		func(q pgtx.DBTX) (err error) {
			locked, err = queries.IdempotencyLock(ctx, q, db.IdempotencyLockParams{OrgID: r.org, Key: r.key})
			return err
		},
		func(q pgtx.DBTX) error {
			row, err := queries.IdempotencyGet(ctx, q, db.IdempotencyGetParams{
				OrgID: r.org, Key: r.key, ValidSince: s.now.Plus(-replayFor),
			})
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			return f.denial(c, r, locked, err == nil, row)
		})
}

// denial returns the reason why a request does not get its key: the key has an answer, or another
// request holds the lock or a claim that has not expired.
func (f *Front) denial(c echo.Context, r *record, locked, found bool, row db.IdempotencyKey) error {
	switch {
	case found && row.Status != inFlight:
		return f.replay(c, r, row)
	case !locked, found && row.CreatedAt.After(stateOf(c).now.Add(-claimTTL)):
		e := problem.New(problem.IdempotencyInProgress, "The first request with this Idempotency-Key is still running.")
		e.RetryAfter = 1
		return e
	}
	return nil
}

// replay returns the stored response, marked as a replay, as an error that prevents the work. It
// refuses a key that comes with another request: the first response would hide that the second
// request was not done.
func (f *Front) replay(c echo.Context, r *record, row db.IdempotencyKey) error {
	if !hmac.Equal(row.Fingerprint, r.fingerprint) {
		return problem.On(HeaderIdempotencyKey, problem.IdempotencyKeyReused,
			"This Idempotency-Key was used with a different request.")
	}
	body, err := f.Keeper.Open(row.Body, IdempotencyPlace(r.org, r.key))
	if err != nil {
		return problem.Internal(err)
	}
	stateOf(c).replayed = true
	out := &buffered{header: http.Header{}, status: int(row.Status)}
	out.header.Set("Idempotent-Replayed", "true")
	out.header.Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	out.body.Write(body)
	return doneError{out}
}

// store stores the response in the transaction of the work, so that both are committed or neither
// is. It seals the body, which may contain a secret.
func (f *Front) store(ctx context.Context, work *work.Unit, r *record, out *buffered) error {
	sealed, err := f.Keeper.Seal(out.body.Bytes(), IdempotencyPlace(r.org, r.key))
	if err != nil {
		return err
	}
	if len(sealed) > smallAnswer {
		if err := f.spend(ctx, work, r.org, len(sealed)); err != nil {
			return err
		}
	}
	return writeRow(ctx, work.Later(), r, out.status, sealed, work.Now)
}

// writeRow writes the row of a key, and replaces its claim.
func writeRow(ctx context.Context, to pgtx.DBTX, r *record, status int, sealed []byte, at clock.Time) error {
	return queries.IdempotencyPut(ctx, to, db.IdempotencyPutParams{
		OrgID: r.org, Key: r.key, Fingerprint: r.fingerprint, Status: int32(status), Body: sealed, CreatedAt: at,
	})
}

// spend takes the bytes of a large answer from the organization's allowance. If too little is left,
// the work is rolled back: an answer to a request with a key is always stored.
func (f *Front) spend(ctx context.Context, work *work.Unit, org string, bytes int) error {
	left, err := queries.RateSpend(ctx, work.DB(), db.RateSpendParams{
		ID:      "answers " + org,
		Size:    maxStoredBytes,
		Tokens:  float64(maxStoredBytes - bytes),
		Granted: int64(bytes),
		At:      f.shared.time(work.Now),
	})
	if err != nil || left >= 0 {
		return err
	}
	e := problem.On(HeaderIdempotencyKey, problem.RateLimitExceeded,
		"Nothing was done: the answer is large, and of those not more than "+
			"%d MiB a day can be kept for an organization's Idempotency-Keys. Send the request later, or without the key.",
		maxStoredBytes>>20)
	// The allowance refills evenly over a day; this is the time until the missing bytes are
	// available.
	e.RetryAfter = int(math.Ceil(-left / maxStoredBytes * replayFor.Seconds()))
	return e
}

// storable reports whether a refusal is stored as the first response. It is not if another key, a
// later time or a retry may succeed.
func storable(p *problem.Error) bool {
	switch p.Status() {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	}
	return p.Status() < http.StatusInternalServerError
}

// IdempotencyPlace returns the place for which a response is sealed: in another row it cannot be
// decrypted.
func IdempotencyPlace(org, key string) string { return "idempotency/" + org + "/" + key }

// Outcome returns the stored answer of an organization's request with an Idempotency-Key: its status, 0 for none yet,
// and its body.
func Outcome(ctx context.Context, u *work.Unit, keeper *secret.Keeper,
	key string) (status int, body []byte, err error) {
	row, err := queries.IdempotencyGet(ctx, u.DB(), db.IdempotencyGetParams{
		OrgID: u.OrgID, Key: key, ValidSince: u.Now.Plus(-replayFor),
	})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && row.Status == inFlight {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	body, err = keeper.Open(row.Body, IdempotencyPlace(u.OrgID, key))
	return int(row.Status), body, err
}
