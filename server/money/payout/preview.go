package payout

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// Outcome is what a batch makes of what a partner is due in a currency.
type Outcome string

// What is paid; what fails a check; what waits for the next month, since this one has a
// payout already; and what comes to nothing or less.
const (
	Pays        Outcome = "payout"
	NotEligible Outcome = "not_eligible"
	NextMonth   Outcome = "next_month"
	Carried     Outcome = "nothing_due"
)

// previewed is how many partners a preview looks at. Those of a page cost four short reads.
const previewed = 40 * pageSize

// Preview is what a batch would do.
type Preview struct {
	PeriodEnd, DueAt clock.Time
	BatchID          *string // the month's batch, if there is one
	Partners         int
	Partial          bool // there are more partners than a preview looks at
	Totals           []Total
	Lines            []Line
	More             bool // more lines follow
}

// Total sums up lines that are alike.
type Total struct {
	Kind
	Payouts, AmountMinor int64
}

// Kind is what the lines of a total have in common. Reason and Method may be empty.
type Kind struct {
	Outcome                  Outcome
	Currency, Method, Reason string
}

// Line is what a batch would make of what one partner is due in one currency.
type Line struct {
	Kind
	Partner     db.Partner
	AmountMinor int64
	Commissions int
	Text        string // why it would not be paid
	// DetailsChangedAt is when the payout details changed, if the partner was not paid since.
	DetailsChangedAt *clock.Time
}

// Window narrows the lines of a preview: the first Limit partners that follow After, and
// only lines of one outcome unless it is empty.
type Window struct {
	After   string
	Limit   int
	Outcome Outcome
}

// PreviewIn says what GenerateIn would do, by the same checks, and changes nothing.
func PreviewIn(ctx context.Context, u *work.Unit, programID string, o Order, w Window) (p Preview, err error) {
	o.Program, err = queries.ProgramGet(ctx, u.DB(), db.ProgramGetParams{ID: programID, OrgID: u.OrgID})
	if err != nil {
		return p, work.Found(err, "program_id")
	}
	if err := o.check(ctx, u); err != nil {
		return p, err
	}
	if err := u.Check(ctx, programID, work.PartnerRef("starting_after", opt.OrNil(w.After))); err != nil {
		return p, err
	}
	p.PeriodEnd, p.DueAt = o.PeriodEnd, o.dueAt()
	b, err := queries.BatchOfMonth(ctx, u.DB(), db.BatchOfMonthParams{
		ProgramID: programID, OrgID: u.OrgID, PeriodMonth: o.month(),
	})
	switch {
	case err == nil:
		p.BatchID = &b.ID
	case !errors.Is(err, pgx.ErrNoRows):
		return p, err
	}
	return p, o.preview(ctx, u, w, &p)
}

// preview goes through the partners, a page at a time.
func (o Order) preview(ctx context.Context, u *work.Unit, w Window, p *Preview) error {
	sums, shown := map[Kind]Total{}, map[string]bool{}
	for after, more := "", true; more; {
		partners, err := queries.PreviewPartners(ctx, u.DB(), db.PreviewPartnersParams{
			ProgramID: o.Program.ID, OrgID: u.OrgID, After: after, PartnerID: o.PartnerID, GroupID: o.GroupID,
			PeriodEnd: &o.PeriodEnd, Now: &u.Now, Lim: pageSize + 1,
		})
		if err != nil {
			return err
		}
		more = len(partners) > pageSize
		partners = partners[:min(len(partners), pageSize)]
		if p.Partners += len(partners); p.Partners >= previewed {
			p.Partial, more = more, false
		}
		if len(partners) == 0 {
			break
		}
		after = partners[len(partners)-1].ID
		page, err := o.look(ctx, u, partners)
		if err != nil {
			return err
		}
		for _, d := range page.due {
			line := page.line(d)
			sums[line.Kind] = sums[line.Kind].with(line)
			p.show(line, w, shown)
		}
	}
	p.Totals = slices.SortedFunc(maps.Values(sums), inOrder)
	return nil
}

