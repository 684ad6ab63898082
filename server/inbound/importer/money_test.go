package importer_test

import (
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/inbound/importer/source"
)

// TestSecondCommission: a second commission of a sale that comes with a delta is another one.
func TestSecondCommission(t *testing.T) {
	t.Parallel()
	for _, status := range []string{source.Due, source.Paid} {
		t.Run(status, func(t *testing.T) {
			d := newDesk(t)
			rows := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000), earns("k1", "1", "b", "s", source.Due, 1000)}
			d.imports(rows...)
			t.Parallel()
			d.imports(append(rows, earns("k2", "1", "b", "s", status, 250))...)
			due, paid := d.money("ann@example.com")
			require.EqualValues(t, 1250, due+paid, "due %d, paid %d", due, paid)
		})
	}
}

// TestTwoDeductions: a deduction of the source is one of Rail only if the amounts are equal.
func TestTwoDeductions(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Flow(d.program)
	first := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000), earns("k", "1", "b", "s", source.Paid, 1000)}
	d.imports(first...)
	sale := d.Must(200, d.Get("/v1/sales?program_id="+d.program)).Data()[0]["id"].(string)
	d.Must(200, d.Post("/v1/sales/"+sale+"/refund", M{"amount_minor": 2000}))
	due, _ := d.money("ann@example.com")
	require.EqualValues(t, -400, due)
	d.imports(append(first, earns("c1", "1", "b", "s", source.Due, -400), earns("c2", "1", "b", "s", source.Due, -300))...)
	due, _ = d.money("ann@example.com")
	require.EqualValues(t, -700, due)
}

// TestRefundOfOwnSale: the source reports a refund of a sale that Rail recorded itself. The processor's refund changes the
// commission.
func TestRefundOfOwnSale(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Flow(d.program)
	mine := d.Partner(d.program, M{"email": "ann@example.com"})
	customer := d.Must(201, d.Post("/v1/customers", M{"program_id": d.program, "external_customer_id": "cus_1", "partner_id": mine})).String("id")
	d.Sale(d.program, customer, M{"external_charge_id": "ch_1", "amount_minor": 5000})
	rows := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000)}
	d.imports(rows...)
	at := d.Clock.Now().Plus(time.Minute)
	d.Clock.Advance(time.Hour)
	rows[2].Sale.RefundedMinor, rows[2].Sale.RefundedAt = 2000, &at
	d.imports(rows...)
	d.Must(201, d.Post("/v1/refunds", M{"program_id": d.program, "external_charge_id": "ch_1", "external_refund_id": "re_1", "amount_minor": 2000, "refunded_at": at}))
	due, _ := d.money("ann@example.com")
	require.EqualValues(t, 600, due, "Rail's own commission of 20 % of 3000")
}

// TestCorrectedByPerson: a person's amount stays if the source changes the status alone.
func TestCorrectedByPerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := []source.Row{person("1", "ann@example.com"), earns("k", "1", "", "", source.Open, 1000)}
	d.imports(rows...)
	d.Clock.Advance(time.Minute)
	k := d.Must(200, d.Get("/v1/commissions?program_id="+d.program)).Data()[0]["id"].(string)
	d.Must(200, d.Post("/v1/commissions/"+k, M{"amount_minor": 900, "reason": "agreed"}))
	d.Clock.Advance(time.Minute)
	rows[1].Commission.Status = source.Due
	d.imports(rows...)
	_, due, _ := d.Balance(d.program, d.partners()["ann@example.com"], "USD")
	require.EqualValues(t, 900, due, "the person's amount")
}

// TestPaidWithDeduction: a payout has the deduction whose amount changed as Rail has it, so that it is deducted once.
func TestPaidWithDeduction(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.imports(person("1", "ann@example.com"), earns("k1", "1", "", "", source.Due, 500), earns("k2", "1", "", "", source.Due, -200))
	d.Clock.Advance(time.Hour)
	delta := d.imports(person("1", "ann@example.com"), earns("k1", "1", "", "", source.Paid, 500), earns("k2", "1", "", "", source.Paid, -300), earns("k3", "1", "", "", source.Paid, 100))
	due, paid := d.money("ann@example.com")
	require.Equal(t, 1, d.problems(delta.String("id"))["not_changed"])
	require.Equal(t, []int64{0, 400}, []int64{due, paid})
}

