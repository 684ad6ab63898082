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
	"rail/server/work"
)

// HeaderIdempotencyKey is the header with which a client may send a POST again
// without doing its work twice.
const HeaderIdempotencyKey = "Idempotency-Key"

// replay is how long a key replays its first response; after that the key is new.
const replay = work.Replay

const (
	// inFlight is the status of a claim that is committed before its answer.
	inFlight = http.StatusProcessing
	// claimTerm is how long such a claim keeps its key, where its server has ended
	// meanwhile: longer than the work may take.
	claimTerm = 30 * time.Second
	// releaseTimeout bounds giving a claim up when the request's time is over.
	releaseTimeout = time.Second
)

const (
	// smallAnswer is the largest answer, as it is kept, that is not counted: the work
	// itself writes as much.
	smallAnswer = 4 << 10
	// keptAnswers bounds the bytes of larger ones that an organization may have kept,
	// at once and again within a day.
	keptAnswers = 256 << 20
)

var queries = db.New()

// record is the claim of one Idempotency-Key by one request.
type record struct {
	org, key    string
	fingerprint []byte
	ahead       bool // its claim is committed before the work begins
	claimed     bool // the claim is committed, and no answer yet
}

// newRecord returns the claim of a POST that carries a key, or nil: other methods
// change nothing when they are repeated, and ignore the header.
func (f *Front) newRecord(c echo.Context, s *state) (*record, error) {
	given := c.Request().Header.Values(HeaderIdempotencyKey)
	if c.Request().Method != http.MethodPost || len(given) == 0 {
		return nil, nil //nolint:nilnil // no key is not an error
	}
	if len(given) > 1 || !printable(given[0]) {
		return nil, problem.Invalid(HeaderIdempotencyKey,
			"Idempotency-Key must be one key of 1 to 255 printable ASCII characters.")
	}
	return &record{org: s.actor.OrgID, key: given[0], fingerprint: fingerprint(c, s), ahead: s.route.waits()}, nil
}

// ActsOnKey reports whether what an operation does, it does to the API key that
// asks: another key with the same Idempotency-Key makes another request.
func ActsOnKey(operation string) bool { return operation == "setInboundSigning" }

// printable reports whether a key is 1 to 255 printable ASCII characters, the
// space among them.
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

// fingerprint distinguishes requests by method, path, query and body, and by the API
// key where it matters. The order of names and the white space of a body do not
// matter, its numbers do.
func fingerprint(c echo.Context, s *state) []byte {
	h, body := sha256.New(), s.body
	_, _ = io.WriteString(h, c.Request().Method+" "+c.Request().URL.Path+"?"+c.QueryParams().Encode()+"\n")
	if ActsOnKey(s.route.ID) {
		_, _ = io.WriteString(h, s.actor.ID+"\n")
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(body))
	// As float64, large numbers that differ would become equal.
	dec.UseNumber()
	if dec.Decode(&v) == nil {
		if canonical, err := json.Marshal(v); err == nil {
			body = canonical
		}
	}
	h.Write(body)
	return h.Sum(nil)
}

// repeated is the error of work that has been done before: its first response is what
// there is to answer.
type repeated struct{ response *buffered }

func (repeated) Error() string { return "middleware: the work has been done before" }

// take claims the key for work in tx. Of the attempts of one request, only the first
// claims ahead.
func (f *Front) take(ctx context.Context, tx *pgtx.Tx, c echo.Context, r *record) error {
	switch {
	case r.claimed: // by an attempt before
		return nil
	case r.ahead:
		return f.claimAhead(ctx, c, r)
	}
	return f.claim(ctx, tx, c, r)
}

// claimAhead claims the key in a transaction of its own, for work during which no
// transaction is open. A crash before the answer leaves the claim behind, for as long
// as claimTerm.
func (f *Front) claimAhead(ctx context.Context, c echo.Context, r *record) error {
	err := pgtx.Within(ctx, f.Pool, func(tx *pgtx.Tx) error {
		if err := f.claim(ctx, tx, c, r); err != nil {
			return err
		}
		none, err := f.Keeper.Seal(nil, IdempotencyPlace(r.org, r.key))
		if err != nil {
			return err
		}
		return put(ctx, tx.Later(), r, inFlight, none, stateOf(c).now)
	})
	r.claimed = err == nil
	return err
}

