package partner

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/locale/plain"
	"rail/server/money/tax"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/outbound/sequence"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/program/slug"
	"rail/server/work"
	"rail/server/work/event"
	"rail/server/work/metadata"

	"github.com/jackc/pgx/v5"
)

// Candidate is somebody who is to become a partner.
type Candidate struct {
	ProgramID string
	GroupID   *string // nil for the program's default group
	Email     string
	Handle    *string // nil for one that is derived from the email

	FirstName, LastName, CompanyName, WebsiteURL, CountryCode *string

	Metadata   json.RawMessage
	ExternalID *string // the merchant's own id

	// What the join page knows of who applies there.
	Source                     db.ApplicationSource // empty for the API
	LanguageCode, TermsVersion *string
	TermsAcceptedAt            *clock.Time
}

// Create adds a partner, at once or, as a pending one, to the review queue.
func Create(ctx context.Context, u *work.Unit, c Candidate, pending bool) (db.Partner, error) {
	if err := metadata.Check(c.Metadata, "metadata"); err != nil {
		return db.Partner{}, err
	}
	status := db.PartnerStatusActive
	if pending {
		status = db.PartnerStatusPending
	}
	p, err := enterTaxed(ctx, u, c, status)
	if err != nil {
		return p, err
	}
	if pending {
		_, err = submit(ctx, u, p, c.Source, nil) // without it nobody could approve the partner (decisions, 46)
	}
	return p, err
}

// inviteLife is how long the link of an invitation works.
const inviteLife = 7 * 24 * time.Hour

// Invite adds a partner as Create does, active at once, and mails it a link into the portal.
// Without a way to send mails there is no link either.
func (s *Service) Invite(ctx context.Context, u *work.Unit, c Candidate) (db.Partner, error) {
	p, err := Create(ctx, u, c, false)
	if err != nil || !s.Mail.Ready() {
		return p, err
	}
	prog, err := u.Program(ctx, p.ProgramID)
	if err != nil {
		return p, err
	}
	token, err := newLink(ctx, u.Later(), MailMark, p, u.Now, inviteLife)
	if err != nil {
		return p, err
	}
	return p, s.Mail.Queue(ctx, u.Later(), p.OrgID, mail.Invited(mail.ToPartner(p, prog, ""), p.ID, token), u.Now)
}

// enterTaxed admits and writes a partner, and asks for its tax form if the
// program requires one.
func enterTaxed(ctx context.Context, u *work.Unit, c Candidate, status db.PartnerStatus) (db.Partner, error) {
	n, err := admit(ctx, u, c, status)
	if err != nil {
		return n.Partner, err
	}
	// The form refers to the partner, so it is asked for after the partner's row.
	if err := enter(ctx, u, n.Partner); err != nil || !n.owesTaxForm {
		return n.Partner, err
	}
	return n.Partner, tax.AskOne(ctx, u.Later(), n.Partner, u.Now)
}

// newcomer is a partner who was admitted but is not written yet.
type newcomer struct {
	db.Partner
	owesTaxForm bool // the program wants a form of every partner
}

// clean takes invisible characters out of the names, and refuses names and addresses that
// no partner may have.
func (c *Candidate) clean() error {
	if !plain.Addressed(c.Email) {
		return problem.Invalid("email", "email has an invisible character.")
	}
	plain.Names(&c.FirstName, &c.LastName, &c.CompanyName)
	return checkNames(db.Partner{
		Email: c.Email, Handle: opt.Value(c.Handle), FirstName: c.FirstName, LastName: c.LastName, CompanyName: c.CompanyName,
	})
}

