package handlers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/ident"
)

// failedMail adds a mail of the organization that could not be delivered.
func failedMail(s *apitest.Server) string {
	s.T.Helper()
	id := ident.New(ident.Mail)
	_, err := s.Pool.Exec(s.T.Context(),
		`INSERT INTO mails (id, org_id, purpose, key, recipient, subject, body, status, attempts, error, created_at)
		VALUES ($1, $2, 'payout_paid', $1, 'gone@example.com', 'Your payout was sent', 'Gone', 'failed', 6, 'no such mailbox', $3)`,
		id, s.Org, s.Clock.Now())
	require.NoError(s.T, err)
	return id
}

// TestMails: failed mails are listed without their text, and can be sent again unless they belong
// to a campaign.
func TestMails(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	program, other := s.Program(), s.Program()
	partner := s.Partner(program)
	plain, many, sent := failedMail(s), failedMail(s), failedMail(s)
	_, err := s.Pool.Exec(t.Context(), `UPDATE mails SET partner_id = $2, campaign_id = 'camp_x' WHERE id = $1`, many, partner)
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), `UPDATE mails SET status = 'sent' WHERE id = $1`, sent)
	require.NoError(t, err)
	list := s.Must(200, s.Get("/v1/mails?status=failed"))
	require.EqualValues(t, 2, list.Int("total_count"))
	require.Equal(t, []any{many, program, false, plain, nil, true}, []any{
		list.Data()[0]["id"], list.Data()[0]["program_id"], list.Data()[0]["can_retry"],
		list.Data()[1]["id"], list.Data()[1]["program_id"], list.Data()[1]["can_retry"],
	})
	require.NotContains(t, string(list.Raw), "Gone", "the text is nobody's to read")
	s.Refused(400, "parameter_invalid", "status", s.Get("/v1/mails?status=sent"))

	for id, want := range map[string][]any{
		plain: {"failed", nil, true}, many: {"failed", program, false}, sent: {"sent", nil, false},
	} {
		one := s.Must(200, s.Get("/v1/mails/"+id))
		require.Equal(t, want, []any{one.String("status"), one.Body["program_id"], one.Body["can_retry"]})
		require.NotContains(t, string(one.Raw), "Gone", "the text is nobody's to read")
	}
	s.Must(200, s.Get("/v1/mails/"+plain+"?program_id="+other))
	s.Refused(404, "resource_not_found", "program_id", s.Get("/v1/mails/"+many+"?program_id="+other))
	own := failedMail(s) // for example about a certificate: the mail contains its program
	_, err = s.Pool.Exec(t.Context(), `UPDATE mails SET program_id = $2 WHERE id = $1`, own, program)
	require.NoError(t, err)
	s.Refused(404, "resource_not_found", "program_id", s.Get("/v1/mails/"+own+"?program_id="+other))
	s.Refused(404, "resource_not_found", "program_id", s.Post("/v1/mails/"+own+"/retry?program_id="+other, nil))
	s.Must(200, s.Post("/v1/mails/"+own+"/retry", nil))

	again := s.Must(200, s.Post("/v1/mails/"+plain+"/retry?program_id="+program, nil))
	require.Equal(t, []any{"queued", int64(0), nil, false},
		[]any{again.String("status"), again.Int("attempts"), again.Body["error"], again.Body["can_retry"]})
	require.EqualValues(t, 1, s.Get("/v1/mails").Int("total_count"))
	s.Refused(409, "mail_not_retryable", "", s.Post("/v1/mails/"+plain+"/retry", nil))
	s.Refused(409, "mail_not_retryable", "", s.Post("/v1/mails/"+sent+"/retry", nil))
	s.Refused(409, "mail_not_retryable", "", s.Post("/v1/mails/"+many+"/retry", nil))
	s.Refused(404, "resource_not_found", "program_id", s.Post("/v1/mails/"+many+"/retry?program_id="+other, nil))
	s.Refused(404, "resource_not_found", "program_id", s.Post("/v1/mails/"+failedMail(s)+"/retry?program_id=prg_none", nil))
	s.Refused(404, "resource_not_found", "", s.Post("/v1/mails/mail_none/retry", nil))
	foreign := failedMail(apitest.On(t, s.DSN, s.Clock))
	s.Refused(404, "resource_not_found", "", s.Post("/v1/mails/"+foreign+"/retry", nil))
	s.Refused(404, "resource_not_found", "", s.Get("/v1/mails/"+foreign))
}

// TestMailsWithoutServer: without a mail server, a mail cannot be sent again.
func TestMailsWithoutServer(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.Refused(501, "email_not_configured", "", s.Post("/v1/mails/"+failedMail(s)+"/retry", nil))
	require.EqualValues(t, 1, s.Get("/v1/mails").Int("total_count"))
}
