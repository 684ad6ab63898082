package handlers

import (
	"context"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/metadata"
	"rail/server/money/tax"
	"rail/server/opt"
	"rail/server/outbound/sequence"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/slug"
	"rail/server/work"
)

// CreatePartner adds a partner, at once or to the review queue.
func (s *Server) CreatePartner(ctx context.Context, r api.CreatePartnerRequestObject) (api.CreatePartnerResponseObject, error) {
	u, b := work.From(ctx), r.Body
	if err := metadata.Check(b.Metadata, "metadata"); err != nil {
		return nil, err
	}
	e := admission{programID: b.ProgramID, groupID: b.GroupID, email: b.Email, handle: b.Handle, country: opt.Upper(b.CountryCode)}
	if err := s.admit(ctx, u, &e); err != nil {
		return nil, err
	}
	p := db.Partner{
		ID: ident.New(ident.Partner), OrgID: u.OrgID, ProgramID: e.programID, GroupID: e.groupID, Email: e.email,
		FirstName: b.FirstName, LastName: b.LastName, CompanyName: b.CompanyName, WebsiteURL: b.WebsiteURL, CountryCode: e.country,
		Handle: *e.handle, Status: string(api.PartnerCreateStatusActive), EmailFirstReferral: true, EmailNewReferral: true,
		EmailPayoutPaid: true, Metadata: metadata.Stored(b.Metadata), CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	change(&p.Status, (*string)(b.Status))
	if err := enter(ctx, u, p); err != nil {
		return nil, err
	}
	if e.asksTaxForms {
		if err := tax.AskOne(ctx, u.Later(), p, u.Now); err != nil {
			return nil, err
		}
	}
	if b.Status != nil && *b.Status == api.PartnerCreateStatusPending {
		if _, err := submit(ctx, u, p, nil); err != nil { // without it nobody could approve the partner (decisions, 46)
			return nil, err
		}
	}
	return api.CreatePartner201JSONResponse(toPartner(p)), nil
}

// admission is what decides whether somebody may become a partner. admit fills in
// the group and the handle that are left out.
type admission struct {
	programID string
	groupID   *string
	email     string
	handle    *string
	country   *string
	// asksTaxForms is filled in too: the program wants a form of every partner.
	asksTaxForms bool
}

// admit looks everything up in one round trip and refuses who may not enter.
// The lock on the stem makes those who would derive the same handle take turns.
func (s *Server) admit(ctx context.Context, u *work.Unit, e *admission) error {
	var prog db.Program
	var group db.Group
	var held db.Partner
	var taken []string
	stem, pattern := handleStem(e.email), handlePattern(handleStem(e.email))
	if e.handle != nil {
		stem, pattern = *e.handle, *e.handle
	}
	org := u.OrgID
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) error {
			return queries.TrackingStemLock(ctx, tx, db.TrackingStemLockParams{ProgramID: e.programID, Stem: stem})
		},
		func(tx pgtx.DBTX) (err error) {
			prog, err = queries.ProgramGet(ctx, tx, db.ProgramGetParams{ID: e.programID, OrgID: org})
			return err
		},
		func(tx pgtx.DBTX) (err error) { group, err = entryGroup(ctx, tx, org, e); return err },
		func(tx pgtx.DBTX) (err error) {
			held, err = queries.PartnerByEmail(ctx, tx, db.PartnerByEmailParams{ProgramID: e.programID, OrgID: org, Email: e.email})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			taken, err = queries.TrackingValuesTaken(ctx, tx, db.TrackingValuesTakenParams{ProgramID: e.programID, OrgID: org, Stem: stem, Pattern: pattern})
			return err
		})
	if err := pgtx.First(errs); err != nil {
		return err
	}
	if err := work.Found(errs[1], "program_id"); err != nil {
		return err
	}
	if err := work.Found(errs[2], "group_id"); err != nil {
		return err
	}
	if err := mayEnter(prog, group, e); err != nil {
		return err
	}
	if errs[3] == nil {
		return problem.Taken(problem.PartnerEmailTaken, "email", held, "A partner with this email exists in the program.")
	}
	if e.handle != nil && slices.Contains(taken, stem) {
		return s.handleTaken(ctx, u, e.programID, stem)
	}
	e.groupID, e.asksTaxForms = &group.ID, prog.RequireTaxForms
	e.handle = new(slug.Unused(stem, handleMax, taken))
	return nil
}

