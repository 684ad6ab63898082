package importer_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/importtest"
	"rail/server/inbound/importer"
	"rail/server/inbound/importer/source"
	"rail/server/work"
)

// TestOtherPartnerSince: Rail records a payment for another partner, before or after the report.
func TestOtherPartnerSince(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{true, false} {
		for _, status := range []string{source.Paid, source.Due} {
			d := newDesk(t)
			d.Flow(d.program)
			d.Partner(d.program, M{"email": "ann@example.com"})
			bob := d.Partner(d.program, M{"email": "bob@example.com"})
			customer := d.Must(201, d.Post("/v1/customers", M{"program_id": d.program, "external_customer_id": "cus_bob", "partner_id": bob})).String("id")
			rows := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1"),
				payment("s1", "b", "ch_1", 5000), earns("k1", "1", "b", "s1", status, 1000)}
			if early {
				d.Sale(d.program, customer, M{"external_charge_id": "ch_1", "amount_minor": 5000})
			}
			ready := d.report(rows...)
			if !early {
				d.Sale(d.program, customer, M{"external_charge_id": "ch_1", "amount_minor": 5000})
			}
			d.run(ready.String("id"))
			annDue, annPaid := d.money("ann@example.com")
			bobPending, bobDue, bobPaid := d.Balance(d.program, bob, "USD")
			var wrong int
			require.NoError(t, d.Pool.QueryRow(t.Context(), "SELECT count(*) FROM commissions k JOIN payouts p ON p.id = k.payout_id WHERE p.partner_id <> k.partner_id").Scan(&wrong))
			if wrong != 0 {
				t.Error("payouts with another partner's commission:", wrong)
			}
			if annDue+annPaid != 1000 || bobPending+bobDue != 1000 || bobPaid != 0 {
				t.Error("wrong money")
			}
		}
	}
}

// TestSettledSince: a commission that the source has settled with a deduction is not owed.
func TestSettledSince(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{true, false} {
		d := newDesk(t)
		d.Flow(d.program)
		mine := d.Partner(d.program, M{"email": "ann@example.com"})
		customer := d.Must(201, d.Post("/v1/customers", M{"program_id": d.program, "external_customer_id": "cus_1", "partner_id": mine})).String("id")
		rows := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1"),
			payment("s1", "b", "ch_1", 5000), earns("k1", "1", "b", "s1", source.Paid, 1000), earns("k2", "1", "", "", source.Paid, -1000)}
		if early {
			d.Sale(d.program, customer, M{"external_charge_id": "ch_1", "amount_minor": 5000})
		}
		ready := d.report(rows...)
		if !early {
			d.Sale(d.program, customer, M{"external_charge_id": "ch_1", "amount_minor": 5000})
		}
		d.run(ready.String("id"))
		pending, due, _ := d.Balance(d.program, mine, "USD")
		if pending+due != 0 {
			t.Error("early", early, "settled commission is still owed", pending+due)
		}
	}
}

// TestDeductionSince: Rail deducts for a refund before or after the report.
func TestDeductionSince(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{true, false} {
		d := newDesk(t)
		d.Flow(d.program)
		first := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000), earns("k", "1", "b", "s", source.Paid, 1000)}
		d.imports(first...)
		d.Clock.Advance(time.Hour)
		sale := d.Must(200, d.Get("/v1/sales?program_id="+d.program)).Data()[0]["id"].(string)
		if early {
			d.Must(200, d.Post("/v1/sales/"+sale+"/refund", M{"amount_minor": 2000}))
		}
		ready := d.report(append(first, earns("c1", "1", "b", "s", source.Due, -400))...)
		if !early {
			d.Must(200, d.Post("/v1/sales/"+sale+"/refund", M{"amount_minor": 2000}))
		}
		d.run(ready.String("id"))
		due, _ := d.money("ann@example.com")
		if due != -400 {
			t.Error("early", early, "deducted", due)
		}
	}
}

