package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/work"
)

// ListMails lists an organization's undelivered mails, newest first.
func (s *Server) ListMails(ctx context.Context, r api.ListMailsRequestObject) (api.ListMailsResponseObject, error) {
	p := r.Params
	q := newQuery("", p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.MailList{
		CreatedAfter: q.date("created_after", p.CreatedAfter), CreatedBefore: q.date("created_before", p.CreatedBefore),
	}, toMail)
	return api.ListMails200JSONResponse(out), err
}

// RetrieveMail returns one mail, in any state, without its text.
func (s *Server) RetrieveMail(ctx context.Context,
	r api.RetrieveMailRequestObject) (api.RetrieveMailResponseObject, error) {
	m, err := mail.ByID(ctx, work.From(ctx), r.ID)
	return api.RetrieveMail200JSONResponse(toMail(m)), err
}

// RetryMail sends a failed mail again.
func (s *Server) RetryMail(ctx context.Context, r api.RetryMailRequestObject) (api.RetryMailResponseObject, error) {
	m, err := s.Mail.Retry(ctx, work.From(ctx), r.ID)
	return api.RetryMail200JSONResponse(toMail(m)), err
}

func toMail(m db.MailPageRow) api.Mail {
	return api.Mail{
		ID: m.ID, Object: "mail", ProgramID: opt.OrNil(m.ProgramID), Purpose: m.Purpose, Recipient: m.Recipient,
		Subject: m.Subject, Status: api.MailStatus(m.Status), Attempts: int64(m.Attempts), Error: m.Error,
		CanRetry: mail.Retryable(m), CreatedAt: m.CreatedAt,
	}
}
