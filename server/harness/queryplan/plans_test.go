package queryplan_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/queries"
	"rail/server/clock"
	"rail/server/harness/dataset"
	"rail/server/harness/pgtest"
	"rail/server/harness/queryplan"
)

const (
	// few is how many rows a page of 26 may read or sort, whatever its filter. Index
	// entries that the index itself skips do not count.
	few = 5000
	// big is the number of rows from which a sequential scan is a fault.
	big = 4000
)

// values lists the values for each filter: frequent ones, rare ones, and one of no
// row. A filter without an entry takes the values of its column's CHECK, and fails the test without one.
var values = map[string][]any{
	"PartnerID":          {id("part", 0), id("part", 1200), "part_none"},
	"CustomerID":         {id("cus", 0), id("cus", 1200), "cus_none"},
	"LinkID":             {id("lnk", 0), id("lnk", 1200), "lnk_none"},
	"ReferralID":         {id("ref", 0), "ref_none"},
	"SaleID":             {id("sale", 0), "sale_none"},
	"PayoutID":           {id("pyt", 0), id("pyt", 1200), "pyt_none"},
	"Identifier":         {"none"},
	"HasDuplicates":      {true},
	"TagID":              {id("tag", 0), id("tag", 40), "tag_none"},
	"ReasonCode":         {"no_partner", "none"},
	"GroupID":            {id("grp", 0), id("grp", 20*49), "grp_none"},
	"Email":              {"partner0@example.com", "customer0@example.com", "none@example.com"},
	"Handle":             {"partner-0", "none"},
	"HasPayoutMethod":    {true, false},
	"NoClickSince":       {at(-30), at(1)},
	"Search":             {"%partner%", "%last77%", "%nobody%"},
	"ExternalCustomerID": {"ext0", "none"},
	"ExternalChargeID":   {"ch_0", "none"},
	"ExternalRefundID":   {"re_0", "none"},
	"ExternalID":         {"none"},
	"Code":               {"Code0", "none"},
	"Currency":           {"USD", "EUR", "JPY"},
	"Refunded":           {true, false},
	"OccurredAfter":      {at(-1), at(-300)},
	"CreatedAfter":       {at(-1), at(-300)},
	"CreatedBefore":      {at(-1), at(-300), at(-600)},
	"OccurredBefore":     {at(-1), at(-300), at(-600)},
	"TargetID":           {"com_none"},
	"BatchID":            {id("batch", 0), "batch_none"},
	"Action":             {"commission.rejected"},
	"ConnectionID":       {id("pco", 0), "pco_none"},
	"Type":               {"sale", "refund", "none"},
	"ExternalEventID":    {"msg_0", "none"},
}

// together lists filters that clients combine.
var together = map[string][]map[string]any{
	"CommissionMaturing": {
		{"FromAt": at(-400), "ToAt": at(100)},
		{"FromAt": at(1), "ToAt": at(8)},
		{"FromAt": at(-400), "ToAt": at(100), "Status": "approved"},
		{"FromAt": at(-400), "ToAt": at(100), "StatusIn": []string{"pending", "approved"}},
	},
	"ImportProblem": {
		{"ImportID": id("imp", 0)},
		{"ImportID": "imp_none"},
		{"ImportID": id("imp", 0), "Kind": "links"},
		{"ImportID": id("imp", 0), "Kind": "coupons"},
		{"ImportID": id("imp", 0), "Kind": "none"},
		{"ImportID": id("imp", 0), "Code": "value_taken"},
		{"ImportID": id("imp", 0), "Code": "deleted"},
		{"ImportID": id("imp", 0), "Kind": "links", "Code": "none"},
	},
	"ImportBalance": {
		{"ImportID": id("imp", 0)},
		{"ImportID": "imp_none"},
	},
	"Sale": {
		{"OccurredAfter": at(-330), "OccurredBefore": at(-300)},
		{"OccurredAfter": at(-30), "OccurredBefore": at(-29)},
		{"PartnerID": id("part", 0), "OccurredAfter": at(-330), "OccurredBefore": at(-300)},
		{"PartnerID": id("part", 0), "Refunded": true},
	},
	"Commission": {
		{"PartnerID": id("part", 0), "Status": "pending"},
		{"PartnerID": id("part", 0), "Status": "due"},
		{"PartnerID": id("part", 1200), "StatusIn": []string{"pending", "approved"}},
		{"PartnerID": id("part", 0), "Kind": "referral"},
	},
	"Customer": {{"PartnerID": id("part", 0), "Status": "active"}},
	"Partner":  {{"GroupID": id("grp", 0), "Status": "active"}},
	"Click":    {{"PartnerID": id("part", 0), "LinkID": id("lnk", 0)}},
	"Balance":  {{"PartnerID": id("part", 0), "Currency": "USD"}},
}