// TestDeletedSince: an object of a delta is deleted in Rail before the run.
func TestDeletedSince(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"link", "partner"} {
		t.Run(what, func(t *testing.T) {
			d := newDesk(t)
			rows := []source.Row{person("1", "ann@example.com"), person("2", "bob@example.com"), link("l", "1", "annie"), earns("k", "1", "", "", source.Due, 500)}
			d.imports(rows...)
			d.Clock.Advance(time.Hour)
			rows[2] = link("l", "1", "annie")
			rows[2].Link.URL = "https://shop.example/new"
			rows[3] = earns("k", "1", "", "", source.Due, 600)
			rows = append(rows, earns("k2", "2", "", "", source.Due, 70))
			ready := d.report(rows...)
			if what == "link" {
				id := d.Must(200, d.Get("/v1/links?program_id="+d.program)).Data()[0]["id"].(string)
				d.Must(200, d.Delete("/v1/links/"+id))
			} else {
				d.Must(200, d.Delete("/v1/partners/"+d.partners()["ann@example.com"]))
			}
			d.Must(200, d.Post("/v1/imports/"+ready.String("id")+"/run", M{}))
			var m apitest.Answer
			for range 12 {
				_ = apitest.TryJob(t, d.Server, "run-imports") // failures are tried again
				m = d.Must(200, d.Get("/v1/imports/"+ready.String("id")))
				if m.Body["status"] != "writing" {
					break
				}
				d.Clock.Advance(31 * time.Minute)
			}
			due, _ := d.money("bob@example.com")
			require.Equal(t, "done", m.Body["status"], "%v; bob has %d", m.Body["error"], due)
		})
	}
}

// TestRefusedChange: new objects of a partner whose change is refused are imported.
func TestRefusedChange(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := person("1", "ann@example.com")
	p.Partner.Status = source.Suspended
	d.imports(p, buyer("b", "1", "cus_1"))
	d.Clock.Advance(time.Hour)
	id := d.partners()["ann@example.com"]
	d.Must(200, d.Post("/v1/partners/"+id+"/ban", M{"reason": "Stolen cards.", "undo_for_minutes": 60}))
	d.imports(person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000), earns("k", "1", "b", "s", source.Due, 1000))
	due, _ := d.money("ann@example.com")
	require.EqualValues(t, 1000, due)
}

// TestMergedBeforeRun: a person merges customers between the report and the run.
func TestMergedBeforeRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1"), buyer("c", "1", "cus_2"), payment("s", "c", "ch_1", 5000), earns("k", "1", "c", "s", source.Due, 1000)}
	d.imports(rows...)
	ids := map[string]string{}
	for _, c := range d.Must(200, d.Get("/v1/customers?program_id="+d.program)).Data() {
		ids[c["external_customer_id"].(string)] = c["id"].(string)
	}
	ready := d.report(append(rows, payment("s2", "c", "ch_2", 6000), earns("k2", "1", "c", "s2", source.Due, 1200))...)
	d.Must(200, d.Post("/v1/customers/"+ids["cus_1"]+"/merge", M{"customer_id": ids["cus_2"]}))
	d.run(ready.String("id"))
	var n int
	require.NoError(t, d.Pool.QueryRow(t.Context(), "SELECT count(*) FROM sales s WHERE NOT EXISTS (SELECT 1 FROM customers c WHERE c.id = s.customer_id)").Scan(&n))
	require.Zero(t, n, "sales of no customer")
}

// TestTwoEqualPayments: of two equal payments at one time, Rail has one by its charge.
func TestTwoEqualPayments(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{true, false} {
		d := newDesk(t)
		d.Flow(d.program)
		mine := d.Partner(d.program, M{"email": "ann@example.com"})
		customer := d.Must(201, d.Post("/v1/customers", M{"program_id": d.program, "external_customer_id": "cus_1", "partner_id": mine})).String("id")
		at := d.Clock.Now()
		s1, s2 := payment("s1", "b", "ch_0", 5000), payment("s2", "b", "ch_1", 5000)
		s1.Sale.OccurredAt, s2.Sale.OccurredAt = at, at
		rows := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1"), s1, s2, earns("k1", "1", "b", "s1", source.Due, 1000), earns("k2", "1", "b", "s2", source.Due, 1000)}
		d.Clock.Advance(time.Minute)
		if early {
			d.Sale(d.program, customer, M{"external_charge_id": "ch_1", "amount_minor": 5000})
		}
		ready := d.report(rows...)
		if !early {
			d.Sale(d.program, customer, M{"external_charge_id": "ch_1", "amount_minor": 5000})
		}
		d.run(ready.String("id"))
		n := len(d.Must(200, d.Get("/v1/sales?program_id="+d.program)).Data())
		pending, due, _ := d.Balance(d.program, mine, "USD")
		if n != 2 || pending+due != 2000 {
			t.Error("early", early, "sales", n, "money", pending+due)
		}
	}
}

