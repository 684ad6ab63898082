package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/inbound/importer/source"
	"rail/server/locale/currency"
)

// The bounds of amounts in minor units.
const (
	maxSale       = 999_999_999_999
	maxCommission = 99_999_999_999_999
)

func isNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// chargeID returns the id under which a sale of the source is stored.
func (b *batch) chargeID(r *row, s source.Sale) string {
	if s.ChargeID != "" && len(s.ChargeID) <= maxID {
		return s.ChargeID
	}
	return "import:" + b.m.Source + ":" + r.SourceID
}

// compareSales finds sales by their charge, or the same payment of a customer that Rail has recorded since.
func (b *batch) compareSales(ctx context.Context) error {
	var customerIDs, partnerIDs, charges, ids []string
	found := map[*row]source.Sale{}
	for _, r := range b.toWrite() {
		s, err := decode[source.Sale](r.Data)
		if bad := saleProblem(s, err); bad != "" {
			b.refuse(r, "out_of_bounds", bad)
			continue
		}
		found[r] = s
		customerIDs, partnerIDs = append(customerIDs, s.CustomerID), append(partnerIDs, s.PartnerID)
		charges, ids = append(charges, b.chargeID(r, s)), append(ids, r.SourceID)
	}
	customersByID, err := b.targets(ctx, customers, customerIDs)
	if err != nil {
		return err
	}
	creditedPartners, err := b.targets(ctx, partners, partnerIDs)
	if err != nil {
		return err
	}
	ofCustomers, err := b.partnersOfCustomers(ctx, customerIDs)
	if err != nil {
		return err
	}
	existing, err := b.existingSales(ctx, charges)
	if err != nil {
		return err
	}
	recorded, err := b.findRecorded(ctx, b.undecided(), found, customersByID, existing)
	if err != nil {
		return err
	}
	owners, err := b.claim(ctx, "charge", charges, ids)
	if err != nil {
		return err
	}
	for _, r := range b.toWrite() {
		s := found[r]
		charge := b.chargeID(r, s)
		r.refs.Customer, r.refs.Partner = customersByID[s.CustomerID], creditedPartners[s.PartnerID]
		if s.PartnerID == "" {
			r.refs.Partner = ofCustomers[s.CustomerID]
		}
		switch {
		case r.refs.Customer == "":
			b.refuseMissing(r, source.KindCustomer, s.CustomerID)
		case b.refuseOther(r), r.outcome == db.ImportRowOutcomeChanged:
		case owners[charge] != r.SourceID:
			b.refuse(r, "duplicate", fmt.Sprintf("The sale %q has the same charge %q.", owners[charge], charge))
		case existing[charge] != "":
			r.bind(existing[charge])
		case recorded[r.SourceID] != "":
			r.bind(recorded[r.SourceID])
			b.note(r, "recorded", fmt.Sprintf("Rail has this payment as the sale %s, with another id.", r.target))
		default:
			r.accept(b.u.NewID(ident.Sale))
		}
	}
	return b.firstSales(ctx)
}

// saleProblem returns why a sale cannot be stored, or "".
func saleProblem(s source.Sale, err error) string {
	switch {
	case err != nil:
		return "The sale cannot be read."
	case s.AmountMinor < 1 || s.AmountMinor > maxSale:
		return fmt.Sprintf("The amount %d is not between 1 and %d.", s.AmountMinor, int64(maxSale))
	case s.RefundedMinor < 0 || s.TaxMinor != nil && (*s.TaxMinor < 0 || *s.TaxMinor > s.AmountMinor):
		return "The tax or the refunded amount is not a part of the amount."
	case !currency.Valid(s.Currency):
		return fmt.Sprintf("%q is not a currency.", s.Currency)
	}
	return ""
}

// partnersOfCustomers returns the partner of each customer of the source.
func (b *batch) partnersOfCustomers(ctx context.Context, ids []string) (map[string]string, error) {
	rows, err := b.findRows(ctx, customers, ids)
	if err != nil {
		return nil, err
	}
	of := map[string]string{}
	var named []string
	for _, r := range rows {
		c, err := decode[source.Customer]([]byte(r.Data))
		if err == nil && r.Target != "" {
			of[r.SourceID], named = c.PartnerID, append(named, c.PartnerID)
		}
	}
	targets, err := b.targets(ctx, partners, named)
	for id, partner := range of {
		of[id] = targets[partner]
	}
	return of, err
}