// admit looks everything up in one round trip and refuses who may not enter. The
// lock on the stem, got first, makes those who derive the same handle take turns,
// so that each sees the handles taken before it.
func admit(ctx context.Context, u *work.Unit, c Candidate, status db.PartnerStatus) (newcomer, error) {
	if err := c.clean(); err != nil {
		return newcomer{}, err
	}
	var prog db.Program
	var group db.Group
	var existing, namesake db.Partner
	var taken []string
	// A derived handle may get a suffix; one that was asked for is taken as it is.
	stem, pattern := handleStem(c.Email), handlePattern(handleStem(c.Email))
	if c.Handle != nil {
		stem, pattern = *c.Handle, *c.Handle
	}
	program, org := c.ProgramID, u.OrgID
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) error {
			return queries.TrackingStemLock(ctx, tx, db.TrackingStemLockParams{ProgramID: program, Stem: stem})
		},
		func(tx pgtx.DBTX) (err error) {
			prog, err = queries.ProgramGet(ctx, tx, db.ProgramGetParams{ID: program, OrgID: org})
			return err
		},
		func(tx pgtx.DBTX) (err error) { group, err = entryGroup(ctx, tx, org, c); return err },
		func(tx pgtx.DBTX) (err error) {
			existing, err = queries.PartnerByEmail(ctx, tx, db.PartnerByEmailParams{
				ProgramID: program, OrgID: org, Email: c.Email,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			taken, err = queries.TrackingValuesTaken(ctx, tx, db.TrackingValuesTakenParams{
				ProgramID: program, OrgID: org, Stem: stem, Pattern: pattern,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			namesake, err = byExternalID(ctx, tx, org, program, c.ExternalID)
			return err
		})
	// "No row" of a read is an answer here, and looked at one by one below.
	if err := pgtx.First(errs); err != nil {
		return newcomer{}, err
	}
	if err := work.Found(errs[1], "program_id"); err != nil {
		return newcomer{}, err
	}
	if err := work.Found(errs[2], "group_id"); err != nil {
		return newcomer{}, err
	}
	c.CountryCode = opt.Upper(c.CountryCode)
	if err := mayEnter(prog, group, c.CountryCode); err != nil {
		return newcomer{}, err
	}
	// Found: somebody has the email already.
	if errs[3] == nil {
		return newcomer{}, emailTaken(existing)
	}
	if errs[5] == nil && c.ExternalID != nil {
		return newcomer{}, externalIDTaken(namesake)
	}
	// Found with the lock on the stem, so that the answer can name who has it; a race
	// with a link's value is left to the index.
	if c.Handle != nil && slices.Contains(taken, stem) {
		return newcomer{}, handleTaken(ctx, u, program, stem)
	}
	// All three mails are on until the partner turns them off.
	p := db.Partner{
		ID: ident.New(ident.Partner), OrgID: org, ProgramID: program, GroupID: &group.ID, Email: c.Email,
		FirstName: c.FirstName, LastName: c.LastName, CompanyName: c.CompanyName, WebsiteURL: c.WebsiteURL,
		CountryCode: c.CountryCode, LanguageCode: c.LanguageCode, TermsAcceptedAt: c.TermsAcceptedAt,
		TermsVersion: c.TermsVersion, Handle: slug.Unused(stem, handleMax, taken), Status: status,
		EmailFirstReferral: true, EmailNewReferral: true, EmailPayoutPaid: true, Metadata: metadata.Stored(c.Metadata),
		ExternalID: c.ExternalID,
		CreatedAt:  u.Now, UpdatedAt: u.Now,
	}
	return newcomer{p, prog.RequireTaxForms}, nil
}

// entryGroup returns the group that the candidate names, or the program's default.
// A program always has a default group.
func entryGroup(ctx context.Context, tx pgtx.DBTX, org string, c Candidate) (db.Group, error) {
	if c.GroupID != nil {
		return queries.GroupGet(ctx, tx, db.GroupGetParams{ID: *c.GroupID, OrgID: org})
	}
	return queries.GroupDefault(ctx, tx, db.GroupDefaultParams{ProgramID: c.ProgramID, OrgID: org})
}

// mayEnter refuses another program's group, a blocked country (decisions, 40)
// and a paused program (37).
// The program is checked last, so that a mistake in the body is reported even while
// the program is paused.
func mayEnter(prog db.Program, group db.Group, country *string) error {
	if err := work.SameProgram(group.ProgramID, prog.ID, "group_id"); err != nil {
		return err
	}
	if country != nil && slices.Contains(prog.BlockedCountries, *country) {
		return problem.On("country_code", problem.CountryBlocked, "The program does not accept partners from %s.", *country)
	}
	if prog.Status == db.ProgramStatusPaused {
		return problem.New(problem.ProgramPaused, "The program is paused; it takes no new partners.")
	}
	return nil
}

// emailTaken returns the conflict, with the partner who has the email.
func emailTaken(existing db.Partner) error {
	return problem.Taken(problem.PartnerEmailTaken, "email", existing, "A partner with this email exists in the program.")
}

// byExternalID returns the partner with an external id, if there is one; no row for nil.
func byExternalID(ctx context.Context, tx pgtx.DBTX, org, program string, id *string) (db.Partner, error) {
	if id == nil {
		return db.Partner{}, pgx.ErrNoRows
	}
	return queries.PartnerByExternalID(ctx, tx, db.PartnerByExternalIDParams{
		ProgramID: program, OrgID: org, ExternalID: *id,
	})
}

// externalIDTaken returns the conflict, with the partner who has the external id.
func externalIDTaken(existing db.Partner) error {
	return problem.Taken(problem.PartnerExternalIDTaken, "external_id", existing,
		"A partner with this external id exists in the program.")
}

// enter writes a new partner with its handle. If another request has taken the
// email or the handle since admit looked, a unique constraint fails the commit
// and the work runs again, which then refuses.
func enter(ctx context.Context, u *work.Unit, p db.Partner) error {
	if _, err := queries.PartnerInsert(ctx, u.Later(), db.PartnerInsertParams(p)); err != nil {
		return err
	}
	// Whoever unsubscribed before being deleted stays unsubscribed.
	take := db.PartnerUnsubscribesTakeParams{ProgramID: p.ProgramID, OrgID: p.OrgID, Email: p.Email, ID: p.ID}
	if err := queries.PartnerUnsubscribesTake(ctx, u.Later(), take); err != nil {
		return err
	}
	about := event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: p.ID}
	u.Record(about, events.AffiliateCreated(api.AffiliateCreatedData{
		PartnerID: p.ID, Email: p.Email, Handle: p.Handle, Status: api.PartnerCreateStatus(p.Status),
		GroupID: p.GroupID,
	}))
	if err := claimHandle(ctx, u, p); err != nil || p.Status != db.PartnerStatusActive {
		return err
	}
	return sequence.Welcome(ctx, u.Later(), p, u.Now)
}