// TestTwoEqualPaid: the same with commissions that the source has paid.
func TestTwoEqualPaid(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Flow(d.program)
	mine := d.Partner(d.program, M{"email": "ann@example.com"})
	customer := d.Must(201, d.Post("/v1/customers", M{"program_id": d.program, "external_customer_id": "cus_1", "partner_id": mine})).String("id")
	at := d.Clock.Now()
	s1, s2 := payment("s1", "b", "ch_0", 5000), payment("s2", "b", "ch_1", 5000)
	s1.Sale.OccurredAt, s2.Sale.OccurredAt = at, at
	rows := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1"), s1, s2, earns("k1", "1", "b", "s1", source.Paid, 1000), earns("k2", "1", "b", "s2", source.Paid, 1000)}
	d.Clock.Advance(time.Minute)
	ready := d.report(rows...)
	d.Sale(d.program, customer, M{"external_charge_id": "ch_1", "amount_minor": 5000})
	d.run(ready.String("id"))
	pending, due, paid := d.Balance(d.program, mine, "USD")
	var payouts, commissions int64
	d.Pool.QueryRow(t.Context(), "SELECT coalesce(sum(amount_minor), 0) FROM payouts").Scan(&payouts)
	d.Pool.QueryRow(t.Context(), "SELECT coalesce(sum(amount_minor), 0) FROM commissions WHERE payout_id IS NOT NULL").Scan(&commissions)
	require.Equal(t, []int64{2000, 0, payouts}, []int64{paid, pending + due, commissions})
	apitest.Balanced(t, d.Server)
}

// TestPaidSince: Rail pays a partner between the report of a delta and the run.
func TestPaidSince(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.imports(person("1", "ann@example.com"), earns("k1", "1", "", "", source.Due, 1000), earns("k2", "1", "", "", source.Due, 300))
	d.Clock.Advance(time.Hour)
	id := d.partners()["ann@example.com"]
	d.Must(200, d.Post("/v1/partners/"+id, M{"payout_method": "paypal", "payout_details": M{"email": "ann@example.com"}}))
	ready := d.report(person("1", "ann@example.com"), earns("k1", "1", "", "", source.Paid, 1000), earns("k2", "1", "", "", source.Paid, 300), earns("k3", "1", "", "", source.Paid, 70), earns("k4", "1", "", "", source.Paid, -20))
	d.Must(201, d.Post("/v1/payout_batches", M{"program_id": d.program, "period_end": d.Clock.Now().Format(time.DateOnly), "ignore_minimum": true, "partner_id": id}))
	d.run(ready.String("id"))
	due, paid := d.money("ann@example.com")
	if due != 1300 || paid != 50 {
		t.Error("due", due, "paid", paid)
	}
	apitest.Balanced(t, d.Server)
}

// TestCouponDeletedSince: a coupon is deleted between the report and the run.
func TestCouponDeletedSince(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := source.Row{Kind: source.KindCoupon, ID: "c", Coupon: &source.Coupon{PartnerID: "1", Code: "TEN", Active: true, CreatedAt: long}}
	d.imports(person("1", "ann@example.com"), c)
	d.Clock.Advance(time.Hour)
	b := buyer("b", "1", "cus_1")
	b.Customer.CouponID = "c"
	ready := d.report(person("1", "ann@example.com"), c, b, payment("s", "b", "ch_1", 5000), earns("k", "1", "b", "s", source.Due, 1000))
	id := d.Must(200, d.Get("/v1/coupons?program_id="+d.program)).Data()[0]["id"].(string)
	d.Must(200, d.Delete("/v1/coupons/"+id))
	done := d.run(ready.String("id"))
	require.Equal(t, []string{"1", "1"}, []string{count(done, "customers", "new"), count(done, "sales", "new")})
}

