package problem

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/openapi"
)

// TestListIsTheDescriptions: codes, types and statuses equal those of the published description.
func TestListIsTheDescriptions(t *testing.T) {
	t.Parallel()
	var doc struct {
		Components struct {
			Examples map[Code]struct {
				Value struct{ Error struct{ Type, Code string } }
			}
			Schemas struct {
				ErrorCode struct{ Enum []Code }
				ErrorType struct{ Enum []string }
			}
		}
	}
	require.NoError(t, json.Unmarshal(openapi.Bundle, &doc))
	want := doc.Components.Schemas.ErrorCode.Enum
	got := Codes()
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got)
	for _, c := range got {
		e := New(c, "text")
		require.Contains(t, doc.Components.Schemas.ErrorType.Enum, e.Type(), c)
		require.GreaterOrEqual(t, e.Status(), 400, c)
		if example, shared := doc.Components.Examples[c]; shared { // others are defined at their operations
			require.Equal(t, []string{e.Type(), string(c)}, []string{example.Value.Error.Type, example.Value.Error.Code})
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	cause := errors.New("secret")
	require.ErrorIs(t, Internal(cause), cause)
	require.NotContains(t, Internal(cause).Message, "secret")
	require.Equal(t, 1, Away(cause).RetryAfter)
	require.Equal(t, "x", NotFound("x").Param)
	require.Equal(t, NotFound(""), NotFound(""), "absent and foreign are one answer")
	require.Equal(t, 409, Taken(TagNameTaken, "name", 1, "taken").Status())
}
