package report

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
)

// tried are time zones with other days than UTC: on both sides of it, with clock changes in both hemispheres, at
// midnight and by half an hour, and the extremes.
var tried = []string{
	"Australia/Sydney", "America/Los_Angeles", "Asia/Kolkata", "Australia/Lord_Howe", "Atlantic/Azores", "UTC",
	"America/Havana", "Pacific/Kiritimati", "Etc/GMT+12", "Europe/London",
}

// setZone changes the program's time zone as the API does.
func setZone(t *testing.T, pool *pgxpool.Pool, zone string, now clock.Time) {
	t.Helper()
	_, err := pool.Exec(t.Context(), "UPDATE programs SET time_zone = $1, zone_changed_at = $2", zone, now)
	require.NoError(t, err)
	require.NoError(t, queries.ReportMarkBeforeCreation(t.Context(), pool,
		db.ReportMarkBeforeCreationParams{ProgramID: "prg_a", OrgID: "org_a"}))
}

// sold is a sale in the model.
type sold struct {
	at     clock.Time
	amount int64
}

// modelled counts sales by the first days of their periods.
func modelled(sales []sold, q Query) map[string]Figures {
	zone, out := clock.StoredZone(q.Zone), map[string]Figures{}
	for _, s := range sales {
		day := s.at.DayIn(zone)
		if day.Before(q.From) || day.After(q.To) {
			continue
		}
		key := q.bucket(day).Format(time.DateOnly)
		f := out[key]
		f.add(Figures{Sales: 1, RevenueMinor: s.amount})
		out[key] = f
	}
	return out
}

// books are the sales of a year, in the database and in the model, with more of them near the midnights of every
// zone.
type books struct {
	*testing.T
	pool  *pgxpool.Pool
	rnd   *rand.Rand
	now   clock.Time
	sales []sold
}

// moment returns a time in the past year, often a second from a midnight or a clock change.
func (b *books) moment() clock.Time {
	at := clock.At(time.Date(2025, 8, 20, 0, 0, 0, 0, time.UTC).Add(time.Duration(b.rnd.Int64N(int64(370 * 24 * time.Hour)))))
	zone := clock.StoredZone(tried[b.rnd.IntN(len(tried))])
	side := time.Duration(b.rnd.IntN(3)-1) * time.Second
	switch b.rnd.IntN(3) {
	case 0:
		return clock.Midnight(at.DayIn(zone), zone).Plus(side)
	case 1:
		if _, end := at.In(zone).ZoneBounds(); !end.IsZero() && end.Before(b.now.Time) {
			return clock.At(end.Add(side))
		}
	}
	return at
}

// sell adds a sale at a random time.
func (b *books) sell() { b.sellAt(b.moment()) }

// sellAt adds a sale with a mark, as the API does.
func (b *books) sellAt(at clock.Time) {
	s := sold{at, b.rnd.Int64N(10_000)}
	n := len(b.sales)
	b.sales = append(b.sales, s)
	_, err := b.pool.Exec(b.Context(), `INSERT INTO sales (id, org_id, program_id, customer_id, external_charge_id, processor, amount_minor,
			currency, billing_type, is_first_sale, activity_outcome, warnings, occurred_at, created_at, updated_at)
		VALUES ($1, 'org_a', 'prg_a', 'cus_0', $1, 'api', $2, 'USD', 'one_time', false, 'sale_recorded', '[]', $3, $4, $4)`,
		fmt.Sprintf("sale_z%d", n), s.amount, s.at, b.now)
	require.NoError(b, err)
	require.NoError(b, queries.ReportMark(b.Context(), b.pool, db.ReportMarkParams{
		OrgID: "org_a", ProgramID: "prg_a", At: s.at, Settled: b.now.Plus(-openFor),
	}))
}

// agree compares some reports and the total count of sales with the model.
func (b *books) agree(zone, when string) {
	b.Helper()
	for range 6 {
		q := random(b.rnd)
		q.By, q.Bucket, q.GroupID = Period, []string{"day", "week", "month"}[b.rnd.IntN(3)], nil
		q.Zone, q.PartnerID, q.Attribution, q.Origin = zone, nil, Everything, nil // its sales have no partner and no click
		rows, err := queries.ReportRows(b.Context(), b.pool, q.params())
		require.NoError(b, err)
		have := map[string]Figures{}
		for _, r := range rows {
			if r.Sales > 0 {
				have[r.Key] = Figures{Sales: r.Sales, RevenueMinor: r.RevenueMinor}
			}
		}
		require.Equal(b, modelled(b.sales, q), have, "%s in %s: %+v", when, zone, q)
	}
	n, err := queries.SaleTotal(b.Context(), b.pool, db.SaleTotalParams{OrgID: "org_a", ProgramID: "prg_a"})
	require.NoError(b, err)
	require.EqualValues(b, len(b.sales), n, "%s in %s", when, zone)
}

