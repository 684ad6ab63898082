// Package rails connects programs to services that move money: a program has one active rail for each service and
// mode, with sealed credentials. The operator connects and disconnects them; the API only shows them (decisions, 320).
package rails

import (
	"bytes"
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
	"rail/server/opt"
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
	opened map[string]opened // by the rail's id: a service keeps its token
}

// opened is a service with the credentials that it was opened with.
type opened struct {
	credentials []byte
	rail        *paypal.Rail
}

// PayPal is an account to connect.
type PayPal struct {
	ProgramID        string
	Live             bool
	ClientID, Secret string
}

// account has the sealed credentials of a PayPal account.
type account struct {
	ClientID string `json:"client_id"`
	Secret   string `json:"secret"`
}

// Place returns the place for sealing a rail's credentials.
func Place(id string) string { return "payout_rails.credentials/" + id }

// Connect checks the account at PayPal and connects it. If the program is connected to the account already, its secret
// is replaced. u has no transaction yet: the check happens outside of one.
func (s *Service) Connect(ctx context.Context, u *work.Unit, in PayPal) (c db.PayoutRail, err error) {
	if err := s.paypal(account{ClientID: in.ClientID, Secret: in.Secret}, in.Live).Check(ctx); err != nil {
		return c, fmt.Errorf("PayPal refused the account: %w", err)
	}
	c = db.PayoutRail{
		ID: u.NewID(ident.Rail), OrgID: u.OrgID, ProgramID: in.ProgramID, Kind: db.PayoutRailKindPaypal, Livemode: in.Live,
		Status: db.PayoutRailStatusActive, Methods: []string{"paypal"}, LastSuccessAt: &u.Now, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if c.Credentials, err = s.seal(account{in.ClientID, in.Secret}, c.ID); err != nil {
		return c, err
	}
	err = u.Within(ctx, func(u *work.Unit) (err error) {
		if err := lockProgram(ctx, u, in.ProgramID); err != nil {
			return err
		}
		replaced, err := s.replace(ctx, u, c, account{in.ClientID, in.Secret})
		if replaced != nil || err != nil {
			c = opt.Value(replaced)
			return err
		}
		return insert(ctx, u, c)
	})
	return c, err
}

func (s *Service) seal(a account, id string) ([]byte, error) {
	plain, err := json.Marshal(a) //nolint:gosec // it is sealed here
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

// replace gives a new secret to all rails of the same account, also to disconnected ones, whose payouts are still
// followed. It returns the active rail of the account; nil if there is none.
func (s *Service) replace(
	ctx context.Context, u *work.Unit, made db.PayoutRail, a account,
) (active *db.PayoutRail, err error) {
	all, err := queries.PayoutRailsOfProgram(ctx, u.DB(), db.PayoutRailsOfProgramParams{
		ProgramID: made.ProgramID, OrgID: u.OrgID,
	})
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		held, err := s.account(c)
		if err != nil || held.ClientID != a.ClientID || c.Kind != made.Kind || c.Livemode != made.Livemode {
			continue // credentials that cannot be decrypted are another account's
		}
		if c.Credentials, err = s.seal(a, c.ID); err != nil {
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
	return active, record(ctx, u, *active, "updated")
}

// insert writes a rail, unless the program has one of its kind and mode.
func insert(ctx context.Context, u *work.Unit, c db.PayoutRail) error {
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
	if o := s.opened[c.ID]; o.rail != nil && bytes.Equal(o.credentials, c.Credentials) {
		return o.rail, nil
	}
	a, err := s.account(c)
	if err != nil {
		return nil, err
	}
	if s.opened == nil {
		s.opened = map[string]opened{}
	}
	o := opened{c.Credentials, s.paypal(a, c.Livemode)}
	s.opened[c.ID] = o
	return o.rail, nil
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
