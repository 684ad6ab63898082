package importer

import (
	"context"
	"slices"
	"strings"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/importer/source"
	"rail/server/money/ledger"
	"rail/server/money/report"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// undo removes the next objects of an import and of the later imports of its source. Objects that something else uses
// stay, and are noted.
func (s *Service) undo(ctx context.Context, u *work.Unit, m db.Import, p place) error {
	imports := strings.Fields(p.Undone)
	if p.Kind == 0 && p.List == 0 && p.ID == "" {
		if err := analyze(ctx, u, "import_objects"); err != nil {
			return err
		}
	}
	for ; p.Kind < len(undone); p.Kind, p.List, p.Done = p.Kind+1, 0, 0 {
		for ; p.List < len(imports); p.List, p.ID = p.List+1, "" {
			b := &batch{u: u, m: &m, kind: undone[p.Kind], counts: CountsOf(m), imports: imports}
			objects, err := b.removable(ctx, imports[p.List], p.ID)
			if err != nil {
				return err
			}
			if len(objects) == 0 {
				continue
			}
			p.ID, p.Done = objects[len(objects)-1].SourceID, p.Done+int64(len(objects))
			if err := b.remove(ctx, objects); err != nil {
				return err
			}
			return save(ctx, u, m, p)
		}
	}
	return s.finishUndo(ctx, u, m, imports)
}

// removable returns the next objects that an import wrote.
func (b *batch) removable(ctx context.Context, importID, after string) ([]db.ImportObject, error) {
	size := int32(writeSize)
	if b.kind == payments {
		size = paymentSize
	}
	objects, err := queries.ImportUndoNext(ctx, b.u.Tx, db.ImportUndoNextParams{
		ImportID: importID, OrgID: b.m.OrgID, Kind: smallint(objectKind(b.kind)), AfterID: after, Lim: size,
	})
	if err != nil || b.kind != payments {
		return objects, err
	}
	ids := make([]string, len(objects))
	for i, o := range objects {
		ids[i] = o.Target
	}
	rows, err := queries.ImportPaidSizes(ctx, b.u.Tx, db.ImportPaidSizesParams{PayoutIds: ids, OrgID: b.m.OrgID})
	sizes := map[string]int64{}
	for _, r := range rows {
		sizes[r.PayoutID] = r.Commissions
	}
	return objects[:countFitting(ids, sizes)], err
}

// importsToUndo returns the imports that are undone with one: itself and the later imports of its source. An import
// that has written nothing is undone alone.
func importsToUndo(ctx context.Context, u *work.Unit, m db.Import) ([]string, error) {
	wrote, err := queries.ImportHasWritten(ctx, u.DB(), db.ImportHasWrittenParams{ImportID: m.ID, OrgID: m.OrgID})
	if err != nil || !wrote {
		return []string{m.ID}, err
	}
	ids, err := queries.ImportsOfSource(ctx, u.DB(), db.ImportsOfSourceParams{
		ProgramID: m.ProgramID, OrgID: m.OrgID, Source: m.Source, SourceAccount: m.SourceAccount, Since: m.CreatedAt,
	})
	if !slices.Contains(ids, m.ID) { // it is not done
		ids = append(ids, m.ID)
	}
	return ids, err
}

// Stays counts the objects that an undo of an import would keep because something uses them, up to most of each kind,
// and the later imports that are undone with it.
func (s *Service) Stays(ctx context.Context, u *work.Unit, m db.Import, most int32) (
	counts map[source.Kind]int64, later int, err error,
) {
	imports, err := importsToUndo(ctx, u, m)
	if err != nil {
		return nil, 0, err
	}
	rows, err := queries.ImportUndoExclusions(ctx, u.DB(), db.ImportUndoExclusionsParams{
		ProgramID: m.ProgramID, OrgID: m.OrgID, ImportIds: imports, Lim: most,
	})
	counts = map[source.Kind]int64{}
	for _, r := range rows {
		counts[source.Kind(r.Kind)] = r.N
	}
	return counts, len(imports) - 1, err
}

// remove removes the objects that the imports created and nothing else uses, and forgets them. Objects that Rail
// had before are only forgotten.
func (b *batch) remove(ctx context.Context, objects []db.ImportObject) error {
	var ids, forget []string
	for _, o := range objects {
		if o.Created {
			ids = append(ids, o.Target)
		} else {
			forget = append(forget, o.SourceID)
		}
	}
	// Checked afterwards, in statements that see what was committed before the locks.
	if err := queries.ImportLockRemoved(ctx, b.u.Tx, db.ImportLockRemovedParams{Ids: ids, OrgID: b.m.OrgID}); err != nil {
		return err
	}
	removed, err := map[int]func(context.Context, []string) ([]string, error){
		commissions: b.removeCommissions,
		payments:    b.removePayouts,
		sales:       b.removeSales,
		customers:   b.removeCustomers,
		coupons:     b.removeCoupons,
		links:       b.removeLinks,
		partners:    b.removePartners,
	}[b.kind](ctx, ids)
	if err != nil {
		return err
	}
	existing, err := b.existingIDs(ctx, ids)
	if err != nil {
		return err
	}
	for _, o := range objects {
		switch {
		case !o.Created:
		case slices.Contains(removed, o.Target) || !existing[o.Target]:
			forget = append(forget, o.SourceID)
		default:
			b.found = append(b.found, finding{name(b.kind), o.SourceID, "kept", "The object " + o.Target +
				" was used or changed since the import, so it stays."})
		}
	}
	err = queries.ImportObjectsDelete(ctx, b.u.Later(), db.ImportObjectsDeleteParams{
		ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, Source: family(*b.m), Kind: smallint(objectKind(b.kind)),
		SourceIds: forget,
	})
	if err != nil {
		return err
	}
	return b.record(ctx)
}

// removeCommissions removes the untouched commissions that are in no payout.
func (b *batch) removeCommissions(ctx context.Context, ids []string) ([]string, error) {
	owners, err := queries.ImportLockPartners(ctx, b.u.Tx, db.ImportLockPartnersParams{
		OrgID: b.m.OrgID, CommissionIds: ids,
	})
	if err != nil {
		return nil, err
	}
	rows, err := queries.ImportUndoCommissions(ctx, b.u.Tx, db.ImportUndoCommissionsParams{
		ImportIds: b.imports, Ids: ids, OrgID: b.m.OrgID,
	})
	if err != nil {
		return nil, err
	}
	removed := make([]string, len(rows))
	for i, k := range rows {
		removed[i] = k.ID
	}
	return removed, b.deleteCommissions(ctx, removed, owners)
}

// deleteCommissions takes commissions of partners out of the balances and reports, and deletes them.
func (b *batch) deleteCommissions(ctx context.Context, ids, owners []string) error {
	if err := ledger.Remove(ctx, b.u.Later(), b.m.OrgID, b.u.Now, ids); err != nil {
		return err
	}
	if err := report.TouchCommissions(ctx, b.u, b.m.ProgramID, ids); err != nil {
		return err
	}
	gone, err := queries.ImportDeleteCommissions(ctx, b.u.Tx, db.ImportDeleteCommissionsParams{
		Ids: ids, OrgID: b.m.OrgID,
	})
	if err != nil {
		return err
	}
	var uncredited []string
	for _, k := range gone {
		if k.SaleID != nil && k.Kind == db.CommissionKindReferral {
			uncredited = append(uncredited, *k.SaleID)
		}
	}
	err = queries.SalesMarkUncredited(ctx, b.u.Later(), db.SalesMarkUncreditedParams{Ids: uncredited, OrgID: b.m.OrgID})
	if err != nil {
		return err
	}
	return queries.ImportDeleteBalances(ctx, b.u.Later(), db.ImportDeleteBalancesParams{
		ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, PartnerIds: owners,
	})
}

// removePayouts removes payouts with their commissions, if all of these are untouched. Others stay whole, so that each
// payout is the sum of its commissions.
func (b *batch) removePayouts(ctx context.Context, ids []string) ([]string, error) {
	owners, err := queries.ImportLockPayees(ctx, b.u.Tx, db.ImportLockPayeesParams{OrgID: b.m.OrgID, PayoutIds: ids})
	if err != nil {
		return nil, err
	}
	rows, err := queries.ImportUndoPayouts(ctx, b.u.Tx, db.ImportUndoPayoutsParams{
		ImportIds: b.imports, PayoutIds: ids, OrgID: b.m.OrgID,
	})
	if err != nil {
		return nil, err
	}
	stays := map[string]bool{}
	for _, r := range rows {
		stays[*r.Commission.PayoutID] = stays[*r.Commission.PayoutID] || !r.Untouched
	}
	var removed []string
	for _, r := range rows {
		if !stays[*r.Commission.PayoutID] {
			removed = append(removed, r.Commission.ID)
		}
	}
	if err := b.deleteCommissions(ctx, removed, owners); err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return stays[id] })
	return queries.ImportDeletePayouts(ctx, b.u.Tx, db.ImportDeletePayoutsParams{Ids: ids, OrgID: b.m.OrgID})
}

