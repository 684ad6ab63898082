package mail

import (
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/clock"
	"rail/server/secret"
	"rail/server/telemetry/outage"
)

// Options configure mail.
type Options struct {
	Address string // RAIL_SMTP_URL; "" disables mail
	From    string // the sender's address
	Name    string // the sender's name
	BaseURL string // address of the service, without a trailing slash
	Pixel   bool   // whether campaigns report openings
	// Link returns the address of a partner's link: a page with a tracking parameter.
	Link   func(page, param, value string) string
	Pool   *pgxpool.Pool
	Keeper *secret.Keeper
	Clock  clock.Clock
	Log    *slog.Logger
}

// Set is an outbox with its sender.
type Set struct {
	Outbox *Outbox
	Sender Sender
}

// SetUp returns the outbox and the sender for a mail server's address. Without an address the outbox only logs
// mails.
func SetUp(o Options) (Set, error) {
	s := Set{
		Outbox: &Outbox{Configured: o.Address != "", Log: o.Log, Layout: Layout{o.BaseURL, o.Name, o.Link}},
		Sender: Sender{
			Pool: o.Pool, From: o.From, Name: o.Name, BaseURL: o.BaseURL, Keeper: o.Keeper, Pixel: o.Pixel, Clock: o.Clock,
			Link: o.Link, Log: o.Log, Outages: outage.New(o.Log, o.Clock, "the mail server", ""),
		},
	}
	if o.Address == "" {
		return s, nil
	}
	var err error
	s.Sender.Transport, err = NewTransport(o.Address)
	return s, err
}
