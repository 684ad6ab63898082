package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/auditlog"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/metadata"
	"rail/server/money/tax"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/outbound/sequence"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

const (
	// declined is what an applicant reads where the reviewer gives no reason.
	declined = "Your application was not accepted."
	// withdrew is the reason of a partner whose application was withdrawn.
	withdrew = "Withdrawn by the applicant."
)

// ListApplications lists the applications of a program, newest first.
func (s *Server) ListApplications(ctx context.Context, r api.ListApplicationsRequestObject) (api.ListApplicationsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	org := u.OrgID
	status, in := choices(p.Status)
	rows, err := list(ctx, u, paging{
		programID: p.ProgramID, limit: p.Limit, startingAfter: p.StartingAfter, endingBefore: p.EndingBefore,
		refs: []work.Reference{work.PartnerRef("partner_id", p.PartnerID)},
	}, lister[position, db.Application]{
		cursor: func(ctx context.Context, tx pgtx.DBTX, id string) (position, error) {
			row, err := queries.ApplicationCursor(ctx, tx, db.ApplicationCursorParams{ID: id, ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID})
			return position{row.CreatedAt, row.ID}, err
		},
		page: byTime(func(ctx context.Context, tx pgtx.DBTX, b bounds) ([]db.Application, error) {
			return queries.ApplicationPage(ctx, tx, db.ApplicationPageParams{
				ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, Status: status, StatusIn: in,
				AfterAt: b.afterAt, AfterID: b.afterID, BeforeAt: b.beforeAt, BeforeID: b.beforeID, Lim: b.lim,
			})
		}),
		count: func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
			return queries.ApplicationCount(ctx, tx, db.ApplicationCountParams{ProgramID: p.ProgramID, OrgID: org, PartnerID: p.PartnerID, Status: status, StatusIn: in})
		},
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.rows, toApplication)
	err = fillApplications(ctx, u, data, p.Expand)
	return api.ListApplications200JSONResponse{Data: data, HasMore: rows.hasMore, TotalCount: rows.total}, err
}

func fillApplications(ctx context.Context, u *work.Unit, applications []api.Application, expand []api.ApplicationExpand) error {
	return together(ctx, u,
		embedPartner(ctx, u, wants(expand, api.ApplicationExpandPartner), applications, func(a *api.Application) (*string, *nullable.Nullable[api.Partner]) { return a.PartnerID, &a.Partner }),
		embedGroup(ctx, u, wants(expand, api.ApplicationExpandGroup), applications, func(a *api.Application) (*string, *nullable.Nullable[api.Group]) { return a.GroupID, &a.Group }))
}