// findRecorded finds payments that Rail has recorded itself: of the same customer and amount within an hour.
func (b *batch) findRecorded(ctx context.Context, rows []*row, found map[*row]source.Sale,
	customersByID, existing map[string]string) (map[string]string, error) {
	p := db.ImportDuplicateSalesParams{OrgID: b.m.OrgID}
	ids, used := map[string]string{}, map[string]bool{}
	var same, by []string // each payment of Rail is one payment of the source
	for _, id := range existing {
		used[id] = true
	}
	for _, r := range rows {
		s := found[r]
		if id := existing[b.chargeID(r, s)]; id != "" {
			same, by = append(same, id), append(by, r.SourceID)
			continue
		}
		p.SourceIds, p.CustomerIds = append(p.SourceIds, r.SourceID), append(p.CustomerIds, customersByID[s.CustomerID])
		p.Amounts, p.Currencies = append(p.Amounts, s.AmountMinor), append(p.Currencies, s.Currency)
		p.Ats = append(p.Ats, s.OccurredAt)
	}
	payments, err := queries.ImportDuplicateSales(ctx, b.u.Tx, p)
	for _, r := range payments { // the closest first
		if ids[r.SourceID] == "" && !used[r.ID] {
			ids[r.SourceID], used[r.ID] = r.ID, true
		}
	}
	if err != nil {
		return nil, err
	}
	for id, sale := range ids {
		same, by = append(same, sale), append(by, id)
	}
	only, err := b.claim(ctx, "payment", same, by)
	for id, sale := range ids {
		if only[sale] != id {
			delete(ids, id)
		}
	}
	return ids, err
}

// firstSales marks the first sale of each customer in the import. Rows are in the order of time. Writing the rows
// considers the sales that Rail has.
func (b *batch) firstSales(ctx context.Context) error {
	var of, ids []string
	for _, r := range b.rows {
		if r.outcome == db.ImportRowOutcomeNew {
			of, ids = append(of, r.refs.Customer), append(ids, r.SourceID)
		}
	}
	first, err := b.claim(ctx, "first_sale", of, ids)
	for _, r := range b.rows {
		r.refs.First = r.outcome == db.ImportRowOutcomeNew && first[r.refs.Customer] == r.SourceID
	}
	return err
}

// sourceCommission is a commission of the source with the sale in Rail that it refers to.
type sourceCommission struct {
	source.Commission
	sale linkedSale
}

// linkedSale is the sale of a commission.
type linkedSale struct {
	id, partner, customer string
	refunded              int64 // minor units
}

// compareCommissions finds the sale, customer and partner of each commission. A commission whose sale is missing, or is
// another partner's, is imported as a reward, so that no money is lost.
func (b *batch) compareCommissions(ctx context.Context) error {
	var of, saleIDs, customerIDs []string
	found := map[*row]*sourceCommission{}
	for _, r := range b.toWrite() {
		k, err := decode[source.Commission](r.Data)
		if bad := commissionProblem(k, err); bad != "" {
			b.refuse(r, "out_of_bounds", bad)
			continue
		}
		found[r] = &sourceCommission{Commission: k}
		of, saleIDs = append(of, k.PartnerID), append(saleIDs, k.SaleID)
		customerIDs = append(customerIDs, k.CustomerID)
	}
	targets, err := b.targets(ctx, partners, of)
	if err != nil {
		return err
	}
	customersByID, err := b.targets(ctx, customers, customerIDs)
	if err != nil {
		return err
	}
	sales, err := b.linkedSales(ctx, saleIDs)
	if err != nil {
		return err
	}
	for _, r := range b.toWrite() {
		k := found[r]
		r.refs.Partner, r.refs.Customer = targets[k.PartnerID], customersByID[k.CustomerID]
		k.sale = sales[k.SaleID]
		switch {
		case r.refs.Partner == "":
			b.refuseMissing(r, source.KindPartner, k.PartnerID)
		case b.refuseOther(r):
		case k.SaleID != "" && k.sale.id == "":
			b.note(r, "detached", fmt.Sprintf("Its sale %q is not imported; the commission becomes a reward.", k.SaleID))
		default:
			r.refs.Sale, r.refs.Refunded = k.sale.id, k.sale.refunded
			if r.refs.Customer == "" {
				r.refs.Customer = k.sale.customer
			}
		}
	}
	if err := b.decideByRule(ctx, found); err != nil {
		return err
	}
	return b.assignPayouts(ctx, found)
}

