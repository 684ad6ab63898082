package paypal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/paypaltest"
	"rail/server/money/payout"
	"rail/server/money/payout/paypal"
)

const day = 24 * time.Hour

// A setup is a rail at a fake PayPal.
type setup struct {
	*paypal.Rail
	t     *testing.T
	fake  *paypaltest.Server
	clock *clock.Manual
}

func start(t *testing.T, c paypaltest.Config) *setup {
	t.Helper()
	manual := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	c.Clock = manual
	fake := paypaltest.Start(t, c)
	rail := paypal.New(paypal.Config{URL: fake.URL(), ClientID: "client", Secret: "secret", Clock: manual})
	return &setup{Rail: rail, t: t, fake: fake, clock: manual}
}

// transfer returns a transfer of 12.34 EUR.
func transfer(id string) payout.Transfer {
	return payout.Transfer{
		ID: id, AmountMinor: 1234, Currency: "EUR", Method: "paypal", PartnerID: "part_1", Email: id + "@example.com",
	}
}

// pay submits a transfer, and returns it with its id at PayPal.
func (s *setup) pay(t payout.Transfer) payout.Transfer {
	s.t.Helper()
	id, err := s.Submit(s.t.Context(), t)
	require.NoError(s.t, err)
	t.ExternalID = id
	return t
}

// poll returns the status of a submitted transfer.
func (s *setup) poll(t payout.Transfer) payout.Status {
	s.t.Helper()
	status, err := s.Status(s.t.Context(), t)
	require.NoError(s.t, err)
	return status
}

// once requires that the fake accepted a transfer once.
func (s *setup) once(id string) {
	s.t.Helper()
	require.Len(s.t, s.fake.Items(id), 1)
}

// errorIs reports whether an error is of a type.
func errorIs[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
