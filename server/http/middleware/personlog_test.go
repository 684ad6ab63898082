package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestActionOf(t *testing.T) {
	t.Parallel()
	for operation, want := range map[string]string{
		"updateProgram": "program.updated", "createPartnerSSO": "partner_sso.created",
		"rotateWebhookEndpointSecret": "webhook_endpoint_secret.rotated", "markPayoutPaid": "payout_paid.mark", "ping": "ping",
	} {
		require.Equal(t, want, actionOf(operation))
	}
}