// commissionProblem returns why a commission cannot be stored, or "".
func commissionProblem(k source.Commission, err error) string {
	switch {
	case err != nil:
		return "The commission cannot be read."
	case k.AmountMinor == 0 || k.AmountMinor > maxCommission || k.AmountMinor < -maxCommission:
		return fmt.Sprintf("The amount %d is zero or too large.", k.AmountMinor)
	case !currency.Valid(k.Currency):
		return fmt.Sprintf("%q is not a currency.", k.Currency)
	}
	switch k.Status {
	case source.Open, source.Due, source.Paid, source.Voided, source.Rejected:
		return ""
	}
	return fmt.Sprintf("The status %q is not known.", k.Status)
}

// linkedSales returns the sales of the source by their ids: as planned, or as Rail has them.
func (b *batch) linkedSales(ctx context.Context, ids []string) (map[string]linkedSale, error) {
	ids, charges, err := b.byCharge(ctx, ids)
	if err != nil {
		return nil, err
	}
	rows, err := b.findRows(ctx, sales, ids)
	if err != nil {
		return nil, err
	}
	linked, in := map[string]linkedSale{}, []string{}
	for _, r := range rows {
		s, err := decode[source.Sale]([]byte(r.Data))
		if err != nil || r.Target == "" {
			continue
		}
		at := refsOf([]byte(r.Refs))
		linked[cmp.Or(charges[r.SourceID], r.SourceID)] = linkedSale{
			r.Target, at.Partner, at.Customer, min(s.RefundedMinor, s.AmountMinor),
		}
		in = append(in, r.Target)
	}
	stored, err := queries.ImportSalesOf(ctx, b.u.Tx, db.ImportSalesOfParams{Ids: in, OrgID: b.m.OrgID})
	if err != nil {
		return nil, err
	}
	for _, s := range stored { // a sale that Rail has decides
		for id, k := range linked {
			if k.id == s.ID {
				k.customer, k.refunded = s.CustomerID, max(k.refunded, s.RefundedMinor)
				if k.partner = ""; s.PartnerID != nil {
					k.partner = *s.PartnerID
				}
				linked[id] = k
			}
		}
	}
	return linked, nil
}

// byCharge replaces references to sales by the id of their charge, as files have them, by the ids of the sales. charges
// are the replaced ones.
func (b *batch) byCharge(ctx context.Context, refs []string) (ids []string, charges map[string]string, err error) {
	rows, err := queries.ImportKeys(ctx, b.u.Tx, db.ImportKeysParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, Kind: "charge", Keys: refs,
	})
	charges = map[string]string{}
	for _, k := range rows {
		if k.Key != k.SourceID {
			charges[k.SourceID] = k.Key
			ids = append(ids, k.SourceID)
		}
	}
	return append(ids, refs...), charges, err
}

