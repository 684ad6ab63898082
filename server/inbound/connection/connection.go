// Package connection has the rules of connections to payment processors: a program has one active connection for
// each processor and mode, with sealed secrets. The operator and owners at the console create and end them; the
// API only shows them. A connection begun in the console is pending until its first signed event.
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
	"rail/server/work/testclock"
)

var queries = db.New()

// Generic is any processor that signs its events as Standard Webhooks.
const Generic = "generic"

// The processors whose event formats Rail reads.
const (
	Stripe       = "stripe"
	Paddle       = "paddle"
	Chargebee    = "chargebee"
	LemonSqueezy = "lemon_squeezy"
	Polar        = "polar"
)

// Processors lists the supported processors.
var Processors = []string{Stripe, Paddle, Chargebee, LemonSqueezy, Polar, Generic}

// ErrConnected means that the program has an active connection to the processor in that mode. The error's text
// names it.
var ErrConnected = errors.New("the program is connected already")

// InputError is the reason why a connection cannot be created. Field is the invalid input: processor, secret or
// api_key.
type InputError struct {
	Field string
	Cause error
}

// Error returns the cause's text.
func (r *InputError) Error() string { return r.Cause.Error() }

// Unwrap returns the cause.
func (r *InputError) Unwrap() error { return r.Cause }

// Refuse returns an InputError with a text formatted as by fmt.Errorf.
func Refuse(field, format string, args ...any) error {
	return &InputError{field, fmt.Errorf(format, args...)} //nolint:err113 // callers read the field
}

// Input is a connection to create.
type Input struct {
	// ID is the id of the connection; "" lets Rail choose one.
	ID                   string
	ProgramID, Processor string
	Live                 bool
	// Secret is the processor's signing secret. If it is empty, Rail makes one for processors that accept the
	// merchant's.
	Secret string
	// APIKey is a key for the processor's API; may be empty.
	APIKey string
	// RecordDirect also records payments without a partner.
	RecordDirect bool
	// OutsideCheckout also records payments outside the processor's checkout.
	OutsideCheckout bool
	// Replace ends the active connection.
	Replace bool
}

// Service creates connections.
type Service struct {
	Keeper *secret.Keeper
}

// SecretPlace returns the place for sealing a connection's signing secret.
func SecretPlace(id string) string { return "processor_connections.secret/" + id }

// KeyPlace returns the place for sealing a connection's API key.
func KeyPlace(id string) string { return "processor_connections.api_key/" + id }

// URL returns the address for a connection's events.
func URL(baseURL string, c db.ProcessorConnection) string {
	return strings.TrimSuffix(baseURL, "/") + "/hooks/" + c.Processor + "/" + c.ID
}

// Connect creates a connection and returns it with its signing secret, which is never shown again.
func (s Service) Connect(
	ctx context.Context, u *work.Unit, in Input,
) (c db.ProcessorConnection, signing string, err error) {
	if in.Secret, err = in.secret(); err != nil {
		return c, "", err
	}
	if err := lockProgram(ctx, u, in.ProgramID); err != nil {
		return c, "", err
	}
	if in.ID == "" {
		in.ID = u.NewID(ident.Connection)
	}
	c = in.connection(u, db.ConnectionStatusActive)
	if err := makeRoom(ctx, u, c, in.Replace); err != nil {
		return c, "", err
	}
	if err := s.sealSecrets(&c, in); err != nil {
		return c, "", err
	}
	if err := insert(ctx, u, c); err != nil {
		return c, "", err
	}
	return c, in.Secret, record(ctx, u, c, "connected")
}

// insert writes a new connection.
func insert(ctx context.Context, u *work.Unit, c db.ProcessorConnection) error {
	if c.Livemode && !u.Sample {
		if err := testclock.RefuseLive(ctx, u.DB(), "processor connections"); err != nil {
			return err
		}
	}
	return queries.ConnectionInsert(ctx, u.Later(), db.ConnectionInsertParams(c))
}

// lockProgram lets only one of two concurrent calls change the connections of a program.
func lockProgram(ctx context.Context, u *work.Unit, program string) error {
	_, err := queries.ProgramLock(ctx, u.DB(), db.ProgramLockParams{ID: program, OrgID: u.OrgID})
	return work.Found(err, "program_id")
}

