package source_test

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/importtest"
	"rail/server/inbound/importer/source"
)

// rowsAt returns the rows of a product that answers as the handler does.
func rowsAt(t *testing.T, name string, api http.Handler, account source.Account) []source.Row {
	t.Helper()
	return rowsOf(t, open(t, name, account, api, importtest.Faults{}))
}

// rowsOf returns all rows of a source.
func rowsOf(t *testing.T, s source.Source) []source.Row {
	t.Helper()
	var all []source.Row
	for _, rows := range walk(t, s, false) {
		all = slices.AppendSeq(all, maps.Values(rows))
	}
	return sorted(all)
}

// sorted returns rows by kind and id.
func sorted(rows []source.Row) []source.Row {
	slices.SortFunc(rows, func(a, b source.Row) int {
		return cmp.Or(
			cmp.Compare(slices.Index(source.Kinds, a.Kind), slices.Index(source.Kinds, b.Kind)),
			cmp.Compare(a.ID, b.ID),
		)
	})
	return rows
}

// clone returns a copy of a row, to change it.
func clone(row source.Row) source.Row {
	row.Partner, row.Link, row.Coupon = copied(row.Partner), copied(row.Link), copied(row.Coupon)
	row.Customer, row.Sale = copied(row.Customer), copied(row.Sale)
	row.Commission, row.Payout = copied(row.Commission), copied(row.Payout)
	return row
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// changed returns copies of rows, each changed.
func changed(rows []source.Row, change func(*source.Row)) []source.Row {
	all := make([]source.Row, len(rows))
	for i, row := range rows {
		all[i] = clone(row)
		change(&all[i])
	}
	return all
}

// requireRows compares rows in their order.
func requireRows(t *testing.T, want, got []source.Row) {
	t.Helper()
	count := func(rows []source.Row) map[source.Kind]int {
		n := map[source.Kind]int{}
		for _, row := range rows {
			n[row.Kind]++
		}
		return n
	}
	require.Equal(t, count(want), count(got))
	for i := range want {
		require.Equal(t, want[i], got[i], "%s %s", want[i].Kind, want[i].ID)
	}
}

// requireMoney compares the open and the paid money of commissions with that of a world, by partner and currency.
func requireMoney(t *testing.T, w *importtest.World, rows []source.Row) {
	t.Helper()
	read := &importtest.World{}
	for _, row := range rows {
		if row.Commission != nil {
			read.Commissions = append(read.Commissions, row)
		}
	}
	require.Equal(t, w.Open(), read.Open())
	require.Equal(t, w.Paid(), read.Paid())
}

// problems returns the codes of problems by kind and id.
func problems(rows []source.Row) map[string]source.Code {
	found := map[string]source.Code{}
	for _, row := range rows {
		if row.Problem != nil {
			found[string(row.Kind)+" "+row.ID] = row.Problem.Code
		}
	}
	return found
}

// without returns the rows that an oddity must not change: all but those with the kinds and ids.
func without(rows []source.Row, odd map[string]source.Code) []source.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(row source.Row) bool {
		_, is := odd[string(row.Kind)+" "+row.ID]
		return is
	})
}

// only is a source with the lists whose names end so.
type only struct {
	source.Source
	name string
}

func (o only) Lists() []source.List {
	return slices.DeleteFunc(o.Source.Lists(), func(l source.List) bool { return !strings.HasSuffix(l.Name, o.name) })
}

// TestDays reads dates without a time as days in the program's zone, and leaves times as they are.
func TestDays(t *testing.T) {
	t.Parallel()
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := "[]"
		if strings.HasSuffix(r.URL.Path, "/payouts") && r.URL.Query().Get("offset") == "0" {
			answer = `[{"id":1,"affiliate_id":7,"amount":"1","status":"paid","date":"2026-01-01"},
				{"id":2,"affiliate_id":7,"amount":"1","status":"paid","date":"2026-01-01 00:00:00"}]`
		}
		_, _ = w.Write([]byte(answer))
	})
	zone, err := clock.Zone("America/New_York")
	require.NoError(t, err)
	account := wpAccount
	for _, c := range []struct {
		zone *time.Location
		day  string
	}{{nil, "2026-01-01T00:00:00.000Z"}, {zone, "2026-01-01T05:00:00.000Z"}} {
		account.Zone = c.zone
		rows := rowsAt(t, "affiliatewp", api, account)
		require.Len(t, rows, 2)
		require.Equal(t, c.day, rows[0].Payout.PaidAt.String())
		require.Equal(t, c.day, rows[0].Payout.CreatedAt.String())
		require.Equal(t, "2026-01-01T00:00:00.000Z", rows[1].Payout.PaidAt.String())
	}
}
