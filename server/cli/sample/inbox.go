package sample

import (
	"encoding/json"
	"time"

	"rail/server/ident"
	"rail/server/inbound/connection"
	"rail/server/inbound/inbox"
	"rail/server/outbound/webhook"
)

// never is the delay in days of the sample's events, which are only for show.
const never = 36_500

// inboxRows adds an active connection and an ended one, and an event of a processor in each state.
func (b *builder) inboxRows() error {
	ended, err := b.connection("disconnected")
	if err != nil {
		return err
	}
	works, err := b.connection("active")
	if err != nil {
		return err
	}
	sale := b.sheets.sales.rows[0] // its organization and program, id, customer, partner, charge
	for i, e := range []struct {
		connection, kind, status string
		code, reason             any
		waits                    bool
		customer, sale           any
		charge                   any
	}{
		{ended, "sale", "ignored", "no_partner", "No partner brought the customer.", false, nil, nil, "ch_nobody"},
		{works, "sale", "recorded", nil, nil, false, sale[3], sale[2], sale[5]},
		{works, "refund", "waiting", "unknown_sale", "The refunded payment is not recorded.", true, nil, nil, "ch_unknown"},
		{works, "sale", "failed", "malformed", "amount_minor is missing or invalid.", false, nil, nil, "ch_broken"},
		{works, "sale", "pending", nil, nil, true, nil, nil, "ch_new"},
	} {
		id, at := ident.NewSample(ident.InboxEvent), b.now.Plus(-time.Duration(20-i)*time.Minute)
		body, err := json.Marshal(map[string]any{"type": e.kind, "external_charge_id": e.charge})
		if err != nil {
			return err
		}
		sealed, err := b.keeper.Seal(body, inbox.PayloadPlace(id))
		if err != nil {
			return err
		}
		var due, processed any
		attempts := int64(0)
		if e.waits {
			due = b.now.Days(never)
		}
		if e.status != "pending" {
			processed, attempts = at.Plus(time.Second), 1
		}
		b.add(b.sheets.inbox, id, e.connection, "generic", "msg_"+number(i, 4), e.kind, true, e.status, e.code, e.reason,
			e.customer, e.sale, attempts, int64(0), sealed, "{}", due, processed, at)
	}
	return nil
}

// connection adds a connection with a valid secret, and returns its id.
func (b *builder) connection(status string) (string, error) {
	id := ident.NewSample(ident.Connection)
	sealed, err := b.keeper.Seal([]byte(webhook.NewSecret()), connection.SecretPlace(id))
	if err != nil {
		return "", err
	}
	b.add(b.sheets.connections, id, "generic", true, status, false, false, sealed, b.start, b.start, b.start)
	return id, nil
}
