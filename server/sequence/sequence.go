// Package sequence moves partners through mails that follow a trigger, step by
// step. A partner is enrolled in the transaction of the trigger and keeps its
// step through pauses, suspensions and times without a mail server.
package sequence

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/pgtx"
)

// The triggers.
const (
	Approved        = "approved"
	Idle            = "idle"
	FirstCommission = "first_commission"
)

// batch bounds the partners that advance in one transaction.
const batch = 200

var queries = db.New()

// Welcome enrols a partner who has just become active.
func Welcome(ctx context.Context, tx pgtx.DBTX, p db.Partner, now clock.Time) error {
	return queries.SequenceEnrol(ctx, tx, db.SequenceEnrolParams{PartnerID: p.ID, Now: now, ProgramID: p.ProgramID, OrgID: p.OrgID, Trigger: Approved})
}

// Earned enrols the partner of a commission that is its first; the commission
// must be written before.
func Earned(ctx context.Context, tx pgtx.DBTX, k db.Commission) error {
	return queries.SequenceEnrolFirst(ctx, tx, db.SequenceEnrolFirstParams{PartnerID: k.PartnerID, Now: k.CreatedAt, ProgramID: k.ProgramID, OrgID: k.OrgID, CommissionID: k.ID})
}

// Run enrols idle partners, once a day for each sequence, and then puts every
// mail that is due into the outbox. Any number of replicas may run it.
func Run(ctx context.Context, pool *pgxpool.Pool, now clock.Time) error {
	if err := pgtx.Within(ctx, pool, func(tx *pgtx.Tx) error { return enrolIdle(ctx, tx, now) }); err != nil {
		return err
	}
	active, err := queries.SequencesActive(ctx, pool, &now)
	if err != nil {
		return err
	}
	for _, s := range active {
		for n := 1; n > 0; { // a step without a delay is due at once
			err := pgtx.Within(ctx, pool, func(tx *pgtx.Tx) (err error) {
				n, err = advance(ctx, tx, s.ID, s.OrgID, now)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func enrolIdle(ctx context.Context, tx *pgtx.Tx, now clock.Time) error {
	before := now.Days(-1)
	claimed, err := queries.SequencesIdle(ctx, tx, db.SequencesIdleParams{Now: &now, CheckedBefore: &before})
	if err != nil {
		return err
	}
	for _, s := range claimed {
		if err := queries.SequenceEnrolIdle(ctx, tx, db.SequenceEnrolIdleParams{Now: now, ID: s.ID, OrgID: s.OrgID, IdleSince: now.Days(-*s.TriggerDays)}); err != nil {
			return err
		}
	}
	return nil
}

// advance moves a batch of partners on by one step and returns how many. Delays
// run from the step that goes out, so that steps missed in a pause do not all
// come at once.
func advance(ctx context.Context, tx *pgtx.Tx, id, org string, now clock.Time) (int, error) {
	if _, err := queries.SequenceHold(ctx, tx, db.SequenceHoldParams{ID: id, OrgID: org}); errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	due, err := queries.SequenceTakeDue(ctx, tx, db.SequenceTakeDueParams{SequenceID: id, OrgID: org, Now: &now, Lim: batch})
	if err != nil {
		return 0, err
	}
	for _, e := range due {
		if err := step(ctx, tx.Later(), id, org, e, now); err != nil {
			return 0, err
		}
	}
	return len(due), nil
}

// step queues one partner's mail, unless it wants none, and sets its next step.
func step(ctx context.Context, tx pgtx.DBTX, id, org string, e db.SequenceTakeDueRow, now clock.Time) error {
	if e.UnsubscribedAt == nil {
		err := queries.SequenceMail(ctx, tx, db.SequenceMailParams{
			ID: ident.New(ident.Mail), OrgID: org, Key: fmt.Sprintf("%s %d", id, e.Position), Recipient: e.Email, Subject: e.Subject, Body: e.Body,
			CreatedAt: &now, PartnerID: &e.PartnerID,
		})
		if err != nil {
			return err
		}
	}
	next := db.SequenceAdvanceParams{CompletedAt: &now, SequenceID: id, PartnerID: e.PartnerID, OrgID: org}
	if e.NextDelayDays != nil {
		at := now.Days(*e.NextDelayDays)
		next.NextAt, next.CompletedAt = &at, nil
	}
	return queries.SequenceAdvance(ctx, tx, next)
}
