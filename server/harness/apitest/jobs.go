package apitest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/jobs"
	"rail/server/money/payout/rails"
	"rail/server/outbound/mail"
	"rail/server/outbound/webhook"
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
	require.NoError(t, tryJobAt(t, s, name, now))
}

// TryJob runs one of the server's jobs once, and returns its error.
func TryJob(t testing.TB, s *Server, name string) error {
	t.Helper()
	return tryJobAt(t, s, name, s.Clock.Now())
}

func tryJobAt(t testing.TB, s *Server, name string, now clock.Time) error {
	t.Helper()
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	for _, j := range jobs.All(jobs.Deps{
		Pool: s.Pool, Clock: s.Clock, Keeper: keeper, FraudMonitoring: s.Config.FraudMonitoring,
		ImportURLs: s.Config.ImportURLs(), StripeURL: s.Config.StripeURL, Plan: s.Config.Plan(), Outbox: &mail.Outbox{Configured: s.Config.SMTPURL != ""},
		OpenRail: (&rails.Service{
			Keeper: keeper, Clock: s.Clock, PayPalURL: s.Config.PayPalURL, Name: s.Config.ServiceName,
			Guard: webhook.NewGuard(s.Config.WebhookAllowCIDRs, false, ""),
		}).Open,
	}) {
		if j.Name == name {
			return j.Run(t.Context(), now)
		}
	}
	t.Fatalf("no job %s", name)
	return nil
}