// release gives up a claim that no answer followed, as if the key were new. Where
// the database does not hear of it, the claim ends by itself.
func (f *Front) release(ctx context.Context, r *record) {
	if r == nil || !r.claimed {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := queries.IdempotencyRelease(ctx, f.Pool, db.IdempotencyReleaseParams{OrgID: r.org, Key: r.key}); err != nil {
		f.Log.Warn("An Idempotency-Key stays claimed for a while.", "org_id", r.org, "error", err)
	}
}

// claim locks the key for this transaction, in one round trip with its BEGIN and, where
// that is shared, with the first reads of the work: their error is that of a key that
// another request has, or has had. Such a request may wait for the locks of its work,
// for as long as LockWait, as do those who share with it; all are done again alone, and it
// learns so what became of the key. The lock vanishes
// with the connection, so that a crash leaves nothing behind.
func (f *Front) claim(ctx context.Context, tx *pgtx.Tx, c echo.Context, r *record) error {
	s := stateOf(c)
	if err := tx.Claim("key " + r.org + " " + r.key); err != nil {
		return err
	}
	locked := false
	return tx.Ahead(ctx,
		func(q pgtx.DBTX) (err error) {
			locked, err = queries.IdempotencyLock(ctx, q, db.IdempotencyLockParams{OrgID: r.org, Key: r.key})
			return err
		},
		func(q pgtx.DBTX) error {
			row, err := queries.IdempotencyGet(ctx, q, db.IdempotencyGetParams{
				OrgID: r.org, Key: r.key, ValidSince: s.now.Plus(-replay),
			})
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			return f.denial(c, r, locked, err == nil, row)
		})
}

// denial returns why a request does not have its key: it has been answered, or another
// request has the lock, or a claim of its own that is not yet too old.
func (f *Front) denial(c echo.Context, r *record, locked, found bool, row db.IdempotencyKey) error {
	switch {
	case found && row.Status != inFlight:
		return f.replay(c, r, row)
	case !locked, found && row.CreatedAt.After(stateOf(c).now.Add(-claimTerm)):
		e := problem.New(problem.IdempotencyInProgress, "The first request with this Idempotency-Key is still running.")
		e.RetryAfter = 1
		return e
	}
	return nil
}

// replay returns the stored response, marked as a replay, as the error of work that is
// not done twice. A key that comes with another request is refused: answering it with
// the first response would hide that the second was not done.
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
	return repeated{out}
}

// keep stores the response in the transaction of the work: either both are
// committed or neither is. The body is sealed since it may contain a secret that is
// shown once.
func (f *Front) keep(ctx context.Context, work *work.Unit, r *record, out *buffered) error {
	sealed, err := f.Keeper.Seal(out.body.Bytes(), IdempotencyPlace(r.org, r.key))
	if err != nil {
		return err
	}
	if len(sealed) > smallAnswer {
		if err := f.spend(ctx, work, r.org, len(sealed)); err != nil {
			return err
		}
	}
	return put(ctx, work.Later(), r, out.status, sealed, work.Now)
}

// put writes the row of a key, over the claim where there is one.
func put(ctx context.Context, to pgtx.DBTX, r *record, status int, sealed []byte, at clock.Time) error {
	return queries.IdempotencyPut(ctx, to, db.IdempotencyPutParams{
		OrgID: r.org, Key: r.key, Fingerprint: r.fingerprint, Status: int32(status), Body: sealed, CreatedAt: at,
	})
}

// spend takes the bytes of a large answer from the organization's allowance.
// Where too little is left, the whole work is undone: an answer that was given
// under a key is always kept.
func (f *Front) spend(ctx context.Context, work *work.Unit, org string, bytes int) error {
	left, err := queries.RateSpend(ctx, work.DB(), db.RateSpendParams{
		ID: "answers " + org, Size: keptAnswers, Tokens: float64(keptAnswers - bytes), Granted: int64(bytes),
		At: f.shared.time(work.Now),
	})
	if err != nil || left >= 0 {
		return err
	}
	e := problem.On(HeaderIdempotencyKey, problem.RateLimitExceeded,
		"Nothing was done: the answer is large, and of those not more than "+
			"%d MiB a day can be kept for an organization's Idempotency-Keys. Send the request later, or without the key.",
		keptAnswers>>20)
	// The allowance flows back evenly over a day: this is when the missing bytes
	// are there.
	e.RetryAfter = int(math.Ceil(-left / keptAnswers * replay.Seconds()))
	return e
}

// storable reports whether a refusal is stored as the first response. A refusal
// that another key, a later moment or another try may turn into a success is not.
func storable(p *problem.Error) bool {
	switch p.Status() {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	}
	return p.Status() < http.StatusInternalServerError
}

// IdempotencyPlace returns the place for which a response is sealed: copied to
// another row it does not open.
func IdempotencyPlace(org, key string) string { return "idempotency/" + org + "/" + key }
