package queryplan_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/dataset"
	"rail/server/harness/pgtest"
	"rail/server/harness/queryplan"
	"rail/server/postgres"
)

const (
	// endpoints is the number of endpoints. Half of them have a lease. line is the number of deliveries that wait for
	// each.
	endpoints, line = 600, 16
	// batch is how many results, or visits, a statement takes at once.
	batch = 31
)

// call executes a statement.
type call = func(context.Context, *db.Queries, db.DBTX) error

// hot lists frequent statements, with the number of rows that each returns and the number that it may read for them.
var hot = map[string]struct {
	rows, most float64
	call       call
}{
	"WebhookResults": {batch, endpoints + 5*batch, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.WebhookResults(ctx, c, results())
		return err
	}},
	"WebhookNext": {line, 4 * line, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		now := at(0)
		_, err := q.WebhookNext(ctx, c, db.WebhookNextParams{
			EndpointID: "wep_1", Owner: 7, Token: 1, Now: &now, Horizon: 1 << 40, Lim: line,
			Classes: []int32{1}, Belows: []int64{1 << 40},
		})
		return err
	}},
	// An organization gets an eighth of the free places for endpoints that are not quick.
	"WebhookClaim": {64, 8 * endpoints, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		now := at(0)
		_, err := q.WebhookClaim(ctx, c, db.WebhookClaimParams{
			Owner: 8, Unused: 512, Now: &now, Horizon: 1 << 40, Lim: 256,
			Classes: []int32{1}, Belows: []int64{1 << 40},
		})
		return err
	}},
	// Each waiting row is read once by its index, and checked four times.
	"Backlog": {1, 6 * endpoints * line, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.Backlog(ctx, c, db.BacklogParams{Now: at(0), Lim: 10_000})
		return err
	}},
	"TrackingResolve": {batch, 8 * batch, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.TrackingResolve(ctx, c, visits())
		return err
	}},
	"VisitorReferral": {1, 40, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.VisitorReferral(ctx, c, db.VisitorReferralParams{
			ProgramID: id("prg", 0), OrgID: "org_0", Visitor: visitor(0), Now: at(0), ClickID: id("clk", 1200),
		})
		return err
	}},
	"VisitorTouches": {3, 40, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.VisitorTouches(ctx, c, db.VisitorTouchesParams{ReferralID: "ref_back_0", OrgID: "org_0", At: at(0)})
		return err
	}},
	"RehearsalTouches": {9, 60 * batch, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		p := db.RehearsalTouchesParams{OrgID: "org_0"}
		for i := range batch {
			p.ReferralIds, p.Untils = append(p.ReferralIds, fmt.Sprint("ref_back_", i)), append(p.Untils, at(1))
		}
		_, err := q.RehearsalTouches(ctx, c, p)
		return err
	}},
	"RehearsalCustomers": {batch, 20 * batch, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.RehearsalCustomers(ctx, c, db.RehearsalCustomersParams{
			ProgramID: id("prg", 0), OrgID: "org_0", Since: at(-365), BeforeAt: at(0), BeforeID: "~", Lim: batch,
		})
		return err
	}},
	"RehearsalTotal": {1, 100, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.RehearsalTotal(ctx, c, db.RehearsalTotalParams{
			ProgramID: id("prg", 0), OrgID: "org_0", Since: at(-365), Until: at(0), Lim: batch,
		})
		return err
	}},
	"RehearsalSales": {batch, 400 * batch, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		p := db.RehearsalSalesParams{OrgID: "org_0", Lim: batch}
		for i := range 500 {
			p.CustomerIds = append(p.CustomerIds, id("cus", i))
		}
		_, err := q.RehearsalSales(ctx, c, p)
		return err
	}},
	"ClicksSince": {0, 2, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.ClicksSince(ctx, c, db.ClicksSinceParams{ProgramID: id("prg", 0), OrgID: "org_0"})
		return err
	}},
	"ClickGet": {1, 1, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.ClickGet(ctx, c, db.ClickGetParams{ID: id("clk", 1200), OrgID: "org_0"})
		return err
	}},
	"PublishableKeyFind": {1, 30, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.PublishableKeyFind(ctx, c, "rail_pub_300")
		return err
	}},
	"SaleCustomer": {1, 20, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.SaleCustomer(ctx, c, db.SaleCustomerParams{CustomerID: id("cus", 1200), OrgID: "org_0"})
		return err
	}},
	"SaleCustomerLock": {1, 3, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.SaleCustomerLock(ctx, c, db.SaleCustomerLockParams{ID: id("cus", 1200), OrgID: "org_0"})
		return err
	}},
	"SaleLead": {0, 5, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.SaleLead(ctx, c, db.SaleLeadParams{CustomerID: id("cus", 1200), OrgID: "org_0"})
		return err
	}},
	"FlowsForPartner": {0, 60, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		customer := id("cus", 1200)
		_, err := q.FlowsForPartner(ctx, c, db.FlowsForPartnerParams{CustomerID: &customer, OrgID: "org_0", Trigger: "sale"})
		return err
	}},
	"SaleHistory": {1, 20, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.SaleHistory(ctx, c, db.SaleHistoryParams{
			ProgramID: id("prg", 0), OrgID: "org_0", ExternalChargeID: "ch_0", CustomerID: id("cus", 1200),
		})
		return err
	}},
	"SaleByCharges": {1, 10, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.SaleByCharges(ctx, c, db.SaleByChargesParams{
			ProgramID: id("prg", 0), OrgID: "org_0", Charges: []string{"ch_0", "ch_none"},
		})
		return err
	}},
	"CustomerSetSubscription": {0, 5 * batch, subscribe(batch)},
	"InboxOutcome":            {0, 5 * batch, finish(batch)},
	"InboxTurnsAdd":           {0, 5 * batch, addTurns(batch)},
	"InboxWaitsClear":         {0, 5 * batch, clearWaits(batch)},
	"IdempotencyGet": {0, 1, func(ctx context.Context, q *db.Queries, c db.DBTX) error {
		_, err := q.IdempotencyGet(ctx, c, db.IdempotencyGetParams{OrgID: "org_0", Key: "none", ValidSince: at(-1)})
		return err
	}},
}