// removeSales deletes sales without commissions, and without refunds that Rail recorded.
func (b *batch) removeSales(ctx context.Context, ids []string) ([]string, error) {
	customerIDs, err := queries.ImportLockCustomers(ctx, b.u.Tx, db.ImportLockCustomersParams{
		OrgID: b.m.OrgID, SaleIds: ids,
	})
	if err != nil {
		return nil, err
	}
	rows, err := queries.ImportUndoSales(ctx, b.u.Tx, db.ImportUndoSalesParams{Ids: ids, OrgID: b.m.OrgID})
	if err != nil {
		return nil, err
	}
	var removed []string
	var at []clock.Time
	for _, s := range rows {
		removed, at = append(removed, s.ID), append(at, s.OccurredAt)
	}
	if err := b.touchDays(ctx, at...); err != nil {
		return nil, err
	}
	for _, id := range customerIDs { // later sales may become the first of their month
		k := db.Customer{ID: id, OrgID: b.m.OrgID, ProgramID: b.m.ProgramID}
		if err := report.TouchCustomer(ctx, b.u, k); err != nil {
			return nil, err
		}
	}
	if err := queries.ImportDeleteRefunds(ctx, b.u.Later(), db.ImportDeleteRefundsParams{
		SaleIds: removed, OrgID: b.m.OrgID,
	}); err != nil {
		return nil, err
	}
	err = queries.ImportDeleteSales(ctx, b.u.Later(), db.ImportDeleteSalesParams{Ids: removed, OrgID: b.m.OrgID})
	if err != nil {
		return nil, err
	}
	return removed, queries.ImportFirstSales(ctx, b.u.Later(), db.ImportFirstSalesParams{
		CustomerIds: customerIDs, OrgID: b.m.OrgID,
	})
}

