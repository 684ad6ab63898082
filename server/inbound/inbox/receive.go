// Package inbox takes the events of payment processors in, each once, and works
// them: a request stores what it brought and is answered; a worker then applies
// the event to customers, sales and refunds in one transaction with its outcome.
// Nothing that was answered is lost, and the order of events does not matter:
// what comes before its customer or sale waits for it.
package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/inbound/chargebee"
	"rail/server/inbound/connection"
	"rail/server/inbound/generic"
	"rail/server/inbound/lemonsqueezy"
	"rail/server/inbound/paddle"
	"rail/server/inbound/polar"
	"rail/server/inbound/processor"
	"rail/server/inbound/stripe"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

var queries = db.New()

// sources has what Rail knows of each processor that can be connected.
var sources = map[string]processor.Source{
	connection.Generic:      generic.Source{},
	connection.Stripe:       stripe.Source{},
	connection.Paddle:       paddle.Source{},
	connection.Chargebee:    chargebee.Source{},
	connection.LemonSqueezy: lemonsqueezy.Source{},
	connection.Polar:        polar.Source{},
}

// MaxBody is the largest event that is taken, in bytes.
const MaxBody = 2 << 20

// maxID bounds the ids and kinds of events, in bytes.
const maxID = 255

// told is how long the time of a connection's last event may lag behind.
const told = 1

// ErrSignature means that an event was not signed with the connection's secret, or
// too long ago.
var ErrSignature = errors.New("the signature is missing, does not fit or is more than 300 seconds off")

// Box stores events.
type Box struct {
	Pool   *pgxpool.Pool
	Keeper *secret.Keeper
	Clock  clock.Clock
}

// PayloadPlace is the place for which an event's body is sealed.
func PayloadPlace(id string) string { return "inbox_events.payload/" + id }

// Find returns the connection that a processor's request names. One that has ended
// is as unknown as one that never was.
func (b Box) Find(ctx context.Context, processorName, id string) (db.ProcessorConnection, error) {
	if !ident.Has(id, ident.Connection) || sources[processorName] == nil {
		return db.ProcessorConnection{}, problem.NotFound("")
	}
	c, err := queries.ConnectionOperated(ctx, b.Pool, id)
	if err = work.Found(err, ""); err != nil {
		return c, err
	}
	if c.Processor != processorName || c.Status != db.ConnectionStatusActive {
		return c, problem.NotFound("")
	}
	return c, nil
}

// Active returns the ids of all connections that take events.
func (b Box) Active(ctx context.Context) ([]string, error) {
	return queries.ConnectionsActive(ctx, b.Pool)
}

// Head returns ErrSignature if the header alone shows that Verify will.
func (b Box) Head(c db.ProcessorConnection, header http.Header) error {
	signing, err := connection.Service{Keeper: b.Keeper}.Secret(c)
	if err == nil && sources[c.Processor].Head(signing, header, b.Clock.Now()) != nil {
		return ErrSignature
	}
	return err
}

// Verify returns ErrSignature unless a connection's processor has sent the body.
func (b Box) Verify(c db.ProcessorConnection, header http.Header, body []byte) error {
	signing, err := connection.Service{Keeper: b.Keeper}.Secret(c)
	if err == nil && sources[c.Processor].Verify(signing, header, body, b.Clock.Now()) != nil {
		return ErrSignature
	}
	return err
}

// Receive stores an event that Verify let in, once; another delivery of it changes
// nothing. A body that is no event is stored under its hash, and answered all the
// same: the processor would only send it again.
func (b Box) Receive(ctx context.Context, c db.ProcessorConnection, header http.Header, body []byte) error {
	now := b.Clock.Now()
	e, err := b.event(c, sources[c.Processor], header, body, now)
	if err != nil {
		return err
	}
	u := work.NewRun(b.Pool, work.Actor{Kind: work.Processor, ID: c.ID}, now).For(c.OrgID)
	return u.Within(ctx, func(u *work.Unit) error {
		last := db.ConnectionToldParams{Now: &now, ID: c.ID, OrgID: c.OrgID, StaleBefore: new(now.Plus(-told * 1e9))}
		if _, err := queries.InboxInsert(ctx, u.DB(), e); err != nil {
			return err
		}
		return queries.ConnectionTold(ctx, u.Later(), last)
	})
}

// Store stores an event that the processor's API has shown, once. It did not come by
// itself, so that the connection's last event stays what it was.
func (b Box) Store(ctx context.Context, c db.ProcessorConnection, body []byte) error {
	e, err := b.event(c, sources[c.Processor], http.Header{}, body, b.Clock.Now())
	if err == nil {
		_, err = queries.InboxInsert(ctx, b.Pool, e)
	}
	return err
}

// event returns the row of an event, to be worked at once.
func (b Box) event(
	c db.ProcessorConnection, source processor.Source, header http.Header, body []byte, now clock.Time,
) (e db.InboxInsertParams, err error) {
	r, err := source.Read(body)
	malformed := err != nil
	if s, ok := source.(interface {
		EventID(header http.Header) string
	}); ok {
		r.ID = s.EventID(header)
	}
	e = db.InboxInsertParams{
		ID: ident.New(ident.InboxEvent), OrgID: c.OrgID, ProgramID: c.ProgramID, ConnectionID: c.ID, Processor: c.Processor,
		ExternalEventID: storable(r.ID), Type: storable(r.Type), Livemode: r.Live || (malformed || r.NoMode) && c.Livemode,
		Status: db.InboxStatusPending, DueAt: &now, CreatedAt: now,
	}
	if e.ExternalEventID == "" {
		sum := sha256.Sum256(body)
		e.ExternalEventID = hex.EncodeToString(sum[:])
	}
	if e.Headers, err = json.Marshal(kept(header)); err != nil {
		return e, err
	}
	e.Payload, err = b.Keeper.Seal(body, PayloadPlace(e.ID))
	return e, err
}

// kept are the headers that say something about an event. Signatures are not among
// them: they have done their work.
func kept(header http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"Content-Type", "User-Agent", "Webhook-Id", "Webhook-Timestamp"} {
		if v := storable(header.Get(name)); v != "" {
			out[name] = v
		}
	}
	return out
}

// storable returns a text as PostgreSQL can keep it, or "".
func storable(s string) string {
	if len(s) > maxID || !utf8.ValidString(s) {
		return ""
	}
	for i := range len(s) {
		if s[i] == 0 {
			return ""
		}
	}
	return s
}
