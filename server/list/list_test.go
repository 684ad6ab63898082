package list_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/list"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// setup makes two programs, with seven tags of one time in the first and a
// partner in each.
func setup(t *testing.T) (*pgxpool.Pool, *work.Unit) {
	t.Helper()
	pool := pgtest.New(t)
	for _, sql := range []string{
		`INSERT INTO organizations VALUES ('org_1', 'Page', NULL, now())`,
		`INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, cookie_days, url_params,
			commission_on_net_revenue, holding_period_days, min_payout_minor, payout_term, payout_methods, block_self_referrals,
			blocked_countries, require_tax_forms, auto_payouts_enabled, created_at, updated_at)
			SELECT 'prg_' || g, 'org_1', 'P', 'P', 'https://p.example', 'USD', 'active', 'p' || g, 30, '{ref}', false, 30, 0, 'net_30',
			'{}', true, '{}', false, false, now(), now() FROM generate_series(1, 2) g`,
		`INSERT INTO tags (id, org_id, program_id, name, color, created_at, updated_at)
			SELECT 'tag_' || g, 'org_1', 'prg_1', 'T' || g, '#000000', now(), now() FROM generate_series(1, 7) g`,
		`INSERT INTO partners (id, org_id, program_id, email, handle, status, created_at, updated_at)
			SELECT 'part_' || g, 'org_1', 'prg_' || g, g || '@example.com', 'p-' || g, 'active', now(), now() FROM generate_series(1, 2) g`,
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	return pool, work.NewRun(pool, work.Actor{}, clock.Time{}).For("org_1")
}

func tags(rows []db.Tag) (ids []string) {
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// TestOf walks a list there and back.
func TestOf(t *testing.T) {
	t.Parallel()
	_, u := setup(t)
	at := func(after, before *string) list.Page[db.Tag] {
		got, err := list.Of(t.Context(), u, list.In("prg_1", new(int64(3)), after, before), db.TagList{})
		require.NoError(t, err)
		require.EqualValues(t, 7, got.Total)
		return got
	}
	first := at(nil, nil)
	require.Equal(t, []string{"tag_7", "tag_6", "tag_5"}, tags(first.Rows))
	require.True(t, first.HasMore)
	last := at(new("tag_4"), nil)
	require.Equal(t, []string{"tag_3", "tag_2", "tag_1"}, tags(last.Rows))
	require.False(t, last.HasMore)
	back := at(nil, new("tag_3"))
	require.Equal(t, []string{"tag_6", "tag_5", "tag_4"}, tags(back.Rows), "in list order")
	require.True(t, back.HasMore)
}

// TestUncounted: a page of an uncounted unit has rows and no total.
func TestUncounted(t *testing.T) {
	t.Parallel()
	_, u := setup(t)
	u.Uncounted = true
	got, err := list.Of(t.Context(), u, list.In("prg_1", new(int64(3)), nil, nil), db.TagList{})
	require.NoError(t, err)
	require.Equal(t, list.Page[db.Tag]{Rows: got.Rows, HasMore: true}, got)
	require.Len(t, got.Rows, 3)
}

// TestRefusals: cursors and ids in filters must belong to the list.
func TestRefusals(t *testing.T) {
	t.Parallel()
	pool, u := setup(t)
	tag, none, other := new("tag_1"), new("tag_none"), new("part_2")
	refused := func(err error, code problem.Code, param string) {
		t.Helper()
		var p *problem.Error
		require.ErrorAs(t, err, &p)
		require.Equal(t, code, p.Code)
		require.Equal(t, param, p.Param)
	}
	_, err := list.Of(t.Context(), u, list.In("prg_1", nil, tag, tag), db.TagList{})
	refused(err, problem.ParametersExclusive, "ending_before")
	_, err = list.Of(t.Context(), u, list.In("prg_1", nil, none, nil), db.TagList{})
	refused(err, problem.InvalidCursor, "starting_after")
	_, err = list.Of(t.Context(), u, list.In("prg_2", nil, nil, tag), db.TagList{})
	refused(err, problem.InvalidCursor, "ending_before")
	_, err = list.Of(t.Context(), u, list.In("prg_1", nil, nil, nil), db.LinkList{PartnerID: other})
	refused(err, problem.InvalidReference, "partner_id")
	_, err = list.Of(t.Context(), u, list.In("prg_1", nil, nil, nil), db.LinkList{PartnerID: none})
	refused(err, problem.ResourceNotFound, "partner_id")
	stranger := work.NewRun(pool, work.Actor{}, clock.Time{}).For("org_2")
	_, err = list.Of(t.Context(), stranger, list.In("prg_1", nil, nil, nil), db.TagList{})
	refused(err, problem.ResourceNotFound, "program_id")
}

// TestSlice: a page of a list in memory equals one of rows.
func TestSlice(t *testing.T) {
	t.Parallel()
	all := []string{"a", "b", "c", "d", "e"}
	self := func(s string) string { return s }
	for _, c := range []struct {
		limit         int64
		after, before string
		rows          string
		more          bool
	}{
		{2, "", "", "[a b]", true},
		{9, "", "", "[a b c d e]", false},
		{2, "b", "", "[c d]", true},
		{2, "c", "", "[d e]", false},
		{2, "e", "", "[]", false},
		{2, "", "d", "[b c]", true},
		{9, "", "d", "[a b c]", false},
		{2, "", "a", "[]", false},
	} {
		page := list.In("", &c.limit, opt.OrNil(c.after), opt.OrNil(c.before))
		got, err := list.Slice(all, self, 100, page)
		require.NoError(t, err)
		require.Equal(t, c.rows, fmt.Sprint(got.Rows), "%v", c)
		require.Equal(t, c.more, got.HasMore, "%v", c)
		require.EqualValues(t, 5, got.Total)
	}
	_, err := list.Slice(all, self, 100, list.In("", nil, new("x"), nil))
	require.ErrorContains(t, err, "starting_after")
}
