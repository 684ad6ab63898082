package partner_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
)

// standing returns everything that a decision changes.
func standing(t *testing.T, s *apitest.Server) (out string) {
	t.Helper()
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT concat_ws('; ',
		(SELECT string_agg(concat_ws(' ', id, status, decline_reason, group_id, handle), ', ' ORDER BY id) FROM partners),
		(SELECT string_agg(concat_ws(' ', id, status, reviewed_by_user_id, reviewed_at, rejection_reason, before_decision),
			', ' ORDER BY id) FROM applications),
		(SELECT string_agg(concat_ws(' ', sequence_id, partner_id), ', ') FROM sequence_enrolments),
		(SELECT string_agg(concat_ws(' ', purpose, recipient), ', ') FROM mails WHERE status = 'queued'),
		(SELECT string_agg(partner_id, ', ') FROM magic_links WHERE used_at IS NULL AND expires_at > created_at))`).Scan(&out))
	return out
}

// TestReopen: a decision is undone within ten minutes. The application and its partner are as before, and the mails
// that wait are dropped.
func TestReopen(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	program := s.Program()
	s.Must(201, s.Post("/v1/sequences", M{
		"program_id": program, "name": "Welcome", "trigger": "approved",
		"steps": []M{{"delay_days": 1, "subject": "Hello", "body": "Hello."}},
	}))
	a := s.Must(201, apitest.Apply(s, program, "ada@example.com"))
	path := "/v1/applications/" + a.String("id") + "/"
	before := standing(t, s)
	s.Refused(409, "application_not_reopenable", "", s.Post(path+"reopen", nil))
	s.Refused(404, "resource_not_found", "", s.Post("/v1/applications/app_none/reopen", nil))
	for _, decision := range []string{"approve", "reject", "approve"} {
		s.Must(200, s.Post(path+decision, nil))
		require.NotEqual(t, before, standing(t, s))
		s.Clock.Advance(9 * time.Minute)
		now := s.Must(200, s.Post(path+"reopen", nil))
		require.Equal(t, []any{"pending", nil, nil}, []any{now.Body["status"], now.Body["reviewed_at"], now.Body["rejection_reason"]})
		require.Equal(t, before, standing(t, s))
		events := s.EventTypes(program)
		require.Equal(t, "affiliate.updated", events[len(events)-1])
		s.Refused(409, "application_not_reopenable", "", s.Post(path+"reopen", nil))
	}
	log := s.Get("/v1/audit_log_entries?program_id=" + program + "&action=application.reopened").Data()
	require.Len(t, log, 3)

	s.Must(200, s.Post(path+"withdraw", nil))
	s.Refused(409, "application_not_reopenable", "", s.Post(path+"reopen", nil))
}

// TestDecideAgain: a second decision has its own email, also after the email of the first was sent.
func TestDecideAgain(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	a := s.Must(201, apitest.Apply(s, s.Program(), "ada@example.com"))
	path := "/v1/applications/" + a.String("id") + "/"
	s.Must(200, s.Post(path+"approve", nil))
	_, err := s.Pool.Exec(t.Context(), "UPDATE mails SET status = 'sent', sent_at = created_at, next_attempt_at = NULL WHERE purpose = 'application_approved'")
	require.NoError(t, err)
	s.Clock.Advance(time.Minute)
	s.Must(200, s.Post(path+"reopen", nil))
	s.Must(200, s.Post(path+"approve", nil))
	var mails int
	require.NoError(t, s.Pool.QueryRow(t.Context(),
		"SELECT count(*) FROM mails WHERE purpose = 'application_approved'").Scan(&mails))
	require.Equal(t, 2, mails)
}

// TestReopenRefused: a decision stays after ten minutes, and once its partner was changed or has earned.
func TestReopenRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	approved := func(email string) (partner, path string) {
		a := s.Must(201, apitest.Apply(s, program, email))
		s.Must(200, s.Post("/v1/applications/"+a.String("id")+"/approve", nil))
		return a.String("partner_id"), "/v1/applications/" + a.String("id") + "/reopen"
	}
	stays := func(why, path string) {
		t.Helper()
		require.Contains(t, string(s.Refused(409, "application_not_reopenable", "", s.Post(path, nil)).Raw), why)
	}
	customer, path := approved("ada@example.com")
	s.Customer(program, customer)
	stays("has a customer", path)
	earner, path := approved("bob@example.com")
	s.Must(201, apitest.Grant(s, program, earner))
	stays("has a customer or a commission", path)
	changed, path := approved("cy@example.com")
	s.Clock.Advance(time.Second)
	s.Must(200, s.Post("/v1/partners/"+changed, M{"first_name": "Cy"}))
	stays("was changed", path)
	_, path = approved("dan@example.com")
	s.Clock.Advance(10*time.Minute + time.Second)
	stays("more than 10 minutes", path)
}

// TestReopenAtOnce: of several calls at once, one undoes the decision.
func TestReopenAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	a := s.Must(201, apitest.Apply(s, s.Program(), "ada@example.com"))
	path := "/v1/applications/" + a.String("id") + "/"
	s.Must(200, s.Post(path+"approve", nil))
	done := 0
	for _, answer := range apitest.AtOnce(8, func(int) apitest.Answer { return s.Post(path+"reopen", nil) }) {
		require.Contains(t, []int{200, 409}, answer.Status)
		if answer.Status == 200 {
			done++
		}
	}
	require.Equal(t, 1, done)
}
