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
	"rail/server/ident/slug"
	"rail/server/locale/plain"
	"rail/server/money/tax"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/outbound/sequence"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/event"
	"rail/server/work/metadata"

	"github.com/jackc/pgx/v5"
)

// Candidate is a prospective partner.
type Candidate struct {
	ProgramID string
	GroupID   *string // nil: the program's default group
	Email     string
	Handle    *string // nil: derived from the email

	FirstName, LastName, CompanyName, WebsiteURL, CountryCode *string

	Metadata   json.RawMessage
	ExternalID *string // the merchant's id

	// Set for applications from the join page.
	Source                     db.ApplicationSource // empty for the API
	LanguageCode, TermsVersion *string
	TermsAcceptedAt            *clock.Time
}

// Create adds a partner: active at once or, if pending, in the review queue.
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
		_, err = submit(ctx, u, p, c.Source, nil) // needed for an approval (decisions, 46)
	}
	return p, err
}

// inviteLife is the lifetime of an invitation link.
const inviteLife = 7 * 24 * time.Hour

// Invite adds an active partner as Create does, and mails it a link to the portal. Without mail there is no
// link.
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

// enterTaxed admits and writes a partner, and requests its tax form if the program requires one.
func enterTaxed(ctx context.Context, u *work.Unit, c Candidate, status db.PartnerStatus) (db.Partner, error) {
	n, err := admit(ctx, u, c, status)
	if err != nil {
		return n.Partner, err
	}
	// The form refers to the partner, so the partner's row comes first.
	if err := enter(ctx, u, n.Partner); err != nil || !n.owesTaxForm {
		return n.Partner, err
	}
	return n.Partner, tax.RequireFor(ctx, u.Later(), n.Partner, u.Now)
}

// newcomer is an admitted partner that is not written yet.
type newcomer struct {
	db.Partner
	owesTaxForm bool // the program requires a tax form
}

// clean removes invisible characters from the names, and refuses forbidden names, addresses and languages.
func (c *Candidate) clean() error {
	if !plain.Addressed(c.Email) {
		return problem.Invalid("email", "email has an invisible character.")
	}
	if err := checkLanguage(c.LanguageCode); err != nil {
		return err
	}
	plain.Names(&c.FirstName, &c.LastName, &c.CompanyName)
	return checkNames(db.Partner{
		Email: c.Email, Handle: opt.Value(c.Handle), FirstName: c.FirstName, LastName: c.LastName, CompanyName: c.CompanyName,
	})
}

// admit reads everything in one round trip and refuses candidates that may not enter. The lock on the stem,
// taken first, serializes candidates that derive the same handle, so that each sees the handles taken before.
func admit(ctx context.Context, u *work.Unit, c Candidate, status db.PartnerStatus) (newcomer, error) {
	if err := c.clean(); err != nil {
		return newcomer{}, err
	}
	var prog db.Program
	var group db.Group
	var existing, namesake db.Partner
	var taken []string
	// A derived handle may get a suffix; a requested one is used as it is.
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
	// "No row" is a valid result of these reads, handled one by one below.
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
	if err := checkAdmission(prog, group, c.CountryCode); err != nil {
		return newcomer{}, err
	}
	// A partner with the email exists.
	if errs[3] == nil {
		return newcomer{}, emailTaken(existing)
	}
	if errs[5] == nil && c.ExternalID != nil {
		return newcomer{}, externalIDTaken(namesake)
	}
	// Found under the lock on the stem, so that the answer can name the holder; the index handles a race with a
	// link's value.
	if c.Handle != nil && slices.Contains(taken, stem) {
		return newcomer{}, handleTaken(ctx, u, program, stem)
	}
	p := c.partner(u, status)
	p.GroupID, p.Handle = &group.ID, slug.Unused(stem, handleMax, taken)
	return newcomer{p, prog.RequireTaxForms}, nil
}

// partner returns the candidate's row, without its group and handle. All three mails
// are on by default.
func (c Candidate) partner(u *work.Unit, status db.PartnerStatus) db.Partner {
	return db.Partner{
		ID:                 u.NewID(ident.Partner),
		OrgID:              u.OrgID,
		ProgramID:          c.ProgramID,
		Email:              c.Email,
		FirstName:          c.FirstName,
		LastName:           c.LastName,
		CompanyName:        c.CompanyName,
		WebsiteURL:         c.WebsiteURL,
		CountryCode:        c.CountryCode,
		LanguageCode:       c.LanguageCode,
		TermsAcceptedAt:    c.TermsAcceptedAt,
		TermsVersion:       c.TermsVersion,
		Status:             status,
		EmailFirstReferral: true,
		EmailNewReferral:   true,
		EmailPayoutPaid:    true,
		OnLeaderboard:      true,
		Metadata:           metadata.Stored(c.Metadata),
		ExternalID:         c.ExternalID,
		CreatedAt:          u.Now,
		UpdatedAt:          u.Now,
	}
}

