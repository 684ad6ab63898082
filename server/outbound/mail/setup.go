package mail

import (
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/clock"
	"rail/server/secret"
	"rail/server/telemetry/outage"
)

// Options is what mails are made and sent with.
type Options struct {
	Address string // RAIL_SMTP_URL; "" where mails are not sent
	From    string // address of the sender
	Name    string // shown beside it
	BaseURL string // where the service is reached, without a slash at its end
	Pixel   bool   // whether campaigns show their opening
	Pool    *pgxpool.Pool
	Keeper  *secret.Keeper
	Clock   clock.Clock
	Log     *slog.Logger
}

// Set is an outbox with what sends it.
type Set struct {
	Outbox *Outbox
	Sender Sender
}

// SetUp returns the outbox and the sender for a mail server's address. Without an
// address the outbox takes nothing.
func SetUp(o Options) (Set, error) {
	s := Set{
		Outbox: &Outbox{Configured: o.Address != "", Log: o.Log},
		Sender: Sender{
			Pool: o.Pool, From: o.From, Name: o.Name, BaseURL: o.BaseURL, Keeper: o.Keeper, Pixel: o.Pixel, Clock: o.Clock,
			Log: o.Log, Outages: outage.New(o.Log, o.Clock, "the mail server", ""),
		},
	}
	if o.Address == "" {
		return s, nil
	}
	var err error
	s.Sender.Transport, err = NewTransport(o.Address)
	return s, err
}
