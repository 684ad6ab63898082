package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"rail/gen/db"
	"rail/server/locale/plain"
	"rail/server/money/sale"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/program/customer"
	"rail/server/work"
)

// writeSize bounds the rows that are written in one transaction.
const writeSize = 200

// write writes the next rows as planned.
func (s *Service) write(ctx context.Context, u *work.Unit, m db.Import, p place, size int32) error {
	if p.Kind == 0 && p.ID == "" {
		if err := addParams(ctx, u, &m); err != nil {
			return err
		}
	}
	if written[min(p.Kind, len(written)-1)] == payments {
		size = min(size, paymentSize)
	}
	b, err := next(ctx, u, &m, written, &p, size)
	if err != nil {
		return err
	}
	if b == nil {
		if err := s.finish(ctx, u, &m); err != nil {
			return err
		}
		return save(ctx, u, m, place{Phase: tidying})
	}
	for i, r := range b.rows {
		b.rows[i] = rowOf(r.ImportRow)
	}
	if err := b.limitPayments(ctx, &p); err != nil {
		return err
	}
	if err := b.writeAll(ctx); err != nil {
		return err
	}
	m.Counts = encode(b.counts)
	return save(ctx, u, m, p)
}

// addParams adds the parameters of the source's links to those of the program, so that published links work.
func addParams(ctx context.Context, u *work.Unit, m *db.Import) error {
	used, err := queries.ImportParams(ctx, u.Tx, db.ImportParamsParams{ImportID: m.ID, OrgID: m.OrgID})
	if err != nil {
		return err
	}
	program, err := u.Program(ctx, m.ProgramID)
	if err != nil {
		return err
	}
	const most = 20
	all := program.URLParams
	for _, param := range used {
		if !slices.Contains(all, param) && len(all) < most && isParam(param) {
			all, m.Params = append(all, param), append(m.Params, param)
		}
	}
	if len(m.Params) == 0 {
		return nil
	}
	return queries.ProgramSetParams(ctx, u.Later(), db.ProgramSetParamsParams{
		URLParams: all, UpdatedAt: u.Now, ID: program.ID, OrgID: u.OrgID,
	})
}

// isParam reports whether a text can be the name of a query parameter.
func isParam(name string) bool {
	const most = 64
	return name != "" && len(name) <= most && !strings.ContainsAny(name, " &=?#%+/\\\"'<>")
}

// conflict is a row that cannot be written because Rail has changed since the comparison, or has paid already.
type conflict struct{ code, detail string }

// Error returns the sentence of the problem.
func (c conflict) Error() string { return c.detail }

// conflictf returns a conflict with a sentence.
func conflictf(code, format string, args ...any) error {
	return conflict{code, fmt.Sprintf(format, args...)}
}

// writeAll writes the rows of a batch, and remembers their objects.
func (b *batch) writeAll(ctx context.Context) error {
	w := newWriter(b)
	if err := w.rebindRows(ctx); err != nil {
		return err
	}
	if err := b.clearFirstSales(ctx); err != nil {
		return err
	}
	for _, r := range b.rows {
		if r.outcome == db.ImportRowOutcomeRefused || b.kind == commissions && r.refs.Payout != "" {
			continue // a paid commission is written with its payout
		}
		if refused, err := b.refuseConflict(ctx, b.kind, r, w.row(ctx, r)); refused || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		id := r.SourceID
		if b.kind == payments { // another import may pay the same partner in the same month
			id = b.m.ID + " " + id
		}
		w.remember(&w.objects, id, r)
	}
	for _, objects := range []*db.ImportObjectsPutParams{&w.objects, &w.paid} {
		if err := w.put(ctx, objects); err != nil {
			return err
		}
	}
	if err := b.saveMoves(ctx); err != nil {
		return err
	}
	return b.record(ctx)
}

// refuseConflict refuses a row because of a conflict, and reports whether it did. It returns any other error.
func (b *batch) refuseConflict(ctx context.Context, kind int, r *row, err error) (bool, error) {
	c, is := errors.AsType[conflict](err)
	if !is {
		return false, err
	}
	return true, b.fail(ctx, kind, r, c.code, c.detail)
}

// rowOf returns a stored row with the decision about it.
func rowOf(stored db.ImportRow) *row {
	r := &row{ImportRow: stored, refs: refsOf(stored.Refs)}
	if stored.Outcome != nil {
		r.outcome = *stored.Outcome
	}
	if stored.Target != nil {
		r.target = *stored.Target
	}
	return r
}

// clearFirstSales takes the mark of a first sale from customers that have bought since the comparison.
func (b *batch) clearFirstSales(ctx context.Context) error {
	if b.kind != sales {
		return nil
	}
	var of []string
	for _, r := range b.rows {
		if r.refs.First {
			of = append(of, r.refs.Customer)
		}
	}
	have, err := queries.ImportCustomersWithSales(ctx, b.u.Tx, db.ImportCustomersWithSalesParams{
		CustomerIds: of, OrgID: b.m.OrgID,
	})
	for _, r := range b.rows {
		r.refs.First = r.refs.First && !slices.Contains(have, r.refs.Customer)
	}
	return err
}