// TestPaidInFuture: a payment of a clock that is ahead is one of now.
func TestPaidInFuture(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	k := earns("k", "1", "", "", source.Paid, 500)
	ahead := d.Clock.Now().Plus(time.Hour)
	k.Commission.PaidAt = &ahead
	done := d.imports(person("1", "ann@example.com"), k)
	require.Equal(t, "done", done.Body["status"])
	require.Empty(t, d.problems(done.String("id")))
}

// TestNoTimes: a paid commission without a time is paid when the import began.
func TestNoTimes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	k := earns("k", "1", "", "", source.Paid, 500)
	k.Commission.CreatedAt, k.Commission.MatureAt, k.Commission.PaidAt = clock.Time{}, nil, nil
	done := d.imports(person("1", "ann@example.com"), k)
	require.Equal(t, "done", done.Body["status"])
}

// TestBalancesOfReport: the balances of a report are those of the run, also for commissions that Rail has made itself.
func TestBalancesOfReport(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Flow(d.program)
	mine := d.Partner(d.program, M{"email": "ann@example.com"})
	customer := d.Must(201, d.Post("/v1/customers", M{"program_id": d.program, "external_customer_id": "cus_1", "partner_id": mine})).String("id")
	d.Sale(d.program, customer, M{"external_charge_id": "ch_1", "amount_minor": 5000})
	ready := d.report(person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000), earns("k", "1", "b", "s", source.Due, 1500))
	done := d.run(ready.String("id"))
	require.Equal(t, ready.Body["balances"], done.Body["balances"])
}

// TestMergedSince: new sales of a customer that a person merged are those of the other one.
func TestMergedSince(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1"), buyer("c", "1", "cus_2"), payment("s", "c", "ch_1", 5000), earns("k", "1", "c", "s", source.Due, 1000)}
	d.imports(rows...)
	ids := map[string]string{}
	for _, c := range d.Must(200, d.Get("/v1/customers?program_id="+d.program)).Data() {
		ids[c["external_customer_id"].(string)] = c["id"].(string)
	}
	d.Must(200, d.Post("/v1/customers/"+ids["cus_1"]+"/merge", M{"customer_id": ids["cus_2"]}))
	delta := d.imports(append(rows, payment("s2", "c", "ch_2", 6000), earns("k2", "1", "c", "s2", source.Due, 1200))...)
	require.Equal(t, "1", count(delta, "sales", "new"))
}

// TestRefundAfterDelta: a refund of the rest claws back the rest of a paid commission.
func TestRefundAfterDelta(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000), earns("k1", "1", "b", "s", source.Paid, 1000)}
	d.imports(rows...)
	d.Clock.Advance(time.Hour)
	rows[2].Sale.RefundedMinor, rows[2].Sale.RefundedAt = 2000, new(d.Clock.Now())
	d.imports(append(rows, earns("c1", "1", "b", "s", source.Due, -400))...)
	due, _ := d.money("ann@example.com")
	require.EqualValues(t, -400, due)
	sale := d.Must(200, d.Get("/v1/sales?program_id="+d.program)).Data()[0]["id"].(string)
	d.Must(200, d.Post("/v1/sales/"+sale+"/refund", M{}))
	due, _ = d.money("ann@example.com")
	require.EqualValues(t, -1000, due, "the whole commission of 1000 is clawed back, once")
}

// TestRefundAfterLowered: a refund takes its share of a commission that the source has lowered.
func TestRefundAfterLowered(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000), earns("k1", "1", "b", "s", source.Due, 1000)}
	d.imports(rows...)
	d.Clock.Advance(time.Hour)
	rows[2].Sale.RefundedMinor, rows[2].Sale.RefundedAt = 2000, new(d.Clock.Now())
	rows[3].Commission.AmountMinor = 600
	d.imports(rows...)
	sale := d.Must(200, d.Get("/v1/sales?program_id="+d.program)).Data()[0]["id"].(string)
	d.Must(200, d.Post("/v1/sales/"+sale+"/refund", M{"amount_minor": 1500}))
	due, _ := d.money("ann@example.com")
	require.EqualValues(t, 300, due)
}

// TestRefundAfterDeduction: a deduction of the source counts when the rest is refunded.
func TestRefundAfterDeduction(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000), earns("k1", "1", "b", "s", source.Paid, 1000), earns("c1", "1", "b", "s", source.Due, -400)}
	rows[2].Sale.RefundedMinor, rows[2].Sale.RefundedAt = 2000, new(long.Days(50))
	d.imports(rows...)
	sale := d.Must(200, d.Get("/v1/sales?program_id="+d.program)).Data()[0]["id"].(string)
	d.Must(200, d.Post("/v1/sales/"+sale+"/refund", M{}))
	due, _ := d.money("ann@example.com")
	require.EqualValues(t, -1000, due, "the whole commission of 1000 is clawed back, once")
}

