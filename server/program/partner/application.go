package partner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/outbound/sequence"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
	"rail/server/work/event"
	"rail/server/work/metadata"
)

const (
	// defaultReason is the reason in the mail if the reviewer gives none.
	defaultReason = "Your application was not accepted."
	// withdrawnReason is the reason of a partner whose application was withdrawn.
	withdrawnReason = "Withdrawn by the applicant."
)

// Apply puts an applicant in the review queue. Declined applicants may apply again (decisions, 63 and 182).
func Apply(ctx context.Context, u *work.Unit, c Candidate, answers json.RawMessage) (db.Application, error) {
	if err := metadata.Check(answers, "answers"); err != nil {
		return db.Application{}, err
	}
	if err := c.clean(); err != nil {
		return db.Application{}, err
	}
	existing, err := queries.PartnerByEmail(ctx, u.Tx, db.PartnerByEmailParams{
		ProgramID: c.ProgramID, OrgID: u.OrgID, Email: c.Email,
	})
	// admit refuses any other partner with the email.
	if err == nil && existing.Status == db.PartnerStatusDeclined {
		return applyAgain(ctx, u, existing, c, answers)
	}
	if err := work.IgnoreNoRows(err); err != nil {
		return db.Application{}, err
	}
	// The pending partner holds the email and the handle during the review.
	p, err := enterTaxed(ctx, u, c, db.PartnerStatusPending)
	if err != nil {
		return db.Application{}, err
	}
	return submit(ctx, u, p, c.Source, answers)
}

// applyAgain makes a declined partner pending again, with a new application. It records application.submitted
// only, since the partner is not new (decisions, 212).
func applyAgain(
	ctx context.Context, u *work.Unit, p db.Partner, c Candidate, answers json.RawMessage,
) (none db.Application, err error) {
	prog, err := u.Program(ctx, c.ProgramID)
	if err != nil {
		return none, err
	}
	if err := u.Check(ctx, prog.ID, work.GroupRef("group_id", c.GroupID)); err != nil {
		return none, err
	}
	// A new handle needs the stronger lock.
	if p, err = lock(ctx, u, p.ID, c.Handle != nil); err != nil {
		return none, err
	}
	c.CountryCode = opt.Upper(c.CountryCode)
	// The group was checked above, so a group of the program is enough here.
	if err := checkAdmission(prog, db.Group{ProgramID: prog.ID}, c.CountryCode); err != nil {
		return none, err
	}
	if p.Status != db.PartnerStatusDeclined { // another application came first
		return none, emailTaken(p)
	}
	// Fields that the new application leaves out stay.
	for _, f := range []struct{ field, value **string }{
		{&p.GroupID, &c.GroupID}, {&p.FirstName, &c.FirstName}, {&p.LastName, &c.LastName},
		{&p.WebsiteURL, &c.WebsiteURL}, {&p.CountryCode, &c.CountryCode}, {&p.LanguageCode, &c.LanguageCode},
	} {
		if *f.value != nil {
			*f.field = *f.value
		}
	}
	if err := checkNames(p); err != nil {
		return none, err
	}
	if c.TermsAcceptedAt != nil {
		p.TermsAcceptedAt, p.TermsVersion = c.TermsAcceptedAt, c.TermsVersion
	}
	claims, err := takeHandle(ctx, u, &p, c.Handle)
	if err != nil {
		return none, err
	}
	if err := queries.PartnerReapply(ctx, u.Later(), db.PartnerReapplyParams{
		GroupID: p.GroupID, FirstName: p.FirstName, LastName: p.LastName, WebsiteURL: p.WebsiteURL,
		CountryCode: p.CountryCode, LanguageCode: p.LanguageCode, TermsAcceptedAt: p.TermsAcceptedAt,
		TermsVersion: p.TermsVersion, Handle: p.Handle, UpdatedAt: u.Now, ID: p.ID, OrgID: p.OrgID,
	}); err != nil {
		return none, err
	}
	if claims {
		if err := claimHandle(ctx, u, p); err != nil {
			return none, err
		}
	}
	return submit(ctx, u, p, c.Source, answers)
}

// submit writes a pending partner's application, which reviewers see.
func submit(
	ctx context.Context, u *work.Unit, p db.Partner, source db.ApplicationSource, answers json.RawMessage,
) (db.Application, error) {
	// Without answers, store an empty object in the row and the event.
	if metadata.Absent(answers) {
		answers = json.RawMessage("{}")
	}
	a := db.Application{
		ID:        u.NewID(ident.Application),
		OrgID:     p.OrgID,
		ProgramID: p.ProgramID,
		GroupID:   p.GroupID,
		PartnerID: &p.ID,
		Email:     p.Email,
		Answers:   answers,
		Source:    new(cmp.Or(source, db.ApplicationSourceAPI)),
		Status:    db.ApplicationStatusPending,
		CreatedAt: u.Now,
		UpdatedAt: u.Now,
	}
	about := event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: a.ID}
	u.Record(about, events.ApplicationSubmitted(api.ApplicationSubmittedData{
		ApplicationID: a.ID, PartnerID: p.ID, Email: p.Email, Handle: p.Handle, Answers: answers,
	}))
	return a, queries.ApplicationInsert(ctx, u.Later(), db.ApplicationInsertParams(a))
}

