package campaign_test

import (
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func (m mailing) sequence(more M) string {
	m.T.Helper()
	body := M{"program_id": m.program, "name": "Welcome", "trigger": "approved", "steps": []M{
		{"delay_days": 0, "subject": "One", "body": "1"}, {"delay_days": 2, "subject": "Two", "body": "2"},
		{"delay_days": 0, "subject": "Three", "body": "3"},
	}}
	maps.Copy(body, more)
	return m.Must(201, m.Post("/v1/sequences", body)).String("id")
}

// counts are the numbers of enrolled, active and completed partners.
func (m mailing) counts(id string) []int64 {
	m.T.Helper()
	a := m.Must(200, m.Get("/v1/sequences/"+id))
	n := apitest.Answer{Body: a.Body["counts"].(M)}
	return []int64{n.Int("enrolled"), n.Int("active"), n.Int("completed")}
}

// TestSequence: steps are sent on time. A pause and a suspension keep the partner's step, and
// missed steps are not all sent at once.
func TestSequence(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.Partner(m.program, M{"handle": "before", "email": "before@example.com"})
	id := m.sequence(nil)
	m.Partner(m.program, M{"handle": "ada", "email": "ada@example.com"})
	applied := m.Must(201, apitest.Apply(m.Server, m.program, "bob@example.com"))
	require.Equal(t, []int64{1, 1, 0}, m.counts(id), "an applicant is not a partner yet")
	m.Must(200, m.Post("/v1/applications/"+applied.String("id")+"/approve", nil))
	require.Equal(t, []int64{2, 2, 0}, m.counts(id))
	tick := func(days int) {
		m.Clock.Advance(time.Duration(days) * 24 * time.Hour)
		m.run("advance-sequences", "send-mail")
	}
	tick(0)
	require.Equal(t, 2+1, m.post.count(), "step one, and the approval")
	tick(1)
	require.Equal(t, 3, m.post.count())
	m.Must(200, m.Post("/v1/partners/"+applied.String("partner_id"), M{"status": "suspended"}))
	tick(1)
	require.Len(t, m.post.mails["ada@example.com"], 3, "two and three come together: three has no delay")
	require.Len(t, m.post.mails["bob@example.com"], 2)
	require.Equal(t, []int64{2, 1, 1}, m.counts(id))

	paused := m.Must(200, m.Post("/v1/sequences/"+id+"/pause", M{"program_id": m.program}))
	require.Equal(t, "paused", paused.String("status"))
	m.Clock.Advance(time.Hour)
	again := m.Must(200, m.Post("/v1/sequences/"+id+"/pause", M{"program_id": m.program}))
	require.Equal(t, paused.String("updated_at"), again.String("updated_at"), "already there: nothing changes")
	m.Must(200, m.Post("/v1/partners/"+applied.String("partner_id"), M{"status": "active"}))
	m.Partner(m.program, M{"handle": "eve", "email": "eve@example.com"})
	tick(30)
	require.Equal(t, []int64{3, 2, 1}, m.counts(id))
	require.Empty(t, m.post.mails["eve@example.com"])
	m.Must(200, m.Post("/v1/sequences/"+id+"/resume", M{"program_id": m.program}))
	tick(0)
	require.Len(t, m.post.mails["bob@example.com"], 4, "from its step")
	require.Len(t, m.post.mails["eve@example.com"], 1, "the delay of two days runs from the first mail")
	tick(2)
	require.Equal(t, []int64{3, 0, 3}, m.counts(id))
	require.Empty(t, m.post.mails["before@example.com"])
	require.Contains(t, m.post.mails["eve@example.com"][2], "List-Unsubscribe:")
	m.Must(200, m.Delete("/v1/sequences/"+id))
	m.Refused(404, "resource_not_found", "", m.Get("/v1/sequences/"+id))
}

// TestSequenceUpdate: after a change of the mails, partners continue at the number of their step. A
// partner without a remaining step is completed, and a completed partner stays completed.
func TestSequenceUpdate(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	id := m.sequence(nil)
	m.Partner(m.program, M{"handle": "ada", "email": "ada@example.com"})
	m.run("advance-sequences", "send-mail")
	m.Partner(m.program, M{"handle": "bob", "email": "bob@example.com"})
	m.Clock.Advance(time.Hour)
	changed := m.Must(200, m.Post("/v1/sequences/"+id, M{"name": "Newer", "steps": []M{
		{"delay_days": 0, "subject": "First", "body": "1"}, {"delay_days": 1, "subject": "Second", "body": "2"},
	}}))
	require.Equal(t, []any{"Newer", int64(2), "approved", "active"},
		[]any{changed.String("name"), changed.Int("steps"), changed.String("trigger"), changed.String("status")})
	require.Greater(t, changed.String("updated_at"), changed.String("created_at"))
	m.Clock.Advance(2 * 24 * time.Hour)
	m.run("advance-sequences", "send-mail")
	require.Contains(t, m.post.mails["ada@example.com"][1], "Subject: Second")
	require.Contains(t, m.post.mails["bob@example.com"][0], "Subject: First")
	require.Equal(t, []int64{2, 1, 1}, m.counts(id))
	m.Must(200, m.Post("/v1/sequences/"+id, M{"steps": []M{{"delay_days": 0, "subject": "Only", "body": "1"}}}))
	require.Equal(t, []int64{2, 0, 2}, m.counts(id), "bob has no step left")
	m.Must(200, m.Post("/v1/sequences/"+id, M{"steps": []M{
		{"delay_days": 0, "subject": "Only", "body": "1"}, {"delay_days": 0, "subject": "More", "body": "2"},
	}}))
	m.Clock.Advance(30 * 24 * time.Hour)
	m.run("advance-sequences", "send-mail")
	require.Equal(t, []int64{2, 0, 2}, m.counts(id), "whoever was done stays so")
	require.Equal(t, "Newer", m.Must(200, m.Post("/v1/sequences/"+id, M{"program_id": m.program})).String("name"))

	idle := m.sequence(M{"trigger": "idle", "trigger_days": 30})
	require.EqualValues(t, 60, m.Must(200, m.Post("/v1/sequences/"+idle, M{"trigger_days": 60})).Int("trigger_days"))
	m.Refused(400, "parameter_invalid", "trigger_days", m.Post("/v1/sequences/"+id, M{"trigger_days": 60}))
	m.Refused(400, "parameter_invalid", "steps", m.Post("/v1/sequences/"+id, M{"steps": []M{}}))
	m.Refused(400, "parameter_unknown", "trigger", m.Post("/v1/sequences/"+id, M{"trigger": "idle"}))
	m.Refused(404, "resource_not_found", "program_id", m.Post("/v1/sequences/"+id, M{"program_id": m.Program()}))
	m.Refused(404, "resource_not_found", "", m.Post("/v1/sequences/seq_none", M{"name": "x"}))
}

// TestSequenceFirstCommission: the first commission of any origin enrols the partner in its
// transaction. A later one does not.
func TestSequenceFirstCommission(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.Flow(m.program)
	old, fresh, rewarded := m.Partner(m.program), m.Partner(m.program), m.Partner(m.program)
	m.Sale(m.program, m.Customer(m.program, old))
	id := m.sequence(M{"trigger": "first_commission"})
	m.Sale(m.program, m.Customer(m.program, old))
	require.Equal(t, []int64{0, 0, 0}, m.counts(id), "not its first")
	customer := m.Customer(m.program, fresh)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { m.Sale(m.program, customer) })
	}
	all.Wait()
	require.Equal(t, []int64{1, 1, 0}, m.counts(id))
	m.Must(201, m.Post("/v1/commissions", M{
		"program_id": m.program, "partner_id": rewarded, "amount_minor": 100, "reason": "x",
	}))
	require.Equal(t, []int64{2, 2, 0}, m.counts(id))
	m.Must(200, m.Delete("/v1/sequences/"+id))
	var enrols bool
	require.NoError(t,
		m.Pool.QueryRow(t.Context(), "SELECT enrols_first_commission FROM programs WHERE id = $1", m.program).Scan(&enrols))
	require.False(t, enrols)
}

