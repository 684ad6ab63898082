package apitest

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// PagedBothWays requires that a list has the ids in this order, page by page in both directions.
func PagedBothWays(t testing.TB, s *Server, path string, want []string) {
	t.Helper()
	page := func(cursor string) ([]string, bool) {
		a := s.Must(200, s.Get(path+"&limit=2"+cursor))
		require.EqualValues(t, len(want), a.Int("total_count"), path)
		var ids []string
		for _, o := range a.Data() {
			ids = append(ids, o["id"].(string))
		}
		return ids, a.Body["has_more"].(bool)
	}
	var forth []string
	for cursor, more := "", true; more; {
		var ids []string
		ids, more = page(cursor)
		require.NotEmpty(t, ids, "%s after %v", path, forth)
		forth = append(forth, ids...)
		cursor = "&starting_after=" + ids[len(ids)-1]
	}
	require.Equal(t, want, forth, path)
	back := want[len(want)-1:]
	for more := len(want) > 1; more; {
		var ids []string
		ids, more = page("&ending_before=" + back[0])
		require.NotEmpty(t, ids, "%s before %v", path, back)
		back = append(slices.Clone(ids), back...)
	}
	require.Equal(t, want, back, path)
	s.Refused(400, "parameters_exclusive", "ending_before",
		s.Get(path+"&starting_after="+want[0]+"&ending_before="+want[0]))
}

// Count counts the answers with a status.
func Count(answers []Answer, status int) (n int) {
	for _, a := range answers {
		if a.Status == status {
			n++
		}
	}
	return n
}

// Tally counts the events of a type in a program.
func Tally(s *Server, program, kind string) (n int) {
	s.T.Helper()
	for _, t := range s.EventTypes(program) {
		if t == kind {
			n++
		}
	}
	return n
}

// JSONOf encodes a value.
func JSONOf(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}
