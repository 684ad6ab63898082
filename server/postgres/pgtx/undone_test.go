package pgtx

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// TestAlone: what certainly undid a transaction is done again, in whatever language
// the database says so.
func TestAlone(t *testing.T) {
	t.Parallel()
	for severity, again := range map[string]bool{"ERROR": true, "FATAL": false} {
		err := &pgconn.PgError{Severity: "FEHLER", SeverityUnlocalized: severity, Code: "22012"}
		require.Equal(t, again, Again(Alone(err)), severity)
	}
	require.False(t, Again(Alone(errors.New("cut off"))))
}