// look reads what decides on the partners, as read does, but moves and locks nothing.
func (o Order) look(ctx context.Context, u *work.Unit, partners []db.Partner) (page, error) {
	p, ids := o.empty(partners)
	var due []db.PreviewCommissionsRow
	var present []db.Payout
	program, org, first, last := o.Program.ID, u.OrgID, ids[0], ids[len(ids)-1]
	err := u.Together(ctx, append(p.checks(ctx, u, ids),
		func(tx pgtx.DBTX) (err error) {
			due, err = queries.PreviewCommissions(ctx, tx, db.PreviewCommissionsParams{
				ProgramID: program, OrgID: org, FirstID: first, LastID: last, PartnerIds: ids, PeriodEnd: &o.PeriodEnd, Now: &u.Now,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			present, err = queries.PreviewPayouts(ctx, tx, db.PreviewPayoutsParams{
				ProgramID: program, OrgID: org, FirstID: first, LastID: last, PartnerIds: ids, PeriodMonth: o.month(),
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) { p.changed, err = DetailsChanged(ctx, tx, org, ids); return err })...)
	for _, d := range due {
		p.due = append(p.due, db.BatchCommissionsRow(d))
	}
	p.keep(present)
	return *p, err
}

// line is what becomes of what a partner is due in a currency.
func (p page) line(d db.BatchCommissionsRow) Line {
	partner := p.partners[d.PartnerID]
	outcome, reason, text := p.outcome(d)
	line := Line{
		Kind: Kind{
			Outcome: outcome, Currency: d.Currency, Method: opt.Value(partner.PayoutMethod), Reason: reason,
		},
		Partner: partner, AmountMinor: d.AmountMinor, Commissions: len(d.Ids), Text: text,
	}
	if at, ok := p.changed[d.PartnerID]; ok {
		line.DetailsChangedAt = &at
	}
	return line
}

// with adds a line to the total.
func (t Total) with(l Line) Total {
	return Total{Kind: l.Kind, Payouts: t.Payouts + 1, AmountMinor: t.AmountMinor + l.AmountMinor}
}

// inOrder sorts totals: what is paid first, then by what their lines have in common.
func inOrder(a, b Total) int {
	rank := []Outcome{Pays, NotEligible, NextMonth, Carried}
	return cmp.Or(
		cmp.Compare(slices.Index(rank, a.Outcome), slices.Index(rank, b.Outcome)),
		cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Reason, b.Reason),
	)
}

// show takes a line if it is one of those that were asked for; a partner's lines stay together.
func (p *Preview) show(l Line, w Window, shown map[string]bool) {
	switch {
	case l.Partner.ID <= w.After || w.Outcome != "" && l.Outcome != w.Outcome || p.More:
	case !shown[l.Partner.ID] && len(shown) == w.Limit:
		p.More = true
	default:
		shown[l.Partner.ID] = true
		p.Lines = append(p.Lines, l)
	}
}

// Next says what a batch would make of what one partner is due, by the same checks, and when
// it would be paid. The time of u is the end of the batch's period: what will have matured by
// then counts.
func Next(ctx context.Context, u *work.Unit, program db.Program, partner db.Partner) ([]Line, clock.Time, error) {
	o := Order{Program: program, PeriodEnd: u.Now, PartnerID: &partner.ID}
	page, err := o.look(ctx, u, []db.Partner{partner})
	lines := make([]Line, len(page.due))
	for i, d := range page.due {
		lines[i] = page.line(d)
	}
	return lines, o.dueAt(), err
}

// Least is the minimum of a payout to a partner, in the program's currency (decisions, 120).
func Least(program db.Program, partner db.Partner) int64 {
	if partner.MinPayoutMinor != nil {
		return *partner.MinPayoutMinor
	}
	return program.MinPayoutMinor
}