// TestSequenceIdle: a daily search finds partners without a click or a commission.
func TestSequenceIdle(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.Partner(m.program, M{"handle": "idle"})
	m.Partner(m.program, M{"handle": "busy"})
	id := m.sequence(M{"trigger": "idle", "trigger_days": 7})
	m.run("advance-sequences")
	m.Clock.Advance(8 * 24 * time.Hour)
	m.Partner(m.program, M{"handle": "young"})
	m.Click(m.program, "busy")
	m.run("advance-sequences")
	require.Equal(t, int64(1), m.counts(id)[0])
	m.Clock.Advance(7*24*time.Hour - time.Second)
	m.run("advance-sequences")
	require.Equal(t, int64(1), m.counts(id)[0])
	m.Clock.Advance(2 * time.Second)
	m.run("advance-sequences")
	require.Equal(t, int64(1), m.counts(id)[0], "once a day")
	m.Clock.Advance(24 * time.Hour)
	m.run("advance-sequences")
	require.Equal(t, int64(3), m.counts(id)[0])
}

// TestSequenceOnce: several replicas advance each partner once.
func TestSequenceOnce(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	id := m.sequence(M{"steps": []M{{"delay_days": 0, "subject": "One", "body": "1"}}})
	for range 20 {
		m.Partner(m.program)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { m.run("advance-sequences", "send-mail") })
	}
	all.Wait()
	m.run("advance-sequences", "send-mail")
	require.Equal(t, []int64{20, 0, 20}, m.counts(id))
	require.Equal(t, 20, m.post.count())
	require.Len(t, m.post.mails, 20)
}

func TestSequenceRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program, step := s.Program(), M{"delay_days": 0, "subject": "x", "body": "x"}
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{"trigger": "idle"}, 400, "parameter_missing", "trigger_days"},
		{M{"trigger_days": 3}, 400, "parameter_invalid", "trigger_days"},
		{M{"trigger": "idle", "trigger_days": 366}, 400, "parameter_invalid", "trigger_days"},
		{M{"steps": []M{}}, 400, "parameter_invalid", "steps"},
		{M{"steps": []M{{"delay_days": -1, "subject": "x", "body": "x"}}}, 400, "parameter_invalid", "steps[0].delay_days"},
		{M{"program_id": "prg_none"}, 404, "resource_not_found", "program_id"},
		{M{"trigger": "other"}, 400, "parameter_invalid", "trigger"},
	} {
		body := M{"program_id": program, "name": "x", "trigger": "approved", "steps": []M{step}}
		maps.Copy(body, c.body)
		s.Refused(c.status, c.code, c.param, s.Post("/v1/sequences", body))
	}
	id := s.Must(201,
		s.Post("/v1/sequences",
			M{"program_id": program, "name": "x", "trigger": "approved", "steps": []M{step}})).String("id")
	s.Refused(404, "resource_not_found", "program_id", s.Post("/v1/sequences/"+id+"/pause", M{"program_id": s.Program()}))
	s.Refused(400, "parameter_missing", "program_id", s.Post("/v1/sequences/"+id+"/resume", M{}))
}
