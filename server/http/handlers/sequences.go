package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/outbound/sequence"
	"rail/server/work"
)

// ListSequences lists the sequences of a program, newest first.
func (s *Server) ListSequences(ctx context.Context,
	r api.ListSequencesRequestObject) (api.ListSequencesResponseObject, error) {
	u, p := work.From(ctx), r.Params
	rows, err := list.Of(ctx, u, list.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.SequenceList{})
	if err != nil {
		return nil, err
	}
	data, err := counted(ctx, u, rows.Rows)
	return api.ListSequences200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, err
}

// counted converts sequences with the numbers of their steps and partners, which one query counts.
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
	row, err := queries.SequenceGet(ctx, u.Short(), db.SequenceGetParams{ID: r.ID, OrgID: u.OrgID})
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
	b := r.Body
	row, err := sequence.Create(ctx, work.From(ctx), sequence.Input{
		ProgramID:   b.ProgramID,
		Name:        b.Name,
		Trigger:     db.SequenceTrigger(b.Trigger),
		TriggerDays: b.TriggerDays,
		Steps:       mapped(b.Steps, toStep),
	})
	return api.CreateSequence201JSONResponse(toSequence(row, db.SequenceCountsRow{Steps: int64(len(b.Steps))})), err
}

func toStep(q api.SequenceStep) sequence.Step {
	return sequence.Step{DelayDays: q.DelayDays, Subject: q.Subject, Body: q.Body}
}

// UpdateSequence changes a sequence; partners keep the number of their step.
func (s *Server) UpdateSequence(ctx context.Context,
	r api.UpdateSequenceRequestObject) (api.UpdateSequenceResponseObject, error) {
	b := r.Body
	q, err := changed(ctx, func(u *work.Unit) (db.Sequence, error) {
		return sequence.Update(ctx, u, r.ID, sequence.Changes{
			Name: b.Name, TriggerDays: b.TriggerDays, Steps: mapped(b.Steps, toStep),
		})
	})
	return api.UpdateSequence200JSONResponse(q), err
}

// DeleteSequence removes a sequence with its steps.
func (s *Server) DeleteSequence(ctx context.Context,
	r api.DeleteSequenceRequestObject) (api.DeleteSequenceResponseObject, error) {
	err := sequence.Delete(ctx, work.From(ctx), r.ID)
	return api.DeleteSequence200JSONResponse{ID: r.ID, Object: "sequence", Deleted: true}, err
}

// PauseSequence stops all partners at their step.
func (s *Server) PauseSequence(ctx context.Context,
	r api.PauseSequenceRequestObject) (api.PauseSequenceResponseObject, error) {
	q, err := setSequence(ctx, r.ID, db.SequenceStatusPaused)
	return api.PauseSequence200JSONResponse(q), err
}

// ResumeSequence lets all partners continue from their step.
func (s *Server) ResumeSequence(ctx context.Context,
	r api.ResumeSequenceRequestObject) (api.ResumeSequenceResponseObject, error) {
	q, err := setSequence(ctx, r.ID, db.SequenceStatusActive)
	return api.ResumeSequence200JSONResponse(q), err
}

func setSequence(ctx context.Context, id string, status db.SequenceStatus) (api.Sequence, error) {
	return changed(ctx, func(u *work.Unit) (db.Sequence, error) { return sequence.SetStatus(ctx, u, id, status) })
}

// changed changes a sequence and converts it with its numbers.
func changed(ctx context.Context, change func(*work.Unit) (db.Sequence, error)) (api.Sequence, error) {
	u := work.From(ctx)
	row, err := change(u)
	if err != nil {
		return api.Sequence{}, err
	}
	one, err := counted(ctx, u, []db.Sequence{row})
	if err != nil {
		return api.Sequence{}, err
	}
	return one[0], nil
}

func toSequence(r db.Sequence, n db.SequenceCountsRow) api.Sequence {
	return api.Sequence{
		ID:          r.ID,
		Object:      "sequence",
		ProgramID:   r.ProgramID,
		Name:        r.Name,
		Status:      api.SequenceStatus(r.Status),
		Trigger:     api.SequenceTrigger(r.Trigger),
		TriggerDays: r.TriggerDays,
		Steps:       n.Steps,
		Counts:      api.SequenceCounts{Enrolled: n.Enrolled, Active: n.Active, Completed: n.Enrolled - n.Active},
		CreatedAt:   r.CreatedAt,
		UpdatedAt:   r.UpdatedAt,
	}
}