// results are the last deliveries in the queues of some endpoints.
func results() db.WebhookResultsParams {
	p := db.WebhookResultsParams{Owner: 7}
	for i := range batch {
		p.Ids = append(p.Ids, fmt.Sprintf("whd_%d_%d", line, i+1))
		p.EndpointIds = append(p.EndpointIds, fmt.Sprintf("wep_%d", i+1))
		p.Tokens, p.Attempts, p.Statuses = append(p.Tokens, 1), append(p.Attempts, 1), append(p.Statuses, "delivered")
		p.ResponseCodes, p.Errors, p.Durations = append(p.ResponseCodes, 200), append(p.Errors, ""), append(p.Durations, 1)
		p.Attempted, p.Next, p.Finished = append(p.Attempted, at(0)), append(p.Next, at(0)), append(p.Finished, at(0))
	}
	return p
}

// single has the statements of the inbox's batches, for one event.
var single = map[string]call{
	"CustomerSetSubscription": subscribe(1),
	"InboxOutcome":            finish(1),
	"InboxTurnsAdd":           addTurns(1),
	"InboxWaitsClear":         clearWaits(1),
}

// finish writes the outcomes of n events.
func finish(n int) call {
	var p db.InboxOutcomeParams
	for i := range n {
		p.Ids, p.OrgIds, p.Statuses = append(p.Ids, id("inb", i)), append(p.OrgIds, "org_0"), append(p.Statuses, "recorded")
		p.ReasonCodes, p.Reasons = append(p.ReasonCodes, ""), append(p.Reasons, "")
		p.CustomerIds, p.SaleIds, p.RefundIds = append(p.CustomerIds, ""), append(p.SaleIds, ""), append(p.RefundIds, "")
		p.Retried, p.DueAts, p.ProcessedAts = append(p.Retried, false), append(p.DueAts, at(0)), append(p.ProcessedAts, at(0))
	}
	return func(ctx context.Context, q *db.Queries, c db.DBTX) error { return q.InboxOutcome(ctx, c, p) }
}

// clearWaits deletes the waits of n events.
func clearWaits(n int) call {
	var p db.InboxWaitsClearParams
	for i := range n {
		p.EventIds, p.OrgIds = append(p.EventIds, id("inb", i)), append(p.OrgIds, "org_0")
	}
	return func(ctx context.Context, q *db.Queries, c db.DBTX) error { return q.InboxWaitsClear(ctx, c, p) }
}

// addTurns adds the turns of n events.
func addTurns(n int) call {
	var p db.InboxTurnsAddParams
	for i := range n {
		p.OrgIds, p.EventIds = append(p.OrgIds, "org_0"), append(p.EventIds, id("inb", i))
		p.Keys = append(p.Keys, fmt.Sprint("turn ", i))
	}
	return func(ctx context.Context, q *db.Queries, c db.DBTX) error { return q.InboxTurnsAdd(ctx, c, p) }
}

// subscribe records the subscriptions of n customers.
func subscribe(n int) call {
	var p db.CustomerSetSubscriptionParams
	for i := range n {
		p.Ids, p.OrgIds = append(p.Ids, id("cus", i)), append(p.OrgIds, "org_0")
		p.SubscriptionIds, p.UpdatedAts = append(p.SubscriptionIds, "sub"), append(p.UpdatedAts, at(0))
	}
	return func(ctx context.Context, q *db.Queries, c db.DBTX) error { return q.CustomerSetSubscription(ctx, c, p) }
}

