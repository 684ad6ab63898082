// Package joining handles applications from a join page. It mails a link to the given address, creates the
// application when the link is confirmed, and decides it if the program's rule applies. The applicant does not
// learn whether an address is known: the answer is always the same, only the mail differs.
package joining

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/locale"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/program/partner"
	"rail/server/program/portalsettings"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/quota"
)

var queries = db.New()

// Limits of a program's join page. An unconfirmed request expires after Life; the link of a confirmed one shows
// its status for StatusLife.
const (
	perAddress = 10 // applications an hour from one network address
	perEmail   = 3  // mails a day to one email address
	waiting    = 1000

	Life       = 48 * time.Hour
	StatusLife = 90 * 24 * time.Hour
)

// Refusals of an applicant, each with its own text.
var (
	ErrOften = errors.New("joining: too many applications from this address")
	ErrFull  = errors.New("joining: too many unconfirmed applications")
	ErrLink  = errors.New("joining: invalid link")
)

// Service takes applications.
type Service struct {
	Pool     *pgxpool.Pool
	Partners *partner.Service
	Mail     *mail.Outbox
}

// Application is an unconfirmed application.
type Application struct {
	GroupID      *string         `json:"group_id"` // nil for the program's default
	FirstName    *string         `json:"first_name"`
	LastName     *string         `json:"last_name"`
	WebsiteURL   *string         `json:"website_url"`
	CountryCode  *string         `json:"country_code"`
	TermsAgreed  bool            `json:"terms_agreed"`
	TermsVersion *string         `json:"terms_version"`
	Answers      json.RawMessage `json:"answers"`
}

// Submission is an application with its sender.
type Submission struct {
	Email       string
	AddressHash []byte // hash of the sender's network address
	Locale      *locale.Locale
	Application
}

// recipient returns the recipient of the mail, in the language of the page.
func (a Submission) recipient(email string, p db.Program) mail.Recipient {
	return mail.Recipient{Email: email, ProgramID: p.ID, Program: p.Name, Locale: a.Locale}
}

// Submit stores an application to a program of the unit and mails its link, or a sign-in hint if the address is a
// partner's. Beyond the daily limit of mails to an address it silently does nothing.
func (s *Service) Submit(ctx context.Context, u *work.Unit, programID string, a Submission) error {
	// The lock serializes applications, so that the limits are exact.
	p, err := queries.ProgramLock(ctx, u.Tx, db.ProgramLockParams{ID: programID, OrgID: u.OrgID})
	if err != nil {
		return err
	}
	n, err := queries.JoinCounts(ctx, u.Tx, db.JoinCountsParams{
		ProgramID: p.ID, OrgID: p.OrgID, AddressHash: a.AddressHash, HourAgo: u.Now.Plus(-time.Hour), Email: a.Email,
		DayAgo: u.Now.Days(-1), Now: u.Now,
	})
	switch {
	case err != nil:
		return err
	case n.FromAddress >= perAddress:
		return ErrOften
	case n.Waiting >= waiting:
		return ErrFull
	case n.Mails >= perEmail:
		return nil
	}
	partner, err := queries.PartnerByEmail(ctx, u.Tx, db.PartnerByEmailParams{
		ProgramID: p.ID, OrgID: p.OrgID, Email: a.Email,
	})
	if work.IgnoreNoRows(err) != nil {
		return err
	}
	if err == nil && partner.Status != db.PartnerStatusDeclined {
		return s.remind(ctx, u, p, partner, a)
	}
	return s.invite(ctx, u, p, a)
}

// invite stores the application and mails the confirmation link.
func (s *Service) invite(ctx context.Context, u *work.Unit, p db.Program, a Submission) error {
	raw, err := json.Marshal(a.Application)
	if err != nil {
		return err
	}
	token := rand.Text()
	if err := store(ctx, u, p, a, token, raw); err != nil {
		return err
	}
	m := mail.JoinConfirm(a.recipient(a.Email, p), secret.NameOf(token), token)
	return s.Mail.Queue(ctx, u.Later(), p.OrgID, m, u.Now)
}

// remind mails a partner that it is one already, and how to sign in if it may.
func (s *Service) remind(ctx context.Context, u *work.Unit, p db.Program, partner db.Partner, a Submission) error {
	token := rand.Text() // links to nothing: the row exists only to be counted
	if err := store(ctx, u, p, a, token, nil); err != nil {
		return err
	}
	m := mail.JoinWaiting(a.recipient(partner.Email, p), secret.NameOf(token))
	if partner.Status == db.PartnerStatusActive {
		m = mail.JoinKnown(a.recipient(partner.Email, p), secret.NameOf(token))
	}
	return s.Mail.Queue(ctx, u.Later(), p.OrgID, m, u.Now)
}

