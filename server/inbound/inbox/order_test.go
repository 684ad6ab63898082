package inbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"rail/server/harness/apitest"
)

// outOfOrder is the number of customers whose first sale is not their first payment, which is ch_0_ and a number.
const outOfOrder = `SELECT count(*) FROM sales WHERE is_first_sale <> (external_charge_id LIKE 'ch\_0\_%')`

// payOften sends payments of each customer, whose ids begin with ch_0 for the first one.
func (s shop) payOften(times int) {
	s.T.Helper()
	for n := range times {
		for i := range s.customers {
			s.pay(i, fmt.Sprintf("ch_%d_%d", n, i), nil)
		}
	}
}

// TestOrderOfWorkers: the payments of a customer are recorded in their order, whichever workers claim them.
func TestOrderOfWorkers(t *testing.T) {
	t.Parallel()
	s := newShop(t, 7)
	s.payOften(6)
	s.work()
	require.Equal(t, 42, s.count("SELECT count(*) FROM sales"))
	require.Zero(t, s.count(outOfOrder))
	require.Zero(t, s.count("SELECT count(*) FROM inbox_waits"), "turns of processed events")
}

// TestOrderOfServers: servers that share a database record the payments of a customer in their order.
func TestOrderOfServers(t *testing.T) {
	t.Parallel()
	s := newShop(t, 2)
	s.payOften(40)
	var servers errgroup.Group
	for range 4 {
		servers.Go(s.run)
	}
	require.NoError(t, servers.Wait())
	for range 5 { // an event after one of another server is retried each second
		s.Clock.Advance(time.Second)
		s.work()
	}
	require.Equal(t, 80, s.count("SELECT count(*) FROM sales"))
	require.Zero(t, s.count(outOfOrder))
}

// TestOrderAfterFailure: the later payments of a customer wait until a failed one succeeds. Payments of others do not.
func TestOrderAfterFailure(t *testing.T) {
	t.Parallel()
	s := newShop(t, 3)
	s.pay(0, "ch_0_0", nil)
	_, err := s.Pool.Exec(t.Context(), `ALTER TABLE inbox_events ADD whole bytea`)
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), `UPDATE inbox_events SET whole = payload, payload = 'broken'`)
	require.NoError(t, err)
	s.work()
	s.pay(0, "ch_1_0", nil)
	for i := range 2 {
		s.pay(1+i, fmt.Sprint("ch_0_", 1+i), nil)
	}
	s.work()
	require.Equal(t, 2, s.count("SELECT count(*) FROM sales"))
	_, err = s.Pool.Exec(t.Context(), `UPDATE inbox_events SET payload = coalesce(whole, payload)`)
	require.NoError(t, err)
	s.Clock.Advance(time.Minute)
	s.work()
	require.Equal(t, 4, s.count("SELECT count(*) FROM sales"))
	require.Zero(t, s.count(outOfOrder))
}

// TestOrderByEmail: two payments of a customer with only their email in common are recorded in their order.
func TestOrderByEmail(t *testing.T) {
	t.Parallel()
	s := newShop(t, 0)
	partner := s.Partner(s.connection.ProgramID)
	const customers = 7
	for i := range customers {
		s.Customer(s.connection.ProgramID, partner, apitest.M{"email": fmt.Sprintf("ada%d@example.com", i)})
	}
	for n := range 2 {
		for i := range customers {
			s.pay(i, fmt.Sprintf("ch_%d_%d", n, i), apitest.M{
				"external_customer_id": []any{nil, fmt.Sprint("c_", i)}[n],
				"email":                fmt.Sprintf("%s%d@example.com", []string{"Ada", "ada"}[n], i),
			})
		}
	}
	s.work()
	require.Equal(t, 2*customers, s.count("SELECT count(*) FROM sales"))
	require.Zero(t, s.count(outOfOrder))
}
