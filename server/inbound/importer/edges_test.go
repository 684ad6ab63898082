package importer_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/inbound/importer"
	"rail/server/inbound/importer/source"
	"rail/server/secret"
	"rail/server/work"
)

// desk is a program that imports rows of files.
type desk struct {
	*story
	service *importer.Service
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	s := apitest.New(t)
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	s.Clock.Advance(123456 * time.Microsecond) // times have more digits than the API's
	return &desk{
		story:   &story{Server: s, t: t, program: s.Program(M{"currency": "USD"})},
		service: &importer.Service{Pool: s.Pool, Keeper: keeper, Clock: s.Clock},
	}
}

func (d *desk) unit() *work.Unit {
	return work.NewRun(d.Pool, work.Actor{Kind: work.Operator, ID: "test"}, d.Clock.Now()).For(d.Org)
}

// begun stores an import of files.
func (d *desk) begun(o importer.Order) (m db.Import) {
	d.t.Helper()
	o.ProgramID, o.Source = d.program, importer.CSV
	require.NoError(d.t, d.unit().Within(d.t.Context(), func(u *work.Unit) (err error) {
		m, err = d.service.Start(d.t.Context(), u, o)
		return err
	}))
	return m
}

// start works on an import of files until nothing is left to do.
func (d *desk) start(o importer.Order) apitest.Answer {
	d.t.Helper()
	return d.work(d.begun(o).ID)
}

// imports imports rows and returns the import.
func (d *desk) imports(rows ...source.Row) apitest.Answer {
	d.t.Helper()
	done := d.start(importer.Order{Rows: rows})
	require.Equal(d.t, "done", done.Body["status"], "%v", done.Body)
	apitest.Balanced(d.t, d.Server)
	return done
}

// count returns a figure of an import.
func count(m apitest.Answer, kind, figure string) string {
	return m.Body["counts"].(map[string]any)[kind].(map[string]any)[figure].(json.Number).String()
}

var long = clock.At(apitest.Start).Days(-100)

func person(id, email string) source.Row {
	return source.Row{Kind: source.KindPartner, ID: id, Partner: &source.Partner{
		Email: email, Status: source.Active, CreatedAt: long,
	}}
}

func link(id, partner, value string) source.Row {
	return source.Row{Kind: source.KindLink, ID: id, Link: &source.Link{
		PartnerID: partner, Param: "via", Value: value, URL: "https://shop.example/", CreatedAt: long,
	}}
}

func buyer(id, partner string, external ...string) source.Row {
	return source.Row{Kind: source.KindCustomer, ID: id, Customer: &source.Customer{
		PartnerID: partner, ExternalIDs: external, Status: source.Paying, LeadAt: long, ConvertedAt: &long, CreatedAt: long,
	}}
}

func payment(id, customer, charge string, minor int64) source.Row {
	return source.Row{Kind: source.KindSale, ID: id, Sale: &source.Sale{
		CustomerID: customer, ChargeID: charge, AmountMinor: minor, Currency: "USD", OccurredAt: long.Days(1),
	}}
}

func earns(id, partner, customer, sale, status string, minor int64) source.Row {
	k := &source.Commission{
		PartnerID: partner, CustomerID: customer, SaleID: sale, AmountMinor: minor, Currency: "USD", Status: status,
		CreatedAt: long.Days(1), MatureAt: new(long.Days(31)),
	}
	if status == source.Paid {
		k.PaidAt = new(long.Days(40))
	}
	return source.Row{Kind: source.KindCommission, ID: id, Commission: k}
}

