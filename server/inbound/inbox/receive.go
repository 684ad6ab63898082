// Package inbox receives events of payment processors, each once, and processes them. A request only stores the
// event and is answered; a worker then applies the event to customers, sales and refunds, in one transaction
// with its outcome. No answered event is lost. An event that precedes its customer or sale waits for it, and
// the events of one customer are processed in the order of their arrival.
package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"
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
	"rail/server/postgres/pgtx"
	"rail/server/postgres/pgtx/share"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

var queries = db.New()

// sources has the implementation of each processor.
var sources = map[string]processor.Source{
	connection.Generic:      generic.Source{},
	connection.Stripe:       stripe.Source{},
	connection.Paddle:       paddle.Source{},
	connection.Chargebee:    chargebee.Source{},
	connection.LemonSqueezy: lemonsqueezy.Source{},
	connection.Polar:        polar.Source{},
}

// MaxBody is the maximum size of an event in bytes.
const MaxBody = 2 << 20

// maxID bounds the ids and types of events, in bytes.
const maxID = 255

// lastEventLag bounds how stale a connection's last-event time may be.
const lastEventLag = time.Second

// ErrSignature means that an event was not signed with the connection's secret, or too long ago.
var ErrSignature = errors.New("the signature is missing, invalid or more than 300 seconds off")

// Box stores events.
type Box struct {
	Pool   *pgxpool.Pool
	Keeper *secret.Keeper
	Clock  clock.Clock
	// Commits lets requests share transactions; nil gives each its own.
	Commits *share.GroupCommit
}

// PayloadPlace returns the place for sealing an event's body.
func PayloadPlace(id string) string { return "inbox_events.payload/" + id }

// Find returns the connection named by a processor's request. An ended connection is not found, nor is a pending one
// without a secret.
func (b Box) Find(ctx context.Context, processorName, id string) (db.ProcessorConnection, error) {
	if !ident.Has(id, ident.Connection) || sources[processorName] == nil {
		return db.ProcessorConnection{}, problem.NotFound("")
	}
	c, err := queries.ConnectionAcrossOrgs(ctx, b.Pool, id)
	if err = work.Found(err, ""); err != nil {
		return c, err
	}
	if c.Processor != processorName || !accepts(c) {
		return c, problem.NotFound("")
	}
	return c, nil
}

// accepts reports whether a connection takes events: a pending one needs a secret first.
func accepts(c db.ProcessorConnection) bool {
	return c.Status == db.ConnectionStatusActive || c.Status == db.ConnectionStatusPending && c.Secret != nil
}

// Active returns the ids of all active connections.
func (b Box) Active(ctx context.Context) ([]string, error) {
	return queries.ConnectionsActive(ctx, b.Pool)
}

// Head returns ErrSignature if the header alone shows that Verify will fail.
func (b Box) Head(c db.ProcessorConnection, header http.Header) error {
	signing, err := connection.Service{Keeper: b.Keeper}.Secret(c)
	if err == nil && sources[c.Processor].Head(signing, header, clock.Wall(b.Clock).Now()) != nil {
		return ErrSignature
	}
	return err
}

// Verify returns ErrSignature unless the connection's processor sent the body.
func (b Box) Verify(c db.ProcessorConnection, header http.Header, body []byte) error {
	signing, err := connection.Service{Keeper: b.Keeper}.Secret(c)
	if err == nil && sources[c.Processor].Verify(signing, header, body, clock.Wall(b.Clock).Now()) != nil {
		return ErrSignature
	}
	return err
}

// delivery is an event to store, with its turns.
type delivery struct {
	event db.InboxInsertParams
	turns []string
}

// insert stores the event, once.
func (d delivery) insert(ctx context.Context, u *work.Unit) error {
	if err := queries.InboxInsert(ctx, u.Later(), d.event); err != nil || len(d.turns) == 0 {
		return err
	}
	return queries.InboxTurnsAdd(ctx, u.Later(), db.InboxTurnsAddParams{
		OrgIds:   slices.Repeat([]string{d.event.OrgID}, len(d.turns)),
		EventIds: slices.Repeat([]string{d.event.ID}, len(d.turns)),
		Keys:     d.turns,
	})
}

