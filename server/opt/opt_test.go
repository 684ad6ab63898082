package opt

import (
	"testing"

	"github.com/oapi-codegen/nullable"
	"github.com/stretchr/testify/require"
)

func TestChange(t *testing.T) {
	t.Parallel()
	name := "Ada"
	Change(&name, nil)
	require.Equal(t, "Ada", name)
	Change(&name, new("Bo"))
	require.Equal(t, "Bo", name)
}

func TestChangeOrClear(t *testing.T) {
	t.Parallel()
	name := new("Ada")
	ChangeOrClear(&name, nil)
	require.Equal(t, new("Ada"), name, "what is left out stays")
	ChangeOrClear(&name, nullable.NewNullableWithValue("Bo"))
	require.Equal(t, new("Bo"), name)
	ChangeOrClear(&name, nullable.NewNullNullable[string]())
	require.Nil(t, name)
}