// TestValues: values of one partner may be anything printable; those of two partners that differ only in case stay
// apart, and a value that Rail has is refused.
func TestValues(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Partner(d.program, M{"handle": "taken", "email": "taken@example.com"})
	done := d.imports(
		person("1", "ann@example.com"), person("2", "ANN2@example.com"), person("3", "kim@example.com"),
		link("a", "1", "Ann"), link("b", "2", "ann"), link("c", "3", "Ümläut & spaces"), link("d", "3", "Taken"),
		link("e", "3", "x"), link("f", "3", "kim"), link("g", "1", "Ümläut & spaces"), link("h", "9", "nobody"),
		link("i", "3", strings.Repeat("v", 65)), link("j", "3", "SHOUT"),
	)
	ids := d.partners()
	for value, email := range map[string]string{
		"Ann": "ann@example.com", "ann": "ANN2@example.com", "Ümläut & spaces": "kim@example.com", "x": "kim@example.com",
		"kim": "kim@example.com", "SHOUT": "kim@example.com", "shout": "kim@example.com", "taken": "taken@example.com",
	} {
		click := d.Click(d.program, value, M{"landing_url": "https://shop.example/"})
		require.Equal(t, ids[email], click.Body["partner_id"], value)
	}
	d.Refused(404, "tracking_value_not_found", "value", d.Post("/v1/clicks", M{
		"program_id": d.program, "value": "ANN", "landing_url": "https://shop.example/", "visitor_token": "another-visitor",
	}))
	d.Refused(409, "partner_handle_taken", "handle", d.Post("/v1/partners", M{
		"program_id": d.program, "email": "late@example.com", "handle": "ann",
	}))
	require.Equal(t, map[string]int{"value_taken": 1, "duplicate": 1, "missing_reference": 1, "out_of_bounds": 1},
		d.problems(done.String("id")))
	require.Equal(t, []any{"ref", "via"}, d.Must(200, d.Get("/v1/programs/"+d.program)).Body["url_params"])
	apitest.Balanced(t, d.Server)
}

// TestExistingObjects: partners, customers and sales that Rail has already are bound, not repeated, and stay after undoing.
func TestExistingObjects(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	mine := d.Partner(d.program, M{"email": "Ann@example.com", "handle": "ann"})
	other := d.Partner(d.program, M{"email": "other@example.com"})
	d.Flow(d.program)
	direct := d.Must(201, d.Post("/v1/customers", M{"program_id": d.program, "external_customer_id": "cus_other", "partner_id": other})).String("id")
	bound := d.Must(201, d.Post("/v1/customers", M{"program_id": d.program, "external_customer_id": "cus_mine", "partner_id": mine})).String("id")
	sold := d.Sale(d.program, bound, M{"external_charge_id": "ch_known", "amount_minor": 1000})
	done := d.imports(
		person("1", "ann@EXAMPLE.com"), person("2", "ann@example.com"), link("a", "1", "annie"),
		buyer("b1", "1", "cus_mine", "user-7"), buyer("b2", "1", "cus_other"),
		payment("s1", "b1", "ch_known", 1000), earns("k1", "1", "b1", "s1", source.Due, 300),
		payment("s2", "b1", "ch_new", 2000), earns("k2", "2", "b1", "s2", source.Due, 600),
	)
	require.Equal(t, "0", count(done, "partners", "new"))
	require.Equal(t, map[string]int{"recorded": 3, "merged": 1, "customer_taken": 1, "balance_differs": 1}, d.problems(done.String("id")))
	renewal := d.Must(201, d.Post("/v1/sales", M{
		"program_id": d.program, "external_customer_id": "user-7", "external_charge_id": "ch_next", "amount_minor": 500, "currency": "USD",
	}))
	require.Equal(t, []any{bound, mine}, []any{renewal.Body["customer_id"], renewal.Body["partner_id"]})
	_, due, _ := d.Balance(d.program, mine, "USD")
	require.EqualValues(t, 200+600+100, due, "Rail's own commission of 20 % counts, and the imported one of the other sale")
	d.undo(done.String("id"))
	require.Len(t, d.partners(), 2)
	d.Must(200, d.Get("/v1/sales/"+sold.String("id")))
	d.Must(200, d.Get("/v1/customers/"+direct))
	_, due, _ = d.Balance(d.program, mine, "USD")
	require.EqualValues(t, 300, due)
}