// store writes a request; application is nil if the address is a partner's.
func store(ctx context.Context, u *work.Unit, p db.Program, a Submission, token string, application []byte) error {
	return queries.JoinRequestInsert(ctx, u.Later(), db.JoinRequestInsertParams{
		TokenHash: secret.HashToken(token), OrgID: p.OrgID, ProgramID: p.ID, Email: a.Email, AddressHash: a.AddressHash,
		Application: application, Language: a.Locale.Language(), CreatedAt: u.Now, ExpiresAt: u.Now.Plus(Life),
	})
}

// Request is a request with a mailed link.
type Request struct {
	db.JoinRequest
	Program db.Program
	Plan    quota.Own // limits of the organization
}

// Find returns the request of a link, or ErrLink.
func (s *Service) Find(ctx context.Context, token string, now clock.Time) (Request, error) {
	row, err := queries.JoinRequestFind(ctx, s.Pool, db.JoinRequestFindParams{
		TokenHash: secret.HashToken(token), Now: now,
	})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && row.JoinRequest.Application == nil &&
		row.JoinRequest.ApplicationID == nil {
		return Request{}, ErrLink
	}
	return Request{row.JoinRequest, row.Program, quota.Own{
		FlowQuota: row.FlowQuota, RevenueMeterMinor: row.RevenueMeterMinor, FraudMonitoring: row.FraudMonitoring,
	}}, err
}

// Confirm creates the application of a request, once, and approves it if the program's rule applies. A repeated
// call does nothing.
func (s *Service) Confirm(ctx context.Context, u *work.Unit, r Request) error {
	row, err := queries.JoinRequestLock(ctx, u.Tx, db.JoinRequestLockParams{
		TokenHash: r.TokenHash, OrgID: u.OrgID, Now: u.Now,
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ErrLink
	case err != nil || row.ApplicationID != nil:
		return err
	}
	settings, err := portalsettings.Of(ctx, u.Tx, u.OrgID, row.ProgramID)
	if err != nil {
		return err
	}
	if settings.Join == db.JoinModeClosed {
		return ErrLink
	}
	var a Application
	if err := json.Unmarshal(row.Application, &a); err != nil {
		return err
	}
	err = u.Check(ctx, row.ProgramID, work.GroupRef("group_id", a.GroupID))
	switch {
	case problem.Is(err, problem.ResourceNotFound): // deleted since: the default group takes the applicant
		a.GroupID = nil
	case err != nil:
		return err
	}
	application, err := partner.Apply(ctx, u, candidate(row, a), a.Answers)
	if err != nil {
		return err
	}
	err = queries.JoinRequestConfirm(ctx, u.Later(), db.JoinRequestConfirmParams{
		ApplicationID: &application.ID, ConfirmedAt: &u.Now, ExpiresAt: u.Now.Plus(StatusLife), TokenHash: row.TokenHash,
		OrgID: u.OrgID,
	})
	if err != nil {
		return err
	}
	return s.decide(ctx, u, settings, application, a.CountryCode)
}

// candidate returns the applicant. The terms were accepted when the form was sent.
func candidate(r db.JoinRequest, a Application) partner.Candidate {
	c := partner.Candidate{
		ProgramID: r.ProgramID, GroupID: a.GroupID, Email: r.Email, FirstName: a.FirstName, LastName: a.LastName,
		WebsiteURL: a.WebsiteURL, CountryCode: a.CountryCode, Source: db.ApplicationSourcePortal, LanguageCode: &r.Language,
	}
	if a.TermsAgreed {
		c.TermsAcceptedAt, c.TermsVersion = &r.CreatedAt, a.TermsVersion
	}
	return c
}

// decide approves an application if the program's rule applies. It stays for a review if the plan's limit is
// reached, or if a reviewer declined the applicant before.
func (s *Service) decide(
	ctx context.Context, u *work.Unit, settings portalsettings.Settings, a db.Application, country *string,
) error {
	if !settings.Approves(a.GroupID, country, a.Email) {
		return nil
	}
	p, err := queries.PartnerGet(ctx, u.Tx, db.PartnerGetParams{ID: opt.Value(a.PartnerID), OrgID: u.OrgID})
	if err != nil || p.CreatedAt.Before(u.Now.Plus(-time.Second).Time) {
		return err
	}
	by := *u
	by.Actor = work.Actor{Kind: work.Job, ID: "join rule"}
	_, err = s.Partners.Approve(ctx, &by, a.ID)
	if problem.Is(err, problem.RevenueMeterExceeded) {
		return nil
	}
	return err
}

// Status returns the application of a confirmed request.
func (s *Service) Status(ctx context.Context, r Request) (db.Application, error) {
	return queries.ApplicationGet(ctx, s.Pool, db.ApplicationGetParams{ID: opt.Value(r.ApplicationID), OrgID: r.OrgID})
}