// visitor is the hash of a browser.
func visitor(i int) []byte { return fmt.Appendf(nil, "%032d", i) }

// visits are clicks for the latest partners, every other one by a visitor who has just been there.
func visits() (p db.TrackingResolveParams) {
	for i := range batch {
		p.ProgramIds, p.OrgIds = append(p.ProgramIds, id("prg", 0)), append(p.OrgIds, "org_0")
		p.Values, p.LandingKeys = append(p.Values, fmt.Sprintf("partner-%d", 4900+i)), append(p.LandingKeys, "")
		p.Visitors, p.Nows, p.Sinces = append(p.Visitors, visitor(i)), append(p.Nows, at(0)), append(p.Sinces, at(-1))
	}
	return p
}

// TestPlansOfOldStatistics checks that frequent statements use an index in tables that were empty when they were last
// analyzed, as in every new installation, and had no waiting rows; with the custom and the generic plan.
func TestPlansOfOldStatistics(t *testing.T) {
	t.Parallel()
	conn := filled(t, 5000)
	exec := func(statements ...string) {
		for _, sql := range statements {
			_, err := conn.Exec(t.Context(), sql)
			require.NoError(t, err)
		}
	}
	exec(leased...)
	exec(waiting, delivered, waiting)
	exec(returning...)
	forget(t, conn)
	checkReads(t, conn, "empty tables")
	exec(delivered, "VACUUM (ANALYZE) webhook_deliveries, webhook_leases, webhook_endpoints", waiting)
	checkReads(t, conn, "nothing waits")
}

// TestPlansOfEmptyTables checks that frequent statements never plan a sequential scan while all tables are empty,
// because a session keeps the plan when they have grown.
func TestPlansOfEmptyTables(t *testing.T) {
	t.Parallel()
	conn := session(t, pgtest.DSN(t))
	_, err := conn.Exec(t.Context(), "VACUUM ANALYZE")
	require.NoError(t, err)
	for name, h := range hot {
		if name == "Backlog" { // counts what it reads whole: the endpoints, and a table of one row
			continue
		}
		var c queryplan.Capture
		require.ErrorIs(t, h.call(t.Context(), db.New(), &c), queryplan.ErrCaptured, name)
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			top := planned(t, conn, mode, c)
			top.Walk(func(n queryplan.Node) { assert.NotEqual(t, "Seq Scan", n.Type, "%s, %s:\n%s", name, mode, top.Shape()) })
		}
	}
}

// withoutCache lists the frequent statements that are planned each time. The plan of ClickGet for one id reads one
// partition. RehearsalTouches serves previews, which take much longer than its planning.
var withoutCache = []string{"ClickGet", "RehearsalTouches"}

// TestPlansAreCached checks that the other frequent statements are not planned each time.
func TestPlansAreCached(t *testing.T) {
	t.Parallel()
	conn := filled(t, 1000)
	_, err := conn.Exec(t.Context(), "VACUUM ANALYZE")
	require.NoError(t, err)
	for name, h := range hot {
		if slices.Contains(withoutCache, name) {
			continue
		}
		execute := h.call
		if one, ok := single[name]; ok {
			execute = one
		}
		for range 10 { // the first five executions are always planned
			_ = execute(t.Context(), db.New(), conn) // a missing row does not matter
		}
		assert.Positive(t, queryplan.CachedPlans(t, conn, name), "%s: uses of the cached plan", name)
	}
}

// filled connects to a database with a number of partners, as many customers and referrals, and four times as many
// clicks and sales.
func filled(t testing.TB, partners int) *pgx.Conn {
	dsn := pgtest.DSN(t)
	require.NoError(t, dataset.Fill(t.Context(), dsn, dataset.Options{
		Size: dataset.Size{
			Partners: partners, Customers: partners, Referrals: partners, Clicks: 4 * partners, Sales: 4 * partners,
		},
		Until: at(0), Org: "org_0", Other: "org_1",
	}))
	return session(t, dsn)
}

// session connects with the server's settings.
func session(t testing.TB, dsn string) *pgx.Conn {
	config, err := postgres.Session(dsn)
	require.NoError(t, err)
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // nothing is lost
	return conn
}

