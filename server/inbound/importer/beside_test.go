package importer_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/apitest"
	"rail/server/inbound/importer"
	"rail/server/inbound/importer/source"
	"rail/server/work"
)

// Rail goes on selling, paying and editing while a program moves in; these tests put both side by side.

// due returns the due and the paid money of a partner.
func (d *desk) money(email string) (due, paid int64) {
	d.t.Helper()
	_, due, paid = d.Balance(d.program, d.partners()[email], "USD")
	return due, paid
}

// TestPaidAtTheSource: a commission that Rail has made for the same sale is not paid twice.
func TestPaidAtTheSource(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Flow(d.program)
	mine := d.Partner(d.program, M{"email": "ann@example.com"})
	customer := d.Must(201, d.Post("/v1/customers", M{"program_id": d.program, "external_customer_id": "cus_1", "partner_id": mine})).String("id")
	d.Sale(d.program, customer, M{"external_charge_id": "ch_1", "amount_minor": 5000})
	d.imports(person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000),
		earns("k", "1", "b", "s", source.Paid, 1000))
	due, paid := d.money("ann@example.com")
	require.Equal(t, []int64{0, 1000}, []int64{due, paid})
}

// TestSameNews: a payment that is reported late under another id, and a refund of before the import, are known; an
// imported payment that Rail has under another id is, too, and two equal ones are two.
func TestSameNews(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Flow(d.program)
	refunded := payment("s", "b", "ch_1", 5000)
	refunded.Sale.RefundedMinor, refunded.Sale.RefundedAt = 2000, new(long.Days(5))
	d.imports(person("1", "ann@example.com"), buyer("b", "1", "cus_1"), refunded, earns("k", "1", "b", "s", source.Due, 600))
	late := d.Must(200, d.Post("/v1/sales", M{
		"program_id": d.program, "external_customer_id": "cus_1", "external_charge_id": "in_1", "amount_minor": 5000,
		"currency": "USD", "occurred_at": long.Days(1).Plus(time.Minute),
	}))
	require.Equal(t, "ch_1", late.Body["external_charge_id"])
	d.Must(200, d.Post("/v1/refunds", M{
		"program_id": d.program, "external_charge_id": "ch_1", "external_refund_id": "re_1", "amount_minor": 2000,
		"refunded_at": long.Days(5),
	}))
	due, _ := d.money("ann@example.com")
	require.EqualValues(t, 600, due)
	for _, charge := range []string{"live_1", "live_2"} {
		d.Must(201, d.Post("/v1/sales", M{
			"program_id": d.program, "external_customer_id": "cus_1", "external_charge_id": charge, "amount_minor": 700, "currency": "USD",
		}))
	}
	now := func(id string) source.Row {
		row := payment(id, "b", "other_"+id, 700)
		row.Sale.OccurredAt = d.Clock.Now()
		return row
	}
	d.imports(person("1", "ann@example.com"), buyer("b", "1", "cus_1"), now("x"), now("y"),
		earns("kx", "1", "b", "x", source.Due, 140), earns("ky", "1", "b", "y", source.Due, 140))
	due, _ = d.money("ann@example.com")
	require.EqualValues(t, 600+140+140, due)
	apitest.Balanced(t, d.Server)
}

