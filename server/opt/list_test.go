package opt

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDistinct(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"b", "a"}, Distinct([]string{"b", "a", "b", "a"}))
	require.Equal(t, []string{}, Distinct(nil))
}
