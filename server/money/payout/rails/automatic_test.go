package rails_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/apitest"
)

// limit changes what the rail may send without a confirmation.
func (c connected) limit(batch, day int64) {
	c.T.Helper()
	rail, err := db.New().PayoutRailGet(c.T.Context(), c.Pool, db.PayoutRailGetParams{ID: c.ID, OrgID: c.Org})
	require.NoError(c.T, err)
	require.NoError(c.T, c.rails.Limit(c.T.Context(), c.unit(), rail, &batch, &day))
}

// falls advances the clock to a day on which the payouts are due, and runs the jobs.
func (c connected) falls(by time.Duration) {
	c.T.Helper()
	c.Clock.Advance(by)
	apitest.RunJob(c.T, c.Server, "payouts-due")
	c.round(0)
}

// TestAutomatic: due payouts leave by themselves within the limits of the rail, in the program's currency, unless the
// partner's details have changed.
func TestAutomatic(t *testing.T) {
	t.Parallel()
	c := newConnected(t, M{"auto_payouts_enabled": true})
	ids, _ := c.due("paypal", 10000, 5000)
	c.falls(40 * 24 * time.Hour)
	require.Equal(t, "pending", c.payout(ids[0]).String("status"), "a rail without limits sends nothing by itself")
	c.limit(3000, 3000)
	require.EqualValues(t, 3000, c.rail().Int("automatic_batch_minor"))
	c.round(0)
	c.round(10 * time.Minute)
	for _, id := range ids {
		require.Equal(t, "paid", c.payout(id).String("status"))
	}
	c.paidOnce(ids...)

	// The partner changes its details after its payment: a person decides.
	partner := c.payout(ids[0]).String("partner_id")
	c.Clock.Advance(time.Minute)
	c.Must(200, c.Post("/v1/partners/"+partner, M{"payout_details": M{"email": "thief@example.com"}}))
	customer := c.Customer(c.ProgramID, partner)
	c.Sale(c.ProgramID, customer, M{"amount_minor": 1000})
	c.Must(201, c.Post("/v1/payout_batches", M{"program_id": c.ProgramID, "period_end": c.Clock.Now().String()}))
	c.falls(40 * 24 * time.Hour)
	changed := c.Payouts("&partner_id=" + partner + "&status=pending")
	require.Len(t, changed, 1)
	require.NotNil(t, changed[0].Body["details_changed_at"])
	c.Tallied(t)
}

// TestAutomaticLimits: payouts above the limit of a batch or a day wait for a person, all of them, and the owner gets
// one email a day.
func TestAutomaticLimits(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string][2]int64{"batch": {2999, 9000}, "day": {9000, 2999}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConnected(t, M{"auto_payouts_enabled": true})
			c.owner()
			ids, batch := c.due("paypal", 10000, 5000)
			c.limit(limits[0], limits[1])
			c.falls(40 * 24 * time.Hour)
			c.round(time.Minute)
			require.Equal(t, "pending", c.payout(ids[0]).String("status"))
			require.Equal(t, "pending", c.payout(ids[1]).String("status"))
			require.Equal(t, 1, c.emails("payouts_over_limit"))
			c.Must(200, c.send(batch, 2, 3000))
			c.round(time.Minute)
			c.paidOnce(ids...)
		})
	}
}

// TestAutomaticSum: what was sent counts, so that many small rounds do not exceed the limits.
func TestAutomaticSum(t *testing.T) {
	t.Parallel()
	c := newConnected(t, M{"auto_payouts_enabled": true})
	first, _ := c.due("paypal", 10000)
	c.limit(9000, 3000)
	c.falls(40 * 24 * time.Hour)
	require.Equal(t, "processing", c.payout(first[0]).String("status"))
	second, _ := c.due("paypal", 10000)
	c.falls(40 * 24 * time.Hour)
	require.Equal(t, "processing", c.payout(second[0]).String("status"), "another day and another batch")
	third, _ := c.due("paypal", 5005)
	_, err := c.Pool.Exec(t.Context(), "UPDATE payouts SET due_at = created_at WHERE id = $1", third[0])
	require.NoError(t, err)
	c.falls(time.Minute)
	require.Equal(t, "pending", c.payout(third[0]).String("status"), "the same day")
	c.falls(24 * time.Hour)
	require.Equal(t, "processing", c.payout(third[0]).String("status"))
}

// TestNotAutomatic: nothing leaves by itself from a program without automatic payouts.
func TestNotAutomatic(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	ids, _ := c.due("paypal", 10000)
	c.limit(3000, 3000)
	c.falls(40 * 24 * time.Hour)
	require.Equal(t, "pending", c.payout(ids[0]).String("status"))
}

// TestAutomaticSwitchedOn: payouts that were created before automatic payouts were switched on wait for a person, as the
// merchant may have paid them outside of Rail. Switched off, nothing more leaves.
func TestAutomaticSwitchedOn(t *testing.T) {
	t.Parallel()
	c := newConnected(t)
	before, _ := c.due("paypal", 10000)
	c.limit(9000, 9000)
	c.falls(40 * 24 * time.Hour)
	path := "/v1/programs/" + c.ProgramID
	c.Must(200, c.Post(path, M{"auto_payouts_enabled": true}))
	c.round(time.Minute)
	require.Equal(t, "pending", c.payout(before[0]).String("status"))
	after, _ := c.due("paypal", 10000)
	last, _ := c.due("paypal", 5000)
	c.falls(40 * 24 * time.Hour)
	require.Equal(t, "processing", c.payout(after[0]).String("status"))
	require.Equal(t, "processing", c.payout(last[0]).String("status"))
	late, _ := c.due("paypal", 10000)
	c.Must(200, c.Post(path, M{"auto_payouts_enabled": false}))
	c.falls(40 * 24 * time.Hour)
	require.Equal(t, "pending", c.payout(late[0]).String("status"))
	require.Equal(t, "pending", c.payout(before[0]).String("status"))
	c.round(10 * time.Minute)
	require.Equal(t, "paid", c.payout(after[0]).String("status"), "what was handed over goes on")
	c.paidOnce(after[0], last[0])
	c.Tallied(t)
}

// TestAutomaticSumOfMany: payouts beyond one hand-over count for the limits, too.
func TestAutomaticSumOfMany(t *testing.T) {
	t.Parallel()
	const more = 5000
	c := newConnected(t, M{"auto_payouts_enabled": true})
	ids, _ := c.due("paypal", 5000)
	partner := c.payout(ids[0]).String("partner_id")
	tx, err := c.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SET LOCAL statement_timeout = 0")
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `WITH n AS (SELECT lpad(i::text, 5, '0') AS n FROM generate_series(1, $2::int) i),
		copied AS (INSERT INTO partners SELECT (jsonb_populate_record(p, jsonb_build_object('id', p.id || n,
			'email', n || p.email, 'mail_token', md5(n), 'handle', n || p.handle, 'created_xid', pg_current_xact_id()::text))).* FROM partners p, n
			WHERE p.id = $1 RETURNING id)
		INSERT INTO payouts SELECT (jsonb_populate_record(t, jsonb_build_object('id', t.id || right(k.id, 5),
			'partner_id', k.id))).* FROM payouts t, copied k WHERE t.partner_id = $1`, partner, more)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	c.limit(1000*more, 1000*more)
	c.falls(40 * 24 * time.Hour)
	require.Equal(t, "pending", c.payout(ids[0]).String("status"), "all of them exceed the limits by one payout")
}
