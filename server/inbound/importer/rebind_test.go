package importer_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/inbound/importer"
	"rail/server/inbound/importer/source"
)

// report compares rows with Rail, and returns the import that is ready to be written.
func (d *desk) report(rows ...source.Row) apitest.Answer {
	d.t.Helper()
	ready := d.start(importer.Order{Rows: rows, DryRun: true})
	require.Equal(d.t, "ready", ready.Body["status"], "%v", ready.Body)
	return ready
}

// TestSaleSince: Rail records a payment between the report and the run. Its commission, which the source has paid, is
// paid once, and the others are paid as well.
func TestSaleSince(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Flow(d.program)
	mine := d.Partner(d.program, M{"email": "ann@example.com"})
	customer := d.Must(201, d.Post("/v1/customers", M{"program_id": d.program, "external_customer_id": "cus_1", "partner_id": mine})).String("id")
	ready := d.report(person("1", "ann@example.com"), buyer("b", "1", "cus_1"),
		payment("s1", "b", "ch_1", 5000), earns("k1", "1", "b", "s1", source.Paid, 1000),
		payment("s2", "b", "ch_2", 6000), earns("k2", "1", "b", "s2", source.Paid, 1200),
		earns("k3", "1", "", "", source.Paid, 400))
	d.Sale(d.program, customer, M{"external_charge_id": "ch_1", "amount_minor": 5000})
	done := d.run(ready.String("id"))
	due, paid := d.money("ann@example.com")
	require.Equal(t, []int64{0, 2600}, []int64{due, paid})
	require.Equal(t, 4, d.problems(done.String("id"))["recorded"], "with the partner and the customer")
	apitest.Balanced(t, d.Server)
}

// TestSalesAtTheSameTime: Rail records payments while the import writes them.
func TestSalesAtTheSameTime(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Flow(d.program)
	rows := []source.Row{person("1", "ann@example.com"), buyer("b", "1", "cus_1")}
	d.imports(rows...)
	for i := range 150 {
		id := string(rune('a'+i%26)) + string(rune('a'+i/26))
		rows = append(rows, payment("s"+id, "b", "ch_"+id, int64(1000+i)), earns("k"+id, "1", "b", "s"+id, source.Paid, 100))
	}
	ready := d.report(rows...)
	d.Must(200, d.Post("/v1/imports/"+ready.String("id")+"/run", M{}))
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 150 {
			id := string(rune('a'+i%26)) + string(rune('a'+i/26))
			if i%10 == 0 {
				a := d.Post("/v1/sales", M{"program_id": d.program, "external_customer_id": "cus_1", "external_charge_id": "ch_" + id, "amount_minor": 1000 + i, "currency": "USD"})
				if a.Status >= 500 {
					t.Error(a.Status, string(a.Raw))
				}
			}
		}
	})
	done := d.work(ready.String("id"))
	wg.Wait()
	_, paid := d.money("ann@example.com")
	apitest.Balanced(t, d.Server)
	require.Equal(t, "done", done.Body["status"])
	require.EqualValues(t, 15000, paid)
}

// TestPartnerSince: a partner joins between the report and the run, and gets the links and the history.
func TestPartnerSince(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ready := d.report(person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000), earns("k", "1", "b", "s", source.Due, 1000), earns("k2", "1", "", "", source.Paid, 70))
	d.Partner(d.program, M{"email": "ann@example.com", "handle": "zoe"})
	d.run(ready.String("id"))
	due, paid := d.money("ann@example.com")
	apitest.Balanced(t, d.Server)
	require.Equal(t, []int64{1000, 70}, []int64{due, paid})
}

// TestCustomerSince: a customer comes between the report and the run, and is not there twice.
func TestCustomerSince(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	mine := d.Partner(d.program, M{"email": "ann@example.com"})
	ready := d.report(person("1", "ann@example.com"), buyer("b", "1", "cus_1"),
		payment("s1", "b", "ch_1", 5000), earns("k1", "1", "b", "s1", source.Due, 1000))
	d.Must(201, d.Post("/v1/customers", M{"program_id": d.program, "external_customer_id": "cus_1", "partner_id": mine}))
	d.run(ready.String("id"))
	n := len(d.Must(200, d.Get("/v1/customers?program_id="+d.program)).Data())
	sold := d.Must(201, d.Post("/v1/sales", M{"program_id": d.program, "external_customer_id": "cus_1", "external_charge_id": "ch_9", "amount_minor": 500, "currency": "USD"}))
	require.Equal(t, 1, n)
	require.Equal(t, false, sold.Body["is_first_sale"])
	apitest.Balanced(t, d.Server)
}

