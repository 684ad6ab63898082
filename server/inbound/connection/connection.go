// Package connection has the rules of connections to payment processors: one works
// for a program, a processor and a mode, and its secrets are sealed. The operator and
// owners at the console make and end them; the API only shows them.
package connection

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/outbound/webhook"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/auditlog"
)

var queries = db.New()

// Generic is the processor of whatever signs its events as Standard Webhooks do.
const Generic = "generic"

// The processors that Rail reads in their own words.
const (
	Stripe       = "stripe"
	Paddle       = "paddle"
	Chargebee    = "chargebee"
	LemonSqueezy = "lemon_squeezy"
	Polar        = "polar"
)

// Processors are those that can be connected.
var Processors = []string{Stripe, Paddle, Chargebee, LemonSqueezy, Polar, Generic}

// ErrConnected means that another connection of the program, processor and mode
// works. The error's text names it.
var ErrConnected = errors.New("the program is connected already")

// InputError is why a connection cannot be made as it was asked for. Field is what is at fault: processor, secret
// or api_key.
type InputError struct {
	Field string
	Cause error
}

// Error says what is wrong.
func (r *InputError) Error() string { return r.Cause.Error() }

// Unwrap returns the cause.
func (r *InputError) Unwrap() error { return r.Cause }

// Refuse returns an InputError, with a text as of fmt.Errorf.
func Refuse(field, format string, args ...any) error {
	return &InputError{field, fmt.Errorf(format, args...)} //nolint:err113 // the field is what is asked for
}

// Input is a connection to make.
type Input struct {
	// ID is what the connection is called; Rail makes one for "".
	ID                   string
	ProgramID, Processor string
	Live                 bool
	// Secret is what the processor signs its events with. Where none is given, Rail makes
	// one for the processors that take the merchant's.
	Secret string
	// APIKey opens the processor's own API; "" for none.
	APIKey string
	// RecordDirect records payments that no partner brought, too.
	RecordDirect bool
	// OutsideCheckout records payments outside the processor's own checkout.
	OutsideCheckout bool
	// Replace ends the connection that works until now.
	Replace bool
}

// Service makes connections.
type Service struct {
	Keeper *secret.Keeper
}

// SecretPlace is the place for which the signing secret of a connection is sealed.
func SecretPlace(id string) string { return "processor_connections.secret/" + id }

// KeyPlace is the place for which the API key of a connection is sealed.
func KeyPlace(id string) string { return "processor_connections.api_key/" + id }

// URL is where a processor sends the events of a connection.
func URL(baseURL string, c db.ProcessorConnection) string {
	return strings.TrimSuffix(baseURL, "/") + "/hooks/" + c.Processor + "/" + c.ID
}

