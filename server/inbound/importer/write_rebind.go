package importer

import (
	"context"
	"fmt"
	"strings"

	"rail/gen/db"
	"rail/server/inbound/importer/source"
)

// Rail goes on working between the comparison and the run: partners join, customers pay and codes are taken. Before a
// batch is written, rows whose object Rail has got since are bound to it, and the rows that refer to them follow. All
// other rows are written as the report says.

// rebindRows prepares the rows of a batch.
func (w *writer) rebindRows(ctx context.Context) error {
	if err := w.followMoves(ctx, w.kind, w.rows); err != nil {
		return err
	}
	var err error
	switch w.kind {
	case partners:
		err = w.rebindPartners(ctx)
	case coupons:
		err = w.rebindCoupons(ctx)
	case customers:
		err = w.rebindCustomers(ctx)
	case sales:
		err = w.rebindSales(ctx)
	case payments:
		err = w.readCommissions(ctx)
	case commissions:
		err = w.rebindCommissions(ctx, w.rows)
	}
	if err != nil {
		return err
	}
	for _, r := range w.rows { // rows that were merged with one of this batch
		if _, is := w.moves[r.target]; is && r.outcome != db.ImportRowOutcomeRefused {
			if err := w.redirect(ctx, w.kind, r, w.moves); err != nil {
				return err
			}
		}
	}
	return w.readEarlier(ctx, w.kind, w.rows)
}

// moved is the kind of the keys that map planned ids to the objects to which rows were bound since the comparison. The
// id of a refused row maps to an empty one.
const moved = "moved"

// saveMoves stores the objects of this batch that later batches find in another place.
func (b *batch) saveMoves(ctx context.Context) error {
	var from, to []string
	for id, target := range b.moves {
		from, to = append(from, id), append(to, target)
	}
	if len(from) == 0 {
		return nil
	}
	_, err := b.claim(ctx, moved, from, to)
	return err
}

// followMoves replaces references to objects that rows were bound to since the comparison. A row whose partner or
// customer was refused is refused; a commission whose sale was refused becomes a reward.
func (w *writer) followMoves(ctx context.Context, kind int, rows []*row) error {
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.target, r.refs.Partner, r.refs.Customer, r.refs.Sale, r.refs.Link, r.refs.Coupon)
	}
	to, err := w.destinations(ctx, ids)
	if err != nil || len(to) == 0 {
		return err
	}
	for _, r := range rows {
		if r.outcome == db.ImportRowOutcomeRefused {
			continue
		}
		if err := w.redirect(ctx, kind, r, to); err != nil {
			return err
		}
	}
	return nil
}

// destinations returns the present ids of planned objects that were bound since the comparison, or of merged customers.
// The id of a refused object is empty.
func (w *writer) destinations(ctx context.Context, ids []string) (map[string]string, error) {
	keys, err := queries.ImportKeys(ctx, w.u.Tx, db.ImportKeysParams{
		ImportID: w.m.ID, OrgID: w.m.OrgID, Kind: moved, Keys: ids,
	})
	if err != nil {
		return nil, err
	}
	to := map[string]string{}
	for _, k := range keys {
		to[k.Key] = k.SourceID
	}
	for _, id := range ids {
		if bound := to[id]; bound != "" {
			ids = append(ids, bound)
		}
	}
	merged, err := queries.ImportMerged(ctx, w.u.Tx, db.ImportMergedParams{Ids: ids, OrgID: w.m.OrgID})
	for _, m := range merged {
		to[m.ID] = m.CustomerID
	}
	for id, bound := range to { // bound first, and merged then
		if last, is := to[bound]; is && bound != "" {
			to[id] = last
		}
	}
	return to, err
}

