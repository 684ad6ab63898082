package sale

import (
	"context"

	"rail/gen/db"
	"rail/server/money/commission"
	"rail/server/money/rules"
	"rail/server/work"
)

// newPast returns what decides on recorded sales of a program once more, under its flows as
// they are.
func newPast(ctx context.Context, u *work.Unit, p db.Program) (*play, error) {
	stored, err := queries.FlowsActive(ctx, u.DB(), db.FlowsActiveParams{
		ProgramID: p.ID, OrgID: u.OrgID, Trigger: rules.NewPayment,
	})
	if err != nil {
		return nil, err
	}
	flows, err := commission.Parse(stored)
	return &play{u: u, program: p, partners: map[string]*rules.PartnerCounters{}, before: flows, after: flows}, err
}

// pastSale is a recorded sale as if it were recorded now.
type pastSale struct {
	*recording
	sale db.Sale
}

// recordings returns recorded sales as if they were recorded now, with the counters that
// conditions ask for. A sale without a partner is read under partnerID, and left out
// where that is nil.
func (p *play) recordings(ctx context.Context, sales []db.Sale, partnerID *string) ([]pastSale, error) {
	ids := make([]string, len(sales))
	for i, s := range sales {
		ids[i] = s.ID
	}
	past, err := queries.SalesPast(ctx, p.u.DB(), db.SalesPastParams{PartnerID: partnerID, Ids: ids, OrgID: p.u.OrgID})
	if err != nil {
		return nil, err
	}
	rows := make([]db.SalesRehearsedRow, len(past))
	for i, row := range past {
		rows[i] = db.SalesRehearsedRow(row)
		if rows[i].Sale.PartnerID == nil {
			rows[i].Sale.PartnerID = partnerID
		}
	}
	counted, err := p.count(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := make([]pastSale, len(rows))
	for i, row := range rows {
		r := p.recording(row)
		r.flows = p.before
		if n, has := counted[row.Sale.ID]; has {
			r.facts.Customer.Counters = &n
		}
		r.facts.Partner.Counters = p.partners[r.facts.Partner.ID]
		out[i] = pastSale{&r, row.Sale}
	}
	return out, nil
}