// Approve makes the applicant an active partner, unless the plan's revenue limit is reached.
func (s *Service) Approve(ctx context.Context, u *work.Unit, id string) (db.Application, error) {
	a, p, err := undecided(ctx, u, id)
	if err != nil {
		return a, err
	}
	// Only approvals are refused: active partners stay active.
	if err := meter(ctx, u, a.ProgramID); err != nil {
		return a, err
	}
	a.Status = db.ApplicationStatusApproved
	if err := decide(ctx, u, &a, p, db.PartnerStatusActive, nil, events.ApplicationApproved); err != nil {
		return a, err
	}
	if err := s.notify(ctx, u, a, p, nil); err != nil {
		return a, err
	}
	about := event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: p.ID}
	u.Record(about, events.AffiliateConfirmed(api.AffiliateConfirmedData{
		PartnerID: p.ID, Email: p.Email, Handle: p.Handle, GroupID: p.GroupID,
	}))
	return a, nil
}

// meter refuses approvals once the program's revenue of the calendar month, in minor units of its currency,
// exceeds the plan's limit; a limit of 0 is none.
func meter(ctx context.Context, u *work.Unit, programID string) error {
	most := u.Plan.RevenueMeterMinor
	if most == 0 {
		return nil
	}
	prog, err := u.Program(ctx, programID)
	if err != nil {
		return err
	}
	// The month begins in UTC, whatever the program's time zone.
	month := u.Now
	month.Time = time.Date(u.Now.Year(), u.Now.Month(), 1, 0, 0, 0, 0, time.UTC)
	revenue, err := queries.ProgramRevenue(ctx, u.Tx, db.ProgramRevenueParams{
		ProgramID: programID, OrgID: u.OrgID, Currency: prog.Currency, Since: month,
	})
	if err == nil && revenue > most {
		return problem.New(problem.RevenueMeterExceeded,
			"The program took %d %s minor units this month; the plan allows approvals up to %d.",
			revenue, prog.Currency, most)
	}
	return err
}

// Reject declines the applicant, who gets the reason verbatim, or a general one if it is empty.
func (s *Service) Reject(ctx context.Context, u *work.Unit, id string, reason *string) (db.Application, error) {
	if strings.TrimSpace(opt.Value(reason)) == "" {
		reason = new(defaultReason)
	}
	a, p, err := undecided(ctx, u, id)
	if err != nil {
		return a, err
	}
	a.Status, a.RejectionReason = db.ApplicationStatusRejected, reason
	if err := decide(ctx, u, &a, p, db.PartnerStatusDeclined, reason, events.ApplicationRejected); err != nil {
		return a, err
	}
	return a, s.notify(ctx, u, a, p, reason)
}

// notify mails the decision to the applicant; rejected is the reason, nil for an approval.
func (s *Service) notify(ctx context.Context, u *work.Unit, a db.Application, p db.Partner, rejected *string) error {
	// The mail names the program.
	prog, err := u.Program(ctx, a.ProgramID)
	if err != nil {
		return err
	}
	to := mail.ToPartner(p, prog, "")
	if rejected != nil {
		return s.queue(ctx, u, mail.Rejected(to, decisionKey(a.ID, u.Now), *rejected))
	}
	token := ""
	if s.Mail.Ready() && p.Status != db.PartnerStatusSuspended {
		if token, err = newLink(ctx, u.Later(), MailMark, p, u.Now, inviteLife); err != nil {
			return err
		}
	}
	return s.queue(ctx, u, mail.Approved(to, decisionKey(a.ID, u.Now), token))
}

// decisionKey identifies the mail about a decision: a decision after another one was undone has a mail, too.
func decisionKey(application string, at clock.Time) string { return application + " " + at.String() }

// queue queues a mail about a decision. It waits after a decision in the console, so that Reopen can drop it.
func (s *Service) queue(ctx context.Context, u *work.Unit, m mail.Message) error {
	m.Hold = hold(u)
	return s.Mail.Queue(ctx, u.Later(), u.OrgID, m, u.Now)
}

// hold returns how long mails about a decision wait: those of people can be undone.
func hold(u *work.Unit) time.Duration {
	if u.Actor.Kind == work.Person && u.Actor.User != "" {
		return mail.DecisionHold
	}
	return 0
}

// Withdraw withdraws an application for the applicant (decisions, 61).
func Withdraw(ctx context.Context, u *work.Unit, id string) (db.Application, error) {
	a, p, err := undecided(ctx, u, id)
	if err != nil {
		return a, err
	}
	// There is no reviewer, so none is stored.
	a.Status, a.UpdatedAt = db.ApplicationStatusWithdrawn, u.Now
	if err := saveDecision(ctx, u, a, p, db.PartnerStatusDeclined, new(withdrawnReason)); err != nil {
		return a, err
	}
	about := event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: p.ID}
	u.Record(about, events.AffiliateUpdated(api.AffiliateUpdatedData{
		PartnerID: p.ID, Status: api.PartnerStatusDeclined, Reason: new(withdrawnReason),
	}))
	return a, nil
}

