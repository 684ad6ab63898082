// Package rails connects programs to services that move money: a program has one active rail for each service and
// mode, with sealed credentials. Owners and the operator connect and disconnect them; the API only shows them
// (decisions, 320).
package rails

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/money/payout"
	"rail/server/money/payout/bridge"
	"rail/server/money/payout/paypal"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/outbound/webhook"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/auditlog"
	"rail/server/work/testclock"
)

var queries = db.New()

// ErrConnected means that the program has an active rail of that kind and mode. The error's text names it.
var ErrConnected = errors.New("the program has this rail already")

// Service connects rails and opens them. PayPalURL replaces PayPal's address in both modes; "" keeps it. Guard decides
// which addresses webhook rails may have, and Name is in the user agent of their messages.
type Service struct {
	Keeper    *secret.Keeper
	Clock     clock.Clock
	PayPalURL string
	Guard     *webhook.Guard
	Name      string
	Roots     *x509.CertPool // of PayPal's certificates; nil for the system's
	Mail      *mail.Outbox   // for the owner; may be nil

	mu       sync.Mutex
	opened   map[string]opened // by the rail's id: a service keeps its token
	verifier paypal.Verifier
	prepare  sync.Once
}

// opened is a service with the credentials that it was opened with.
type opened struct {
	credentials []byte
	rail        payout.Rail
}

// PayPal is an account to connect. WebhookID is the id that PayPal gave to the webhook with the rail's address; "" for
// none.
type PayPal struct {
	ProgramID                   string
	Live                        bool
	ClientID, Secret, WebhookID string
}

// Bridge is a service of the merchant's to connect.
type Bridge struct {
	ProgramID, URL string
	Methods        []string
}

// credentials are sealed. A webhook rail has only Secret, which signs its messages.
type credentials struct {
	ClientID  string `json:"client_id,omitempty"`
	Secret    string `json:"secret"`
	WebhookID string `json:"webhook_id,omitempty"`
}

// Place returns the place for sealing a rail's credentials.
func Place(id string) string { return "payout_rails.credentials/" + id }

// Connect checks the account at PayPal and connects it. If the program is connected to the account already, its secret
// and webhook id are replaced. u has no transaction yet: the check happens outside of one.
func (s *Service) Connect(ctx context.Context, u *work.Unit, in PayPal) (c db.PayoutRail, err error) {
	creds := credentials{ClientID: in.ClientID, Secret: in.Secret, WebhookID: in.WebhookID}
	if err := s.paypal(creds, in.Live).Check(ctx); err != nil {
		return c, fmt.Errorf("PayPal refused the account: %w", err)
	}
	c = newRail(u, in.ProgramID, db.PayoutRailKindPaypal)
	c.Livemode, c.Methods, c.LastSuccessAt = in.Live, []string{"paypal"}, &u.Now
	return c, s.connect(ctx, u, &c, creds)
}

// ConnectBridge connects a service of the merchant's, and returns the secret that signs its messages.
func (s *Service) ConnectBridge(ctx context.Context, u *work.Unit,
	in Bridge) (c db.PayoutRail, signing string, err error) {
	if err := s.Guard.Check(ctx, in.URL); err != nil {
		return c, "", fmt.Errorf("the address of the service is refused: %w", err)
	}
	for _, m := range in.Methods {
		if !api.PayoutMethod(m).Valid() {
			return c, "", fmt.Errorf("there is no payout method %q", m)
		}
	}
	c = newRail(u, in.ProgramID, db.PayoutRailKindWebhook)
	c.Livemode, c.Methods, c.URL = true, in.Methods, &in.URL
	creds := credentials{Secret: webhook.NewSecret()}
	return c, creds.Secret, s.connect(ctx, u, &c, creds)
}

func newRail(u *work.Unit, program string, kind db.PayoutRailKind) db.PayoutRail {
	return db.PayoutRail{
		ID: u.NewID(ident.Rail), OrgID: u.OrgID, ProgramID: program, Kind: kind, Status: db.PayoutRailStatusActive,
		CreatedAt: u.Now, UpdatedAt: u.Now,
	}
}