func entryGroup(ctx context.Context, tx pgtx.DBTX, org string, e *admission) (db.Group, error) {
	if e.groupID != nil {
		return queries.GroupGet(ctx, tx, db.GroupGetParams{ID: *e.groupID, OrgID: org})
	}
	return queries.GroupDefault(ctx, tx, db.GroupDefaultParams{ProgramID: e.programID, OrgID: org})
}

// mayEnter refuses another program's group, a blocked country and a paused program
// (decisions, 37 and 40).
func mayEnter(prog db.Program, group db.Group, e *admission) error {
	if err := work.SameProgram(group.ProgramID, prog.ID, "group_id"); err != nil {
		return err
	}
	if e.country != nil && slices.Contains(prog.BlockedCountries, *e.country) {
		return problem.On("country_code", problem.CountryBlocked, "The program takes no partners from %s.", *e.country)
	}
	if prog.Status == string(api.ProgramStatusPaused) {
		return problem.New(problem.ProgramPaused, "The program is paused; it takes no new partners.")
	}
	return nil
}

// handleTaken answers with the object that holds a handle: a partner, by its
// handle or a former one, or a link by its value (decisions, 43 and 181).
func (s *Server) handleTaken(ctx context.Context, u *work.Unit, programID, handle string) error {
	held, err := queries.TrackingValueGet(ctx, u.DB(), db.TrackingValueGetParams{ProgramID: programID, OrgID: u.OrgID, Value: handle})
	if err != nil {
		return err
	}
	return s.heldBy(ctx, u, held)
}

func (s *Server) heldBy(ctx context.Context, u *work.Unit, held db.TrackingValue) error {
	if held.LinkID != nil {
		link, err := queries.LinkAny(ctx, u.DB(), db.LinkAnyParams{ID: *held.LinkID, OrgID: u.OrgID})
		if err != nil {
			return err
		}
		return problem.Taken(problem.PartnerHandleTaken, "handle", link, "A link of the program has this handle as its value.")
	}
	partner, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: held.PartnerID, OrgID: u.OrgID})
	if err != nil {
		return err
	}
	return problem.Taken(problem.PartnerHandleTaken, "handle", partner, "Another partner of the program has, or had, this handle.")
}

// enter writes a new partner with its handle. Where another has taken the email
// or the handle since admit looked, a constraint makes the work run again.
func enter(ctx context.Context, u *work.Unit, p db.Partner) error {
	if _, err := queries.PartnerInsert(ctx, u.Later(), db.PartnerInsertParams{
		ID: p.ID, OrgID: p.OrgID, ProgramID: p.ProgramID, GroupID: p.GroupID, Email: p.Email, FirstName: p.FirstName,
		LastName: p.LastName, CompanyName: p.CompanyName, WebsiteURL: p.WebsiteURL, CountryCode: p.CountryCode, Handle: p.Handle,
		Status: p.Status, Metadata: p.Metadata, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}); err != nil {
		return err
	}
	if err := queries.PartnerUnsubscribesTake(ctx, u.Later(), db.PartnerUnsubscribesTakeParams{ProgramID: p.ProgramID, OrgID: p.OrgID, Email: p.Email, ID: p.ID}); err != nil {
		return err
	}
	u.Record("affiliate.created", event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: p.ID}, api.AffiliateCreatedData{
		PartnerID: p.ID, Email: p.Email, Handle: p.Handle, Status: api.PartnerCreateStatus(p.Status), GroupID: p.GroupID,
	})
	if err := claimHandle(ctx, u, p); err != nil || p.Status != string(api.PartnerStatusActive) {
		return err
	}
	return sequence.Welcome(ctx, u.Later(), p, u.Now)
}

// claimHandle takes the handle for the partner, which must be written before.
func claimHandle(ctx context.Context, u *work.Unit, p db.Partner) error {
	return queries.TrackingValueInsert(ctx, u.Later(), db.TrackingValueInsertParams{
		OrgID: p.OrgID, ProgramID: p.ProgramID, Value: p.Handle, Kind: "handle", PartnerID: p.ID,
	})
}