// TestPaidByBoth: what Rail is paying is no part of an imported payout, and deductions beyond a payout settle it.
func TestPaidByBoth(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	start := []source.Row{
		person("1", "ann@example.com"), person("2", "bob@example.com"), earns("k1", "1", "", "", source.Due, 1000),
		earns("k9", "2", "", "", source.Due, 400),
	}
	d.imports(start...)
	partner := d.partners()["ann@example.com"]
	d.Must(200, d.Post("/v1/partners/"+partner, M{"payout_method": "paypal", "payout_details": M{"email": "ann@example.com"}}))
	d.Must(201, d.Post("/v1/payout_batches", M{
		"program_id": d.program, "period_end": d.Clock.Now().Format(time.DateOnly), "ignore_minimum": true, "partner_id": partner,
	}))
	delta := d.imports(person("1", "ann@example.com"), person("2", "bob@example.com"),
		earns("k1", "1", "", "", source.Paid, 1000), earns("k2", "1", "", "", source.Paid, 50),
		earns("k9", "2", "", "", source.Paid, 400), earns("k8", "2", "", "", source.Paid, -400))
	require.Equal(t, 1, d.problems(delta.String("id"))["in_payout"])
	due, paid := d.money("ann@example.com")
	require.Equal(t, []int64{1000, 50}, []int64{due, paid})
	due, paid = d.money("bob@example.com")
	require.Equal(t, []int64{0, 0}, []int64{due, paid})
	later := earns("k2", "1", "", "", source.Paid, 50)
	later.Commission.PaidAt = new(long.Days(41))
	d.imports(person("1", "ann@example.com"), later) // a later time of payment is no second payment
	_, paid = d.money("ann@example.com")
	require.EqualValues(t, 50, paid)
}

// TestVoidedAfterClawback: a commission of which a refund in Rail took a part by a clawback is not voided, which would
// take that part twice.
func TestVoidedAfterClawback(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := func(status string) []source.Row {
		return []source.Row{
			person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 10000),
			earns("k", "1", "b", "s", status, 1000),
		}
	}
	d.imports(rows(source.Due)...)
	d.Must(200, d.Post("/v1/partners/"+d.partners()["ann@example.com"], M{"payout_method": "bank_transfer"}))
	batch := d.Must(201, d.Post("/v1/payout_batches", M{
		"program_id": d.program, "period_end": d.Clock.Now().Format(time.DateOnly), "ignore_minimum": true,
	})).String("id")
	d.Must(200, d.Post("/v1/payout_batches/"+batch+"/export", M{"format": "csv"}))
	sale := d.Must(200, d.Get("/v1/sales?program_id="+d.program)).Data()[0]["id"].(string)
	d.Must(200, d.Post("/v1/sales/"+sale+"/refund", M{"amount_minor": 3000}))
	payout := d.Must(200, d.Get("/v1/payouts?program_id="+d.program)).Data()[0]["id"].(string)
	d.Must(200, d.Post("/v1/payouts/"+payout+"/mark_failed", M{"reason": "Closed."}))
	d.Must(200, d.Delete("/v1/payouts/"+payout))
	due, _ := d.money("ann@example.com")
	require.EqualValues(t, 700, due)
	again := d.imports(rows(source.Voided)...)
	require.Equal(t, 1, d.problems(again.String("id"))["not_changed"])
	due, _ = d.money("ann@example.com")
	require.EqualValues(t, 700, due)
}

// TestUndoKeeps: undoing keeps what people have used or changed, a payout as a whole, and what another source brought.
func TestUndoKeeps(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := []source.Row{
		person("1", "ann@example.com"), person("2", "bob@example.com"), person("3", "noted@example.com"),
		buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000), earns("k1", "1", "b", "s", source.Paid, 1000),
		earns("k2", "1", "", "", source.Paid, 400), earns("k3", "2", "", "", source.Due, 300),
	}
	done := d.imports(rows...)
	ids := d.partners()
	d.Clock.Advance(time.Second)
	d.Must(201, d.Post("/v1/partner_notes", M{"program_id": d.program, "partner_id": ids["noted@example.com"], "text": "Called."}))
	d.Must(200, d.Post("/v1/partners/"+ids["bob@example.com"], M{"first_name": "Robert"}))
	d.imports(rows...) // the same again is no touch, and takes none away
	sale := d.Must(200, d.Get("/v1/sales?program_id="+d.program)).Data()[0]["id"].(string)
	d.Must(200, d.Post("/v1/sales/"+sale+"/refund", M{}))
	d.undo(done.String("id"))
	require.Len(t, d.partners(), 3)
	due, paid := d.money("ann@example.com")
	require.Equal(t, []int64{-1000, 1400}, []int64{due, paid})
	due, _ = d.money("bob@example.com")
	require.Zero(t, due, "his commission was not touched")
}

