package connection

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/problem"
	"rail/server/work"
)

// Reserve returns the program's pending connection to a processor in a mode, and creates it if there is none. Its
// address is valid at once. If the processor accepts the merchant's secret, Rail has made one. An active connection
// goes on until the first event of the pending one (decisions, 385).
func (s Service) Reserve(ctx context.Context, u *work.Unit, in Input) (c db.ProcessorConnection, err error) {
	if err := lockProgram(ctx, u, in.ProgramID); err != nil {
		return c, err
	}
	c, err = queries.ConnectionPending(ctx, u.DB(), db.ConnectionPendingParams{
		ProgramID: in.ProgramID, OrgID: u.OrgID, Processor: in.Processor, Livemode: in.Live,
	})
	if !errors.Is(err, pgx.ErrNoRows) {
		return c, err
	}
	in.ID = u.NewID(ident.Connection)
	c = in.connection(u, db.ConnectionStatusPending)
	if newSecret := makeSecret[in.Processor]; newSecret != nil {
		if c.Secret, err = s.Keeper.Seal([]byte(newSecret()), SecretPlace(c.ID)); err != nil {
			return c, err
		}
	}
	if err := insert(ctx, u, c); err != nil {
		return c, err
	}
	return c, record(ctx, u, c, "created")
}

// Complete sets the secret, the key and the options of a pending connection. in.Replace reports that Rail has made the
// processor's endpoint itself: the connection becomes active, and replaces the active one. Otherwise it waits for
// its first event, also with a key. Without a secret in the input, the connection keeps its own.
func (s Service) Complete(
	ctx context.Context, u *work.Unit, c db.ProcessorConnection, in Input,
) (db.ProcessorConnection, error) {
	c.RecordDirect, c.OutsideCheckout, c.UpdatedAt = in.RecordDirect, in.OutsideCheckout, u.Now
	if err := s.sealSecrets(&c, in); err != nil {
		return c, err
	}
	if in.Replace {
		if err := lockProgram(ctx, u, c.ProgramID); err != nil {
			return c, err
		}
		if err := makeRoom(ctx, u, c, true); err != nil {
			return c, err
		}
		c.Status = db.ConnectionStatusActive
	}
	n, err := queries.ConnectionComplete(ctx, u.DB(), db.ConnectionCompleteParams{
		Secret: c.Secret, APIKey: c.APIKey, Status: c.Status, RecordDirect: c.RecordDirect,
		OutsideCheckout: c.OutsideCheckout, UpdatedAt: c.UpdatedAt, ID: c.ID, OrgID: c.OrgID,
	})
	switch {
	case err != nil:
		return c, err
	case n == 0:
		return c, problem.New(problem.ParameterInvalid, "The connection has begun already, or was deleted.")
	case c.Status == db.ConnectionStatusActive:
		return c, record(ctx, u, c, "connected")
	}
	return c, record(ctx, u, c, "updated")
}

// sealSecrets sets the secrets of a connection. Without a secret in the input, it keeps its own.
func (s Service) sealSecrets(c *db.ProcessorConnection, in Input) (err error) {
	if in.Secret != "" || c.Secret == nil {
		signing, err := in.secret()
		if err != nil {
			return err
		}
		if c.Secret, err = s.Keeper.Seal([]byte(signing), SecretPlace(c.ID)); err != nil {
			return err
		}
	}
	if in.APIKey != "" {
		c.APIKey, err = s.Keeper.Seal([]byte(in.APIKey), KeyPlace(c.ID))
	}
	return err
}

// Activate makes a pending connection active after its first signed event, and ends the connection that it replaces.
func Activate(ctx context.Context, u *work.Unit, c db.ProcessorConnection) error {
	if err := lockProgram(ctx, u, c.ProgramID); err != nil {
		return err
	}
	// It may have ended since the event was received.
	now, err := queries.ConnectionGet(ctx, u.DB(), db.ConnectionGetParams{ID: c.ID, OrgID: c.OrgID})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && now.Status != db.ConnectionStatusPending {
		return nil
	}
	if err != nil {
		return err
	}
	if err := makeRoom(ctx, u, c, true); err != nil {
		return err
	}
	n, err := queries.ConnectionActivate(ctx, u.DB(), db.ConnectionActivateParams{
		UpdatedAt: u.Now, ID: c.ID, OrgID: c.OrgID,
	})
	if err != nil || n == 0 { // another event has activated it
		return err
	}
	return record(ctx, u, c, "connected")
}

// discard deletes a pending connection, and reports whether it did: a connection with events stays for their log.
func discard(ctx context.Context, u *work.Unit, c db.ProcessorConnection) (bool, error) {
	n, err := queries.ConnectionDelete(ctx, u.DB(), db.ConnectionDeleteParams{ID: c.ID, OrgID: c.OrgID})
	if err != nil || n == 0 {
		return false, err
	}
	return true, record(ctx, u, c, "deleted")
}
