// Package rails connects programs to services that move money: a program has one active rail for each service and
// mode, with sealed credentials. The operator connects and disconnects them; the API only shows them (decisions, 320).
package rails

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/money/payout"
	"rail/server/money/payout/paypal"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/auditlog"
)

var queries = db.New()

// ErrConnected means that the program has an active rail of that kind and mode. The error's text names it.
var ErrConnected = errors.New("the program has this rail already")

// Service connects rails and opens them. PayPalURL replaces PayPal's address in both modes; "" keeps it.
type Service struct {
	Keeper    *secret.Keeper
	Clock     clock.Clock
	PayPalURL string

	mu     sync.Mutex
	opened map[string]*paypal.Rail // by the rail's id: a service keeps its token
}

// PayPal is an account to connect. WebhookID is PayPal's id of the webhook that sends events; "" for none.
type PayPal struct {
	ProgramID                   string
	Live                        bool
	ClientID, Secret, WebhookID string
}

// account has the sealed credentials of a PayPal account.
type account struct {
	ClientID  string `json:"client_id"`
	Secret    string `json:"secret"`
	WebhookID string `json:"webhook_id,omitempty"`
}

// Place returns the place for sealing a rail's credentials.
func Place(id string) string { return "payout_rails.credentials/" + id }

// Connect checks the account at PayPal and connects it. u has no transaction yet: the check happens outside of one.
func (s *Service) Connect(ctx context.Context, u *work.Unit, in PayPal) (c db.PayoutRail, err error) {
	if err := s.paypal(account{ClientID: in.ClientID, Secret: in.Secret}, in.Live).Check(ctx); err != nil {
		return c, fmt.Errorf("PayPal refused the account: %w", err)
	}
	c = db.PayoutRail{
		ID: u.NewID(ident.Rail), OrgID: u.OrgID, ProgramID: in.ProgramID, Kind: db.PayoutRailKindPaypal, Livemode: in.Live,
		Status: db.PayoutRailStatusActive, Methods: []string{"paypal"}, LastSuccessAt: &u.Now, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	plain, err := json.Marshal(account{in.ClientID, in.Secret, in.WebhookID}) //nolint:gosec // it is sealed below
	if err != nil {
		return c, err
	}
	if c.Credentials, err = s.Keeper.Seal(plain, Place(c.ID)); err != nil {
		return c, err
	}
	return c, u.Within(ctx, func(u *work.Unit) error { return insert(ctx, u, c) })
}

// insert writes a rail, unless the program has one of its kind and mode.
func insert(ctx context.Context, u *work.Unit, c db.PayoutRail) error {
	if _, err := queries.ProgramLock(ctx, u.DB(), db.ProgramLockParams{ID: c.ProgramID, OrgID: u.OrgID}); err != nil {
		return work.Found(err, "program_id")
	}
	old, err := queries.PayoutRailActive(ctx, u.DB(), db.PayoutRailActiveParams{
		ProgramID: c.ProgramID, OrgID: u.OrgID, Kind: c.Kind, Livemode: c.Livemode,
	})
	if err == nil {
		return fmt.Errorf("%w: disconnect %s first", ErrConnected, old.ID)
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if err := queries.PayoutRailInsert(ctx, u.Later(), db.PayoutRailInsertParams(c)); err != nil {
		return err
	}
	return record(ctx, u, c, "connected")
}

// Disconnect ends a rail permanently. Payouts that it has are followed to their end.
func (s *Service) Disconnect(ctx context.Context, u *work.Unit, c db.PayoutRail) error {
	return u.Within(ctx, func(u *work.Unit) error {
		n, err := queries.PayoutRailDisconnect(ctx, u.DB(), db.PayoutRailDisconnectParams{
			UpdatedAt: u.Now, ID: c.ID, OrgID: u.OrgID,
		})
		if err != nil || n == 0 {
			return err
		}
		return record(ctx, u, c, "disconnected")
	})
}

// Check returns why a rail cannot send payouts; nil if the service accepts its credentials.
func (s *Service) Check(ctx context.Context, c db.PayoutRail) error {
	if c.Status != db.PayoutRailStatusActive {
		return fmt.Errorf("%s is %s", c.ID, c.Status)
	}
	a, err := s.account(c)
	if err != nil {
		return err
	}
	return s.paypal(a, c.Livemode).Check(ctx)
}

// Open returns the service of a rail.
func (s *Service) Open(c db.PayoutRail) (payout.Rail, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.opened[c.ID]; r != nil {
		return r, nil
	}
	a, err := s.account(c)
	if err != nil {
		return nil, err
	}
	if s.opened == nil {
		s.opened = map[string]*paypal.Rail{}
	}
	s.opened[c.ID] = s.paypal(a, c.Livemode)
	return s.opened[c.ID], nil
}

func (s *Service) account(c db.PayoutRail) (a account, err error) {
	plain, err := s.Keeper.Open(c.Credentials, Place(c.ID))
	if err != nil {
		return a, fmt.Errorf("the credentials of %s cannot be decrypted: connect it again: %w", c.ID, err)
	}
	return a, json.Unmarshal(plain, &a)
}

func (s *Service) paypal(a account, live bool) *paypal.Rail {
	url := paypal.Sandbox
	if live {
		url = paypal.Live
	}
	if s.PayPalURL != "" {
		url = strings.TrimSuffix(s.PayPalURL, "/")
	}
	return paypal.New(paypal.Config{URL: url, ClientID: a.ClientID, Secret: a.Secret, Clock: s.Clock})
}

// record writes a change of a rail to the audit log, without its credentials.
func record(ctx context.Context, u *work.Unit, c db.PayoutRail, what string) error {
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: c.ProgramID, Action: "payout_rail." + what, TargetID: c.ID,
		After: map[string]any{"kind": c.Kind, "livemode": c.Livemode},
	})
}