// TestGroupDeletedSince: a group is deleted between the report and the run.
func TestGroupDeletedSince(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	group := d.Must(201, d.Post("/v1/groups", M{"program_id": d.program, "name": "VIP"})).String("id")
	p := person("1", "ann@example.com")
	p.Partner.Group = "VIP"
	ready := d.report(p, earns("k", "1", "", "", source.Due, 1000))
	d.Must(200, d.Delete("/v1/groups/"+group))
	done := d.run(ready.String("id"))
	require.Equal(t, "1", count(done, "partners", "new"))
}

// TestMergedRowsSince: two rows of one customer, who has come to Rail since, are bound without a problem.
func TestMergedRowsSince(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	mine := d.Partner(d.program, M{"email": "ann@example.com"})
	ready := d.report(person("1", "ann@example.com"), buyer("b1", "1", "x"), buyer("b2", "1", "x", "y"))
	d.Must(201, d.Post("/v1/customers", M{"program_id": d.program, "external_customer_id": "x", "partner_id": mine}))
	_, err := d.Pool.Exec(t.Context(), `INSERT INTO customer_external_ids SELECT program_id, org_id, 'y', customer_id, processor, created_at FROM customer_external_ids WHERE external_customer_id = 'x'`)
	if err != nil {
		t.Skip(err)
	}
	done := d.run(ready.String("id"))
	require.Zero(t, d.problems(done.String("id"))["customer_taken"], "%v", d.problems(done.String("id")))
}

// TestPaidDeduction: a deduction that Rail and the source have made, and that the source has taken from a payout, is taken once.
func TestPaidDeduction(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Flow(d.program)
	rows := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000), earns("k", "1", "b", "s", source.Paid, 1000)}
	d.imports(rows...)
	d.Clock.Advance(time.Hour)
	sale := d.Must(200, d.Get("/v1/sales?program_id="+d.program)).Data()[0]["id"].(string)
	d.Must(200, d.Post("/v1/sales/"+sale+"/refund", M{"amount_minor": 2000}))
	rows = append(rows, earns("k2", "1", "", "", source.Paid, 500), earns("c1", "1", "b", "s", source.Paid, -400))
	ready := d.report(rows...)
	d.run(ready.String("id"))
	due, paid := d.money("ann@example.com")
	if due != 0 || paid != 1100 {
		t.Error("the source owes 0 and has paid 1100; Rail: due", due, "paid", paid)
	}
}