// decideByRule decides which commission of a sale is the one by rule: the first one of the sale's partner and customer.
// A sale that Rail has a commission for keeps that one.
func (b *batch) decideByRule(ctx context.Context, found map[*row]*sourceCommission) error {
	var of, ids []string
	for _, r := range b.toWrite() {
		if k := found[r]; k.sale.id != "" && k.sale.partner == r.refs.Partner && k.AmountMinor > 0 &&
			k.sale.customer == r.refs.Customer {
			of, ids = append(of, k.sale.id), append(ids, r.SourceID)
		}
	}
	byRule, err := b.commissionsBySale(ctx, of)
	if err != nil {
		return err
	}
	owners, err := b.claim(ctx, "commission", of, ids)
	if err != nil {
		return err
	}
	claws, err := b.clawbacks(ctx, b.undecided(), found)
	for _, r := range b.toWrite() {
		k := found[r]
		existing, is := byRule[k.sale.id]
		switch {
		case r.outcome == db.ImportRowOutcomeChanged || k.sale.id == "":
		case is && !existing.Imported && owners[k.sale.id] == r.SourceID:
			r.bind(existing.ID)
			b.note(r, "recorded", fmt.Sprintf("Rail has the commission %s for this sale.", existing.ID))
			if k.Status == source.Paid && isOpen(db.Commission{Status: existing.Status}) {
				r.outcome = db.ImportRowOutcomeChanged // it must not be paid twice
			}
			continue
		case claws[r.SourceID].ID != "":
			r.bind(claws[r.SourceID].ID)
			if k.Status == source.Paid && isOpen(db.Commission{Status: claws[r.SourceID].Status}) {
				r.outcome = db.ImportRowOutcomeChanged // the source has deducted it
			}
			b.note(r, "recorded", fmt.Sprintf("Rail has deducted it by the commission %s.", r.target))
			continue
		default:
			r.refs.ByRule = !is && owners[k.sale.id] == r.SourceID
		}
		r.accept(b.u.NewID(ident.Commission))
	}
	return err
}

// commissionsBySale returns the commissions by rule of sales, by sale.
func (b *batch) commissionsBySale(ctx context.Context, saleIDs []string) (map[string]db.ImportSalesCreditedRow, error) {
	rows, err := queries.ImportSalesCredited(ctx, b.u.Tx, db.ImportSalesCreditedParams{
		SaleIds: saleIDs, OrgID: b.m.OrgID, Source: family(*b.m),
	})
	by := map[string]db.ImportSalesCreditedRow{}
	for _, k := range rows {
		by[k.SaleID] = k
	}
	return by, err
}

// clawbacks returns the deductions that Rail has made itself, by the ids of the negative commissions of the source. The
// sale, the partner and the amount of both are equal.
func (b *batch) clawbacks(ctx context.Context, open []*row,
	found map[*row]*sourceCommission) (map[string]db.ImportClawbacksRow, error) {
	var of []string
	for _, k := range found {
		if k.AmountMinor < 0 && k.sale.id != "" {
			of = append(of, k.sale.id)
		}
	}
	same := map[string]db.ImportClawbacksRow{}
	if len(of) == 0 {
		return same, nil
	}
	rows, err := queries.ImportClawbacks(ctx, b.u.Tx, db.ImportClawbacksParams{SaleIds: of, OrgID: b.m.OrgID})
	if err != nil {
		return nil, err
	}
	clawbackIDs := make([]string, len(rows))
	for i, c := range rows {
		clawbackIDs[i] = c.ID
	}
	keys, err := queries.ImportKeys(ctx, b.u.Tx, db.ImportKeysParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, Kind: "clawback", Keys: clawbackIDs,
	})
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(c db.ImportClawbacksRow) bool { // another batch has it
		return slices.ContainsFunc(keys, func(k db.ImportKeysRow) bool { return k.Key == c.ID })
	})
	var ids []string
	clawbackIDs = nil
	for _, r := range open {
		i := slices.IndexFunc(rows, func(c db.ImportClawbacksRow) bool {
			k := found[r]
			return c.SaleID == k.sale.id && c.PartnerID == r.refs.Partner && c.AmountMinor == k.AmountMinor
		})
		if i >= 0 {
			clawbackIDs, ids, same[r.SourceID] = append(clawbackIDs, rows[i].ID), append(ids, r.SourceID), rows[i]
			rows = slices.Delete(rows, i, i+1)
		}
	}
	_, err = b.claim(ctx, "clawback", clawbackIDs, ids)
	return same, err
}