// scans lists the pages that may read every row of their program or partner, with
// the reason.
var scans = map[string]string{
	"Partner.Search":          "a part of a name needs a scan of the program's partners",
	"Partner.HasPayoutMethod": "most or none of the program's partners may have a method",
	"Partner.NoClickSince":    "each partner's clicks need a look",
}

func id(prefix string, n int) string { return dataset.ID(prefix, n) }

// at returns a time days from the end of the dataset.
func at(days int64) clock.Time {
	return clock.At(time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)).Days(days)
}

// list is the generated function of the page, or of the count, of a list of the API.
type list struct {
	resource, method string
	page             bool
	params           reflect.Type
	run              reflect.Value
}

// lists returns the generated functions of all lists.
func lists(t testing.TB) []list {
	var out []list
	q := reflect.ValueOf(db.New())
	for i := range q.NumMethod() {
		name := q.Type().Method(i).Name
		resource, isPage := strings.CutSuffix(name, "Page")
		if !isPage {
			var isCount bool
			if resource, isCount = strings.CutSuffix(name, "Count"); !isCount {
				continue
			}
		}
		f := q.Method(i)
		params := f.Type().In(2)
		if params.Kind() != reflect.Struct { // these have the organization as their only parameter
			require.Contains(t, []string{"ProgramCount", "MailCount", "OwnersCount"}, name)
			continue
		}
		out = append(out, list{resource, name, isPage, params, f})
	}
	require.Greater(t, len(out), 20)
	return out
}

// foreign reports whether a filter names an object, which is one of the first program.
func foreign(filter map[string]any) bool {
	for name, v := range filter {
		if s, ok := v.(string); ok && strings.HasSuffix(name, "ID") && !strings.HasSuffix(s, "none") {
			return true
		}
	}
	return false
}

// position reports whether a field sets the beginning of a page and is not a filter.
func position(field string) bool {
	return strings.HasPrefix(field, "After") || strings.HasPrefix(field, "Before")
}

// filters returns the sets of filters to test a list with.
func (l list) filters(t testing.TB, pool *pgxpool.Pool) []map[string]any {
	if _, ranged := l.params.FieldByName("FromAt"); ranged || strings.HasPrefix(l.resource, "Import") && l.resource != "Import" {
		return together[l.resource] // the range, or the import, is required
	}
	out := []map[string]any{{}}
	for field := range l.params.Fields() {
		name := field.Name
		if name == "ProgramID" || name == "OrgID" || name == "Lim" || name == "Most" || position(name) {
			continue
		}
		examples, ok := values[l.resource+"."+name]
		if !ok {
			examples, ok = values[name]
		}
		if !ok {
			examples = l.listed(t, pool, name)
			ok = len(examples) > 0
		}
		require.True(t, ok, "%s filters by %s: add values for it", l.method, name)
		for _, v := range examples {
			out = append(out, map[string]any{name: v})
		}
	}
	return append(out, together[l.resource]...)
}

// listed returns each value of the CHECK on a filter's column, and each two of them for a filter of several
// values.
func (l list) listed(t testing.TB, pool *pgxpool.Pool, filter string) (out []any) {
	column, several := strings.CutSuffix(filter, "In")
	rows, err := pool.Query(t.Context(), `
		SELECT m[1] FROM pg_constraint k, regexp_matches(pg_get_constraintdef(k.oid), '''(\w+)''::text', 'g') m
		WHERE k.conrelid = $1::regclass AND k.conname = $1 || '_' || $2 || '_check' AND pg_get_constraintdef(k.oid) LIKE 'CHECK ((' || $2 || ' = ANY (ARRAY[%'`,
		l.declaration(t).Table, strings.ToLower(column))
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for i, v := range all {
		if !several {
			out = append(out, v)
			continue
		}
		for _, other := range all[:i] {
			out = append(out, []string{other, v})
		}
	}
	return out
}