// redirect replaces the references of a row.
func (w *writer) redirect(ctx context.Context, kind int, r *row, to map[string]string) error {
	before, now := r.refs, &r.refs
	for _, ref := range []*string{&r.target, &now.Partner, &now.Customer, &now.Sale, &now.Link, &now.Coupon} {
		if id, moved := to[*ref]; moved {
			*ref = id
		}
	}
	lost := func(before, now string) bool { return before != "" && now == "" }
	switch {
	case kind == payments: // each of its commissions is checked
		return nil
	case r.target == "":
		return w.fail(ctx, kind, r, "missing_reference", "The object that it was merged with could not be imported.")
	case lost(before.Partner, now.Partner):
		return w.fail(ctx, kind, r, "missing_reference", "Its partner could not be imported.")
	case lost(before.Customer, now.Customer) && kind == sales:
		return w.fail(ctx, kind, r, "missing_reference", "Its customer could not be imported.")
	case lost(before.Sale, now.Sale):
		r.refs.ByRule, r.refs.Refunded = false, 0
		w.found = append(w.found, finding{name(kind), r.SourceID, "detached",
			"Its sale could not be imported; the commission becomes a reward."})
	}
	return nil
}

// rebind decides that a planned row is an object that Rail has got since the comparison.
func (w *writer) rebind(kind int, r *row, target, detail string) {
	w.moves[r.target] = target
	w.counts.of(name(kind)).add(r.outcome, -1)
	r.bind(target)
	w.counts.of(name(kind)).add(r.outcome, 1)
	w.found = append(w.found, finding{name(kind), r.SourceID, "recorded", detail})
}

// change makes a row a changed one, also in the counts.
func (w *writer) change(kind int, r *row) {
	w.counts.of(name(kind)).add(r.outcome, -1)
	r.outcome = db.ImportRowOutcomeChanged
	w.counts.of(name(kind)).add(r.outcome, 1)
}

// newRows returns the rows that are written as new objects.
func newRows(rows []*row) (some []*row) {
	for _, r := range rows {
		if r.outcome == db.ImportRowOutcomeNew {
			some = append(some, r)
		}
	}
	return some
}

// rebindPartners binds partners who have joined Rail, and replaces handles that others have taken.
func (w *writer) rebindPartners(ctx context.Context) error {
	email := map[*row]string{}
	var emails, handles []string
	for _, r := range newRows(w.rows) {
		p, err := decode[source.Partner](r.Data)
		if err != nil {
			return err
		}
		email[r] = strings.ToLower(p.Email)
		emails, handles = append(emails, email[r]), append(handles, r.refs.Handle)
	}
	existing, err := w.existingPartners(ctx, emails)
	if err != nil {
		return err
	}
	values, err := queries.ImportValuesTaken(ctx, w.u.Tx, db.ImportValuesTakenParams{
		ProgramID: w.m.ProgramID, OrgID: w.m.OrgID, Values: handles,
	})
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, v := range values {
		taken[v.Value] = true
	}
	if err := w.resetGroups(ctx); err != nil {
		return err
	}
	for _, r := range newRows(w.rows) {
		if id := existing[email[r]]; id != "" {
			w.rebind(partners, r, id, "A partner with this email has joined since the comparison, and gets the links and the history.")
		} else if taken[r.refs.Handle] {
			r.refs.Handle = lastHandle(r.target)
		}
	}
	return nil
}

// resetGroups gives partners whose group has been deleted since the comparison the default group.
func (w *writer) resetGroups(ctx context.Context) error {
	byDefault, err := queries.GroupDefault(ctx, w.u.Tx, db.GroupDefaultParams{ProgramID: w.m.ProgramID, OrgID: w.m.OrgID})
	if err != nil {
		return err
	}
	groups := map[string]bool{byDefault.ID: true}
	for _, r := range newRows(w.rows) {
		if _, read := groups[r.refs.Group]; !read {
			g, err := queries.GroupGet(ctx, w.u.Tx, db.GroupGetParams{ID: r.refs.Group, OrgID: w.m.OrgID})
			if err != nil && !isNoRows(err) {
				return err
			}
			groups[r.refs.Group] = err == nil && g.ProgramID == w.m.ProgramID
		}
		if !groups[r.refs.Group] {
			r.refs.Group = byDefault.ID
		}
	}
	return nil
}