// TestDeductionsInTwoBatches: two equal deductions of Rail, whose rows are compared in different batches, are known.
func TestDeductionsInTwoBatches(t *testing.T) {
	t.Parallel()
	for _, fillers := range []int{0, 600} {
		d := newDesk(t)
		d.Flow(d.program)
		rows := []source.Row{person("1", "ann@example.com"), person("2", "bob@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000), earns("k", "1", "b", "s", source.Paid, 1000)}
		d.imports(rows...)
		sale := d.Must(200, d.Get("/v1/sales?program_id="+d.program)).Data()[0]["id"].(string)
		for range 2 {
			d.Must(200, d.Post("/v1/sales/"+sale+"/refund", M{"amount_minor": 2000}))
		}
		c2 := earns("c2", "1", "b", "s", source.Due, -400)
		c2.Commission.CreatedAt = long.Days(60)
		rows = append(rows, earns("c1", "1", "b", "s", source.Due, -400), c2)
		for i := range fillers {
			f := earns("f"+time.Duration(i).String(), "2", "", "", source.Due, 1)
			f.Commission.CreatedAt = long.Days(30)
			rows = append(rows, f)
		}
		d.imports(rows...)
		due, _ := d.money("ann@example.com")
		if due != -800 {
			t.Error("fillers", fillers, "due", due)
		}
	}
}

// TestPayoutNotMade: amounts stay if the payout that they are paid by is not made.
func TestPayoutNotMade(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.imports(person("1", "ann@example.com"), earns("k1", "1", "", "", source.Due, 500), earns("k2", "1", "", "", source.Due, -200))
	d.Clock.Advance(time.Hour)
	// paid at the source: 150 - 120; Rail keeps the deduction of 200, so that the sum is not positive.
	delta := d.imports(person("1", "ann@example.com"), earns("k1", "1", "", "", source.Paid, 150), earns("k2", "1", "", "", source.Paid, -120))
	due, paid := d.money("ann@example.com")
	require.Equal(t, []int64{300, 0}, []int64{due, paid})
	require.Equal(t, 3, d.problems(delta.String("id"))["not_changed"])
}

// TestUndoPaidByDelta: an import whose commissions a delta has paid is undone.
func TestUndoPaidByDelta(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := d.imports(person("1", "ann@example.com"), earns("k1", "1", "", "", source.Due, 1000))
	d.Clock.Advance(time.Hour)
	d.imports(person("1", "ann@example.com"), earns("k1", "1", "", "", source.Paid, 1000), earns("k2", "1", "", "", source.Paid, 50))
	d.undo(first.String("id"))
	require.Empty(t, d.partners())
}

// TestReportOfCorrected: the balances of a report have the amounts that people corrected.
func TestReportOfCorrected(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := []source.Row{person("1", "ann@example.com"), earns("k", "1", "", "", source.Open, 1000)}
	d.imports(rows...)
	d.Clock.Advance(time.Minute)
	k := d.Must(200, d.Get("/v1/commissions?program_id="+d.program)).Data()[0]["id"].(string)
	d.Must(200, d.Post("/v1/commissions/"+k, M{"amount_minor": 900, "reason": "agreed"}))
	d.Clock.Advance(time.Minute)
	rows[1].Commission.Status = source.Due
	ready := d.report(rows...)
	done := d.run(ready.String("id"))
	require.Equal(t, ready.Body["balances"], done.Body["balances"])
}

// TestTwoFiles: two files with the same ids of different objects are a problem.
func TestTwoFiles(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.begun(importer.Order{Open: true})
	for i, f := range []struct{ name, kind, text string }{
		{"partners.csv", "partners", "email\nann@example.com\n"},
		{"commissions-2024.csv", "commissions", "id,partner_email,amount,currency,status\n1,ann@example.com,10.00,USD,due\n"},
		{"commissions-2025.csv", "commissions", "id,partner_email,amount,currency,status\n1,ann@example.com,70.00,USD,due\n"},
	} {
		require.NoError(t, d.unit().Within(t.Context(), func(u *work.Unit) error {
			return d.service.Upload(t.Context(), u, m.ID, importer.File{Number: int32(i), Name: f.name, Kind: source.Kind(f.kind)}, 0, []byte(f.text))
		}))
	}
	require.NoError(t, d.unit().Within(t.Context(), func(u *work.Unit) error { return d.service.Close(t.Context(), u, m.ID) }))
	done := d.work(m.ID)
	due, _ := d.money("ann@example.com")
	require.Equal(t, "done", done.Body["status"])
	require.EqualValues(t, 1000, due)
	require.Equal(t, map[string]int{"duplicate": 1}, d.problems(m.ID))
}

// TestProblemsOnce: a row that is read again has its problem once.
func TestProblemsOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := person("1", "ann@example.com")
	p.Problem = &source.Problem{Code: source.UnknownStatus, Detail: "odd"}
	m := d.begun(importer.Order{Open: true})
	for range 3 {
		require.NoError(t, d.unit().Within(t.Context(), func(u *work.Unit) error {
			return d.service.Add(t.Context(), u, m.ID, []source.Row{p})
		}))
	}
	require.NoError(t, d.unit().Within(t.Context(), func(u *work.Unit) error { return d.service.Close(t.Context(), u, m.ID) }))
	d.work(m.ID)
	require.Equal(t, map[string]int{"unknown_status": 1}, d.problems(m.ID))
}

// TestShortOfTotal: a list that is always short of its total has each problem once.
func TestShortOfTotal(t *testing.T) {
	t.Parallel()
	world := importtest.NewWorld(7, 150, apitest.Start, products[0].shape)
	odd := importtest.Oddities{Changes: []importtest.Change{
		importtest.Alter("affiliates", 0, func(o importtest.Object) { o["state"] = "weird" }),
		func(name string, read int, objects []importtest.Object) []importtest.Object {
			if name == "affiliates" && read == 2 {
				objects = slices.Clone(objects)
				objects[10], objects[140] = objects[140], objects[10]
			}
			return objects
		},
	}}
	fake := importtest.Serve(t, importtest.Rewardful(world, odd), importtest.Faults{})
	x := &story{t: t, of: products[0], world: world, fake: fake}
	x.Server = apitest.New(t, func(c *config.Config) { c.ImportURLRewardful = fake.URL })
	x.program = x.Program(M{"currency": "USD"})
	ready := x.begin(nil)
	require.Equal(t, 1, x.problems(ready.String("id"))["unknown_status"])
}

// TestUndoParts: an undo removes payouts with many commissions in parts.
func TestUndoParts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := []source.Row{}
	for i := range 50 {
		rows = append(rows, person(strconv.Itoa(i), "p"+strconv.Itoa(i)+"@example.com"))
		for j := range 100 {
			rows = append(rows, earns("k"+strconv.Itoa(i)+"-"+strconv.Itoa(j), strconv.Itoa(i), "", "", source.Paid, int64(j+1)))
		}
	}
	done := d.imports(rows...)
	d.Must(200, d.Post("/v1/imports/"+done.String("id")+"/undo", M{}))
	most := 0
	d.work(done.String("id"))
	require.NoError(t, d.Pool.QueryRow(t.Context(), "SELECT max(n) FROM (SELECT count(*) AS n FROM ledger_entries WHERE to_bucket = 'removed' GROUP BY created_xid) x").Scan(&most))
	require.LessOrEqual(t, most, 1000)
}

