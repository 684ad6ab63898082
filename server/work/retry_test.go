package work_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"rail/server/work"
)

func TestRetry(t *testing.T) {
	t.Parallel()
	lost, broken := &pgconn.PgError{Code: "40P01"}, errors.New("broken")
	for name, c := range map[string]struct {
		results []error // of the attempts
		want    error
	}{
		"at once":            {[]error{nil}, nil},
		"after a lost race":  {[]error{lost, nil}, nil},
		"no race":            {[]error{broken}, broken},
		"a race, then worse": {[]error{lost, broken}, broken},
		"four races":         {[]error{lost, lost, lost, lost}, lost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attempts := 0
			err := work.Retry(t.Context(), func() error {
				attempts++
				return c.results[attempts-1]
			})
			require.ErrorIs(t, err, c.want)
			require.Len(t, c.results, attempts)
		})
	}
}
