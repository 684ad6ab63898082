package sequence

import (
	"context"
	"fmt"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/work"
)

// Input is a sequence to start.
type Input struct {
	ProgramID, Name string
	Trigger         db.SequenceTrigger
	TriggerDays     *int64 // only for the trigger idle
	Steps           []Step
}

// Step is a mail of a sequence, with its delay in days after the previous one.
type Step struct {
	DelayDays     int64
	Subject, Body string
}

// Create starts a sequence; its trigger enrols partners from now on.
func Create(ctx context.Context, u *work.Unit, in Input) (db.Sequence, error) {
	var none db.Sequence
	if err := checkTriggerDays(in.Trigger, in.TriggerDays); err != nil {
		return none, err
	}
	p, err := u.Program(ctx, in.ProgramID)
	if err != nil {
		return none, err
	}
	s := db.Sequence{
		ID: u.NewID(ident.Sequence), OrgID: p.OrgID, ProgramID: p.ID, Name: in.Name, Status: db.SequenceStatusActive,
		Trigger: in.Trigger, TriggerDays: in.TriggerDays, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if err := queries.SequenceInsert(ctx, u.Later(), db.SequenceInsertParams(s)); err != nil {
		return none, err
	}
	if err := saveSteps(ctx, u, s, in.Steps); err != nil {
		return none, err
	}
	return s, noteTrigger(ctx, u, s)
}

// saveSteps writes the steps of a sequence without any.
func saveSteps(ctx context.Context, u *work.Unit, s db.Sequence, steps []Step) error {
	if err := checkSteps(steps); err != nil {
		return err
	}
	for i, step := range steps {
		if err := queries.SequenceStepInsert(ctx, u.Later(), db.SequenceStepInsertParams{
			SequenceID: s.ID, Position: int64(i), OrgID: s.OrgID, ProgramID: s.ProgramID, DelayDays: step.DelayDays,
			Subject: step.Subject, Body: step.Body,
		}); err != nil {
			return err
		}
	}
	return nil
}

// checkSteps refuses unknown placeholders.
func checkSteps(steps []Step) error {
	for i, step := range steps {
		at := fmt.Sprintf("steps[%d].", i)
		if err := mail.CheckPlaceholders(at+"subject", step.Subject); err != nil {
			return err
		}
		if err := mail.CheckPlaceholders(at+"body", step.Body); err != nil {
			return err
		}
	}
	return nil
}

// Changes are changes to a sequence; nil members stay.
type Changes struct {
	Name        *string
	TriggerDays *int64
	Steps       []Step // the whole list; nil keeps the present one
}

// Update changes a sequence. Partners keep the number of their step (decisions, 362). The lock keeps them from
// advancing at the same time.
func Update(ctx context.Context, u *work.Unit, id string, to Changes) (db.Sequence, error) {
	s, err := lock(ctx, u, id)
	if err != nil {
		return s, err
	}
	if to.TriggerDays != nil {
		s.TriggerDays = to.TriggerDays
	}
	if err := checkTriggerDays(s.Trigger, s.TriggerDays); err != nil {
		return s, err
	}
	opt.Change(&s.Name, to.Name)
	s.UpdatedAt = u.Now
	if err := queries.SequenceUpdate(ctx, u.Later(), db.SequenceUpdateParams{
		Name: s.Name, TriggerDays: s.TriggerDays, UpdatedAt: s.UpdatedAt, ID: s.ID, OrgID: s.OrgID,
	}); err != nil || len(to.Steps) == 0 {
		return s, err
	}
	return s, replaceSteps(ctx, u, s, to.Steps)
}

// replaceSteps replaces the steps of a sequence, and ends it for partners beyond the last step.
func replaceSteps(ctx context.Context, u *work.Unit, s db.Sequence, steps []Step) error {
	all := db.SequenceStepsDeleteParams{SequenceID: s.ID, OrgID: s.OrgID}
	if err := queries.SequenceStepsDelete(ctx, u.Later(), all); err != nil {
		return err
	}
	if err := saveSteps(ctx, u, s, steps); err != nil {
		return err
	}
	return queries.SequenceShorten(ctx, u.Later(), db.SequenceShortenParams{
		Now: &u.Now, SequenceID: s.ID, OrgID: s.OrgID, Steps: int64(len(steps)),
	})
}

// checkTriggerDays requires days for the trigger idle, and refuses them for all others (decisions, 154).
func checkTriggerDays(trigger db.SequenceTrigger, days *int64) error {
	switch idle := trigger == db.SequenceTriggerIdle; {
	case idle && days == nil:
		return problem.On("trigger_days", problem.ParameterMissing, "trigger_days is required for the trigger idle.")
	case !idle && days != nil:
		return problem.Invalid("trigger_days", "trigger_days is for the trigger idle only.")
	}
	return nil
}

// noteTrigger updates the program's flag that a sequence waits for first commissions, so that sales need not
// search for one. It takes the program's lock first, so that it sees the sequences of earlier holders of the
// lock.
func noteTrigger(ctx context.Context, u *work.Unit, s db.Sequence) error {
	if s.Trigger != db.SequenceTriggerFirstCommission {
		return nil
	}
	if _, err := queries.ProgramLock(ctx, u.Tx, db.ProgramLockParams{ID: s.ProgramID, OrgID: s.OrgID}); err != nil {
		return err
	}
	return queries.ProgramSetEnrols(ctx, u.Later(), db.ProgramSetEnrolsParams{ID: s.ProgramID, OrgID: s.OrgID})
}

// Delete deletes a sequence with its steps; enrolled partners get no further mail.
func Delete(ctx context.Context, u *work.Unit, id string) error {
	s, err := lock(ctx, u, id)
	if err != nil {
		return err
	}
	if err := queries.SequenceDelete(ctx, u.Later(), db.SequenceDeleteParams{ID: s.ID, OrgID: s.OrgID}); err != nil {
		return err
	}
	return noteTrigger(ctx, u, s)
}

// SetStatus pauses all partners at their step, or lets them continue from it. A sequence in that status stays
// unchanged.
func SetStatus(ctx context.Context, u *work.Unit, id string, status db.SequenceStatus) (db.Sequence, error) {
	s, err := lock(ctx, u, id)
	if err != nil || s.Status == status {
		return s, err
	}
	s.Status, s.UpdatedAt = status, u.Now
	return s, queries.SequenceSetStatus(ctx, u.Later(), db.SequenceSetStatusParams{
		Status: status, UpdatedAt: u.Now, ID: s.ID, OrgID: s.OrgID,
	})
}

// lock locks a sequence, restricted to the unit's program if it has one.
func lock(ctx context.Context, u *work.Unit, id string) (db.Sequence, error) {
	s, err := queries.SequenceLock(ctx, u.Tx, db.SequenceLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return s, err
	}
	return s, u.CheckProgram(s.ProgramID)
}