// TestDaysOfZones: reports use the days of the program's zone, to the second, and totals are right, whatever the
// zone is changed to while days are summed and sales arrive.
func TestDaysOfZones(t *testing.T) {
	t.Parallel()
	b := &books{
		T: t, pool: filled(t, "1"), rnd: rand.New(rand.NewPCG(31, 10)), now: clock.At(time.Date(2026, 9, 1, 3, 0, 0, 0, time.UTC)),
	}
	_, err := b.pool.Exec(t.Context(), "DELETE FROM commissions; DELETE FROM sales")
	require.NoError(t, err)
	for range 200 {
		b.sell()
	}
	zone := "UTC"
	for round := range 16 {
		if round%2 == 0 {
			zone = tried[b.rnd.IntN(len(tried))]
			setZone(t, b.pool, zone, b.now)
			b.agree(zone, "after the change")
		}
		for range 5 {
			b.sell()
		}
		b.agree(zone, "after sales")
		b.now = b.now.Plus(time.Duration(b.rnd.Int64N(int64(20 * time.Minute))))
		if b.rnd.IntN(3) == 0 {
			b.halfSummed()
			b.agree(zone, "halfway")
		}
		require.NoError(t, Sum(t.Context(), b.pool, b.now))
		b.agree(zone, "when summed")
	}
	b.now = b.now.Days(1)
	require.NoError(t, Sum(t.Context(), b.pool, b.now))
	var astray, wide int
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE s.zone <> g.time_zone AND s.to_at > g.created_at),
		count(*) FILTER (WHERE s.span = '64') FROM report_spans s JOIN programs g ON g.id = s.program_id`).Scan(&astray, &wide))
	require.Zero(t, astray, "spans of an earlier zone")
	require.Positive(t, wide)
}

// halfSummed sums some of the open days, as an interrupted job does.
func (b *books) halfSummed() {
	rows, err := queries.ReportDaysToSum(b.Context(), b.pool, db.ReportDaysToSumParams{
		Ended: b.now.Plus(-summedFor), Settled: b.now.Plus(-settledFor), Lim: 400,
	})
	require.NoError(b, err)
	rows = rows[:len(rows)/2]
	if len(rows) > 0 { // the sum of an overlapping day in the earlier zone lacks this sale
		last := rows[len(rows)-1]
		b.sellAt(clock.Midnight(last.Day, clock.StoredZone(last.Zone)).Plus(time.Minute))
	}
	for _, r := range rows {
		_, err := tryExclusive(b.Context(), b.pool, span{r.OrgID, r.ProgramID, r.Zone, "day", r.Day}, func(tx pgtx.DBTX, s span) error {
			return sumDay(b.Context(), tx, s, b.now.Time)
		})
		require.NoError(b, err)
	}
}

// TestWritesAfterAChange: a day that was past and summed in the old zone may be open in the new one. A sale in
// it counts at once, and after the new day is summed.
func TestWritesAfterAChange(t *testing.T) {
	t.Parallel()
	b := &books{
		T: t, pool: filled(t, "1"), rnd: rand.New(rand.NewPCG(3, 1)), now: clock.At(time.Date(2026, 9, 2, 12, 5, 0, 0, time.UTC)),
	}
	_, err := b.pool.Exec(t.Context(), "DELETE FROM commissions; DELETE FROM sales")
	require.NoError(t, err)
	setZone(t, b.pool, "Pacific/Kiritimati", b.now.Days(-30))
	require.NoError(t, Sum(t.Context(), b.pool, b.now))
	setZone(t, b.pool, "Etc/GMT+12", b.now)
	b.now = b.now.Plus(30 * time.Minute)
	// 10:00 on a day that ended at 10:00Z in UTC+14; 08:00 on a day that ended at 12:00Z in UTC-12.
	b.sellAt(clock.At(time.Date(2026, 9, 1, 20, 0, 0, 0, time.UTC)))
	b.agree("Etc/GMT+12", "before the day is over")
	for range 4 {
		b.now = b.now.Plus(12 * time.Hour)
		require.NoError(t, Sum(t.Context(), b.pool, b.now))
		b.agree("Etc/GMT+12", "later")
	}
}

// TestMidnightsOfTheDatabase: the database and the server agree on days.
func TestMidnightsOfTheDatabase(t *testing.T) {
	t.Parallel()
	b := &books{T: t, pool: filled(t, "1"), rnd: rand.New(rand.NewPCG(5, 6)), now: clock.At(time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC))}
	for range 300 {
		name, at := tried[b.rnd.IntN(len(tried))], b.moment()
		zone := clock.StoredZone(name)
		var day time.Time
		var midnight clock.Time
		require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT d, zone_midnight(d, $2) FROM zone_day($1, $2) d", at, name).
			Scan(&day, &midnight))
		want := at.DayIn(zone)
		require.Equal(t, []string{want.Format(time.DateOnly), clock.Midnight(want, zone).String()},
			[]string{day.Format(time.DateOnly), midnight.String()}, "%s in %s", at, name)
	}
	for zone, day := range map[string]string{
		"Atlantic/Azores": "2025-10-26", "America/Havana": "2025-11-02", "America/St_Johns": "2010-11-07",
		"America/Sao_Paulo": "2018-02-17", "Pacific/Apia": "2011-12-30", "Asia/Pyongyang": "2018-05-05",
	} {
		date, err := time.Parse(time.DateOnly, day)
		require.NoError(t, err)
		var midnight clock.Time
		require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT zone_midnight($1, $2)", date, zone).Scan(&midnight))
		require.Equal(t, clock.Midnight(date, clock.StoredZone(zone)).String(), midnight.String(), zone)
	}
}