// rebindCoupons binds coupons that the partner has got in Rail.
func (w *writer) rebindCoupons(ctx context.Context) error {
	code := map[*row]string{}
	var codes []string
	for _, r := range newRows(w.rows) {
		c, err := decode[source.Coupon](r.Data)
		if err != nil {
			return err
		}
		code[r] = strings.ToLower(c.Code)
		codes = append(codes, code[r])
	}
	existing, err := w.existingCoupons(ctx, codes)
	for _, r := range newRows(w.rows) {
		if k := existing[code[r]]; k.PartnerID != nil && *k.PartnerID == r.refs.Partner {
			w.rebind(coupons, r, k.ID, "Rail has got this coupon since the comparison.")
		}
	}
	return err
}

// rebindCustomers binds customers who have come to Rail. One of another partner is refused.
func (w *writer) rebindCustomers(ctx context.Context) error {
	if err := w.clearCoupons(ctx); err != nil {
		return err
	}
	var ids []string
	for _, r := range w.rows {
		ids = append(ids, r.refs.IDs...)
	}
	existing, err := w.existingCustomers(ctx, ids)
	if err != nil || len(existing) == 0 {
		return err
	}
	for _, r := range w.rows {
		if to, is := w.moves[r.target]; is && to != "" { // merged with a row of this batch
			r.target = to
		}
		if err := w.rebindCustomer(ctx, r, existing); err != nil {
			return err
		}
	}
	return nil
}

