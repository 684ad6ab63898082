package tax_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/money/tax"
	"rail/server/postgres/pgtx"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var now = clock.At(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))

func TestFormOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, db.TaxFormTypeW9, tax.FormOf(new("US"), nil))
	require.Equal(t, db.TaxFormTypeW9, tax.FormOf(new("US"), new("Ada Ltd")))
	require.Equal(t, db.TaxFormTypeW8bene, tax.FormOf(new("GB"), new("Ada Ltd")))
	require.Equal(t, db.TaxFormTypeW8ben, tax.FormOf(new("GB"), nil))
	require.Equal(t, db.TaxFormTypeW8ben, tax.FormOf(nil, nil))
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	require.Nil(t, tax.Expiry("w9", now))
	require.Equal(t, "2029-12-31T23:59:59.999Z", tax.Expiry("w8ben", now).String())
	firstDay := clock.At(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	require.Equal(t, "2029-12-31T23:59:59.999Z", tax.Expiry("w8bene", firstDay).String())
}

// forms returns the partners' forms as "partner type status", oldest first.
func forms(x *worktest.Tenant) []string {
	x.Helper()
	return worktest.Rows[string](x, `SELECT partner_id || ' ' || type || ' ' || status FROM tax_form_statuses
		ORDER BY partner_id, created_at, id`)
}

func within(x *worktest.Tenant, do func(*pgtx.Tx) error) {
	x.Helper()
	require.NoError(x, pgtx.Within(x.Context(), x.Pool, do))
}

// TestAsk: a program asks, stops, and asks again; no partner is asked twice, and declined partners never.
func TestAsk(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	x.Partners(3)
	x.Exec("UPDATE partners SET country_code = 'US' WHERE id = 'part_1'")
	x.Exec("UPDATE partners SET status = 'declined' WHERE id = 'part_3'")
	ask := func(tx *pgtx.Tx) error { return tax.Require(t.Context(), tx, x.OrgID, x.Program.ID, now) }
	within(x, ask)
	want := []string{"part_1 w9 required", "part_2 w8ben required"}
	require.Equal(t, want, forms(x))
	within(x, func(tx *pgtx.Tx) error { return tax.StopRequiring(t.Context(), tx, x.OrgID, x.Program.ID, now) })
	require.Equal(t, []string{"part_1 w9 not_required", "part_2 w8ben not_required"}, forms(x))
	within(x, ask)
	require.Equal(t, want, forms(x))
	within(x, func(tx *pgtx.Tx) error { return tax.Require(t.Context(), tx, "org_2", x.Program.ID, now) })
	require.Equal(t, want, forms(x), "another organization asks nobody")
}

// TestAskRest asks partners who were left out, only in programs that ask.
func TestAskRest(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	x.Partners(2)
	require.NoError(t, tax.RequireRemaining(t.Context(), x.Pool, now))
	require.Empty(t, forms(x))
	x.Exec("UPDATE programs SET require_tax_forms = true")
	within(x, func(tx *pgtx.Tx) error {
		return tax.RequireFor(t.Context(), tx, db.Partner{ID: "part_2", OrgID: x.OrgID, ProgramID: x.Program.ID}, now)
	})
	require.NoError(t, tax.RequireRemaining(t.Context(), x.Pool, now))
	require.NoError(t, tax.RequireRemaining(t.Context(), x.Pool, now))
	require.Equal(t, []string{"part_1 w8ben required", "part_2 w8ben required"}, forms(x))
}

// TestExpire expires forms at their last moment and not before, and asks again if the program wants forms.
func TestExpire(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	x.Partners(1)
	x.Exec(`INSERT INTO tax_form_statuses (id, org_id, program_id, partner_id, type, status, signed_at, expires_at,
		created_at, updated_at) VALUES ('tax_1', $1, $2, 'part_1', 'w8ben', 'submitted', '2022-09-01Z',
		'2026-09-01 12:00Z', '2022-09-01Z', '2022-09-01Z')`, x.OrgID, x.Program.ID)
	expire := func(at clock.Time) (n int) {
		within(x, func(tx *pgtx.Tx) (err error) { n, err = tax.Expire(t.Context(), tx, at, 10); return err })
		return n
	}
	require.Zero(t, expire(clock.At(now.Add(-time.Millisecond))))
	require.Equal(t, 1, expire(now))
	require.Equal(t, []string{"part_1 w8ben expired"}, forms(x))
	x.Exec("UPDATE programs SET require_tax_forms = true")
	x.Exec("UPDATE tax_form_statuses SET status = 'submitted'")
	require.Equal(t, 1, expire(now))
	require.Equal(t, []string{"part_1 w8ben expired", "part_1 w8ben required"}, forms(x))
	require.Zero(t, expire(now))
}