// Connect makes a connection and returns it with its signing secret, which is never
// shown again. The program is locked, so that of two only one is made.
func (s Service) Connect(ctx context.Context, u *work.Unit, in Input) (db.ProcessorConnection, string, error) {
	signing, err := in.secret()
	if err != nil {
		return db.ProcessorConnection{}, "", err
	}
	lock := db.ProgramLockParams{ID: in.ProgramID, OrgID: u.OrgID}
	if _, err := queries.ProgramLock(ctx, u.DB(), lock); err != nil {
		return db.ProcessorConnection{}, "", work.Found(err, "program_id")
	}
	if err := in.makeRoom(ctx, u); err != nil {
		return db.ProcessorConnection{}, "", err
	}
	if in.ID == "" {
		in.ID = ident.New(ident.Connection)
	}
	c := db.ProcessorConnection{
		ID: in.ID, OrgID: u.OrgID, ProgramID: in.ProgramID, Processor: in.Processor,
		Livemode: in.Live, Status: db.ConnectionStatusActive, RecordDirect: in.RecordDirect,
		OutsideCheckout: in.OutsideCheckout, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if c.Secret, err = s.Keeper.Seal([]byte(signing), SecretPlace(c.ID)); err != nil {
		return c, "", err
	}
	if in.APIKey != "" {
		if c.APIKey, err = s.Keeper.Seal([]byte(in.APIKey), KeyPlace(c.ID)); err != nil {
			return c, "", err
		}
	}
	if err := queries.ConnectionInsert(ctx, u.Later(), db.ConnectionInsertParams(c)); err != nil {
		return c, "", err
	}
	return c, signing, record(ctx, u, c, "connected")
}

// made has what makes the secrets of the processors that take the merchant's own.
var made = map[string]func() string{
	Generic:      webhook.NewSecret,
	LemonSqueezy: rand.Text, // of at most 40 characters
	Chargebee:    func() string { return "rail:" + rand.Text() },
}

// secret returns the signing secret. That of the generic processor must be one of
// Standard Webhooks, or no event would ever fit.
func (in Input) secret() (string, error) {
	switch {
	case !slices.Contains(Processors, in.Processor):
		return "", Refuse("processor", "there is no processor %q: choose from %s", in.Processor, strings.Join(Processors, ", "))
	case in.Secret == "" && made[in.Processor] != nil:
		return made[in.Processor](), nil
	case in.Secret == "":
		return "", Refuse("secret", "the secret is needed with which the processor signs its events")
	case in.Processor == Generic && !standard(in.Secret):
		return "", Refuse("secret", "the secret must be whsec_ and base64, as Standard Webhooks has it")
	case in.Processor == Chargebee && !credentials(in.Secret):
		return "", Refuse("secret", "the secret must be a user, a colon and a password of %d characters or more", minPassword)
	}
	return in.Secret, nil
}

// standard reports whether a secret is one of Standard Webhooks.
func standard(given string) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(given, webhook.SecretPrefix))
	return err == nil && strings.HasPrefix(given, webhook.SecretPrefix) && len(key) >= 16
}

// minPassword is the shortest password that may be all that proves who sent an event.
const minPassword = 16

// credentials reports whether a secret is a user and a password of HTTP Basic.
func credentials(given string) bool {
	user, password, _ := strings.Cut(given, ":")
	return user != "" && len(password) >= minPassword
}

// makeRoom ends the connection that works until now, or refuses beside it.
func (in Input) makeRoom(ctx context.Context, u *work.Unit) error {
	old, err := queries.ConnectionActive(ctx, u.DB(), db.ConnectionActiveParams{
		ProgramID: in.ProgramID, OrgID: u.OrgID, Processor: in.Processor, Livemode: in.Live,
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	case !in.Replace:
		return fmt.Errorf("%w by %s: end it first, or replace it", ErrConnected, old.ID)
	}
	return Disconnect(ctx, u, old)
}

// Disconnect ends a connection for ever: its address is one that nobody knows. What
// came before is worked all the same. One that has ended stays as it is.
func Disconnect(ctx context.Context, u *work.Unit, c db.ProcessorConnection) error {
	end := db.ConnectionDisconnectParams{UpdatedAt: u.Now, ID: c.ID, OrgID: u.OrgID}
	// At once: the new connection needs the place.
	n, err := queries.ConnectionDisconnect(ctx, u.DB(), end)
	if err != nil || n == 0 {
		return err
	}
	return record(ctx, u, c, "disconnected")
}

// record writes a change of a connection into the audit log, without its secrets.
func record(ctx context.Context, u *work.Unit, c db.ProcessorConnection, what string) error {
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: c.ProgramID, Action: "processor_connection." + what, TargetID: c.ID,
		After: map[string]any{"processor": c.Processor, "livemode": c.Livemode},
	})
}

// Secret returns the secret with which the processor signs the events of a
// connection.
func (s Service) Secret(c db.ProcessorConnection) (string, error) {
	plain, err := s.Keeper.Open(c.Secret, SecretPlace(c.ID))
	return string(plain), err
}

// Key returns the key of the processor's own API that came with a connection.
func (s Service) Key(c db.ProcessorConnection) (string, error) {
	plain, err := s.Keeper.Open(c.APIKey, KeyPlace(c.ID))
	return string(plain), err
}
