package rails

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/payout"
	"rail/server/money/payout/paypal"
	"rail/server/problem"
)

// MaxNotification bounds the body of a notification of PayPal's, in bytes.
const MaxNotification = 1 << 20

// ErrUnverified means that PayPal did not send a notification to this rail.
var ErrUnverified = paypal.ErrUnverified

// Notify verifies a notification of PayPal's for a rail, and makes the next round ask about the payout. The body proves
// no state: PayPal signs only a checksum of it. A rail that is absent, or has no webhook id, is a 404.
func (s *Service) Notify(ctx context.Context, pool *pgxpool.Pool, id string, header http.Header, body []byte) error {
	c, err := queries.PayoutRailAcrossOrgs(ctx, pool, id)
	switch {
	case errors.Is(err, pgx.ErrNoRows) || err == nil && c.Kind != db.PayoutRailKindPaypal:
		return problem.NotFound("")
	case err != nil:
		return err
	}
	creds, err := s.open(c)
	if err != nil {
		return err
	}
	if creds.WebhookID == "" {
		return problem.NotFound("")
	}
	event, err := s.verify().Verify(ctx, creds.WebhookID, header, body)
	if err != nil || event.PayoutID == "" {
		return err
	}
	return payout.AskNow(ctx, pool, c, event.PayoutID)
}

// verify returns the verifier of notifications.
func (s *Service) verify() *paypal.Verifier {
	s.prepare.Do(func() {
		s.verifier.Clock, s.verifier.Roots = clock.Wall(s.Clock), s.Roots
		if u, err := url.Parse(s.PayPalURL); err == nil {
			s.verifier.CertHost = u.Host
		}
	})
	return &s.verifier
}