// TestCustomerOfAnotherSince: a customer of another partner is refused, and the commission becomes a reward.
func TestCustomerOfAnotherSince(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Partner(d.program, M{"email": "ann@example.com"})
	other := d.Partner(d.program, M{"email": "bob@example.com"})
	ready := d.report(person("1", "ann@example.com"), buyer("b", "1", "cus_1"),
		payment("s1", "b", "ch_1", 5000), earns("k1", "1", "b", "s1", source.Due, 1000))
	d.Must(201, d.Post("/v1/customers", M{"program_id": d.program, "external_customer_id": "cus_1", "partner_id": other}))
	done := d.run(ready.String("id"))
	problems := d.problems(done.String("id"))
	require.Equal(t, []int{1, 1, 1}, []int{problems["customer_taken"], problems["missing_reference"], problems["detached"]})
	due, _ := d.money("ann@example.com")
	require.EqualValues(t, 1000, due)
	apitest.Balanced(t, d.Server)
}

// TestLinkSince: another partner takes the value of a link between the report and the run.
func TestLinkSince(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	bob := d.Partner(d.program, M{"email": "bob@example.com", "handle": "bob"})
	ready := d.report(person("1", "ann@example.com"), link("l", "1", "ann"), link("l2", "1", "promo"))
	d.Must(201, d.Post("/v1/links", M{"program_id": d.program, "partner_id": bob, "value": "promo", "destination_url": "https://shop.example/"}))
	done := d.run(ready.String("id"))
	click := d.Click(d.program, "promo", M{"landing_url": "https://shop.example/"})
	require.Equal(t, bob, click.Body["partner_id"])
	require.Equal(t, 1, d.problems(done.String("id"))["value_taken"])
	require.Equal(t, "1", count(done, "links", "refused"))
}

// TestHandleSince: another partner takes the value that is the planned handle.
func TestHandleSince(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	bob := d.Partner(d.program, M{"email": "bob@example.com", "handle": "bob"})
	ready := d.report(person("1", "ann@example.com"), link("l", "1", "promo"))
	d.Must(201, d.Post("/v1/links", M{"program_id": d.program, "partner_id": bob, "value": "promo", "destination_url": "https://shop.example/"}))
	done := d.run(ready.String("id"))
	click := d.Click(d.program, "promo", M{"landing_url": "https://shop.example/"})
	apitest.Balanced(t, d.Server)
	require.Equal(t, bob, click.Body["partner_id"])
	require.Equal(t, "0", count(done, "links", "new"))
	require.Contains(t, d.partners(), "ann@example.com")
}

// TestCouponSince: another partner takes the code of a coupon; its customer and sale are imported all the same.
func TestCouponSince(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	bob := d.Partner(d.program, M{"email": "bob@example.com", "handle": "bob"})
	b := buyer("b", "1", "cus_1")
	b.Customer.CouponID = "c"
	ready := d.report(person("1", "ann@example.com"), source.Row{Kind: source.KindCoupon, ID: "c", Coupon: &source.Coupon{PartnerID: "1", Code: "TEN", Active: true, CreatedAt: long}}, b,
		payment("s", "b", "ch_1", 5000), earns("k", "1", "b", "s", source.Due, 1000))
	d.Must(201, d.Post("/v1/coupons", M{"program_id": d.program, "partner_id": bob, "code": "TEN"}))
	done := d.run(ready.String("id"))
	var n int
	require.NoError(t, d.Pool.QueryRow(t.Context(), "SELECT count(*) FROM sales s WHERE NOT EXISTS (SELECT 1 FROM customers c WHERE c.id = s.customer_id)").Scan(&n))
	due, _ := d.money("ann@example.com")
	apitest.Balanced(t, d.Server)
	require.Zero(t, n)
	require.EqualValues(t, 1000, due)
	require.Equal(t, 1, d.problems(done.String("id"))["code_taken"])
	require.Equal(t, "0", count(done, "coupons", "new"))
}

// TestLocked: requests about an import do not wait for its batch.
func TestLocked(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.begun(importer.Order{Rows: []source.Row{person("1", "ann@example.com")}, DryRun: true})
	tx, err := d.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), "SELECT * FROM imports WHERE id = $1 FOR NO KEY UPDATE", m.ID)
	require.NoError(t, err)
	d.Refused(409, "import_active", "", d.Post("/v1/imports", M{"program_id": d.program, "source": "dub", "api_key": "x"}))
	d.Refused(409, "import_not_ready", "", d.Post("/v1/imports/"+m.ID+"/run", M{}))
}