// TestDeltaTooLate: what Rail has paid, or is paying, does not follow the source; all other changes do, and the
// merchant's own changes stay.
func TestDeltaTooLate(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := func(status string, minor int64) []source.Row {
		return []source.Row{
			person("1", "ann@example.com"), link("a", "1", "ann"), buyer("b", "1", "cus_1"), buyer("c", "1", "cus_2"),
			payment("s1", "b", "ch_1", 1000), earns("k1", "1", "b", "s1", source.Due, 300),
			payment("s2", "c", "ch_2", 1000), earns("k2", "1", "c", "s2", source.Due, minor),
			payment("s3", "c", "ch_3", 1000), earns("k3", "1", "c", "s3", status, 200),
		}
	}
	d.imports(rows(source.Due, 300)...)
	partner := d.partners()["ann@example.com"]
	d.Must(200, d.Post("/v1/partners/"+partner, M{"first_name": "Anna"}))
	changed := rows(source.Voided, 250)
	changed[0].Partner.LastName = "Lovelace"
	second := d.imports(changed...)
	require.Equal(t, []string{"1", "2"}, []string{count(second, "partners", "changed"), count(second, "commissions", "changed")})
	shown := d.Must(200, d.Get("/v1/partners/"+partner))
	require.Equal(t, []any{"Anna", "Lovelace"}, []any{shown.Body["first_name"], shown.Body["last_name"]})
	_, due, _ := d.Balance(d.program, partner, "USD")
	require.EqualValues(t, 300+250, due)
	d.Must(200, d.Post("/v1/partners/"+partner, M{"payout_method": "paypal", "payout_details": M{"email": "ann@example.com"}}))
	d.Must(201, d.Post("/v1/payout_batches", M{"program_id": d.program, "period_end": d.Clock.Now().Format(time.DateOnly), "ignore_minimum": true}))
	third := d.imports(append(rows(source.Voided, 100), earns("k4", "1", "", "", source.Paid, 70))...)
	require.Equal(t, 1, d.problems(third.String("id"))["in_payout"])
	_, due, paid := d.Balance(d.program, partner, "USD")
	require.EqualValues(t, 550, due)
	require.EqualValues(t, 70, paid)
}

// TestDebts: deductions count, and commissions paid together that sum to nothing are refused.
func TestDebts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	done := d.imports(
		person("1", "ann@example.com"), person("2", "bob@example.com"),
		earns("k1", "1", "", "", source.Due, 500), earns("k2", "1", "", "", source.Open, -200),
		earns("k3", "2", "", "", source.Paid, 100), earns("k4", "2", "", "", source.Paid, -100),
		earns("k5", "1", "", "", source.Due, 0), earns("k6", "1", "", "s9", source.Due, 50),
	)
	require.Equal(t, map[string]int{"out_of_bounds": 3, "detached": 1}, d.problems(done.String("id")))
	pending, due, paid := d.Balance(d.program, d.partners()["ann@example.com"], "USD")
	require.Equal(t, []int64{0, 350, 0}, []int64{pending, due, paid})
}

// TestKilled: an import continues where it was killed, with two servers at once, and writes each row once.
func TestKilled(t *testing.T) {
	t.Parallel()
	x := newStory(t, products[0], 40)
	run := x.Must(201, x.Post("/v1/imports", M{
		"program_id": x.program, "source": x.of.name, "api_key": x.of.key, "dry_run": false,
	})).String("id")
	for n := range 200 {
		if x.Must(200, x.Get("/v1/imports/"+run)).Body["status"] == "done" {
			require.Greater(t, n, 5)
			break
		}
		x.killed(time.Duration(5+3*n) * time.Millisecond)
	}
	require.Equal(t, "done", x.work(run).Body["status"])
	x.balanced()
	x.unchanged()
}