// TestBannedInRail: a partner whom a person banned stays so when the source reactivates the account.
func TestBannedInRail(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := person("1", "ann@example.com")
	p.Partner.Status = source.Suspended
	d.imports(p)
	d.Clock.Advance(time.Hour)
	id := d.partners()["ann@example.com"]
	d.Must(200, d.Post("/v1/partners/"+id+"/ban", M{"reason": "Stolen cards."}))
	d.Clock.Advance(time.Hour)
	delta := d.imports(person("1", "ann@example.com"))
	now := d.Must(200, d.Get("/v1/partners/"+id))
	require.Equal(t, "suspended", now.Body["status"], "%v", d.problems(delta.String("id")))
}

// TestAppliesAgain: a partner who applies again at the source has an application.
func TestAppliesAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := person("1", "ann@example.com")
	p.Partner.Status = source.Declined
	d.imports(p)
	d.Clock.Advance(time.Hour)
	p.Partner = new(*p.Partner)
	p.Partner.Status = source.Pending
	d.imports(p)
	require.Equal(t, "pending", d.Must(200, d.Get("/v1/partners/"+d.partners()["ann@example.com"])).Body["status"])
	require.Len(t, d.Must(200, d.Get("/v1/applications?status=pending&program_id="+d.program)).Data(), 1)
}

// TestApplicantOfRail: the source does not decide about an applicant of Rail.
func TestApplicantOfRail(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	applied := d.Must(201, d.Post("/v1/applications", M{"program_id": d.program, "email": "ann@example.com", "first_name": "Ann", "last_name": "Lee"}))
	p := person("1", "ann@example.com")
	p.Partner.Status = source.Pending
	d.imports(p)
	d.Clock.Advance(time.Hour)
	d.imports(person("1", "ann@example.com"))
	status := d.Must(200, d.Get("/v1/partners/"+d.partners()["ann@example.com"])).Body["status"]
	application := d.Must(200, d.Get("/v1/applications/"+applied.String("id"))).Body["status"]
	if status == "active" && application == "pending" {
		t.Error("an active partner with an undecided application")
	}
}
