package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/ident"
	"rail/server/page"
	"rail/server/problem"
	"rail/server/work"
)

// ListSequences lists the sequences of a program, newest first.
func (s *Server) ListSequences(ctx context.Context,
	r api.ListSequencesRequestObject) (api.ListSequencesResponseObject, error) {
	u, p := work.From(ctx), r.Params
	rows, err := page.Of(ctx, u, page.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.SequenceList{})
	if err != nil {
		return nil, err
	}
	data, err := counted(ctx, u, rows.Rows)
	return api.ListSequences200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, err
}

// counted shows sequences with the numbers of their steps and partners, counted
// by one query.
func counted(ctx context.Context, u *work.Unit, rows []db.Sequence) ([]api.Sequence, error) {
	ids := mapped(rows, func(r db.Sequence) string { return r.ID })
	counts, err := queries.SequenceCounts(ctx, u.DB(), db.SequenceCountsParams{Ids: ids, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	of := make(map[string]db.SequenceCountsRow, len(counts))
	for _, n := range counts {
		of[n.ID] = n
	}
	return mapped(rows, func(r db.Sequence) api.Sequence { return toSequence(r, of[r.ID]) }), nil
}

// RetrieveSequence returns one sequence.
func (s *Server) RetrieveSequence(ctx context.Context,
	r api.RetrieveSequenceRequestObject) (api.RetrieveSequenceResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.SequenceGet(ctx, u.DB(), db.SequenceGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(row.ProgramID); err != nil {
		return nil, err
	}
	one, err := counted(ctx, u, []db.Sequence{row})
	if err != nil {
		return nil, err
	}
	return api.RetrieveSequence200JSONResponse(one[0]), nil
}

// CreateSequence starts a sequence; its trigger enrols partners from now on.
func (s *Server) CreateSequence(ctx context.Context,
	r api.CreateSequenceRequestObject) (api.CreateSequenceResponseObject, error) {
	u, b := work.From(ctx), r.Body
	if err := checkTriggerDays(b); err != nil {
		return nil, err
	}
	p, err := u.Program(ctx, b.ProgramID)
	if err != nil {
		return nil, err
	}
	row := db.Sequence{
		ID: ident.New(ident.Sequence), OrgID: p.OrgID, ProgramID: p.ID, Name: b.Name, Status: db.SequenceStatusActive,
		Trigger:     db.SequenceTrigger(b.Trigger),
		TriggerDays: b.TriggerDays, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if err := queries.SequenceInsert(ctx, u.Later(), db.SequenceInsertParams(row)); err != nil {
		return nil, err
	}
	for i, step := range b.Steps {
		if err := queries.SequenceStepInsert(ctx, u.Later(), db.SequenceStepInsertParams{
			SequenceID: row.ID, Position: int64(i), OrgID: row.OrgID, ProgramID: row.ProgramID, DelayDays: step.DelayDays,
			Subject: step.Subject, Body: step.Body,
		}); err != nil {
			return nil, err
		}
	}
	err = noteTrigger(ctx, u, row)
	return api.CreateSequence201JSONResponse(toSequence(row, db.SequenceCountsRow{Steps: int64(len(b.Steps))})), err
}

// checkTriggerDays requires trigger_days for the trigger idle, and refuses the
// member for every other (decisions, 154).
func checkTriggerDays(b *api.SequenceCreate) error {
	switch idle := b.Trigger == api.SequenceTriggerIdle; {
	case idle && b.TriggerDays == nil:
		return problem.On("trigger_days", problem.ParameterMissing, "trigger_days is required for the trigger idle.")
	case !idle && b.TriggerDays != nil:
		return problem.Invalid("trigger_days", "trigger_days is for the trigger idle only.")
	}
	return nil
}

// noteTrigger updates the program's note that some sequence waits for first
// commissions, so that sales need not look for one. It takes the program's lock
// first, so that it sees the sequences of transactions that had the lock before.
func noteTrigger(ctx context.Context, u *work.Unit, row db.Sequence) error {
	if row.Trigger != db.SequenceTriggerFirstCommission {
		return nil
	}
	if _, err := queries.ProgramLock(ctx, u.Tx, db.ProgramLockParams{ID: row.ProgramID, OrgID: row.OrgID}); err != nil {
		return err
	}
	return queries.ProgramSetEnrols(ctx, u.Later(), db.ProgramSetEnrolsParams{ID: row.ProgramID, OrgID: row.OrgID})
}

// DeleteSequence removes a sequence with its steps; whoever is in it gets no more
// of them.
func (s *Server) DeleteSequence(ctx context.Context,
	r api.DeleteSequenceRequestObject) (api.DeleteSequenceResponseObject, error) {
	u := work.From(ctx)
	row, err := lockSequence(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	if err := queries.SequenceDelete(ctx, u.Later(), db.SequenceDeleteParams{ID: row.ID, OrgID: row.OrgID}); err != nil {
		return nil, err
	}
	return api.DeleteSequence200JSONResponse{ID: row.ID, Object: "sequence", Deleted: true}, noteTrigger(ctx, u, row)
}

// PauseSequence stops everybody at their step.
func (s *Server) PauseSequence(ctx context.Context,
	r api.PauseSequenceRequestObject) (api.PauseSequenceResponseObject, error) {
	q, err := setSequence(ctx, work.From(ctx), r.ID, db.SequenceStatusPaused)
	return api.PauseSequence200JSONResponse(q), err
}

// ResumeSequence lets everybody go on from their step.
func (s *Server) ResumeSequence(ctx context.Context,
	r api.ResumeSequenceRequestObject) (api.ResumeSequenceResponseObject, error) {
	q, err := setSequence(ctx, work.From(ctx), r.ID, db.SequenceStatusActive)
	return api.ResumeSequence200JSONResponse(q), err
}

// setSequence sets the status; a sequence that has it already stays untouched.
func setSequence(ctx context.Context, u *work.Unit, id string, status db.SequenceStatus) (api.Sequence, error) {
	row, err := lockSequence(ctx, u, id)
	if err != nil {
		return api.Sequence{}, err
	}
	if row.Status != status {
		row.Status, row.UpdatedAt = status, u.Now
		err := queries.SequenceSetStatus(ctx, u.Later(), db.SequenceSetStatusParams{
			Status: status, UpdatedAt: u.Now, ID: row.ID, OrgID: row.OrgID,
		})
		if err != nil {
			return api.Sequence{}, err
		}
	}
	one, err := counted(ctx, u, []db.Sequence{row})
	if err != nil {
		return api.Sequence{}, err
	}
	return one[0], nil
}

// lockSequence locks a sequence of the program that the request names, if it
// does.
func lockSequence(ctx context.Context, u *work.Unit, id string) (db.Sequence, error) {
	row, err := queries.SequenceLock(ctx, u.Tx, db.SequenceLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return row, err
	}
	return row, u.CheckProgram(row.ProgramID)
}

func toSequence(r db.Sequence, n db.SequenceCountsRow) api.Sequence {
	return api.Sequence{
		ID: r.ID, Object: "sequence", ProgramID: r.ProgramID, Name: r.Name, Status: api.SequenceStatus(r.Status),
		Trigger:     api.SequenceTrigger(r.Trigger),
		TriggerDays: r.TriggerDays, Steps: n.Steps,
		Counts:    api.SequenceCounts{Enrolled: n.Enrolled, Active: n.Active, Completed: n.Enrolled - n.Active},
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}