// connect writes a rail. It becomes the active rail of the same account if there is one, which gets the credentials.
func (s *Service) connect(ctx context.Context, u *work.Unit, c *db.PayoutRail, secrets credentials) error {
	return u.Within(ctx, func(u *work.Unit) error {
		if err := lockProgram(ctx, u, c.ProgramID); err != nil {
			return err
		}
		all, err := queries.PayoutRailsOfProgram(ctx, u.DB(), db.PayoutRailsOfProgramParams{
			ProgramID: c.ProgramID, OrgID: u.OrgID,
		})
		if err != nil {
			return err
		}
		if replaced, err := s.replace(ctx, u, all, *c, secrets); replaced != nil || err != nil {
			if replaced != nil {
				*c = *replaced
			}
			return err
		}
		for _, old := range all {
			if old.Status == db.PayoutRailStatusActive && old.Kind == c.Kind && old.Livemode == c.Livemode {
				return fmt.Errorf("%w: disconnect %s first", ErrConnected, old.ID)
			}
		}
		if c.Livemode && !u.Sample {
			if err := testclock.RefuseLive(ctx, u.DB(), "payout rails"); err != nil {
				return err
			}
		}
		if c.Credentials, err = s.seal(secrets, c.ID); err != nil {
			return err
		}
		if err := queries.PayoutRailInsert(ctx, u.Later(), db.PayoutRailInsertParams(*c)); err != nil {
			return err
		}
		return s.record(ctx, u, *c, "connected")
	})
}

func (s *Service) seal(secrets credentials, id string) ([]byte, error) {
	plain, err := json.Marshal(secrets) //nolint:gosec // it is sealed here
	if err != nil {
		return nil, err
	}
	return s.Keeper.Seal(plain, Place(id))
}

// lockProgram lets only one of two concurrent calls change the rails of a program.
func lockProgram(ctx context.Context, u *work.Unit, program string) error {
	_, err := queries.ProgramLock(ctx, u.DB(), db.ProgramLockParams{ID: program, OrgID: u.OrgID})
	return work.Found(err, "program_id")
}

// replace gives new credentials to all rails of the same account, also to disconnected ones, whose payouts are still
// followed. It returns the active rail of the account; nil if there is none.
func (s *Service) replace(ctx context.Context, u *work.Unit, all []db.PayoutRail, rail db.PayoutRail,
	now credentials) (active *db.PayoutRail, err error) {
	if now.ClientID == "" {
		return nil, nil // no account
	}
	for _, c := range all {
		creds, err := s.open(c)
		if err != nil || creds.ClientID != now.ClientID || c.Kind != rail.Kind || c.Livemode != rail.Livemode {
			continue // credentials that cannot be decrypted are another account's
		}
		creds.Secret = now.Secret
		if now.WebhookID != "" {
			creds.WebhookID = now.WebhookID
		}
		if c.Credentials, err = s.seal(creds, c.ID); err != nil {
			return nil, err
		}
		if _, err := queries.PayoutRailReplace(ctx, u.DB(), db.PayoutRailReplaceParams{
			Credentials: c.Credentials, UpdatedAt: u.Now, ID: c.ID, OrgID: u.OrgID,
		}); err != nil {
			return nil, err
		}
		if c.Status == db.PayoutRailStatusActive {
			active = &c
		}
	}
	if active == nil {
		return nil, nil
	}
	return active, s.record(ctx, u, *active, "updated")
}

// Raises reports whether new limits let a rail send more without a person's confirmation.
func Raises(c db.PayoutRail, batch, day *int64) bool {
	return opt.Value(batch) > opt.Value(c.AutomaticBatchMinor) || opt.Value(day) > opt.Value(c.AutomaticDayMinor)
}

// Limit changes what may be sent without a person's confirmation, of one batch and in one day, in minor units of the
// program's currency; both are nil for nothing. It refuses the change if c no longer has the rail's limits.
func (s *Service) Limit(ctx context.Context, u *work.Unit, c db.PayoutRail, batch, day *int64) error {
	return u.Within(ctx, func(u *work.Unit) error {
		if err := lockProgram(ctx, u, c.ProgramID); err != nil {
			return err
		}
		n, err := queries.PayoutRailSetAutomatic(ctx, u.DB(), db.PayoutRailSetAutomaticParams{
			AutomaticBatchMinor: batch, AutomaticDayMinor: day, UpdatedAt: u.Now, ID: c.ID, OrgID: c.OrgID,
			WasBatchMinor: c.AutomaticBatchMinor, WasDayMinor: c.AutomaticDayMinor,
		})
		if err == nil && n == 0 {
			err = fmt.Errorf("%s is disconnected, or its limits have changed meanwhile", c.ID)
		}
		if err != nil {
			return err
		}
		if err := s.email(ctx, u, c, "limited"); err != nil {
			return err
		}
		return auditlog.Record(ctx, u, auditlog.Entry{
			ProgramID: c.ProgramID, Action: "payout_rail.limited", TargetID: c.ID,
			Before: map[string]any{"automatic_batch_minor": c.AutomaticBatchMinor, "automatic_day_minor": c.AutomaticDayMinor},
			After:  map[string]any{"automatic_batch_minor": batch, "automatic_day_minor": day},
		})
	})
}