// assignPayouts gives each paid commission its payout: that of the source if it names one, else one for each partner,
// currency and month.
func (b *batch) assignPayouts(ctx context.Context, found map[*row]*sourceCommission) error {
	if err := b.findPayouts(ctx, found); err != nil {
		return err
	}
	var named []string
	for _, k := range found {
		named = append(named, k.PayoutID)
	}
	listed, err := b.findRows(ctx, payouts, named)
	if err != nil {
		return err
	}
	existing := map[string]source.Payout{}
	for _, r := range listed {
		if p, err := decode[source.Payout]([]byte(r.Data)); err == nil {
			existing[r.SourceID] = p
		}
	}
	put := db.ImportPaymentsPutParams{ImportID: b.m.ID, OrgID: b.m.OrgID, ProgramID: b.m.ProgramID, Kind: payments}
	of := map[*row]string{}
	seen := map[string]bool{}
	for _, r := range b.toWrite() {
		k := found[r]
		if k.Status != source.Paid || paidBefore(r) {
			continue
		}
		id, p := b.payoutOf(r, k.Commission, existing)
		if of[r] = id; seen[id] {
			continue
		}
		seen[id] = true
		put.SourceIds, put.Ats = append(put.SourceIds, id), append(put.Ats, inMilliseconds(*p.PaidAt))
		put.Data, put.Targets = append(put.Data, string(encode(p))), append(put.Targets, b.u.NewID(ident.Payout))
		put.Refs = append(put.Refs, string(encode(refs{Partner: r.refs.Partner})))
	}
	rows, err := queries.ImportPaymentsPut(ctx, b.u.Tx, put)
	if err != nil {
		return err
	}
	targets := map[string]string{}
	for _, p := range rows {
		targets[p.SourceID] = p.Target
		if p.IsNew {
			b.counts.of(source.KindPayout).New++
		}
	}
	for r, id := range of {
		r.refs.Payout = targets[id]
	}
	return nil
}

// paidBefore reports whether an earlier import has seen that a commission is paid.
func paidBefore(r *row) bool {
	if r.earlier == nil {
		return false
	}
	was, err := decode[source.Commission](r.earlier.Data)
	return err == nil && was.Status == source.Paid
}

// findPayouts finds the payouts that list commissions which do not name them.
func (b *batch) findPayouts(ctx context.Context, found map[*row]*sourceCommission) error {
	var ids []string
	for r := range found {
		ids = append(ids, r.SourceID)
	}
	rows, err := queries.ImportKeys(ctx, b.u.Tx, db.ImportKeysParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, Kind: "paid_by", Keys: ids,
	})
	by := map[string]string{}
	for _, k := range rows {
		by[k.Key] = k.SourceID
	}
	for r, k := range found {
		if k.PayoutID == "" {
			k.PayoutID = by[r.SourceID]
		}
	}
	return err
}

// payoutOf returns the payout that pays a commission, and its id among the payments of the import.
func (b *batch) payoutOf(r *row, k source.Commission, listed map[string]source.Payout) (string, source.Payout) {
	p, ok := listed[k.PayoutID]
	if ok && p.PartnerID == k.PartnerID && p.Currency == k.Currency && p.Status == source.Paid && p.PaidAt != nil {
		return "payout " + r.refs.Partner + " " + k.PayoutID, p
	}
	at := k.CreatedAt
	switch {
	case k.PaidAt != nil:
		at = *k.PaidAt
	case k.MatureAt != nil && k.MatureAt.Before(b.u.Now.Time):
		at = *k.MatureAt
	}
	switch {
	case at.IsZero():
		at = b.m.CreatedAt
	case at.After(b.u.Now.Time):
		at = b.u.Now
	}
	month := at.DayIn(clock.StoredZone(b.program.TimeZone)).Format("2006-01")
	return "month " + r.refs.Partner + " " + k.Currency + " " + month, source.Payout{
		PartnerID: k.PartnerID, Currency: k.Currency, Status: source.Paid, PaidAt: &at, CreatedAt: at,
	}
}

// comparePayouts counts the payouts of the source, and notes which commissions they pay. They are made of paid
// commissions, so none is written by itself.
func (b *batch) comparePayouts(ctx context.Context) error {
	var paid, by []string
	for _, r := range b.toWrite() {
		r.outcome = db.ImportRowOutcomeSame
		p, err := decode[source.Payout](r.Data)
		if err != nil || p.Status != source.Paid {
			continue
		}
		for _, id := range p.CommissionIDs {
			paid, by = append(paid, id), append(by, r.SourceID)
		}
	}
	_, err := b.claim(ctx, "paid_by", paid, by)
	return err
}