// places returns cursors of pages at the start, in the middle and near the end of the
// list.
func (l list) places(t testing.TB, pool *pgxpool.Pool, program string) []map[string]any {
	out := []map[string]any{{}}
	if !l.page {
		return out
	}
	d := l.declaration(t)
	where := "t.program_id = $1"
	if d.OfOrganization {
		where, program = "t.org_id = $1", "org_0"
	}
	keys, descends := d.Keys()
	var columns, order []string
	for _, k := range keys {
		columns, order = append(columns, k.Column()), append(order, k.Column())
		if descends {
			order[len(order)-1] += " DESC"
		}
	}
	for _, share := range []float64{0.5, 0.98} {
		row := pool.QueryRow(t.Context(), "SELECT "+strings.Join(columns, ", ")+" FROM "+d.Table+" t WHERE "+where+
			" ORDER BY "+strings.Join(order, ", ")+
			" OFFSET (SELECT floor(count(*) * $2::float8)::bigint FROM "+d.Table+" t WHERE "+where+") LIMIT 1", program, share)
		at := make([]any, len(keys))
		for i, k := range keys {
			at[i] = map[string]any{
				"text": new(string), "bigint": new(int64), "smallint": new(int16), "timestamptz": new(clock.Time),
			}[k.Type]
		}
		require.NoError(t, row.Scan(at...), l.method)
		for _, way := range []string{"After", "Before"} {
			place := map[string]any{}
			for i, k := range keys {
				place[way+queries.GoName(k.Place())] = reflect.ValueOf(at[i]).Elem().Interface()
			}
			out = append(out, place)
		}
	}
	return out
}

// declaration returns the declaration of the list.
func (l list) declaration(t testing.TB) queries.List {
	all, err := queries.Lists()
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(d queries.List) bool { return d.Name == l.resource })
	require.GreaterOrEqual(t, i, 0, "%s is of no list in queries/lists.yaml", l.method)
	return all[i]
}

// call returns the statement of a list.
func (l list) call(t testing.TB, program string, sets ...map[string]any) queryplan.Capture {
	p := reflect.New(l.params).Elem()
	args := map[string]any{"ProgramID": program, "OrgID": "org_0", "Lim": int32(26), "Most": int32(math.MaxInt32)}
	for i := range l.params.NumField() {
		f := l.params.Field(i)
		v, ok := args[f.Name]
		for _, s := range sets {
			if x, in := s[f.Name]; in {
				v, ok = x, true
			}
		}
		if !ok {
			continue
		}
		value := reflect.ValueOf(v)
		if f.Type.Kind() == reflect.Pointer {
			ptr := reflect.New(value.Type())
			ptr.Elem().Set(value)
			value = ptr
		}
		require.True(t, value.Type().AssignableTo(f.Type), "%s.%s", l.method, f.Name)
		p.Field(i).Set(value)
	}
	var c queryplan.Capture
	out := l.run.Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(&c), p})
	require.ErrorIs(t, out[1].Interface().(error), queryplan.ErrCaptured)
	return c
}

// planFaults returns the faults of the plan of a list, "" for none.
func planFaults(l list, top queryplan.Node, large map[string]bool, scan bool) string {
	var wrong []string
	top.Walk(func(n queryplan.Node) {
		if n.Type == "Seq Scan" && large[n.Table] {
			wrong = append(wrong, "reads the whole of "+n.Table)
		}
		if l.page && !scan && strings.HasSuffix(n.Type, "Sort") && len(n.Plans) > 0 && n.Plans[0].Rows > few {
			wrong = append(wrong, fmt.Sprintf("sorts %g rows", n.Plans[0].Rows))
		}
	})
	examined := top.Examined()
	if l.page && !scan && examined > few {
		wrong = append(wrong, fmt.Sprintf("a page looks at %g rows", examined))
	}
	return strings.Join(wrong, ", ")
}