// Get returns a rail of a program.
func (s *Service) Get(ctx context.Context, u *work.Unit, program, id string) (db.PayoutRail, error) {
	if !ident.Has(id, ident.Rail) {
		return db.PayoutRail{}, problem.NotFound("")
	}
	c, err := queries.PayoutRailGet(ctx, u.DB(), db.PayoutRailGetParams{ID: id, OrgID: u.OrgID})
	if err == nil && c.ProgramID != program {
		err = problem.NotFound("")
	}
	return c, work.Found(err, "")
}

// Disconnect ends a rail permanently. Payouts that were never submitted to it are pending again; the others are
// followed to their end.
func (s *Service) Disconnect(ctx context.Context, u *work.Unit, c db.PayoutRail) error {
	return u.Within(ctx, func(u *work.Unit) error {
		if err := lockProgram(ctx, u, c.ProgramID); err != nil {
			return err
		}
		n, err := queries.PayoutRailDisconnect(ctx, u.DB(), db.PayoutRailDisconnectParams{
			UpdatedAt: u.Now, ID: c.ID, OrgID: u.OrgID,
		})
		if err != nil || n == 0 {
			return err
		}
		if err := payout.Withdraw(ctx, u, c); err != nil {
			return err
		}
		return s.record(ctx, u, c, "disconnected")
	})
}

// Check returns why a rail cannot send payouts; nil if the service accepts its credentials.
func (s *Service) Check(ctx context.Context, c db.PayoutRail) error {
	if c.Status != db.PayoutRailStatusActive {
		return fmt.Errorf("%s is %s", c.ID, c.Status)
	}
	creds, err := s.open(c)
	if err != nil {
		return err
	}
	if c.Kind == db.PayoutRailKindWebhook {
		return s.Guard.Check(ctx, *c.URL)
	}
	return s.paypal(creds, c.Livemode).Check(ctx)
}

// Open returns the service of a rail.
func (s *Service) Open(c db.PayoutRail) (payout.Rail, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.opened[c.ID]; o.rail != nil && bytes.Equal(o.credentials, c.Credentials) {
		return o.rail, nil
	}
	creds, err := s.open(c)
	if err != nil {
		return nil, err
	}
	if s.opened == nil {
		s.opened = map[string]opened{}
	}
	o := opened{credentials: c.Credentials}
	switch c.Kind {
	case db.PayoutRailKindWebhook:
		o.rail = bridge.New(bridge.Config{
			URL: *c.URL, Secret: creds.Secret, Methods: c.Methods, Clock: s.Clock,
			Client: webhook.NewClient(s.Name, s.Guard.DialContext),
		})
	default:
		o.rail = s.paypal(creds, c.Livemode)
	}
	s.opened[c.ID] = o
	return o.rail, nil
}

// open decrypts the credentials of a rail.
func (s *Service) open(c db.PayoutRail) (secrets credentials, err error) {
	plain, err := s.Keeper.Open(c.Credentials, Place(c.ID))
	if err != nil {
		return secrets, fmt.Errorf("the credentials of %s cannot be decrypted: connect it again: %w", c.ID, err)
	}
	return secrets, json.Unmarshal(plain, &secrets)
}

func (s *Service) paypal(secrets credentials, live bool) *paypal.Rail {
	url := paypal.Sandbox
	if live {
		url = paypal.Live
	}
	if s.PayPalURL != "" {
		url = strings.TrimSuffix(s.PayPalURL, "/")
	}
	return paypal.New(paypal.Config{URL: url, ClientID: secrets.ClientID, Secret: secrets.Secret, Clock: s.Clock})
}

// record writes a change of a rail to the audit log, without its credentials, and emails the owner.
func (s *Service) record(ctx context.Context, u *work.Unit, c db.PayoutRail, what string) error {
	if err := s.email(ctx, u, c, what); err != nil {
		return err
	}
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: c.ProgramID, Action: "payout_rail." + what, TargetID: c.ID,
		After: map[string]any{"kind": c.Kind, "livemode": c.Livemode},
	})
}

// changes has a sentence about each change of a rail, whose service it names.
var changes = map[string]string{
	"connected":    "%s was connected.",
	"updated":      "%s got new credentials.",
	"limited":      "%s has new limits for sending without a confirmation.",
	"disconnected": "%s was disconnected.",
}

// email emails the owner about a change of a rail.
func (s *Service) email(ctx context.Context, u *work.Unit, c db.PayoutRail, what string) error {
	prog, err := u.Program(ctx, c.ProgramID)
	if err != nil {
		return err
	}
	service := "PayPal"
	if c.URL != nil {
		service = "The service at " + *c.URL
	}
	return s.Mail.QueueForOwners(ctx, u.Tx, c.OrgID, u.Now, func(to string) mail.Message {
		key := c.ID + " " + what + " " + u.Now.String()
		return mail.PayoutRailChanged(to, key, prog.Name, fmt.Sprintf(changes[what], service))
	})
}