// TestStatusOfPerson: a partner whom a person suspended stays suspended when the source approves the application.
func TestStatusOfPerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := person("1", "ann@example.com")
	p.Partner.Status = source.Pending
	d.imports(p)
	id := d.partners()["ann@example.com"]
	application := d.Must(200, d.Get("/v1/applications?program_id="+d.program)).Data()[0]["id"].(string)
	d.Must(200, d.Post("/v1/applications/"+application+"/approve", M{}))
	d.Must(200, d.Post("/v1/partners/"+id, M{"status": "suspended", "suspension_reason": "fraud"}))
	again := d.imports(person("1", "ann@example.com"))
	now := d.Must(200, d.Get("/v1/partners/"+id))
	require.Equal(t, []any{"suspended", "fraud"}, []any{now.Body["status"], now.Body["suspension_reason"]})
	require.Equal(t, 1, d.problems(again.String("id"))["not_changed"])
}

// TestStatusOfCustomer: the source cancels an active customer, and changes no status that Rail has set.
func TestStatusOfCustomer(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := func(status string) []source.Row {
		one, two := buyer("b", "1", "cus_1"), buyer("c", "1", "cus_2")
		one.Customer.Status, two.Customer.Status = status, status
		return []source.Row{person("1", "ann@example.com"), one, two}
	}
	d.imports(rows("active")...)
	find := func(external string) M {
		return d.Must(200, d.Get("/v1/customers?program_id="+d.program+"&external_customer_id="+external)).Data()[0]
	}
	d.Must(200, d.Post("/v1/customers/"+find("cus_1")["id"].(string), M{"status": "suspended"}))
	d.imports(rows("cancelled")...)
	require.Equal(t, []any{"suspended", "cancelled"}, []any{find("cus_1")["status"], find("cus_2")["status"]})
}

// TestPending: a pending partner has an application, which the source or a person decides.
func TestPending(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := person("1", "ann@example.com")
	p.Partner.Status = source.Pending
	first := d.imports(p)
	application := func() any {
		return d.Must(200, d.Get("/v1/applications?program_id="+d.program)).Data()[0]["status"]
	}
	require.Equal(t, "pending", application())
	d.imports(person("1", "ann@example.com"))
	require.Equal(t, "approved", application())
	d.undo(first.String("id"))
	require.Empty(t, d.partners())
}

// TestDeletedAtSource: an unpaid commission that the source no longer lists is named, and the balances differ.
func TestDeletedAtSource(t *testing.T) {
	t.Parallel()
	x := newStory(t, products[0], 12)
	x.run(x.begin(nil).String("id"))
	i := slices.IndexFunc(x.world.Commissions, func(r source.Row) bool { return r.Commission.Status == source.Due })
	gone := x.world.Commissions[i].Commission
	x.world.Commissions = slices.Delete(x.world.Commissions, i, i+1)
	again := x.begin(M{"dry_run": false})
	require.Equal(t, "done", again.Body["status"])
	problems := x.problems(again.String("id"))
	require.Equal(t, []int{1, 1}, []int{problems["gone_at_source"], problems["balance_differs"]})
	for _, b := range again.Body["balances"].([]any) {
		if b := b.(map[string]any); b["currency"] == gone.Currency {
			source, _ := b["source_minor"].(json.Number).Int64()
			rail, _ := b["rail_minor"].(json.Number).Int64()
			require.Equal(t, source+gone.AmountMinor, rail)
		}
	}
}

// TestLongTexts: texts that are too long for an index refuse their rows, or have no effect.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	noise := make([]byte, 10_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	text := hex.EncodeToString(noise)
	mail := buyer("b2", "1", "cus_2")
	mail.Customer.Email = text + "@example.com"
	done := d.imports(person("1", "ann@example.com"), link("l", text, "promo"), buyer("b", "1", "cus_1", text), mail)
	require.Equal(t, []string{"1", "2"}, []string{count(done, "links", "refused"), count(done, "customers", "new")})
}

// TestOneValue: thousands of links with one value are compared in a time that grows with their number.
func TestOneValue(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := []source.Row{person("1", "ann@example.com")}
	for i := range 8000 {
		rows = append(rows, link(strconv.Itoa(i), "1", "ann"))
	}
	require.Equal(t, "8000", count(d.report(rows...), "links", "new"))
}