func TestPlans(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("fills a large database")
	}
	dsn := pgtest.DSN(t)
	start := time.Now()
	load(t, dsn)
	t.Logf("filled in %s", time.Since(start).Round(time.Millisecond))
	pool := pgtest.Pool(t, dsn)
	filling, err := pgx.Connect(t.Context(), dsn) // a pool has time limits
	require.NoError(t, err)
	defer filling.Close(t.Context()) // nothing is lost
	_, err = filling.Exec(t.Context(),
		`INSERT INTO audit_log_entries (id, org_id, program_id, action, target_id, created_at)
		SELECT 'aud_' || g, 'org_0', CASE g % 20 WHEN 0 THEN $1 WHEN 1 THEN $2 ELSE 'prg_other' END, CASE WHEN g % 3 = 0 THEN 'commission.rejected' ELSE 'commission.created' END,
			'com_' || g, timestamptz '2026-01-01Z' + g * interval '1 minute' FROM generate_series(1, 50000) g`, id("prg", 17),
		id("prg", 0))
	require.NoError(t, err)
	_, err = filling.Exec(t.Context(),
		`INSERT INTO payout_batches (id, org_id, program_id, period_month, period_end, created_at, updated_at)
		SELECT 'batch_' || p || g, 'org_0', p, date '1000-01-01' + g * interval '1 month', t, t, t
		FROM (SELECT id AS p FROM programs WHERE org_id = 'org_0') o, generate_series(1, 2500) g, LATERAL (SELECT timestamptz '2020-01-01Z' + g * interval '1 day') x(t)
		ON CONFLICT DO NOTHING`)
	require.NoError(t, err)
	_, err = filling.Exec(t.Context(), "ANALYZE audit_log_entries, payout_batches")
	require.NoError(t, err)
	rows, err := pool.Query(t.Context(),
		"SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND reltuples >= $1", big)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	large := map[string]bool{}
	for _, n := range names {
		large[n] = true
	}
	for _, n := range []string{
		"sales", "commissions", "clicks", "customers", "partners", "referrals", "links", "coupons", "balances",
	} {
		require.True(t, large[n], n)
	}
	start = time.Now()
	ran := 0
	for _, l := range lists(t) {
		for _, program := range []string{id("prg", 0), id("prg", 17)} { // the largest and a small one
			for _, place := range l.places(t, pool, program) {
				for _, filter := range l.filters(t, pool) {
					if program != id("prg", 0) && foreign(filter) {
						continue // the API refuses it without a query
					}
					scan := false
					for name := range filter {
						_, listed := scans[l.resource+"."+name]
						scan = scan || listed
					}
					c := l.call(t, program, filter, place)
					top := c.Explain(t, pool)
					ran++
					if wrong := planFaults(l, top, large, scan); wrong != "" {
						t.Errorf("%s %v %v of %s %s:\n%s", l.method, filter, place, program, wrong, top.Shape())
					}
				}
			}
		}
	}
	t.Logf("checked %d plans in %s", ran, time.Since(start).Round(time.Millisecond))
	sameCommissions(t, pool)
}

// sameCommissions compares the page of several statuses, which is a merge of one page
// for each, with a plain query.
func sameCommissions(t testing.TB, pool *pgxpool.Pool) {
	l := list{resource: "Commission", page: true}
	program, partner := id("prg", 0), id("part", 0)
	for _, place := range l.places(t, pool, program) {
		for _, status := range [][]string{{"pending", "approved"}, {"rejected", "voided", "due"}, {"paid", "due"}} {
			for _, of := range []*string{nil, &partner} {
				p := db.CommissionPageParams{ProgramID: program, OrgID: "org_0", StatusIn: status, PartnerID: of, Lim: 26}
				where, order := "true", "created_at DESC, id DESC"
				args := []any{program, status, of}
				if at, ok := place["AfterAt"].(clock.Time); ok {
					mark := place["AfterID"].(string)
					p.AfterAt, p.AfterID, where, args = &at, &mark, "(created_at, id) < ($4, $5)", append(args, at, mark)
				}
				if at, ok := place["BeforeAt"].(clock.Time); ok {
					mark := place["BeforeID"].(string)
					p.BeforeAt, p.BeforeID, where, order, args = &at, &mark, "(created_at, id) > ($4, $5)", "created_at, id", append(args, at, mark)
				}
				got, err := db.New().CommissionPage(t.Context(), pool, p)
				require.NoError(t, err)
				rows, err := pool.Query(t.Context(),
					"SELECT id FROM commissions WHERE program_id = $1 AND status = ANY ($2) AND ($3::text IS NULL OR partner_id = $3) AND "+
						where+" ORDER BY "+order+" LIMIT 26", args...)
				require.NoError(t, err)
				want, err := pgx.CollectRows(rows, pgx.RowTo[string])
				require.NoError(t, err)
				ids := []string{}
				for _, k := range got {
					ids = append(ids, k.ID)
				}
				require.Equal(t, want, ids, "%v %v", place, status)
			}
		}
	}
}