// TestSecondFile: ids of another file, or of another account, are other objects.
func TestSecondFile(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.imports(person("1", "ann@example.com"), earns("10", "1", "", "", source.Due, 100))
	second := d.imports(person("1", "bob@example.com"), earns("10", "1", "", "", source.Due, 7000))
	require.Equal(t, 1, d.problems(second.String("id"))["conflict"])
	due, _ := d.money("ann@example.com")
	require.EqualValues(t, 100, due)
}

// TestReusedIDs: ids of a later file that are those of another partner's objects change none of these, and the report
// has the balances that differ.
func TestReusedIDs(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.imports(person("1", "ann@example.com"), person("2", "bob@example.com"), link("l", "1", "annie"),
		buyer("b", "1", "cus_ann"), payment("s", "b", "ch_ann", 5000), earns("k", "1", "b", "s", source.Due, 1000))
	refunded := payment("s", "c", "ch_bob", 700)
	refunded.Sale.RefundedMinor, refunded.Sale.RefundedAt = 700, new(long.Days(5))
	moved := link("l", "2", "bobby")
	moved.Link.URL = "https://shop.example/bob"
	second := d.imports(moved, buyer("b", "2", "cus_bob"), buyer("c", "2", "cus_new"), refunded,
		earns("k", "2", "", "", source.Due, 70), earns("k2", "2", "", "", source.Due, 30))
	require.Equal(t, map[string]int{"conflict": 4, "not_changed": 1, "balance_differs": 1},
		d.problems(second.String("id")))
	ann, _ := d.money("ann@example.com")
	bob, _ := d.money("bob@example.com")
	require.Equal(t, []int64{1000, 30}, []int64{ann, bob})
	require.Empty(t, d.Must(200, d.Get("/v1/customers?program_id="+d.program+"&external_customer_id=cus_bob")).Data())
	sale := d.Must(200, d.Get("/v1/sales?program_id="+d.program)).Data()[0]
	require.Equal(t, json.Number("0"), sale["refunded_minor"])
	at := d.Must(200, d.Get("/v1/links?program_id="+d.program)).Data()[0]
	require.Equal(t, "https://shop.example/", at["destination_url"])
	sums := map[any][]any{}
	for _, b := range d.Must(200, d.Get("/v1/imports/"+second.String("id")+"/balances")).Data() {
		sums[b["source_id"]] = []any{b["source_minor"], b["rail_minor"]}
	}
	require.Equal(t, map[any][]any{
		"1": {json.Number("1000"), json.Number("1000")}, "2": {json.Number("100"), json.Number("30")},
	}, sums)
}

// TestReusedEmail: a commission of a former holder of an email is not paid to the present one, who gets the rest.
func TestReusedEmail(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.imports(person("1", "ann@example.com"), earns("k", "ann@example.com", "", "", source.Due, 1000))
	_, err := d.Pool.Exec(t.Context(), "UPDATE partners SET email = 'old@example.com'")
	require.NoError(t, err)
	d.Partner(d.program, M{"email": "ann@example.com"})
	second := d.imports(earns("k", "ann@example.com", "", "", source.Paid, 1000),
		earns("k2", "ann@example.com", "", "", source.Paid, 70))
	require.Equal(t, map[string]int{"not_changed": 1}, d.problems(second.String("id")))
	due, paid := d.money("old@example.com")
	require.Equal(t, []int64{1000, 0}, []int64{due, paid})
	due, paid = d.money("ann@example.com")
	require.Equal(t, []int64{0, 70}, []int64{due, paid})
}

