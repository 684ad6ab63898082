package pgtx

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestJoin(t *testing.T) {
	t.Parallel()
	insert := "-- name: X :exec\nINSERT INTO x (a, b)\nVALUES ($1, f($2::int, 'x'))\nON CONFLICT DO NOTHING"
	ones := []statement{{sql: insert, args: []any{1, 2}}, {sql: insert, args: []any{3, 4}}}
	require.Equal(t, []statement{{sql: insert, rows: [][]any{{1, 2}, {3, 4}}}}, join(ones))
	require.Equal(t, "-- name: X :exec\nINSERT INTO x (a, b)\nSELECT given.p1, f(given.p2::int, 'x')"+
		" FROM (SELECT unnest($1::text[]) AS p1, unnest($2::int8[]) AS p2) given\nON CONFLICT DO NOTHING",
		shapeOf(insert).of([]string{"text", "int8"}))

	rows := "INSERT INTO x SELECT unnest($1::text[]), nullif(unnest($2::bigint[]), 0)"
	mine := make([]string, 1, 8)
	got := join([]statement{
		{sql: rows, args: []any{mine, []int64{1}}}, {sql: rows, args: []any{[]string{"b", "c"}, []int64{2, 3}}},
	})
	require.Equal(t, []statement{{sql: rows, args: []any{[]string{"", "b", "c"}, []int64{1, 2, 3}}}}, got)
	require.Equal(t, make([]string, 7), mine[1:8], "the queue's own array is unchanged")

	for _, other := range []string{
		"WITH y AS (SELECT $1::int AS n) INSERT INTO x VALUES ($2)",
		"UPDATE x SET a = $1",
		"SELECT 1",
		"INSERT INTO x SELECT unnest($1::text[]), $2",
		"INSERT INTO x VALUES ($1) ON CONFLICT DO UPDATE SET a = $2",
		"INSERT INTO x VALUES ($1",
	} {
		same := []statement{{sql: other, args: []any{1, 2}}, {sql: other, args: []any{3, 4}}}
		require.Equal(t, same, join(slices.Clone(same)), other)
	}
}

// TestMergeKeepsOrder merges queues of random texts: no statement is lost, and each queue keeps its
// order.
func TestMergeKeepsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var queues, left [][]statement
		for queue := range rapid.IntRange(1, 6).Draw(t, "queues") {
			var q []statement
			for _, text := range rapid.SliceOfN(rapid.SampledFrom([]string{"A", "B", "C", "D"}), 0, 6).Draw(t, "texts") {
				q = append(q, statement{sql: text, args: []any{queue}})
			}
			queues, left = append(queues, slices.Clone(q)), append(left, q)
		}
		for _, s := range merge(queues) {
			queue := s.args[0].(int)
			require.NotEmpty(t, left[queue])
			require.Equal(t, left[queue][0].sql, s.sql)
			left[queue] = left[queue][1:]
		}
		for _, q := range left {
			require.Empty(t, q)
		}
	})
}

// TestMergeGroups merges queues whose orders agree, with gaps: each text is sent once.
func TestMergeGroups(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var queues [][]statement
		for range rapid.IntRange(1, 6).Draw(t, "queues") {
			var q []statement
			for _, text := range []string{"A", "B", "C", "D"} {
				if rapid.Bool().Draw(t, text) {
					q = append(q, statement{sql: text})
				}
			}
			queues = append(queues, q)
		}
		var texts []string
		for _, s := range merge(queues) {
			texts = append(texts, s.sql)
		}
		require.Len(t, slices.Compact(slices.Clone(texts)), len(slices.Compact(slices.Sorted(slices.Values(texts)))))
	})
}
