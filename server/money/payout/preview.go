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

// Outcome is the decision of a batch on the amount due to a partner in a currency.
type Outcome string

// The amount is paid, fails a check, waits for the next month since this one has a payout already, or is zero or
// less.
const (
	Pays        Outcome = "payout"
	NotEligible Outcome = "not_eligible"
	NextMonth   Outcome = "next_month"
	Carried     Outcome = "nothing_due"
)

// maxPreviewed bounds the partners of a preview. The partners of a page cost four short reads.
const maxPreviewed = 40 * pageSize

// Preview is the expected result of a batch.
type Preview struct {
	PeriodEnd, DueAt clock.Time
	BatchID          *string // the month's batch, if there is one
	Partners         int
	Partial          bool // there are more partners than maxPreviewed
	Totals           []Total
	Lines            []Line
	More             bool // more lines follow
}

// Total sums lines of one kind.
type Total struct {
	Kind
	Payouts, AmountMinor int64
}

// Kind is shared by the lines of a total. Reason and Method may be empty.
type Kind struct {
	Outcome                  Outcome
	Currency, Method, Reason string
}

// Line is the expected outcome for one partner in one currency.
type Line struct {
	Kind
	Partner     db.Partner
	AmountMinor int64
	Commissions int
	Text        string // the reason in words
	// DetailsChangedAt is when the payout details changed, if that was after the last payout.
	DetailsChangedAt *clock.Time
}

// Window selects the lines of a preview: the first Limit partners after After, and only one Outcome unless it is
// empty.
type Window struct {
	After   string
	Limit   int
	Outcome Outcome
}

// PreviewIn returns the expected result of GenerateIn, by the same checks, and changes nothing.
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
		if p.Partners += len(partners); p.Partners >= maxPreviewed {
			p.Partial, more = more, false
		}
		if len(partners) == 0 {
			break
		}
		after = partners[len(partners)-1].ID
		page, err := o.readPreview(ctx, u, partners)
		if err != nil {
			return err
		}
		for _, d := range page.due {
			line := page.line(d)
			sums[line.Kind] = sums[line.Kind].with(line)
			p.show(line, w, shown)
		}
	}
	p.Totals = slices.SortedFunc(maps.Values(sums), compareTotals)
	return nil
}

// readPreview reads everything that decides on the partners, as read does, but moves and locks nothing.
func (o Order) readPreview(ctx context.Context, u *work.Unit, partners []db.Partner) (page, error) {
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
	p.setPresent(present)
	return *p, err
}

// line returns the outcome of the amount due to a partner in a currency.
func (p page) line(d db.BatchCommissionsRow) Line {
	partner := p.partners[d.PartnerID]
	outcome, reason, text := p.outcome(d)
	line := Line{
		Kind: Kind{
			Outcome: outcome, Currency: d.Currency, Method: opt.Value(partner.PayoutMethod), Reason: reason,
		},
		Partner: partner, AmountMinor: d.AmountMinor, Commissions: int(d.Commissions), Text: text,
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

// compareTotals sorts totals: paid ones first, then by kind.
func compareTotals(a, b Total) int {
	rank := []Outcome{Pays, NotEligible, NextMonth, Carried}
	return cmp.Or(
		cmp.Compare(slices.Index(rank, a.Outcome), slices.Index(rank, b.Outcome)),
		cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Reason, b.Reason),
	)
}

// show adds a line if the window includes it; a partner's lines stay together.
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

// Next returns the expected payouts of one partner and when they would be paid, by the same checks. The time of
// u is the end of the batch's period: commissions that mature by then count.
func Next(ctx context.Context, u *work.Unit, program db.Program, partner db.Partner) ([]Line, clock.Time, error) {
	o := Order{Program: program, PeriodEnd: u.Now, PartnerID: &partner.ID}
	page, err := o.readPreview(ctx, u, []db.Partner{partner})
	lines := make([]Line, len(page.due))
	for i, d := range page.due {
		lines[i] = page.line(d)
	}
	return lines, o.dueAt(), err
}