// fail refuses a row of a kind that was planned.
func (b *batch) fail(ctx context.Context, kind int, r *row, code, detail string) error {
	count, wasNew := b.counts.of(name(kind)), r.outcome == db.ImportRowOutcomeNew
	count.add(r.outcome, -1)
	count.Refused++
	if r.outcome = db.ImportRowOutcomeRefused; kind != payments && kind != commissions && r.target != "" && wasNew {
		b.moves[r.target] = ""
	}
	b.found = append(b.found, finding{name(kind), r.SourceID, code, detail})
	return queries.ImportRowRefuse(ctx, b.u.Later(), db.ImportRowRefuseParams{
		ImportID: b.m.ID, OrgID: b.m.OrgID, Kind: smallint(kind), SourceID: r.SourceID,
	})
}

// unwritable reports whether an error is about the rows of a batch, so that they are written one by one.
func unwritable(err error) bool {
	var pg *pgconn.PgError
	var refusal *problem.Error
	return errors.As(err, &pg) && strings.HasPrefix(pg.Code, "23") || errors.As(err, &refusal) ||
		errors.Is(err, customer.ErrIDTaken) || isNoRows(err)
}

// skip refuses the single row of a batch that cannot be written.
func (s *Service) skip(ctx context.Context, u *work.Unit, m db.Import, p place, why error) error {
	b, err := next(ctx, u, &m, written, &p, 1)
	if err != nil || b == nil {
		return err
	}
	r := rowOf(b.rows[0].ImportRow)
	detail := "Rail has changed since the comparison: " + messageOf(why)
	if r.outcome != db.ImportRowOutcomeRefused {
		if err := b.fail(ctx, b.kind, r, "conflict", detail); err != nil {
			return err
		}
	}
	if b.kind == payments { // its commissions are not written without it
		w := newWriter(b)
		b.rows = []*row{r}
		if err := w.readCommissions(ctx); err != nil {
			return err
		}
		for _, k := range w.pays[r.target] {
			if k.outcome == db.ImportRowOutcomeRefused {
				continue
			}
			if err := b.fail(ctx, commissions, k, "conflict", detail); err != nil {
				return err
			}
		}
	}
	if err := b.saveMoves(ctx); err != nil {
		return err
	}
	if err := b.record(ctx); err != nil {
		return err
	}
	m.Counts = encode(b.counts)
	return save(ctx, u, m, p)
}

// messageOf returns an error for people.
func messageOf(err error) string {
	if pg, is := errors.AsType[*pgconn.PgError](err); is {
		return "it violates " + pg.ConstraintName + "."
	}
	return err.Error()
}

// refsOf reads stored references.
func refsOf(text []byte) (r refs) {
	_ = json.Unmarshal(text, &r) // written by encode, or empty
	return r
}

// tidy deletes the rows of a written import, which have no further use. Then it applies the refunds, and makes the
// processors' events due, that have waited for the import's objects.
func (s *Service) tidy(ctx context.Context, u *work.Unit, m db.Import) error {
	const lim = 5000
	n, err := queries.ImportRowsDelete(ctx, u.Tx, db.ImportRowsDeleteParams{ImportID: m.ID, OrgID: m.OrgID, Lim: lim})
	if err != nil {
		return err
	}
	if n == lim {
		return save(ctx, u, m, place{Phase: tidying})
	}
	more, err := applyRefunds(ctx, u, m)
	if err != nil {
		return err
	}
	if more {
		return save(ctx, u, m, place{Phase: tidying})
	}
	if err := wake(ctx, u, m); err != nil {
		return err
	}
	if err := queries.ImportKeysDelete(ctx, u.Later(), db.ImportKeysDeleteParams{
		ImportID: m.ID, OrgID: m.OrgID,
	}); err != nil {
		return err
	}
	m.Status, m.FinishedAt = db.ImportStatusDone, &u.Now
	if err := s.notify(ctx, u, m); err != nil {
		return err
	}
	return save(ctx, u, m, place{Phase: tidying})
}

// applyRefunds applies refunds that have waited for sales of an import, and reports whether there may be more. Their
// events are sent, because no other system has the refunds.
func applyRefunds(ctx context.Context, u *work.Unit, m db.Import) (more bool, err error) {
	const lim = 20
	sold, err := queries.ImportSalesRefunded(ctx, u.Tx, db.ImportSalesRefundedParams{
		OrgID: m.OrgID, ProgramID: m.ProgramID, Source: family(m), Lim: lim,
	})
	if err != nil {
		return false, err
	}
	u.Silent = u.Silent && len(sold) == 0
	for _, s := range sold {
		if err := sale.ApplyWaiting(ctx, u, s); err != nil {
			return false, err
		}
	}
	return len(sold) == lim, nil
}

// wake makes the processors' events due that have waited for an object of an import.
func wake(ctx context.Context, u *work.Unit, m db.Import) error {
	if _, err := u.Tx.Exec(ctx, pgtx.Unhurried); err != nil {
		return err
	}
	return queries.ImportWake(ctx, u.Tx, db.ImportWakeParams{
		Source: family(m), OrgID: m.OrgID, ProgramID: m.ProgramID, Now: u.Now, Since: u.Now.Plus(-work.MaxWait),
	})
}

// metadata names the source of an object.
func (b *batch) metadata(r *row, more map[string]string) []byte {
	all := map[string]string{"imported_from": b.m.Source, "source_id": plain.Short(r.SourceID, maxID)}
	for k, v := range more {
		if _, has := all[k]; !has && len(all) < 20 {
			all[plain.Short(k, 40)] = plain.Short(v, 500)
		}
	}
	return encode(all)
}