// TestMovedInRail: a later file changes a customer that a person has moved to another partner in Rail.
func TestMovedInRail(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := []source.Row{person("1", "ann@example.com"), person("2", "bob@example.com"), buyer("b", "1", "cus_1")}
	d.imports(rows...)
	find := func() M { return d.Must(200, d.Get("/v1/customers?program_id="+d.program)).Data()[0] }
	d.Must(200, d.Post("/v1/customers/"+find()["id"].(string), M{"partner_id": d.partners()["bob@example.com"]}))
	for i, partner := range []string{"1", "2"} {
		rows[2] = buyer("b", partner, "cus_1")
		rows[2].Customer.Name = []string{"Kim", "Kim Lee"}[i]
		require.Empty(t, d.problems(d.imports(rows...).String("id")))
		require.Equal(t, rows[2].Customer.Name, find()["name"])
	}
}

// TestStaleReport: a report from before another import was written cannot be written.
func TestStaleReport(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ready := func() string {
		var m db.Import
		require.NoError(t, d.unit().Within(t.Context(), func(u *work.Unit) (err error) {
			m, err = d.service.Start(t.Context(), u, importer.Order{
				ProgramID: d.program, Source: importer.CSV, DryRun: true,
				Rows: []source.Row{person("1", "ann@example.com"), earns("k", "1", "", "", source.Due, 1000)},
			})
			return err
		}))
		require.Equal(t, "ready", d.work(m.ID).Body["status"])
		return m.ID
	}
	first, second := ready(), ready()
	require.Equal(t, "done", d.run(first).Body["status"])
	d.Refused(409, "import_not_ready", "", d.Post("/v1/imports/"+second+"/run", M{}))
	third := ready()
	d.Clock.Advance(8 * 24 * time.Hour)
	d.Refused(409, "import_not_ready", "", d.Post("/v1/imports/"+third+"/run", M{}))
}

// TestStrangeRows: a row that cannot be stored stops no other row.
func TestStrangeRows(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	zero, text := person("2", "zero@example.com"), person("3", "text@example.com")
	zero.Partner.FirstName, text.Partner.FirstName = "a\x00b", `a\u0000b`
	huge := earns("k", "1", "", "", source.Due, 9_000_000_000_000_000_000)
	again := earns("k2", "1", "", "", source.Due, 9_000_000_000_000_000_000)
	done := d.imports(person("1", "ann@example.com"), zero, text, huge, again, link("l", "1", strings.Repeat("v", 20_000)),
		person(strings.Repeat("x", 20_000), "long@example.com"), link("a\x00", "1", "fine"))
	require.Equal(t, map[string]int{"out_of_bounds": 5}, d.problems(done.String("id")))
	names := map[string]any{}
	for _, p := range d.Must(200, d.Get("/v1/partners?program_id="+d.program)).Data() {
		names[p["email"].(string)] = p["first_name"]
	}
	require.Equal(t, map[string]any{"ann@example.com": nil, "zero@example.com": "ab", "text@example.com": `a\u0000b`}, names)
}

// TestEmitEvents: events of imported objects are sent on request alone, in their order; mails never are.
func TestEmitEvents(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Config.SMTPURL = "dir:" + t.TempDir()
	rows := []source.Row{
		person("1", "ann@example.com"), link("l", "1", "annie"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000),
		earns("k1", "1", "b", "s", source.Paid, 1000), earns("k2", "1", "", "", source.Due, 300),
	}
	d.imports(rows...)
	require.Empty(t, d.Events(d.program))
	other := d.Program()
	var m db.Import
	require.NoError(t, d.unit().Within(t.Context(), func(u *work.Unit) (err error) {
		m, err = d.service.Start(t.Context(), u, importer.Order{
			ProgramID: other, Source: importer.CSV, EmitEvents: true, Rows: rows,
		})
		return err
	}))
	require.Equal(t, "done", d.work(m.ID).Body["status"])
	types := d.EventTypes(other)
	for _, kind := range []string{
		"affiliate.created", "affiliate_link.created", "sale.created", "commission.created", "payout.paid",
	} {
		require.Contains(t, types, kind)
	}
	var mails int64
	require.NoError(t, d.Pool.QueryRow(t.Context(), "SELECT count(*) FROM mails WHERE partner_id IS NOT NULL").Scan(&mails))
	require.Zero(t, mails)
}