// entryGroup returns the candidate's group, or the program's default, which always exists.
func entryGroup(ctx context.Context, tx pgtx.DBTX, org string, c Candidate) (db.Group, error) {
	if c.GroupID != nil {
		return queries.GroupGet(ctx, tx, db.GroupGetParams{ID: *c.GroupID, OrgID: org})
	}
	return queries.GroupDefault(ctx, tx, db.GroupDefaultParams{ProgramID: c.ProgramID, OrgID: org})
}

// checkAdmission refuses another program's group, a blocked country (decisions, 40) and a paused program (37).
// The program comes last, so that errors in the body are reported even while it is paused.
func checkAdmission(prog db.Program, group db.Group, country *string) error {
	if err := work.SameProgram(group.ProgramID, prog.ID, "group_id"); err != nil {
		return err
	}
	if country != nil && slices.Contains(prog.BlockedCountries, *country) {
		return problem.On("country_code", problem.CountryBlocked, "The program does not accept partners from %s.", *country)
	}
	if prog.Status == db.ProgramStatusPaused {
		return problem.New(problem.ProgramPaused, "The program is paused; it accepts no new partners.")
	}
	return nil
}

// emailTaken returns the conflict with the partner that has the email.
func emailTaken(existing db.Partner) error {
	return problem.Taken(problem.PartnerEmailTaken, "email", existing, "A partner with this email exists in the program.")
}

// byExternalID returns the partner with an external id; no row for nil.
func byExternalID(ctx context.Context, tx pgtx.DBTX, org, program string, id *string) (db.Partner, error) {
	if id == nil {
		return db.Partner{}, pgx.ErrNoRows
	}
	return queries.PartnerByExternalID(ctx, tx, db.PartnerByExternalIDParams{
		ProgramID: program, OrgID: org, ExternalID: *id,
	})
}

// externalIDTaken returns the conflict with the partner that has the external id.
func externalIDTaken(existing db.Partner) error {
	return problem.Taken(problem.PartnerExternalIDTaken, "external_id", existing,
		"A partner with this external id exists in the program.")
}

// enter writes a new partner with its handle. If another request took the email or the handle after admit's
// reads, a unique constraint fails the commit and the work runs again, which then refuses.
func enter(ctx context.Context, u *work.Unit, p db.Partner) error {
	if err := insert(ctx, u, p); err != nil || p.Status != db.PartnerStatusActive {
		return err
	}
	return sequence.EnrolApproved(ctx, u.Later(), p, u.Now)
}

// Import writes a partner of another product with its handle, which must be free. A pending one gets an application, by
// which a person decides. No email is sent.
func Import(ctx context.Context, u *work.Unit, p db.Partner) error {
	if err := insert(ctx, u, p); err != nil || p.Status != db.PartnerStatusPending {
		return err
	}
	return ImportApplication(ctx, u, p)
}

// ImportApplication writes the application of an imported partner who is pending.
func ImportApplication(ctx context.Context, u *work.Unit, p db.Partner) error {
	_, err := submit(ctx, u, p, db.ApplicationSourceImport, nil)
	return err
}

// insert writes a new partner with its handle.
func insert(ctx context.Context, u *work.Unit, p db.Partner) error {
	if _, err := queries.PartnerInsert(ctx, u.Later(), db.PartnerInsertParams(p)); err != nil {
		return err
	}
	// A deleted partner's unsubscription still applies.
	take := db.PartnerUnsubscribesRestoreParams{ProgramID: p.ProgramID, OrgID: p.OrgID, Email: p.Email, ID: p.ID}
	if err := queries.PartnerUnsubscribesRestore(ctx, u.Later(), take); err != nil {
		return err
	}
	about := event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: p.ID}
	u.Record(about, events.AffiliateCreated(api.AffiliateCreatedData{
		PartnerID: p.ID, Email: p.Email, Handle: p.Handle, Status: api.PartnerCreateStatus(p.Status),
		GroupID: p.GroupID,
	}))
	return claimHandle(ctx, u, p)
}