// undecided locks the partner, then the application, and refuses a decided application: only one of two
// reviewers decides.
func undecided(ctx context.Context, u *work.Unit, id string) (a db.Application, p db.Partner, err error) {
	if a, err = queries.ApplicationGet(ctx, u.Tx, db.ApplicationGetParams{ID: id, OrgID: u.OrgID}); err != nil {
		return a, p, err
	}
	if err := u.CheckProgram(a.ProgramID); err != nil {
		return a, p, err
	}
	if p, err = applicant(ctx, u, a); err != nil {
		return a, p, err
	}
	// Read again under the lock: a decision may have come since the first read.
	if a, err = queries.ApplicationLock(ctx, u.Tx, db.ApplicationLockParams{ID: id, OrgID: u.OrgID}); err != nil {
		return a, p, err
	}
	if a.Status != db.ApplicationStatusPending {
		return a, p, problem.New(problem.ApplicationAlreadyDecided, "The application is %s already.", a.Status)
	}
	// An imported application is linked to its partner now.
	a.PartnerID = &p.ID
	return a, p, nil
}

// applicant returns the application's partner, locked. An imported application has none: it gets the partner
// with its email, or a new one (decisions, 62).
func applicant(ctx context.Context, u *work.Unit, a db.Application) (db.Partner, error) {
	if a.PartnerID != nil {
		return queries.PartnerLock(ctx, u.Tx, db.PartnerLockParams{ID: *a.PartnerID, OrgID: a.OrgID})
	}
	p, err := queries.PartnerByEmail(ctx, u.Tx, db.PartnerByEmailParams{
		ProgramID: a.ProgramID, OrgID: a.OrgID, Email: a.Email,
	})
	if !errors.Is(err, pgx.ErrNoRows) {
		return p, err
	}
	c := Candidate{ProgramID: a.ProgramID, GroupID: a.GroupID, Email: a.Email}
	n, err := admit(ctx, u, c, db.PartnerStatusPending)
	if err != nil {
		return p, err
	}
	return n.Partner, enter(ctx, u, n.Partner)
}

// decide writes the decision with reviewer and time, its event and its audit entry.
func decide(
	ctx context.Context, u *work.Unit, a *db.Application, p db.Partner, partnerStatus db.PartnerStatus, reason *string,
	toEvent func(api.ApplicationDecidedData) events.Event,
) error {
	a.ReviewedByUserID, a.ReviewedAt, a.UpdatedAt = opt.OrNil(u.Actor.User), &u.Now, u.Now
	var err error
	if a.BeforeDecision, err = json.Marshal(standing{p.Status, p.DeclineReason}); err != nil {
		return err
	}
	if err := saveDecision(ctx, u, *a, p, partnerStatus, reason); err != nil {
		return err
	}
	decided := toEvent(api.ApplicationDecidedData{
		PartnerID: &p.ID, ApplicationID: a.ID, Email: a.Email, Handle: &p.Handle, ReviewedBy: a.ReviewedByUserID,
		Reason: reason,
	})
	u.Record(event.Subject{ProgramID: a.ProgramID, PartnerID: p.ID, ID: a.ID}, decided)
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: a.ProgramID, Action: string(decided.Type()), TargetID: a.ID, Reason: reason,
		Before: map[string]db.ApplicationStatus{"status": db.ApplicationStatusPending},
		After:  map[string]db.ApplicationStatus{"status": a.Status},
	})
}

// saveDecision writes the application, and its partner unless that was approved or suspended otherwise in the
// meantime.
func saveDecision(
	ctx context.Context, u *work.Unit, a db.Application, p db.Partner, partnerStatus db.PartnerStatus, reason *string,
) error {
	err := queries.ApplicationDecide(ctx, u.Later(), db.ApplicationDecideParams{
		Status: a.Status, PartnerID: a.PartnerID, ReviewedByUserID: a.ReviewedByUserID, ReviewedAt: a.ReviewedAt,
		RejectionReason: a.RejectionReason, UpdatedAt: a.UpdatedAt, BeforeDecision: a.BeforeDecision, ID: a.ID,
		OrgID: a.OrgID,
	})
	if err != nil || !decidable(p.Status) {
		return err
	}
	err = queries.PartnerDecide(ctx, u.Later(), db.PartnerDecideParams{
		Status: partnerStatus, DeclineReason: reason, UpdatedAt: u.Now, ID: p.ID, OrgID: p.OrgID,
	})
	if err != nil || partnerStatus != db.PartnerStatusActive {
		return err
	}
	return sequence.EnrolApproved(ctx, u.Later(), p, u.Now.Plus(hold(u)))
}
