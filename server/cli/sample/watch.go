package sample

import (
	"encoding/json"
	"maps"
	"time"

	"rail/server/clock"
	"rail/server/ident"
	"rail/server/outbound/webhook"
)

// riskRows adds a risk flag in each state, with the texts of the checks; the data behind them need not match,
// and no check runs on it.
func (b *builder) riskRows() error {
	for i, f := range []struct {
		kind, severity, status, summary string
		signals                         map[string]any
	}{
		{"self_referral", "high", "open", "A customer has the partner's email address.", nil},
		{
			"click_velocity", "medium", "open", "64 clicks came from one address within an hour.",
			map[string]any{"clicks": 64, "minutes": 60},
		},
		{
			"duplicate_partner", "medium", "reviewing", "Two partners have the same payout account.",
			map[string]any{"same_payout_details_as": b.partners[40].id},
		},
		{
			"high_refund_rate", "medium", "resolved", "Four of ten customers had a sale refunded.",
			map[string]any{"customers": 10, "refunded_customers": 4, "refund_bps": 4000},
		},
		{"conversion_spike", "low", "dismissed", "Three times as many customers as in the weeks before.", nil},
	} {
		// Three days apart, newest first.
		at := b.now.Days(int64(-3 * (i + 1)))
		var closed *clock.Time
		var note *string
		// Only a closed flag has a time and a note; the other columns stay NULL.
		if f.status == "resolved" || f.status == "dismissed" {
			closed, note = new(at.Plus(day)), new("Talked to the partner.")
		}
		facts := map[string]any{"check": f.kind, "summary": f.summary}
		maps.Copy(facts, f.signals)
		evidence, err := json.Marshal(facts)
		if err != nil {
			return err
		}
		b.add(b.sheets.flags, ident.NewSample(ident.RiskFlag), b.partners[20+i].id, f.kind, f.severity, f.status, evidence,
			closed, note, at)
	}
	return nil
}

// formRows adds a tax form in each state, and a second form of the partner whose first is superseded. signed and
// expiry are days from now; 0 is no time.
func (b *builder) formRows() {
	for i, f := range []struct {
		partner        int
		kind, status   string
		entity         string
		signed, expiry int64 // days
	}{
		{0, "w9", "superseded", "individual", -400, 0}, {0, "w9", "submitted", "company", -40, 0},
		{1, "w8ben", "submitted", "individual", -200, 895},
		{2, "w8bene", "expired", "company", -1200, -20}, {3, "w8ben", "required", "individual", 0, 0},
		{4, "w9", "not_required", "individual", 0, 0},
	} {
		// One a day, in this order: the superseding form must be the later one.
		at := b.now.Days(int64(i - 39))
		var signed, expires *clock.Time
		if f.signed != 0 {
			signed = new(b.now.Days(f.signed))
		}
		if f.expiry != 0 {
			expires = new(b.now.Days(f.expiry))
		}
		p := b.partners[f.partner]
		b.add(b.sheets.forms, ident.NewSample(ident.TaxForm), p.id, f.kind, f.status, f.entity, p.country, signed, expires,
			at, at)
	}
}

// endpointRows adds an endpoint of the program with deliveries in each state, a disabled one, and the postback
// of a partner. Nothing is sent to them: the sender leases no endpoint of a sample.
func (b *builder) endpointRows() error {
	at := b.now.Days(-90)
	id, err := b.endpoint(nil, "/webhooks/rail", []string{}, true, at)
	if err != nil {
		return err
	}
	if _, err := b.endpoint(nil, "/webhooks/old", []string{"sale.created"}, false, at); err != nil {
		return err
	}
	if _, err := b.endpoint(&b.partners[0].id, "/postback", []string{"commission.created"}, true, at); err != nil {
		return err
	}
	for i, d := range []struct {
		event, status string
		attempts      int32
		code          any
		problem       any
	}{
		{"sale.created", "delivered", 1, int32(200), nil}, {"commission.created", "delivered", 2, int32(204), nil},
		{"payout.created", "failed", 8, int32(500), "The answer was 500."},
		{"referral.created", "retrying", 3, nil, "The connection was refused."},
		{"sale.refunded", "pending", 0, nil, nil},
	} {
		made := b.now.Plus(-time.Duration(10-i) * time.Hour)
		// nil if it has not happened yet: these columns are NULL then.
		var last, next, done, took any
		if d.attempts > 0 {
			last, took = made.Plus(time.Minute), int64(80+i)
		}
		if d.status == "pending" || d.status == "retrying" {
			// The planned attempt of an unfinished delivery.
			next = b.now.Days(1)
		} else {
			done = made.Plus(time.Minute)
		}
		b.add(b.sheets.deliveries, ident.NewSample(ident.Delivery), id, ident.New(ident.Event), d.event, int64(0), d.status,
			d.attempts, d.code, d.problem,
			took, last, next, done, made)
	}
	return nil
}

// endpoint adds an endpoint and returns its id. The secret is valid and sealed as usual, since rotating the
// secret key opens every secret.
func (b *builder) endpoint(partnerID *string, path string, types []string, enabled bool,
	at clock.Time) (string, error) {
	id := ident.NewSample(ident.Endpoint)
	sealed, err := b.keeper.Seal([]byte(webhook.NewSecret()), webhook.SecretPlace(id, false))
	if err != nil {
		return "", err
	}
	b.add(b.sheets.endpoints, id, partnerID, site+path, types, enabled, sealed, at, at, at)
	return id, nil
}