// RetrieveApplication returns one application.
func (s *Server) RetrieveApplication(ctx context.Context, r api.RetrieveApplicationRequestObject) (api.RetrieveApplicationResponseObject, error) {
	u := work.From(ctx)
	a, err := queries.ApplicationGet(ctx, u.DB(), db.ApplicationGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(a.ProgramID); err != nil {
		return nil, err
	}
	one := []api.Application{toApplication(a)}
	err = fillApplications(ctx, u, one, r.Params.Expand)
	return api.RetrieveApplication200JSONResponse(one[0]), err
}

// CreateApplication puts an applicant in the review queue. Whoever was declined
// may apply again (decisions, 63 and 182).
func (s *Server) CreateApplication(ctx context.Context, r api.CreateApplicationRequestObject) (api.CreateApplicationResponseObject, error) {
	u, b := work.From(ctx), r.Body
	if err := metadata.Check(b.Answers, "answers"); err != nil {
		return nil, err
	}
	held, err := queries.PartnerByEmail(ctx, u.Tx, db.PartnerByEmailParams{ProgramID: b.ProgramID, OrgID: u.OrgID, Email: b.Email})
	if err == nil && held.Status == "declined" {
		a, err := s.applyAgain(ctx, u, held, b)
		return api.CreateApplication201JSONResponse(toApplication(a)), err
	}
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, err
	}
	e := admission{programID: b.ProgramID, groupID: b.GroupID, email: b.Email, handle: b.Handle, country: opt.Upper(b.CountryCode)}
	if err := s.admit(ctx, u, &e); err != nil {
		return nil, err
	}
	p := db.Partner{
		ID: ident.New(ident.Partner), OrgID: u.OrgID, ProgramID: e.programID, GroupID: e.groupID, Email: e.email, FirstName: b.FirstName,
		LastName: b.LastName, WebsiteURL: b.WebsiteURL, CountryCode: e.country, Handle: *e.handle, Status: "pending", CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	if err := enter(ctx, u, p); err != nil {
		return nil, err
	}
	if e.asksTaxForms {
		if err := tax.AskOne(ctx, u.Later(), p, u.Now); err != nil {
			return nil, err
		}
	}
	a, err := submit(ctx, u, p, b.Answers)
	return api.CreateApplication201JSONResponse(toApplication(a)), err
}

// applyAgain makes a declined partner pending once more, under a new
// application; application.submitted alone tells it (decisions, 212).
func (s *Server) applyAgain(ctx context.Context, u *work.Unit, p db.Partner, b *api.ApplicationCreate) (db.Application, error) {
	prog, err := u.Program(ctx, b.ProgramID)
	if err != nil {
		return db.Application{}, err
	}
	if err := u.Check(ctx, prog.ID, work.GroupRef("group_id", b.GroupID)); err != nil {
		return db.Application{}, err
	}
	if p, err = lockPartner(ctx, u, p.ID, b.Handle != nil); err != nil {
		return db.Application{}, err
	}
	e := admission{programID: prog.ID, country: opt.Upper(b.CountryCode)}
	if err := mayEnter(prog, db.Group{ProgramID: prog.ID}, &e); err != nil {
		return db.Application{}, err
	}
	if p.Status != "declined" { // another application was first
		return db.Application{}, problem.Taken(problem.PartnerEmailTaken, "email", p, "A partner with this email exists in the program.")
	}
	for _, f := range []struct{ field, given **string }{
		{&p.GroupID, &b.GroupID}, {&p.FirstName, &b.FirstName}, {&p.LastName, &b.LastName}, {&p.WebsiteURL, &b.WebsiteURL}, {&p.CountryCode, &e.country},
	} {
		if *f.given != nil {
			*f.field = *f.given
		}
	}
	claims, err := s.takeHandle(ctx, u, &p, b.Handle)
	if err != nil {
		return db.Application{}, err
	}
	if err := queries.PartnerReapply(ctx, u.Later(), db.PartnerReapplyParams{
		GroupID: p.GroupID, FirstName: p.FirstName, LastName: p.LastName, WebsiteURL: p.WebsiteURL, CountryCode: p.CountryCode, Handle: p.Handle, UpdatedAt: u.Now, ID: p.ID, OrgID: p.OrgID,
	}); err != nil {
		return db.Application{}, err
	}
	if claims {
		if err := claimHandle(ctx, u, p); err != nil {
			return db.Application{}, err
		}
	}
	return submit(ctx, u, p, b.Answers)
}

// takeHandle gives the partner another handle, if one is given, and tells whether
// it must be claimed: a former one is the partner's still (decisions, 44).
func (s *Server) takeHandle(ctx context.Context, u *work.Unit, p *db.Partner, handle *string) (bool, error) {
	if handle == nil || *handle == p.Handle {
		return false, nil
	}
	held, err := queries.TrackingValueGet(ctx, u.Tx, db.TrackingValueGetParams{ProgramID: p.ProgramID, OrgID: p.OrgID, Value: *handle})
	free := errors.Is(err, pgx.ErrNoRows)
	if err != nil && !free {
		return false, err
	}
	if !free && held.PartnerID != p.ID {
		return false, s.heldBy(ctx, u, held)
	}
	p.Handle = *handle
	return free, nil
}

// submit writes a pending partner's application and tells of it.
func submit(ctx context.Context, u *work.Unit, p db.Partner, answers json.RawMessage) (db.Application, error) {
	if metadata.Absent(answers) {
		answers = json.RawMessage("{}")
	}
	a := db.Application{
		ID: ident.New(ident.Application), OrgID: p.OrgID, ProgramID: p.ProgramID, GroupID: p.GroupID, PartnerID: &p.ID, Email: p.Email, Answers: answers,
		Source: new("api"), Status: "pending", CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	u.Record("application.submitted", event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: a.ID}, api.ApplicationSubmittedData{
		ApplicationID: a.ID, PartnerID: p.ID, Email: p.Email, Handle: p.Handle, Answers: answers,
	})
	return a, queries.ApplicationInsert(ctx, u.Later(), db.ApplicationInsertParams{
		ID: a.ID, OrgID: a.OrgID, ProgramID: a.ProgramID, GroupID: a.GroupID, PartnerID: a.PartnerID, Email: a.Email, Answers: a.Answers, Source: a.Source,
		Status: a.Status, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
	})
}

// ApproveApplication makes the applicant an active partner.
func (s *Server) ApproveApplication(ctx context.Context, r api.ApproveApplicationRequestObject) (api.ApproveApplicationResponseObject, error) {
	u := work.From(ctx)
	a, p, err := s.undecided(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	if err := s.meter(ctx, u, a.ProgramID); err != nil {
		return nil, err
	}
	a.Status = "approved"
	if err := s.decideApplication(ctx, u, &a, p, "active", nil, "application.approved"); err != nil {
		return nil, err
	}
	if err := s.tellApplicant(ctx, u, a, p, nil); err != nil {
		return nil, err
	}
	u.Record("affiliate.confirmed", event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: p.ID}, api.AffiliateConfirmedData{
		PartnerID: p.ID, Email: p.Email, Handle: p.Handle, GroupID: p.GroupID,
	})
	return api.ApproveApplication200JSONResponse(toApplication(a)), nil
}

// meter refuses approvals once the month's revenue is above the plan's.
func (s *Server) meter(ctx context.Context, u *work.Unit, programID string) error {
	most := u.Plan.RevenueMeterMinor
	if most == 0 {
		return nil
	}
	prog, err := u.Program(ctx, programID)
	if err != nil {
		return err
	}
	month := u.Now
	month.Time = time.Date(u.Now.Year(), u.Now.Month(), 1, 0, 0, 0, 0, time.UTC)
	revenue, err := queries.ProgramRevenue(ctx, u.Tx, db.ProgramRevenueParams{ProgramID: programID, OrgID: u.OrgID, Currency: prog.Currency, Since: month})
	if err == nil && revenue > most {
		return problem.New(problem.RevenueMeterExceeded, "The program took %d %s minor units this month; the plan allows approvals up to %d.", revenue, prog.Currency, most)
	}
	return err
}

// RejectApplication declines the applicant, who reads the reason word for word.
func (s *Server) RejectApplication(ctx context.Context, r api.RejectApplicationRequestObject) (api.RejectApplicationResponseObject, error) {
	u := work.From(ctx)
	reason := declined
	if r.Body != nil && strings.TrimSpace(opt.Value(r.Body.Reason)) != "" {
		reason = *r.Body.Reason
	}
	a, p, err := s.undecided(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	a.Status, a.RejectionReason = "rejected", &reason
	if err := s.decideApplication(ctx, u, &a, p, "declined", &reason, "application.rejected"); err != nil {
		return nil, err
	}
	err = s.tellApplicant(ctx, u, a, p, &reason)
	return api.RejectApplication200JSONResponse(toApplication(a)), err
}

// tellApplicant mails the decision.
func (s *Server) tellApplicant(ctx context.Context, u *work.Unit, a db.Application, p db.Partner, rejected *string) error {
	prog, err := u.Program(ctx, a.ProgramID)
	if err != nil {
		return err
	}
	m := mail.Approved(p.Email, a.ID, prog.Name)
	if rejected != nil {
		m = mail.Rejected(p.Email, a.ID, prog.Name, *rejected)
	}
	return s.Mail.Queue(ctx, u.Later(), a.OrgID, m, u.Now)
}

// WithdrawApplication takes an application back for the applicant (decisions, 61).
func (s *Server) WithdrawApplication(ctx context.Context, r api.WithdrawApplicationRequestObject) (api.WithdrawApplicationResponseObject, error) {
	u := work.From(ctx)
	a, p, err := s.undecided(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	a.Status, a.UpdatedAt = "withdrawn", u.Now
	if err := saveDecision(ctx, u, a, p, "declined", new(withdrew)); err != nil {
		return nil, err
	}
	u.Record("affiliate.updated", event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: p.ID}, api.AffiliateUpdatedData{
		PartnerID: p.ID, Status: api.PartnerStatusDeclined, Reason: new(withdrew),
	})
	return api.WithdrawApplication200JSONResponse(toApplication(a)), nil
}

// undecided locks the partner and the application, and refuses one that is
// decided.
func (s *Server) undecided(ctx context.Context, u *work.Unit, id string) (a db.Application, p db.Partner, err error) {
	if a, err = queries.ApplicationGet(ctx, u.Tx, db.ApplicationGetParams{ID: id, OrgID: u.OrgID}); err != nil {
		return a, p, err
	}
	if err := u.CheckProgram(a.ProgramID); err != nil {
		return a, p, err
	}
	if p, err = s.applicant(ctx, u, a); err != nil {
		return a, p, err
	}
	if a, err = queries.ApplicationLock(ctx, u.Tx, db.ApplicationLockParams{ID: id, OrgID: u.OrgID}); err != nil {
		return a, p, err
	}
	if a.Status != "pending" {
		return a, p, problem.New(problem.ApplicationAlreadyDecided, "The application is %s already.", a.Status)
	}
	a.PartnerID = &p.ID
	return a, p, nil
}

// applicant is the application's partner, locked. One without a partner, from an
// import, gets the partner with its email, or a new one (decisions, 62).
func (s *Server) applicant(ctx context.Context, u *work.Unit, a db.Application) (db.Partner, error) {
	if a.PartnerID != nil {
		return queries.PartnerLock(ctx, u.Tx, db.PartnerLockParams{ID: *a.PartnerID, OrgID: a.OrgID})
	}
	p, err := queries.PartnerByEmail(ctx, u.Tx, db.PartnerByEmailParams{ProgramID: a.ProgramID, OrgID: a.OrgID, Email: a.Email})
	if !errors.Is(err, pgx.ErrNoRows) {
		return p, err
	}
	e := admission{programID: a.ProgramID, groupID: a.GroupID, email: a.Email}
	if err := s.admit(ctx, u, &e); err != nil {
		return p, err
	}
	p = db.Partner{
		ID: ident.New(ident.Partner), OrgID: a.OrgID, ProgramID: a.ProgramID, GroupID: e.groupID, Email: a.Email, Handle: *e.handle, Status: "pending",
		CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	return p, enter(ctx, u, p)
}

// decideApplication records who decided, and when, and tells of it.
func (s *Server) decideApplication(ctx context.Context, u *work.Unit, a *db.Application, p db.Partner, partnerStatus string, reason *string, kind string) error {
	a.ReviewedByUserID, a.ReviewedAt, a.UpdatedAt = &u.Actor.User, &u.Now, u.Now
	if err := saveDecision(ctx, u, *a, p, partnerStatus, reason); err != nil {
		return err
	}
	u.Record(kind, event.Subject{ProgramID: a.ProgramID, PartnerID: p.ID, ID: a.ID}, api.ApplicationDecidedData{
		PartnerID: &p.ID, ApplicationID: a.ID, Email: a.Email, Handle: &p.Handle, ReviewedBy: a.ReviewedByUserID, Reason: reason,
	})
	return auditlog.Record(ctx, u, auditlog.Entry{ProgramID: a.ProgramID, Action: kind, TargetID: a.ID, Reason: reason, Before: map[string]string{"status": "pending"}, After: map[string]string{"status": a.Status}})
}

// saveDecision writes the application, and its partner unless that was settled
// otherwise meanwhile.
func saveDecision(ctx context.Context, u *work.Unit, a db.Application, p db.Partner, partnerStatus string, reason *string) error {
	err := queries.ApplicationDecide(ctx, u.Later(), db.ApplicationDecideParams{
		Status: a.Status, PartnerID: a.PartnerID, ReviewedByUserID: a.ReviewedByUserID, ReviewedAt: a.ReviewedAt, RejectionReason: a.RejectionReason,
		UpdatedAt: a.UpdatedAt, ID: a.ID, OrgID: a.OrgID,
	})
	if err != nil || !slices.Contains([]string{"pending", "declined"}, p.Status) {
		return err
	}
	err = queries.PartnerDecide(ctx, u.Later(), db.PartnerDecideParams{Status: partnerStatus, DeclineReason: reason, UpdatedAt: u.Now, ID: p.ID, OrgID: p.OrgID})
	if err != nil || partnerStatus != string(api.PartnerStatusActive) {
		return err
	}
	return sequence.Welcome(ctx, u.Later(), p, u.Now)
}

func toApplication(a db.Application) api.Application {
	return api.Application{
		ID: a.ID, Object: "application", ProgramID: a.ProgramID, GroupID: a.GroupID, PartnerID: a.PartnerID, Email: a.Email, Answers: a.Answers,
		Source: (*api.ApplicationSource)(a.Source), Status: api.ApplicationStatus(a.Status), ReviewedByUserID: a.ReviewedByUserID, ReviewedAt: a.ReviewedAt,
		RejectionReason: a.RejectionReason, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
	}
}
