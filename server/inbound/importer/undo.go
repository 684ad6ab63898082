package importer

import (
	"context"
	"slices"

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
	imports, err := undoneWith(ctx, u, m)
	if err != nil {
		return err
	}
	for ; p.Kind < len(undone); p.Kind, p.ID, p.Done = p.Kind+1, "", 0 {
		kind := undone[p.Kind]
		objects, err := queries.ImportUndoNext(ctx, u.Tx, db.ImportUndoNextParams{
			ProgramID: m.ProgramID, OrgID: m.OrgID, ImportIds: imports, Kind: smallint(objectKind(kind)),
			AfterID: p.ID, Lim: writeSize,
		})
		if err != nil {
			return err
		}
		if len(objects) == 0 {
			continue
		}
		p.ID, p.Done = objects[len(objects)-1].SourceID, p.Done+int64(len(objects))
		b := &batch{u: u, m: &m, kind: kind, counts: CountsOf(m), imports: imports}
		if err := b.remove(ctx, objects); err != nil {
			return err
		}
		return save(ctx, u, m, p)
	}
	return s.undone(ctx, u, m, imports)
}

// undoneWith returns the imports that are undone with one: itself and the later imports of its source.
func undoneWith(ctx context.Context, u *work.Unit, m db.Import) ([]string, error) {
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
	imports, err := undoneWith(ctx, u, m)
	if err != nil {
		return nil, 0, err
	}
	rows, err := queries.ImportStays(ctx, u.DB(), db.ImportStaysParams{
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
	there, err := b.present(ctx, ids)
	if err != nil {
		return err
	}
	for _, o := range objects {
		switch {
		case !o.Created:
		case slices.Contains(removed, o.Target) || !there[o.Target]:
			forget = append(forget, o.SourceID)
		default:
			b.found = append(b.found, finding{name(b.kind), o.SourceID, "kept", "The object " + o.Target +
				" was used or changed since the import, so it stays."})
		}
	}
	err = queries.ImportObjectsForget(ctx, b.u.Later(), db.ImportObjectsForgetParams{
		ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, Source: family(*b.m), Kind: smallint(objectKind(b.kind)),
		SourceIds: forget,
	})
	if err != nil {
		return err
	}
	return b.record(ctx)
}

// removeCommissions takes untouched commissions out of the balances, and deletes them.
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
		if err := ledger.Remove(ctx, b.u.Later(), ledger.CommissionOf(k, b.u.Now)); err != nil {
			return nil, err
		}
	}
	if err := report.TouchCommissions(ctx, b.u, b.m.ProgramID, removed); err != nil {
		return nil, err
	}
	gone, err := queries.ImportDeleteCommissions(ctx, b.u.Tx, db.ImportDeleteCommissionsParams{
		Ids: removed, OrgID: b.m.OrgID,
	})
	if err != nil {
		return nil, err
	}
	var uncredited []string
	for _, k := range gone {
		if k.SaleID != nil && k.Kind == db.CommissionKindReferral {
			uncredited = append(uncredited, *k.SaleID)
		}
	}
	err = queries.SalesUncredited(ctx, b.u.Later(), db.SalesUncreditedParams{Ids: uncredited, OrgID: b.m.OrgID})
	if err != nil {
		return nil, err
	}
	return removed, queries.ImportDeleteBalances(ctx, b.u.Later(), db.ImportDeleteBalancesParams{
		ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, PartnerIds: owners,
	})
}

func (b *batch) removePayouts(ctx context.Context, ids []string) ([]string, error) {
	return queries.ImportDeletePayouts(ctx, b.u.Tx, db.ImportDeletePayoutsParams{Ids: ids, OrgID: b.m.OrgID})
}

// removeSales deletes sales without commissions, and without refunds that Rail recorded.
func (b *batch) removeSales(ctx context.Context, ids []string) ([]string, error) {
	who, err := queries.ImportLockCustomers(ctx, b.u.Tx, db.ImportLockCustomersParams{OrgID: b.m.OrgID, SaleIds: ids})
	if err != nil {
		return nil, err
	}
	rows, err := queries.ImportUndoSales(ctx, b.u.Tx, db.ImportUndoSalesParams{Ids: ids, OrgID: b.m.OrgID})
	if err != nil {
		return nil, err
	}
	var removed []string
	days := map[string]clock.Time{}
	for _, s := range rows {
		removed, days[s.OccurredAt.Format("2006-01-02")] = append(removed, s.ID), s.OccurredAt
	}
	for _, at := range days {
		if err := report.Touch(ctx, b.u, b.m.ProgramID, at); err != nil {
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
		CustomerIds: who, OrgID: b.m.OrgID,
	})
}

func (b *batch) removeCustomers(ctx context.Context, ids []string) ([]string, error) {
	return queries.ImportDeleteCustomers(ctx, b.u.Tx, db.ImportDeleteCustomersParams{Ids: ids, OrgID: b.m.OrgID})
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

// undone ends the undoing: empty batches, and parameters without links, go.
func (s *Service) undone(ctx context.Context, u *work.Unit, m db.Import, imports []string) error {
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