// checkReads fails the test if a hot statement reads more rows than allowed.
func checkReads(t testing.TB, conn *pgx.Conn, statistics string) {
	for name, h := range hot {
		var c queryplan.Capture
		require.ErrorIs(t, h.call(t.Context(), db.New(), &c), queryplan.ErrCaptured, name)
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			top := planned(t, conn, mode, c)
			require.InDelta(t, h.rows, top.Rows, 0, "%s:\n%s", name, top.Shape())
			assert.LessOrEqual(t, top.Examined(), h.most, "%s, %s, reads too much by the statistics of %s:\n%s",
				name, mode, statistics, top.Shape())
		}
	}
}

// leased makes endpoints with leases. Half of the leases have ended.
var leased = []string{
	`INSERT INTO webhook_endpoints (id, org_id, program_id, url, event_types, enabled, secret, counted_since,
		created_at, updated_at)
	SELECT 'wep_' || g, 'org_0', p.id, 'https://a.example', '{}', true, '', now(), now(), now()
	FROM generate_series(1, 600) g, (SELECT min(id) AS id FROM programs WHERE org_id = 'org_0') p`,
	`INSERT INTO webhook_leases (endpoint_id, owner, token, until)
	SELECT id, 7, 1, now() + CASE WHEN substr(id, 5)::int <= 300 THEN 1 ELSE -1 END * interval '1 hour'
	FROM webhook_endpoints WHERE url = 'https://a.example'`,
}

// returning are the clicks of visitors who come again, the first of them with ten partners.
var returning = []string{
	`INSERT INTO referrals (id, org_id, program_id, partner_id, visitor, tracked_by, status, expires_at, created_at,
		updated_at)
	SELECT 'ref_back_' || n, p.org_id, p.program_id, p.id, lpad(CASE WHEN n > 4900 THEN n - 4900 ELSE 0 END::text, 32, '0')::bytea,
		'link', 'visit', timestamptz '2026-09-01' + interval '1 day', timestamptz '2026-09-01', timestamptz '2026-09-01'
	FROM (SELECT * FROM generate_series(0, 9) UNION ALL SELECT * FROM generate_series(4902, 4930, 2)) g (n)
	JOIN partners p ON p.program_id = (SELECT min(id) FROM programs) AND p.handle = 'partner-' || n`,
	`INSERT INTO clicks (id, org_id, program_id, partner_id, referral_id, param, created_at)
	SELECT 'clk_01' || lpad(substr(r.id, 10), 24, '9'), r.org_id, r.program_id, r.partner_id, r.id, 'ref',
		timestamptz '2026-09-01' - interval '1 minute'
	FROM referrals r WHERE r.id LIKE 'ref_back%'`,
}

// waiting queues deliveries to each endpoint, and delivered ends them.
const waiting = `INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_seq,
		status, next_attempt_at, created_at)
	SELECT 'whd_' || n || substr(w.id, 4), w.org_id, w.program_id, w.id, 'evt_' || n, 'sale.created', n,
		'pending', 'epoch', now() FROM generate_series(1, 16) n, webhook_leases l
		JOIN webhook_endpoints w ON w.id = l.endpoint_id`

const delivered = `UPDATE webhook_deliveries SET id = 'whd_old_' || nextval('events_seq_seq'), status = 'delivered',
	next_attempt_at = NULL, finished_at = now() WHERE next_attempt_at IS NOT NULL`

// forget removes the results of ANALYZE and VACUUM from the database, and prevents that they are collected again.
func forget(t testing.TB, conn *pgx.Conn) {
	rows, err := conn.Query(t.Context(), `SELECT format('ALTER TABLE %I SET (autovacuum_enabled = off)', relname)
		FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`)
	require.NoError(t, err)
	off, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, sql := range append(off,
		`DELETE FROM pg_statistic s USING pg_class c WHERE c.oid = s.starelid AND c.relnamespace = 'public'::regnamespace`,
		`UPDATE pg_class SET relpages = 0, reltuples = 0, relallvisible = 0
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')`) {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
}

// planned runs a statement by its custom or generic plan, and undoes it.
func planned(t testing.TB, conn *pgx.Conn, mode string, c queryplan.Capture) queryplan.Node {
	prepared, err := conn.Prepare(t.Context(), "hot", c.SQL)
	require.NoError(t, err)
	args := make([]string, len(c.Args))
	for i, arg := range c.Args {
		text, err := conn.TypeMap().Encode(prepared.ParamOIDs[i], pgx.TextFormatCode, arg, nil)
		require.NoError(t, err)
		if args[i] = "NULL"; text != nil {
			args[i] = "'" + strings.ReplaceAll(string(text), "'", "''") + "'"
		}
	}
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SET LOCAL plan_cache_mode = "+mode)
	require.NoError(t, err)
	top := queryplan.Explained(t, tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE hot ("+
		strings.Join(args, ", ")+")", pgx.QueryExecModeSimpleProtocol))
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, conn.Deallocate(t.Context(), "hot"))
	return top
}
