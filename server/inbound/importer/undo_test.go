package importer_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/inbound/importer"
	"rail/server/inbound/importer/source"
	"rail/server/work"
)

// TestUndoLowered: an import whose amounts a delta lowered is undone.
func TestUndoLowered(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := d.imports(person("1", "ann@example.com"), earns("k", "1", "", "", source.Due, 300))
	d.Clock.Advance(time.Minute)
	d.imports(person("1", "ann@example.com"), earns("k", "1", "", "", source.Due, 250))
	d.undo(first.String("id"))
	require.Empty(t, d.partners())
}

// TestUndoSharedPayout: a payout with a commission that Rail made itself stays whole.
func TestUndoSharedPayout(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Flow(d.program)
	mine := d.Partner(d.program, M{"email": "ann@example.com"})
	customer := d.Must(201, d.Post("/v1/customers", M{"program_id": d.program, "external_customer_id": "cus_1", "partner_id": mine})).String("id")
	d.Sale(d.program, customer, M{"external_charge_id": "ch_1", "amount_minor": 5000})
	done := d.imports(person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000),
		earns("k", "1", "b", "s", source.Paid, 1000), earns("k2", "1", "", "", source.Paid, 50))
	d.undo(done.String("id"))
	require.Positive(t, d.problems(done.String("id"))["kept"])
	_, paid := d.money("ann@example.com")
	require.EqualValues(t, 1050, paid)
}

// TestUndoPayoutOfDelta: a payout with a commission of an earlier import stays when the delta alone is undone.
func TestUndoPayoutOfDelta(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.imports(person("1", "ann@example.com"), earns("k1", "1", "", "", source.Due, 1000))
	d.Clock.Advance(time.Hour)
	delta := d.imports(person("1", "ann@example.com"), earns("k1", "1", "", "", source.Paid, 1000), earns("k2", "1", "", "", source.Paid, 50))
	d.undo(delta.String("id"))
	_, paid := d.money("ann@example.com")
	require.EqualValues(t, 1050, paid)
}

// TestUndoFailed: an import that failed before it wrote is undone alone.
func TestUndoFailed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.begun(importer.Order{Open: true, DryRun: true})
	require.NoError(t, d.unit().Within(t.Context(), func(u *work.Unit) error {
		return d.service.Abandon(t.Context(), u, m.ID, "given up")
	}))
	d.Clock.Advance(time.Minute)
	good := d.imports(person("1", "ann@example.com"))
	d.undo(m.ID)
	require.Equal(t, "done", d.Must(200, d.Get("/v1/imports/"+good.String("id"))).Body["status"])
	require.Len(t, d.partners(), 1)
}

// TestUndoEdited: a partner whom a person changed stays, also after a delta changed another member.
func TestUndoEdited(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := d.imports(person("1", "ann@example.com"))
	d.Clock.Advance(time.Minute)
	id := d.partners()["ann@example.com"]
	d.Must(200, d.Post("/v1/partners/"+id, M{"first_name": "Anna", "payout_method": "paypal", "payout_details": M{"email": "ann@example.com"}}))
	d.Clock.Advance(time.Minute)
	p := person("1", "ann@example.com")
	p.Partner.LastName = "Lovelace"
	d.imports(p)
	d.undo(first.String("id"))
	require.Len(t, d.partners(), 1, "a person changed the partner")
}

// TestUndoReported: a sale that its processor reported under another id stays.
func TestUndoReported(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Flow(d.program)
	done := d.imports(person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000))
	d.Must(200, d.Post("/v1/sales", M{"program_id": d.program, "external_customer_id": "cus_1", "external_charge_id": "in_1", "amount_minor": 5000, "currency": "USD", "occurred_at": long.Days(1).Plus(time.Minute)}))
	d.undo(done.String("id"))
	require.Len(t, d.Must(200, d.Get("/v1/sales?program_id="+d.program)).Data(), 1)
}

// TestUndoWithFailedDelta: a delta that failed while it was written is undone with the first import.
func TestUndoWithFailedDelta(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := d.imports(person("1", "ann@example.com"))
	d.Clock.Advance(time.Minute)
	second := d.imports(person("1", "ann@example.com"), earns("k", "1", "", "", source.Due, 1000))
	_, err := d.Pool.Exec(t.Context(), "UPDATE imports SET status = 'failed', error = 'x', finished_at = now() WHERE id = $1", second.String("id"))
	require.NoError(t, err)
	d.undo(first.String("id"))
	require.Empty(t, d.partners())
}

// TestReportsOfImports: days that are summed already count imported leads, and not those of an undone import.
func TestReportsOfImports(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Clock.Advance(20 * 24 * time.Hour)
	d.sum()
	day := d.Clock.Now().Days(-10)
	b := buyer("b", "1", "cus_1")
	b.Customer.LeadAt, b.Customer.ConvertedAt, b.Customer.CreatedAt = day, &day, day
	q := "&from=" + day.Days(-2).Format(time.DateOnly) + "&to=" + day.Days(2).Format(time.DateOnly)
	before := d.Reported(d.program, q)
	done := d.imports(person("1", "ann@example.com"), b)
	d.sum()
	shown := d.Reported(d.program, q)
	_, err := d.Pool.Exec(t.Context(), "DELETE FROM report_spans")
	require.NoError(t, err)
	raw := d.Reported(d.program, q)
	d.sum()
	d.sum()
	require.Equal(t, string(raw.Raw), string(shown.Raw))
	d.undo(done.String("id"))
	d.sum()
	require.Equal(t, string(before.Raw), string(d.Reported(d.program, q).Raw))
}

// TestUndoAcrossDays: two sales of one day in UTC are of two days in New York.
func TestUndoAcrossDays(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.program = d.Program(M{"currency": "USD", "time_zone": "America/New_York"})
	d.Clock.Advance(20 * 24 * time.Hour)
	d.sum()
	day := d.Clock.Now().Days(-10).Time.Truncate(24 * time.Hour)
	rows := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1")}
	for i, h := range []int{1, 20} {
		p := payment(fmt.Sprint("s", i), "b", fmt.Sprint("ch_", i), 5000)
		p.Sale.OccurredAt.Time = day.Add(time.Duration(h) * time.Hour)
		rows = append(rows, p)
	}
	done := d.imports(rows...)
	d.sum()
	q := "&from=" + day.AddDate(0, 0, -2).Format(time.DateOnly) + "&to=" + day.AddDate(0, 0, 2).Format(time.DateOnly)
	d.undo(done.String("id"))
	d.sum()
	shown := string(d.Reported(d.program, q).Raw)
	_, err := d.Pool.Exec(t.Context(), "DELETE FROM report_spans")
	require.NoError(t, err)
	require.Equal(t, string(d.Reported(d.program, q).Raw), shown)
}

// sum runs the job that sums reports until all days are summed.
func (d *desk) sum() {
	d.t.Helper()
	for range 5 {
		apitest.SumReports(d.t, d.Server)
	}
}