// touchDays marks the days of times for the reports.
func (b *batch) touchDays(ctx context.Context, times ...clock.Time) error {
	program, err := b.u.Program(ctx, b.m.ProgramID)
	if err != nil {
		return err
	}
	zone, days := clock.StoredZone(program.TimeZone), map[string]bool{}
	for _, at := range times {
		day := at.DayIn(zone).Format("2006-01-02")
		if days[day] {
			continue
		}
		days[day] = true
		if err := report.Touch(ctx, b.u, b.m.ProgramID, at); err != nil {
			return err
		}
	}
	return nil
}

// removeCustomers deletes customers without a sale.
func (b *batch) removeCustomers(ctx context.Context, ids []string) ([]string, error) {
	rows, err := queries.ImportDeleteCustomers(ctx, b.u.Tx, db.ImportDeleteCustomersParams{Ids: ids, OrgID: b.m.OrgID})
	if err != nil {
		return nil, err
	}
	var removed []string
	var at []clock.Time
	for _, c := range rows {
		removed, at = append(removed, c.ID), append(at, c.LeadAt)
		if c.ConvertedAt != nil {
			at = append(at, *c.ConvertedAt)
		}
	}
	return removed, b.touchDays(ctx, at...)
}

func (b *batch) removeCoupons(ctx context.Context, ids []string) ([]string, error) {
	return queries.ImportDeleteCoupons(ctx, b.u.Tx, db.ImportDeleteCouponsParams{Ids: ids, OrgID: b.m.OrgID})
}

// removeLinks deletes links without clicks, with their values.
func (b *batch) removeLinks(ctx context.Context, ids []string) ([]string, error) {
	removed, err := queries.ImportDeleteLinks(ctx, b.u.Tx, db.ImportDeleteLinksParams{Ids: ids, OrgID: b.m.OrgID})
	if err != nil {
		return nil, err
	}
	return removed, queries.ImportDeleteValues(ctx, b.u.Later(), db.ImportDeleteValuesParams{
		ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, LinkIds: removed,
	})
}

func (b *batch) removePartners(ctx context.Context, ids []string) ([]string, error) {
	return queries.ImportDeletePartners(ctx, b.u.Tx, db.ImportDeletePartnersParams{Ids: ids, OrgID: b.m.OrgID})
}

// finishUndo ends the undoing: empty batches, and parameters without links, go.
func (s *Service) finishUndo(ctx context.Context, u *work.Unit, m db.Import, imports []string) error {
	if _, err := u.Tx.Exec(ctx, pgtx.Unhurried); err != nil {
		return err
	}
	err := queries.ImportDeleteBatches(ctx, u.Tx, db.ImportDeleteBatchesParams{
		ProgramID: m.ProgramID, OrgID: m.OrgID, ImportIds: imports,
	})
	if err != nil {
		return err
	}
	program, err := u.Program(ctx, m.ProgramID)
	if err != nil {
		return err
	}
	used, err := queries.ImportParamsUsed(ctx, u.Tx, db.ImportParamsUsedParams{ProgramID: m.ProgramID, OrgID: m.OrgID})
	if err != nil {
		return err
	}
	params := slices.DeleteFunc(slices.Clone(program.URLParams), func(param string) bool {
		return slices.Contains(m.Params, param) && !slices.Contains(used, param)
	})
	if err := queries.ProgramSetParams(ctx, u.Later(), db.ProgramSetParamsParams{
		URLParams: params, UpdatedAt: u.Now, ID: program.ID, OrgID: u.OrgID,
	}); err != nil {
		return err
	}
	m.Status, m.FinishedAt = db.ImportStatusUndone, &u.Now
	if err := save(ctx, u, m, place{Phase: undoing}); err != nil {
		return err
	}
	if err := s.notify(ctx, u, m); err != nil {
		return err
	}
	return queries.ImportsUndone(ctx, u.Later(), db.ImportsUndoneParams{Now: u.Now, Ids: imports, OrgID: m.OrgID})
}
