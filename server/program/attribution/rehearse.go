package attribution

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/sale"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/customer"
	"rail/server/work"
)

var queries = db.New()

const (
	// maxCustomers and maxTime bound one rehearsal.
	maxCustomers = 100_000
	maxTime      = 10 * time.Second
	// customersPage and salesPage are how many rows are in memory at a time, each with up to 32 kB of metadata.
	customersPage = 200
	salesPage     = 500
	// maxChanges and maxPartners bound the lists of a result.
	maxChanges  = 100
	maxPartners = 500
)

// Service rehearses attribution.
type Service struct {
	Customers customer.Service
}

// Change is a change to the settings; nil members stay.
type Change struct {
	Model                             *db.AttributionModel
	CookieDays                        *int64
	CouponBeatsLink, IgnoreLateClicks *bool
}

// Present returns the settings of a program.
func Present(p db.Program) Settings {
	return Settings{
		Model: p.AttributionModel, CouponBeatsLink: p.CouponBeatsLink, IgnoreLateClicks: p.IgnoreLateClicks,
	}
}

// apply returns the changed settings.
func (c Change) apply(s Settings) Settings {
	opt.Change(&s.Model, c.Model)
	opt.Change(&s.CouponBeatsLink, c.CouponBeatsLink)
	opt.Change(&s.IgnoreLateClicks, c.IgnoreLateClicks)
	s.CookieDays = c.CookieDays
	return s
}

// Rehearsal compares the partners of customers with those whom other settings would have credited.
type Rehearsal struct {
	Program            db.Program
	Since              clock.Time
	After              Settings
	Customers, Changed int64
	Undecided          int64
	Complete           bool        // no customer was left out
	ClicksSince        *clock.Time // all clicks since then are stored; nil for all
	OtherCurrency      int64       // sales in other currencies, without amounts here
	PartnersChanged    int64
	Partners           []Partner // for whom something changes, the largest difference first
	Changes            []Moved   // the latest customers with another partner
}

// Rehearse decides again about the customers of a program who signed up in the last days. It reads outside of any
// transaction and changes nothing.
func (s Service) Rehearse(
	ctx context.Context, u *work.Unit, programID string, days int64, c Change,
) (Rehearsal, error) {
	end, err := sale.BeginRehearsal(ctx)
	if err != nil {
		return Rehearsal{}, err
	}
	defer end()
	p, err := s.begin(ctx, u.Outside(), programID, days, c)
	if err != nil {
		return Rehearsal{}, err
	}
	looking, stop := context.WithTimeout(ctx, maxTime)
	defer stop()
	err = p.run(looking)
	if ctx.Err() == nil && looking.Err() != nil { // only the rehearsal's time is up: the customers so far count
		err = nil
	}
	p.out.Partners, p.out.PartnersChanged = p.sums.changed(p.partners)
	return p.out, err
}

// preview is a running rehearsal.
type preview struct {
	u        *work.Unit
	program  db.Program
	of       customer.Service
	before   Settings
	past     *sale.Past
	partners map[string]partner // each read once
	sums     sums
	out      Rehearsal
}

// begin checks the size of the rehearsal and reads the program and its flows.
func (s Service) begin(ctx context.Context, u *work.Unit, programID string, days int64, c Change) (*preview, error) {
	program, err := u.Program(ctx, programID)
	if err != nil {
		return nil, err
	}
	p := &preview{
		u: u, program: program, of: s.Customers, before: Present(program), partners: map[string]partner{}, sums: sums{},
		out: Rehearsal{Program: program, Since: u.Now.Days(-days), After: c.apply(Present(program))},
	}
	total, err := queries.RehearsalTotal(ctx, u.DB(), db.RehearsalTotalParams{
		ProgramID: programID, OrgID: u.OrgID, Since: p.out.Since, Until: u.Now, Lim: maxCustomers + 1,
	})
	if err != nil {
		return nil, err
	}
	if total > maxCustomers {
		return nil, problem.Invalid("days", "More than %d customers signed up in these days; choose fewer days.",
			maxCustomers)
	}
	since, err := queries.ClicksSince(ctx, u.DB(), db.ClicksSinceParams{ProgramID: programID, OrgID: u.OrgID})
	switch {
	case err == nil:
		p.out.ClicksSince = &since
	case !errors.Is(err, pgx.ErrNoRows):
		return nil, err
	}
	p.past, err = sale.NewPast(ctx, u, program)
	return p, err
}

// run decides about the customers page by page, the latest first.
func (p *preview) run(ctx context.Context) error {
	at := db.RehearsalCustomersParams{
		ProgramID: p.program.ID, OrgID: p.u.OrgID, Since: p.out.Since, BeforeAt: p.u.Now, BeforeID: beyond,
		Lim: customersPage,
	}
	for {
		rows, err := queries.RehearsalCustomers(ctx, p.u.DB(), at)
		if err != nil {
			return err
		}
		if err := p.decidePage(ctx, rows); err != nil {
			return err
		}
		if len(rows) < customersPage {
			p.out.Complete = true
			return nil
		}
		last := rows[len(rows)-1].Customer
		at.BeforeAt, at.BeforeID = last.LeadAt, last.ID
	}
}

// beyond is behind every id.
const beyond = "~"

// decidePage decides about a page of customers, and adds it to the result as a whole.
func (p *preview) decidePage(ctx context.Context, rows []db.RehearsalCustomersRow) error {
	page, err := p.gather(ctx, rows)
	if err != nil {
		return err
	}
	var ids []string
	for i := range page {
		ids = append(ids, page[i].candidates()...)
	}
	if err := p.loadPartners(ctx, ids); err != nil {
		return err
	}
	moves := make([]*move, len(page))
	for i := range page {
		moves[i] = p.decide(&page[i])
	}
	if err := p.price(ctx, moves); err != nil {
		return err
	}
	for _, m := range moves {
		p.add(m)
	}
	return nil
}

// decide decides about a customer.
func (p *preview) decide(e *evidence) *move {
	k := e.Customer
	m := &move{customer: k, after: Outcome{PartnerID: opt.Value(k.PartnerID)}}
	if e.fixed() {
		return m
	}
	h := p.history(e)
	if m.undecided = p.lacks(e, h); m.undecided {
		return m
	}
	if after := h.Decide(p.out.After); after.PartnerID != m.after.PartnerID {
		m.after, m.changed = after, true
	}
	return m
}

// lacks reports whether the evidence about a customer is not complete: it was merged, or clicks may be missing. A
// customer without a partner must have none under the present settings: another rule may have refused its route.
func (p *preview) lacks(e *evidence, h History) bool {
	if e.Merged || e.crowded() {
		return true
	}
	if e.Customer.PartnerID == nil && h.Decide(p.before).PartnerID != "" {
		return true
	}
	if h.ClickID == "" && h.ReferralID == "" { // only coupons
		return false
	}
	_, clicked := h.Touches.Click(h.ClickID)
	_, visited := h.Touches.Referral(h.ReferralID)
	if h.ClickID != "" && !clicked || h.ClickID == "" && !visited {
		return true
	}
	days := max(p.program.CookieDays, opt.Value(p.out.After.CookieDays))
	return p.out.ClicksSince != nil && h.At.Days(-days).Before(p.out.ClicksSince.Time)
}
