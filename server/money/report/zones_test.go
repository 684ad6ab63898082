package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// moment sets the clock of a server.
func moment(t *testing.T, s *apitest.Server, at string) {
	t.Helper()
	to, err := time.Parse(time.RFC3339, at)
	require.NoError(t, err)
	s.Clock.Set(to)
}

// TestMonthsOfZones: field case 16 (Sydney, a sale on 1 November at 08:30). In the report and in
// the payout batch, a sale counts in the month of the merchant's time zone, exact to the second.
func TestMonthsOfZones(t *testing.T) {
	t.Parallel()
	for zone, c := range map[string]struct{ last, first, end, batchAt, due string }{
		"Australia/Sydney": {
			"2026-10-31T12:59:59Z", "2026-10-31T21:30:00Z", "2026-10-31T12:59:59.999Z", "2026-10-31T13:10:00Z",
			"2026-11-29T13:00:00.000Z",
		},
		"America/Los_Angeles": { // in winter time, the day after it begins
			"2026-11-01T06:59:59Z", "2026-11-01T07:00:00Z", "2026-11-01T06:59:59.999Z", "2026-11-01T07:10:00Z",
			"2026-11-30T08:00:00.000Z",
		},
		"Asia/Kolkata": {
			"2026-10-31T18:29:59Z", "2026-10-31T18:30:00Z", "2026-10-31T18:29:59.999Z", "2026-10-31T18:40:00Z",
			"2026-11-29T18:30:00.000Z",
		},
		"Australia/Lord_Howe": {
			"2026-10-31T12:59:59Z", "2026-10-31T13:00:00Z", "2026-10-31T12:59:59.999Z", "2026-10-31T13:10:00Z",
			"2026-11-29T13:00:00.000Z",
		},
	} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			e := apitest.NewEarner(t, M{"auto_payouts_enabled": true, "time_zone": zone})
			s := e.Server
			partner := s.Partner(e.ProgramID)
			customer := s.Customer(e.ProgramID, partner)
			moment(t, s, c.last)
			s.Must(201, s.Sale(e.ProgramID, customer, M{"amount_minor": 100}))
			apitest.RunJob(t, s, "auto-payouts")
			require.Zero(t, apitest.Tally(s, e.ProgramID, "payout.created"), "the month is not over")
			moment(t, s, c.batchAt)
			if sold, _ := time.Parse(time.RFC3339, c.first); s.Clock.Now().Before(sold) {
				apitest.RunJob(t, s, "auto-payouts")
				moment(t, s, c.first)
				s.Must(201, s.Sale(e.ProgramID, customer, M{"amount_minor": 1000}))
			} else {
				s.Must(201, s.Sale(e.ProgramID, customer, M{"amount_minor": 1000, "occurred_at": c.first}))
				apitest.RunJob(t, s, "auto-payouts")
			}
			paid := e.Payouts("")
			require.Len(t, paid, 1)
			require.EqualValues(t, 20, paid[0].Int("amount_minor"))
			require.Equal(t, []string{c.end, c.due}, []string{paid[0].String("period_end"), paid[0].String("due_at")})
			require.Equal(t, c.end, e.Batch(200, M{"period_end": "2026-10-31"}).String("period_end"))
			require.Len(t, e.Payouts(""), 1)

			s.Clock.Advance(12 * time.Hour)
			require.Equal(t, 201, s.Post("/v1/payout_batches", M{"program_id": e.ProgramID, "period_end": "2026-11-01"}).Status)
			require.Len(t, e.Payouts(""), 2)
			s.Clock.Advance(48 * time.Hour)
			for _, stage := range []string{"from rows", "from sums"} {
				months := s.Reported(e.ProgramID, "&dimension=period&granularity=month&from=2026-10-01&to=2026-11-30")
				require.Equal(t, []string{"100", "1000"},
					[]string{apitest.ReportRow(months, "2026-10-01")[5], apitest.ReportRow(months, "2026-11-01")[5]}, stage)
				days := s.Reported(e.ProgramID, "&dimension=period&granularity=day&from=2026-10-31&to=2026-11-01")
				require.Equal(t, []string{"100", "1000"},
					[]string{apitest.ReportRow(days, "2026-10-31")[5], apitest.ReportRow(days, "2026-11-01")[5]}, stage)
				require.Nil(t, apitest.ReportRow(s.Reported(e.ProgramID, "&from=2026-11-02&to=2026-11-30&compare=none"), partner), stage)
				apitest.SumReports(t, s)
			}
			apitest.Balanced(t, s)
		})
	}
}

// TestPeriodEndOfZones: a date that is tomorrow in UTC may be today in the zone. The reverse also
// holds.
func TestPeriodEndOfZones(t *testing.T) {
	t.Parallel()
	e := apitest.NewEarner(t, M{"time_zone": "Pacific/Kiritimati"}) // UTC+14
	moment(t, e.Server, "2026-09-10T09:59:59Z")
	ask := M{"program_id": e.ProgramID, "period_end": "2026-09-11"}
	require.Equal(t, "period_end", e.Must(400, e.Post("/v1/payout_batches/preview", ask)).Param())
	moment(t, e.Server, "2026-09-10T10:00:00Z")
	e.Must(200, e.Post("/v1/payout_batches/preview", ask))
	e.Must(200, e.Post("/v1/programs/"+e.ProgramID, M{"time_zone": "Etc/GMT+12"}))
	e.Must(400, e.Post("/v1/payout_batches/preview", ask))
	for _, bad := range []string{"Mars/Phobos", "posix/Australia/Sydney", "Local"} {
		require.Equal(t, "time_zone",
			e.Must(400, e.Post("/v1/programs/"+e.ProgramID, M{"time_zone": bad})).Param(), bad)
	}
}
