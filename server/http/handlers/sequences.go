package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/outbound/sequence"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// ListSequences lists the sequences of a program, newest first.
func (s *Server) ListSequences(ctx context.Context,
	r api.ListSequencesRequestObject) (api.ListSequencesResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.SequenceList{}, toSequence, sequenceCounts)
	return api.ListSequences200JSONResponse(out), err
}

// sequenceCounts adds the numbers of their steps and partners to sequences.
func sequenceCounts(ctx context.Context, tx pgtx.DBTX, orgID string, sequences []api.Sequence) error {
	rows, err := queries.SequenceCounts(ctx, tx, db.SequenceCountsParams{
		Ids: ids(sequences, func(q *api.Sequence) string { return q.ID }), OrgID: orgID,
	})
	counts := make(map[string]db.SequenceCountsRow, len(rows))
	for _, r := range rows {
		counts[r.ID] = r
	}
	for i := range sequences {
		n := counts[sequences[i].ID]
		sequences[i].Steps = n.Steps
		sequences[i].Counts = api.SequenceCounts{Enrolled: n.Enrolled, Active: n.Active, Completed: n.Enrolled - n.Active}
	}
	return err
}

// RetrieveSequence returns one sequence.
func (s *Server) RetrieveSequence(ctx context.Context,
	r api.RetrieveSequenceRequestObject) (api.RetrieveSequenceResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.SequenceGet(ctx, u.Short(), db.SequenceGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toSequence(row), row.ProgramID, err, sequenceCounts)
	return api.RetrieveSequence200JSONResponse(out), err
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
	out := toSequence(row)
	out.Steps = int64(len(b.Steps))
	return api.CreateSequence201JSONResponse(out), err
}

func toStep(q api.SequenceStep) sequence.Step {
	return sequence.Step{DelayDays: q.DelayDays, Subject: q.Subject, Body: q.Body}
}

// UpdateSequence changes a sequence; partners keep the number of their step.
func (s *Server) UpdateSequence(ctx context.Context,
	r api.UpdateSequenceRequestObject) (api.UpdateSequenceResponseObject, error) {
	b := r.Body
	row, err := sequence.Update(ctx, work.From(ctx), r.ID, sequence.Changes{
		Name: b.Name, TriggerDays: b.TriggerDays, Steps: mapped(b.Steps, toStep),
	})
	out, err := complete(ctx, toSequence(row), row.ProgramID, err, sequenceCounts)
	return api.UpdateSequence200JSONResponse(out), err
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
	row, err := sequence.SetStatus(ctx, work.From(ctx), id, status)
	return complete(ctx, toSequence(row), row.ProgramID, err, sequenceCounts)
}

// toSequence converts a sequence without its numbers, which sequenceCounts adds.
func toSequence(r db.Sequence) api.Sequence {
	return api.Sequence{
		ID:          r.ID,
		Object:      "sequence",
		ProgramID:   r.ProgramID,
		Name:        r.Name,
		Status:      api.SequenceStatus(r.Status),
		Trigger:     api.SequenceTrigger(r.Trigger),
		TriggerDays: r.TriggerDays,
		CreatedAt:   r.CreatedAt,
		UpdatedAt:   r.UpdatedAt,
	}
}
