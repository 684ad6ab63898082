package mail

import (
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Set is an outbox with what sends it.
type Set struct {
	Outbox *Outbox
	Sender Sender
}

// SetUp returns what an address of RAIL_SMTP_URL makes possible; with "" the
// outbox takes nothing.
func SetUp(address, from, name string, pool *pgxpool.Pool, log *slog.Logger) (Set, error) {
	s := Set{Outbox: &Outbox{Configured: address != "", Log: log}, Sender: Sender{Pool: pool, From: from, Name: name, Log: log}}
	if address == "" {
		return s, nil
	}
	var err error
	s.Sender.Transport, err = NewTransport(address)
	return s, err
}
