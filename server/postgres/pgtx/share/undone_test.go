package share

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"rail/server/postgres/pgtx"
)

// TestRetryAlone repeats work after errors that certainly rolled it back, whatever the
// language of the database's messages.
func TestRetryAlone(t *testing.T) {
	t.Parallel()
	for severity, again := range map[string]bool{"ERROR": true, "FATAL": false} {
		err := &pgconn.PgError{Severity: "FEHLER", SeverityUnlocalized: severity, Code: "22012"}
		require.Equal(t, again, pgtx.Again(RetryAlone(err)), severity)
	}
	require.False(t, pgtx.Again(RetryAlone(errors.New("cut off"))))
}