// TestRefusals: the API names what is wrong, and shows nothing of another organization.
func TestRefusals(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	post := func(more M) apitest.Answer {
		body := M{"program_id": d.program, "source": "rewardful", "api_key": "x"}
		maps.Copy(body, more)
		return d.Post("/v1/imports", body)
	}
	d.Refused(400, "parameter_missing", "api_key", d.Post("/v1/imports", M{"program_id": d.program, "source": "dub"}))
	d.Refused(400, "parameter_invalid", "source", post(M{"source": "refersion"}))
	d.Refused(400, "parameter_missing", "source_account", post(M{"source": "firstpromoter"}))
	d.Refused(400, "parameter_invalid", "files", d.Post("/v1/imports", M{"program_id": d.program, "source": "csv"}))
	d.Refused(400, "parameter_invalid", "api_key", post(M{"source": "csv"}))
	d.Refused(404, "resource_not_found", "program_id", post(M{"program_id": "prg_1"}))
	run := d.Must(201, post(nil)).String("id")
	require.NotContains(t, string(d.Must(200, d.Get("/v1/imports/"+run)).Raw), "api_key")
	d.Refused(409, "import_active", "", post(nil))
	d.Refused(409, "import_not_ready", "", d.Post("/v1/imports/"+run+"/run", M{}))
	d.Refused(409, "import_not_ready", "", d.Post("/v1/imports/"+run+"/undo", M{}))
	foreign := d.NewKey(d.NewOrg("Foreign"), true, "read", "write")
	for _, path := range []string{"", "/problems"} {
		d.Refused(404, "resource_not_found", "", d.Do("GET", "/v1/imports/"+run+path, foreign, nil))
	}
	for _, path := range []string{"/run", "/undo"} {
		d.Refused(404, "resource_not_found", "", d.Do("POST", "/v1/imports/"+run+path, foreign, M{}))
	}
}

// TestForgotten: uploaded files without columns are deleted after a day, and the rows of a report that was not
// written when it is out of date.
func TestForgotten(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	left := func(table string) (n int) {
		require.NoError(t, d.Pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		return n
	}
	m := d.begun(importer.Order{Open: true})
	require.NoError(t, d.unit().Within(t.Context(), func(u *work.Unit) error {
		return d.service.Upload(t.Context(), u, m.ID, importer.File{Name: "partners.csv"}, 0, []byte("email\n"))
	}))
	d.Clock.Advance(23 * time.Hour)
	apitest.RunJob(t, d.Server, "run-imports")
	require.Equal(t, 1, left("import_files"))
	d.Clock.Advance(2 * time.Hour)
	apitest.RunJob(t, d.Server, "run-imports")
	require.Zero(t, left("import_files"))
	require.Equal(t, "failed", d.Must(200, d.Get("/v1/imports/"+m.ID)).Body["status"])

	m = d.begun(importer.Order{DryRun: true, Rows: []source.Row{person("1", "ann@example.com")}})
	require.Equal(t, "ready", d.work(m.ID).Body["status"])
	for _, age := range []time.Duration{importer.ReportLife, time.Second} {
		apitest.RunJob(t, d.Server, "clean-up")
		require.Equal(t, 1, left("import_rows"))
		require.Positive(t, left("import_keys"))
		d.Clock.Advance(age)
	}
	apitest.RunJob(t, d.Server, "clean-up")
	require.Zero(t, left("import_rows")+left("import_keys"))
}

// TestLaterImports: the page before an undo counts the later imports of the same account, which are undone too.
func TestLaterImports(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := d.imports(person("1", "ann@example.com")).String("id")
	d.Clock.Advance(time.Minute)
	second := d.imports(person("2", "bob@example.com")).String("id")
	for account, later := range map[string]int{"one": 1, "two": 0} {
		_, err := d.Pool.Exec(t.Context(), `UPDATE imports SET source_account = CASE id WHEN $1 THEN 'one' ELSE $2 END
			WHERE id IN ($1, $3)`, first, account, second)
		require.NoError(t, err)
		m, err := db.New().ImportGet(t.Context(), d.Pool, db.ImportGetParams{ID: first, OrgID: d.Org})
		require.NoError(t, err)
		_, found, err := d.service.Stays(t.Context(), d.unit(), m, 10)
		require.NoError(t, err)
		require.Equal(t, later, found, account)
	}
}
