package inbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	"rail/server/inbound/inbox"
	"rail/server/secret"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// hurried is a clock that a quarter of a minute passes on each time that it is looked at.
type hurried struct{ *clock.Manual }

func (h hurried) Now() clock.Time {
	h.Advance(16 * time.Second)
	return h.Manual.Now()
}

// worker works the inbox of a server.
func worker(t *testing.T, s *apitest.Server, c clock.Clock) inbox.Worker {
	t.Helper()
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	return inbox.Worker{Pool: s.Pool, Keeper: keeper, Clock: c, Plan: s.Config.Plan()}
}

// send has a number of payments stored, of customers whom nobody knows but the connection.
func send(s *apitest.Server, n int) {
	s.T.Helper()
	program := s.Program()
	k := s.Customer(program, s.Partner(program), apitest.M{"external_customer_id": "c_1"})
	require.NotEmpty(s.T, k)
	c := s.Connect(program)
	for range n {
		s.Must(200, c.Send(apitest.M{
			"external_charge_id": apitest.Unique("ch_"), "external_customer_id": "c_1", "amount_minor": 100, "currency": "USD",
		}))
	}
}

// TestTurns: an organization with many events has those of another worked before its own
// end, in whichever order they came.
func TestTurns(t *testing.T) {
	t.Parallel()
	crowd := apitest.New(t)
	send(crowd, 150)
	few := apitest.On(t, crowd.DSN, crowd.Clock)
	send(few, 1)
	require.NoError(t, worker(t, crowd, crowd.Clock).Run(t.Context(), crowd.Clock.Now()))
	var before, after int
	require.NoError(t, crowd.Pool.QueryRow(t.Context(), `
		SELECT count(*) FILTER (WHERE s.id < f.id), count(*) FILTER (WHERE s.id > f.id)
		FROM sales s, sales f WHERE s.org_id = $1 AND f.org_id = $2`, crowd.Org, few.Org).Scan(&before, &after))
	require.Equal(t, 150, before+after)
	require.Less(t, before, 75)
}

// TestNothingOutlivesItsLease: events that were taken too long ago to be begun are given
// back, which is no failure of theirs, and worked in the end.
func TestNothingOutlivesItsLease(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	send(s, 60)
	slow := hurried{clock.NewManual(s.Clock.Now().Time)}
	require.NoError(t, worker(t, s, slow).Run(t.Context(), s.Clock.Now()))
	var recorded, most, failures int
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE status = 'recorded'), max(attempts),
		max(failures) FROM inbox_events`).Scan(&recorded, &most, &failures))
	require.Equal(t, []int{60, 0}, []int{recorded, failures})
	require.Greater(t, most, 1, "given back")
}