// connection returns a new connection without secrets.
func (in Input) connection(u *work.Unit, status db.ConnectionStatus) db.ProcessorConnection {
	return db.ProcessorConnection{
		ID: in.ID, OrgID: u.OrgID, ProgramID: in.ProgramID, Processor: in.Processor, Livemode: in.Live, Status: status,
		RecordDirect: in.RecordDirect, OutsideCheckout: in.OutsideCheckout, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
}

// makeSecret makes secrets for processors that accept the merchant's.
var makeSecret = map[string]func() string{
	Generic:      webhook.NewSecret,
	LemonSqueezy: rand.Text, // at most 40 characters
	Chargebee:    func() string { return "rail:" + rand.Text() },
}

// secret returns the signing secret. The generic processor requires a Standard Webhooks secret, since no event
// would verify with another.
func (in Input) secret() (string, error) {
	switch {
	case !slices.Contains(Processors, in.Processor):
		return "", Refuse("processor", "there is no processor %q: choose from %s", in.Processor, strings.Join(Processors, ", "))
	case in.Secret == "" && makeSecret[in.Processor] != nil:
		return makeSecret[in.Processor](), nil
	case in.Secret == "":
		return "", Refuse("secret", "the processor's signing secret is required")
	case in.Processor == Generic && !standard(in.Secret):
		return "", Refuse("secret", "the secret must be whsec_ and base64, as Standard Webhooks has it")
	case in.Processor == Chargebee && !credentials(in.Secret):
		return "", Refuse("secret", "the secret must be a user, a colon and a password of %d characters or more", minPassword)
	}
	return in.Secret, nil
}

// standard reports whether a secret is valid for Standard Webhooks.
func standard(text string) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, webhook.SecretPrefix))
	return err == nil && strings.HasPrefix(text, webhook.SecretPrefix) && len(key) >= 16
}

// minPassword is the minimum length of a password that alone authenticates events.
const minPassword = 16

// credentials reports whether a secret is a user and a password of HTTP Basic.
func credentials(text string) bool {
	user, password, _ := strings.Cut(text, ":")
	return user != "" && len(password) >= minPassword
}

// makeRoom ends the active connection that c replaces. Unless replace is set, it refuses a second connection.
func makeRoom(ctx context.Context, u *work.Unit, c db.ProcessorConnection, replace bool) error {
	old, err := queries.ConnectionActive(ctx, u.DB(), db.ConnectionActiveParams{
		ProgramID: c.ProgramID, OrgID: u.OrgID, Processor: c.Processor, Livemode: c.Livemode,
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && old.ID == c.ID:
		return nil
	case err != nil:
		return err
	case !replace:
		return fmt.Errorf("%w by %s: end it first, or replace it", ErrConnected, old.ID)
	}
	return Disconnect(ctx, u, old)
}

// Disconnect ends a connection permanently: its address becomes unknown. Events received before are still
// processed. An ended connection stays unchanged. A pending connection without events is deleted.
func Disconnect(ctx context.Context, u *work.Unit, c db.ProcessorConnection) error {
	if c.Status == db.ConnectionStatusPending {
		if deleted, err := discard(ctx, u, c); deleted || err != nil {
			return err
		}
	}
	end := db.ConnectionDisconnectParams{UpdatedAt: u.Now, ID: c.ID, OrgID: u.OrgID}
	// At once, since a new connection needs the unique index.
	n, err := queries.ConnectionDisconnect(ctx, u.DB(), end)
	if err != nil || n == 0 {
		return err
	}
	return record(ctx, u, c, "disconnected")
}

// record writes a change of a connection to the audit log, without its secrets.
func record(ctx context.Context, u *work.Unit, c db.ProcessorConnection, what string) error {
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: c.ProgramID, Action: "processor_connection." + what, TargetID: c.ID,
		After: map[string]any{"processor": c.Processor, "livemode": c.Livemode},
	})
}

// Secret returns the connection's signing secret.
func (s Service) Secret(c db.ProcessorConnection) (string, error) {
	plain, err := s.Keeper.Open(c.Secret, SecretPlace(c.ID))
	return string(plain), err
}

// Key returns the connection's key for the processor's API.
func (s Service) Key(c db.ProcessorConnection) (string, error) {
	plain, err := s.Keeper.Open(c.APIKey, KeyPlace(c.ID))
	return string(plain), err
}
