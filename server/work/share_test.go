package work_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/worktest"
	"rail/server/problem"
	"rail/server/work"
)

// TestShareForgetsRefusals: a refusal that keeps its effects is rolled back with its shared transaction; the
// next attempt decides the result.
func TestShareForgetsRefusals(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	attempts := 0
	x.Must(func(ctx context.Context, u *work.Unit) error {
		errs := u.Share(ctx, 2, func(i int, u *work.Unit) error {
			if i == 1 {
				_, err := u.Later().Exec(ctx, "SELECT 1")
				return err
			}
			if attempts++; attempts > 1 {
				return nil
			}
			if _, err := u.Later().Exec(ctx, "SELECT 1 / 0"); err != nil {
				return err
			}
			refused := problem.New(problem.SelfReferralBlocked, "Not this one.")
			refused.Committed = true
			return refused
		})
		return errors.Join(errs...)
	})
	require.Equal(t, 2, attempts)
}