// Receive stores a verified event, once; repeated deliveries change nothing. The first event of the connection's own
// mode activates a pending connection. A body that is not a valid event is
// stored under its hash, and accepted: otherwise the processor would only resend it.
func (b Box) Receive(ctx context.Context, c db.ProcessorConnection, header http.Header, body []byte) error {
	now := b.Clock.Now()
	d, err := b.event(c, sources[c.Processor], header, body, now)
	if err != nil {
		return err
	}
	u := b.unit(c, now)
	stale := now.Plus(-lastEventLag)
	noted := c.LastEventAt != nil && c.LastEventAt.After(stale.Time)
	if b.Commits != nil && c.Status == db.ConnectionStatusActive && noted {
		err := u.WithinShared(ctx, b.Commits, func(u *work.Unit) error { return d.insert(ctx, u) })
		if !pgtx.Again(err) {
			return err
		}
	}
	return u.Within(ctx, func(u *work.Unit) error {
		if c.Status == db.ConnectionStatusPending && d.event.Livemode == c.Livemode {
			if err := connection.Activate(ctx, u, c); err != nil {
				return err
			}
		}
		if err := d.insert(ctx, u); err != nil {
			return err
		}
		return queries.ConnectionSetLastEvent(ctx, u.Later(), db.ConnectionSetLastEventParams{
			Now: &now, ID: c.ID, OrgID: c.OrgID, StaleBefore: &stale,
		})
	})
}

// Store stores an event from the processor's API, once. The event was not delivered, so the connection's
// last-event time stays.
func (b Box) Store(ctx context.Context, c db.ProcessorConnection, body []byte) error {
	now := b.Clock.Now()
	d, err := b.event(c, sources[c.Processor], http.Header{}, body, now)
	if err != nil {
		return err
	}
	return b.unit(c, now).Within(ctx, func(u *work.Unit) error { return d.insert(ctx, u) })
}

// unit returns a unit of work of a connection.
func (b Box) unit(c db.ProcessorConnection, now clock.Time) *work.Unit {
	return work.NewRun(b.Pool, work.Actor{Kind: work.Processor, ID: c.ID}, now).For(c.OrgID)
}

// event returns an event to store, due at once.
func (b Box) event(
	c db.ProcessorConnection, source processor.Source, header http.Header, body []byte, now clock.Time,
) (d delivery, err error) {
	r, err := source.Read(body)
	malformed := err != nil
	if s, ok := source.(interface {
		EventID(header http.Header) string
	}); ok {
		r.ID = s.EventID(header)
	}
	e := db.InboxInsertParams{
		ID: ident.New(ident.InboxEvent), OrgID: c.OrgID, ProgramID: c.ProgramID, ConnectionID: c.ID, Processor: c.Processor,
		ExternalEventID: storable(r.ID), Type: storable(r.Type), Livemode: isLive(r, c),
		Status: db.InboxStatusPending, DueAt: &now, CreatedAt: now,
	}
	if e.ExternalEventID == "" {
		sum := sha256.Sum256(body)
		e.ExternalEventID = hex.EncodeToString(sum[:])
	}
	if e.Headers, err = json.Marshal(headersToStore(header)); err != nil {
		return d, err
	}
	if e.Payload, err = b.Keeper.Seal(body, PayloadPlace(e.ID)); err != nil || malformed {
		return delivery{event: e}, err
	}
	return delivery{e, turns(r)}, nil
}

// isLive reports whether an event is live. The connection's mode applies to an event whose mode is unknown; an
// unreadable body has no type.
func isLive(r processor.Reading, c db.ProcessorConnection) bool {
	return r.Live || (r.NoMode || r.Type == "") && c.Livemode
}

// headersToStore returns the headers that describe an event, without signatures, which are verified already.
func headersToStore(header http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"Content-Type", "User-Agent", "Webhook-Id", "Webhook-Timestamp"} {
		if v := storable(header.Get(name)); v != "" {
			out[name] = v
		}
	}
	return out
}

// storable returns a text if PostgreSQL can store it, or "".
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
