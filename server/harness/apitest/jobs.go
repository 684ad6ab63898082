package apitest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/jobs"
	"rail/server/secret"
)

// RunJob runs one of the server's jobs once, at the server's time.
func RunJob(t testing.TB, s *Server, name string) {
	t.Helper()
	RunJobAt(t, s, name, s.Clock.Now())
}

// RunJobAt runs one of the server's jobs once, at another time.
func RunJobAt(t testing.TB, s *Server, name string, now clock.Time) {
	t.Helper()
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	for _, j := range jobs.All(jobs.Deps{
		Pool: s.Pool, Clock: s.Clock, Keeper: keeper, FraudMonitoring: s.Config.FraudMonitoring,
		StripeURL: s.Config.StripeURL, Plan: s.Config.Plan(),
	}) {
		if j.Name == name {
			require.NoError(t, j.Run(t.Context(), now))
			return
		}
	}
	t.Fatalf("no job %s", name)
}