// clearCoupons clears the coupons of customers that have been deleted since the comparison.
func (w *writer) clearCoupons(ctx context.Context) error {
	var ids []string
	for _, r := range w.rows {
		if r.refs.Coupon != "" {
			ids = append(ids, r.refs.Coupon)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	existing, err := w.existingIDs(ctx, ids)
	for _, r := range w.rows {
		if !existing[r.refs.Coupon] {
			r.refs.Coupon = ""
		}
	}
	return err
}

// rebindCustomer binds a customer of whom Rail has got one of the planned external ids, and drops these ids.
func (w *writer) rebindCustomer(ctx context.Context, r *row, existing map[string]db.ImportCustomersByIDRow) error {
	var free []string
	for _, id := range r.refs.IDs {
		k, is := existing[id]
		switch {
		case !is:
			free = append(free, id)
		case r.outcome != db.ImportRowOutcomeNew:
			if k.ID != r.target {
				w.note(r, "customer_taken", fmt.Sprintf("The customer %s of Rail has got the id %q since the comparison.", k.ID, id))
			}
		case k.PartnerID != nil && r.refs.Partner != "" && *k.PartnerID != r.refs.Partner:
			return w.fail(ctx, customers, r, "customer_taken",
				fmt.Sprintf("The customer %s of Rail with the id %q belongs to another partner.", k.ID, id))
		default:
			w.rebind(customers, r, k.ID, fmt.Sprintf("Rail has got this customer as %s since the comparison.", k.ID))
			if k.PartnerID == nil && r.refs.Partner != "" {
				w.change(customers, r)
			}
		}
	}
	if r.refs.IDs = free; r.refs.Bound && len(free) > 0 && r.outcome == db.ImportRowOutcomeSame {
		w.change(customers, r)
	}
	return nil
}

// rebindSales binds payments that Rail has recorded.
func (w *writer) rebindSales(ctx context.Context) error {
	found, customersByID, charge := map[*row]source.Sale{}, map[string]string{}, map[*row]string{}
	var charges []string
	for _, r := range newRows(w.rows) {
		s, err := decode[source.Sale](r.Data)
		if err != nil {
			return err
		}
		found[r], customersByID[s.CustomerID], charge[r] = s, r.refs.Customer, w.chargeID(r, s)
		charges = append(charges, charge[r])
	}
	existing, err := w.existingSales(ctx, charges)
	if err != nil {
		return err
	}
	recorded, err := w.findRecorded(ctx, newRows(w.rows), found, customersByID, existing)
	for _, r := range newRows(w.rows) {
		if id := existing[charge[r]]; id != "" {
			w.rebind(sales, r, id, fmt.Sprintf("Rail has recorded this payment as the sale %s since the comparison.", id))
		} else if id := recorded[r.SourceID]; id != "" {
			w.rebind(sales, r, id, fmt.Sprintf("Rail has this payment as the sale %s, with another id.", id))
		}
	}
	return err
}

// rebindCommissions binds commissions of sales for which Rail has made a commission, so that none is paid twice.
func (w *writer) rebindCommissions(ctx context.Context, rows []*row) error {
	var ids, by []string
	for _, r := range newRows(rows) {
		if r.refs.ByRule {
			ids, by = append(ids, r.refs.Sale), append(by, r.SourceID)
		}
	}
	if err := w.rebindClawbacks(ctx, rows); err != nil || len(ids) == 0 {
		return err
	}
	owners, err := w.claim(ctx, "commission", ids, by)
	if err != nil {
		return err
	}
	byRule, err := w.commissionsBySale(ctx, ids)
	if err != nil {
		return err
	}
	stored, err := queries.ImportSalesOf(ctx, w.u.Tx, db.ImportSalesOfParams{Ids: ids, OrgID: w.m.OrgID})
	of := map[string]db.ImportSalesOfRow{}
	for _, s := range stored {
		of[s.ID] = s
	}
	for _, r := range newRows(rows) {
		if !r.refs.ByRule {
			continue
		}
		s, k := of[r.refs.Sale], byRule[r.refs.Sale]
		switch {
		case s.PartnerID == nil || *s.PartnerID != r.refs.Partner || s.CustomerID != r.refs.Customer,
			owners[r.refs.Sale] != r.SourceID:
			r.refs.ByRule = false
		case k.ID != "" && !k.Imported:
			w.rebind(commissions, r, k.ID, fmt.Sprintf("Rail has made the commission %s for this sale since the comparison.", k.ID))
			if (r.refs.Payout != "" || r.refs.Settled) && isOpen(db.Commission{Status: k.Status}) {
				w.change(commissions, r) // it must not be paid twice
			}
		case k.ID != "":
			r.refs.ByRule = false
		}
	}
	return err
}

// rebindClawbacks binds deductions that Rail has made itself since the comparison.
func (w *writer) rebindClawbacks(ctx context.Context, rows []*row) error {
	found := map[*row]*sourceCommission{}
	for _, r := range newRows(rows) {
		k, err := decode[source.Commission](r.Data)
		if err != nil {
			return err
		}
		found[r] = &sourceCommission{Commission: k, sale: linkedSale{id: r.refs.Sale}}
	}
	claws, err := w.clawbacks(ctx, newRows(rows), found)
	for _, r := range newRows(rows) {
		if c, is := claws[r.SourceID]; is {
			w.rebind(commissions, r, c.ID, "Rail has deducted it since the comparison.")
			if r.refs.Payout != "" && isOpen(db.Commission{Status: c.Status}) {
				w.change(commissions, r)
			}
		}
	}
	return err
}

// readEarlier reads what an earlier import wrote for changed rows. An object that was edited since keeps the time at
// which it was written, so that an undo keeps it.
func (w *writer) readEarlier(ctx context.Context, kind int, rows []*row) error {
	of, targets := map[string]*row{}, []string{}
	for _, r := range rows {
		if r.outcome == db.ImportRowOutcomeChanged {
			of[r.SourceID], targets = r, append(targets, r.target)
		}
	}
	if len(of) == 0 {
		return nil
	}
	ids := make([]string, 0, len(of))
	for id := range of {
		ids = append(ids, id)
	}
	found, err := queries.ImportObjects(ctx, w.u.Tx, db.ImportObjectsParams{
		ProgramID: w.m.ProgramID, OrgID: w.m.OrgID, Source: family(*w.m), Kind: smallint(kind), SourceIds: ids,
	})
	if err != nil {
		return err
	}
	for _, o := range found {
		of[o.SourceID].earlier = &o
	}
	edited, err := queries.ImportEdited(ctx, w.u.Tx, db.ImportEditedParams{
		Targets: targets, ProgramID: w.m.ProgramID, OrgID: w.m.OrgID, Source: family(*w.m), Kind: smallint(kind),
	})
	for _, r := range of {
		for _, id := range edited {
			r.edited = r.edited || id == r.target
		}
	}
	return err
}
