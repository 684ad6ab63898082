// Package sequence sends partners mails after a trigger, step by step. A partner is enrolled in the transaction
// of the trigger and keeps its step through pauses, suspensions and times without a mail server.
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
	"rail/server/postgres/pgtx"
)

const (
	// batch bounds the partners that advance in one transaction.
	batch = 200
	// idleBatch bounds the partners read by one transaction.
	idleBatch = 2000
	// batches bounds the transactions of one sequence in one run, since others wait for it.
	batches = 100
)

var queries = db.New()

// EnrolApproved enrols a new active partner.
func EnrolApproved(ctx context.Context, tx pgtx.DBTX, p db.Partner, now clock.Time) error {
	return queries.SequenceEnrol(ctx, tx, db.SequenceEnrolParams{
		PartnerID: p.ID, Now: now, ProgramID: p.ProgramID, OrgID: p.OrgID, Trigger: db.SequenceTriggerApproved,
	})
}

// UnenrolApproved undoes EnrolApproved, if that was at since or later, and drops the mails that were not sent yet.
func UnenrolApproved(ctx context.Context, tx pgtx.DBTX, p db.Partner, since clock.Time) error {
	return queries.SequenceUnenrol(ctx, tx, db.SequenceUnenrolParams{
		PartnerID: &p.ID, OrgID: p.OrgID, ProgramID: p.ProgramID, Trigger: db.SequenceTriggerApproved, EnrolledSince: since,
	})
}

// EnrolFirst enrols the partner of a commission if it is the partner's first. The commission must be written or queued
// before, in the same transaction.
func EnrolFirst(ctx context.Context, tx pgtx.DBTX, k db.Commission) error {
	return queries.SequenceEnrolFirst(ctx, tx, db.SequenceEnrolFirstParams{
		PartnerID: k.PartnerID, Now: k.CreatedAt, ProgramID: k.ProgramID, OrgID: k.OrgID, CommissionID: k.ID,
	})
}

// Run enrols idle partners, once a day for each sequence, and then puts due mails into the outbox. Replicas may
// run it concurrently. A failing sequence delays no other.
func Run(ctx context.Context, pool *pgxpool.Pool, now clock.Time) error {
	before := now.Days(-1)
	idle, failed := queries.SequencesIdle(ctx, pool, &before)
	for _, s := range idle {
		failed = errors.Join(failed,
			withID(s.ID, repeat(ctx, pool, func(tx *pgtx.Tx) (bool, error) { return enrolIdle(ctx, tx, s.ID, s.OrgID, now) })))
	}
	active, err := queries.SequencesActive(ctx, pool, &now)
	failed = errors.Join(failed, err)
	for _, s := range active { // a step without a delay is due at once
		failed = errors.Join(failed,
			withID(s.ID, repeat(ctx, pool, func(tx *pgtx.Tx) (bool, error) { return advance(ctx, tx, s.ID, s.OrgID, now) })))
	}
	return failed
}

// withID adds the sequence's id to an error, since a run joins the errors of many.
func withID(id string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", id, err)
	}
	return err
}

// repeat runs work in successive transactions while it reports more, up to the limit of one run.
func repeat(ctx context.Context, pool *pgxpool.Pool, work func(*pgtx.Tx) (bool, error)) error {
	for range batches {
		more := false
		err := pgtx.WithinUnhurried(ctx, pool, func(tx *pgtx.Tx) (err error) {
			more, err = work(tx)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// enrolIdle enrols the idle partners of a batch, and reports whether there are more partners. A resumed search
// measures idleness at its original start, so that all partners are treated alike.
func enrolIdle(ctx context.Context, tx *pgtx.Tx, id, org string, now clock.Time) (bool, error) {
	before := now.Days(-1)
	s, err := queries.SequenceTakeIdle(ctx, tx, db.SequenceTakeIdleParams{ID: id, OrgID: org, CheckedBefore: &before})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	began, after := now, ""
	if s.IdleAfter != nil {
		began, after = *s.IdleCheckedAt, *s.IdleAfter
	}
	reach, err := queries.PartnersNextBatch(ctx, tx, db.PartnersNextBatchParams{
		ProgramID: s.ProgramID, OrgID: org, AfterID: after, Lim: idleBatch,
	})
	if err != nil {
		return false, err
	}
	if err := queries.SequenceEnrolIdle(ctx, tx.Later(), db.SequenceEnrolIdleParams{
		Now: now, ID: id, OrgID: org, IdleSince: began.Days(-*s.TriggerDays), AfterID: after, UptoID: reach.Upto,
	}); err != nil {
		return false, err
	}
	progress := db.SequenceSetCursorParams{IdleCheckedAt: &began, ID: id, OrgID: org}
	if reach.Partners == idleBatch {
		progress.IdleAfter = &reach.Upto
	}
	return progress.IdleAfter != nil, queries.SequenceSetCursor(ctx, tx.Later(), progress)
}

// advance moves a batch of partners by one step and reports whether there may be more. The delay of the next
// step starts with the present mail, so that steps missed during a pause do not all come at once.
func advance(ctx context.Context, tx *pgtx.Tx, id, org string, now clock.Time) (bool, error) {
	if _, err := queries.SequenceHold(ctx, tx, db.SequenceHoldParams{ID: id, OrgID: org}); errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	due, err := queries.SequenceTakeDue(ctx, tx, db.SequenceTakeDueParams{
		SequenceID: id, OrgID: org, Now: &now, Lim: batch,
	})
	if err != nil {
		return false, err
	}
	for _, e := range due {
		if err := step(ctx, tx.Later(), id, org, e, now); err != nil {
			return false, err
		}
	}
	return len(due) > 0, nil
}

// step queues a partner's mail, unless the partner has unsubscribed, and sets the next step. An unsubscribed
// partner passes through the steps without mails.
func step(ctx context.Context, tx pgtx.DBTX, id, org string, e db.SequenceTakeDueRow, now clock.Time) error {
	if e.UnsubscribedAt == nil {
		err := queries.SequenceMail(ctx, tx, db.SequenceMailParams{
			ID: ident.New(ident.Mail), OrgID: org, Key: fmt.Sprintf("%s %d", id, e.Position), Recipient: e.Email,
			Subject: e.Subject, Body: e.Body,
			CreatedAt: &now, PartnerID: &e.PartnerID, SequenceID: &id, Position: &e.Position,
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
