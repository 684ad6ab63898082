package problem

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{
		"amount_minor", "currency", "email", "external_charge_id", "first_name", "last_name", "program_id", "search",
		"tag_ids",
	}
	for name, nearest := range map[string]string{
		"emial": "email", "e_mail": "email", "EMAIL": "email", "programId": "program_id", "progam_id": "program_id",
		"curency": "currency",
		"amount":  "amount_minor", "charge_id": "external_charge_id", "tagids[]": "tag_ids", "serch": "search",
		"name": "", "query": "", "x": "", "": "", "id": "", "\u00e9\u00e9": "", strings.Repeat("email", 100): "",
	} {
		require.Equal(t, nearest, Nearest(name, names), name)
	}
}

// TestNearestIsCheap: paths are compared before callers are rate limited.
func TestNearestIsCheap(t *testing.T) { //nolint:paralleltest // allocations are counted
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("/v1/programs_%02d", i))
	}
	name := strings.Repeat("/abcdefg", 16)
	require.Empty(t, Nearest(name, names))
	require.Less(t, testing.AllocsPerRun(10, func() { Nearest(name, names) }), 200.0,
		"no name of another length is compared letter by letter")
}

func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprintf("name%02d", i))
	}
	e := UnknownName("a.b", "is not known here", "b", many)
	require.Equal(t, ParameterUnknown, e.Code)
	require.Equal(t, "a.b", e.Param)
	require.Contains(t, e.Message, "name49 and 10 more.")
	require.Equal(t, "a.b is not known here.", UnknownName("a.b", "is not known here", "b", nil).Message)
	require.Equal(t, "kind must be one.", NotOneOf("kind", "two", []string{"one"}).Message)
	require.Equal(t, "kind must be one of one, three. Did you mean three?",
		NotOneOf("kind", "tree", []string{"one", "three"}).Message)
}
