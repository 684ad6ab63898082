package sample

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/inbound/connection"
	"rail/server/inbound/inbox"
	"rail/server/money/tax"
	"rail/server/opt"
	"rail/server/outbound/webhook"
	"rail/server/program/risk"
	"rail/server/work"
)

// risks adds a risk flag in each state, with the texts of the checks; the data behind them need not match, and no
// check runs on it.
func (b *builder) risks(ctx context.Context, u *work.Unit) error {
	for i, f := range []struct {
		kind, severity, summary string
		status                  db.RiskStatus
		signals                 map[string]any
	}{
		{"self_referral", "high", "A customer has the partner's email address.", db.RiskStatusOpen, nil},
		{
			"click_velocity", "medium", "64 clicks came from one address within an hour.", db.RiskStatusOpen,
			map[string]any{"clicks": 64, "minutes": 60},
		},
		{
			"duplicate_partner", "medium", "Two partners have the same payout account.", db.RiskStatusReviewing,
			map[string]any{"same_payout_details_as": b.partners[40].id},
		},
		{
			"high_refund_rate", "medium", "Four of ten customers had a sale refunded.", db.RiskStatusResolved,
			map[string]any{"customers": 10, "refunded_customers": 4, "refund_bps": 4000},
		},
		{
			"conversion_spike", "low", "Three times as many customers as in the weeks before.", db.RiskStatusDismissed, nil,
		},
	} {
		p, opened := b.partners[20+i], b.now.Days(int64(-3*(i+1))) // three days apart, newest first
		if _, err := risk.Open(ctx, at(u, opened), risk.Finding{
			ProgramID: b.programID, PartnerID: p.id, Kind: f.kind, Severity: f.severity, Summary: f.summary, Signals: f.signals,
		}); err != nil {
			return err
		}
		found, err := queries.RiskFlagList(ctx, u.Tx, db.RiskFlagListParams{
			ProgramID: b.programID, OrgID: u.OrgID, PartnerID: &p.id, Lim: 1,
		})
		if err != nil {
			return err
		}
		switch f.status {
		case db.RiskStatusOpen:
		case db.RiskStatusReviewing:
			err = risk.Review(ctx, at(u, opened.Days(1)), found[0].RiskFlag.ID)
		default:
			err = risk.Resolve(ctx, at(u, opened.Days(1)), found[0].RiskFlag.ID, &f.status, "Talked to the partner.")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// taxForms adds a tax form in each state; the second of a partner supersedes its first. signed and expiry are days
// from now; 0 is no time.
func (b *builder) taxForms(ctx context.Context, u *work.Unit) error {
	for i, f := range []struct {
		partner        int
		kind           db.TaxFormType
		status         db.TaxFormState
		entity         string
		signed, expiry int64 // days
	}{
		{0, db.TaxFormTypeW9, db.TaxFormStateSubmitted, "individual", -400, 0},
		{0, db.TaxFormTypeW9, db.TaxFormStateSubmitted, "company", -40, 0},
		{1, db.TaxFormTypeW8ben, db.TaxFormStateSubmitted, "individual", -200, 895},
		{2, db.TaxFormTypeW8bene, db.TaxFormStateExpired, "company", -1200, -20},
		{3, db.TaxFormTypeW8ben, db.TaxFormStateRequired, "individual", 0, 0},
		{4, db.TaxFormTypeW9, db.TaxFormStateNotRequired, "individual", 0, 0},
	} {
		p := b.partners[f.partner]
		in := tax.Form{
			PartnerID: p.id, Type: f.kind, Status: f.status, EntityType: &f.entity, CountryCode: &p.country,
		}
		if f.signed != 0 {
			in.SignedAt = new(b.now.Days(f.signed))
		}
		if f.expiry != 0 {
			in.ExpiresAt = new(b.now.Days(f.expiry))
		}
		if _, err := tax.Record(ctx, at(u, b.now.Days(int64(i-9))), in); err != nil {
			return err
		}
	}
	return nil
}

// offline resolves no name, so that the addresses of endpoints are stored without asking the network.
type offline struct{}

func (offline) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, errors.New("the sample asks no name server")
}

// endpoints adds an endpoint of the program with deliveries in each state, a disabled one, and the postback of a
// partner. Nothing is sent to them: the sender leases no endpoint of a sample.
func (b *builder) endpoints(ctx context.Context, u *work.Unit) error {
	past := at(u, b.now.Days(-90))
	service := webhook.Endpoints{Keeper: b.keeper, Guard: &webhook.Guard{Resolver: offline{}}}
	add := func(partnerID *string, path string, types ...string) (string, error) {
		e, _, err := service.Create(ctx, past, webhook.NewEndpoint{
			ProgramID: b.programID, PartnerID: partnerID, URL: site + path, EventTypes: types,
		})
		return e.ID, err
	}
	old, err := add(nil, "/webhooks/old", "sale.created")
	if err != nil {
		return err
	}
	if _, err := service.Update(ctx, past, old, webhook.EndpointChange{Enabled: new(false)}); err != nil {
		return err
	}
	if _, err := add(&b.partners[0].id, "/postback", "commission.created"); err != nil {
		return err
	}
	id, err := add(nil, "/webhooks/rail")
	if err != nil {
		return err
	}
	return b.deliveries(ctx, u, id)
}

// deliveries adds a delivery in each state to an endpoint.
func (b *builder) deliveries(ctx context.Context, u *work.Unit, endpointID string) error {
	for i, d := range []struct {
		event    string
		status   db.DeliveryStatus
		attempts int32
		code     *int32
		problem  string
	}{
		{"sale.created", db.DeliveryStatusDelivered, 1, new(int32(200)), ""},
		{"commission.created", db.DeliveryStatusDelivered, 2, new(int32(204)), ""},
		{"payout.created", db.DeliveryStatusFailed, 8, new(int32(500)), "The answer was 500."},
		{"referral.created", db.DeliveryStatusRetrying, 3, nil, "The connection was refused."},
		{"sale.refunded", db.DeliveryStatusPending, 0, nil, ""},
	} {
		createdAt := b.now.Plus(-time.Duration(10-i) * time.Hour)
		row := db.SampleDeliveryParams{
			ID: u.NewID(ident.Delivery), OrgID: u.OrgID, ProgramID: b.programID, EndpointID: endpointID,
			EventID: ident.New(ident.Event), EventType: d.event, Status: d.status, Attempts: d.attempts, ResponseCode: d.code,
			Error: opt.OrNil(d.problem), CreatedAt: createdAt,
		}
		if d.attempts > 0 {
			row.LastAttemptAt, row.DurationMs = new(createdAt.Plus(time.Minute)), new(int64(80+i))
		}
		if d.status == db.DeliveryStatusPending || d.status == db.DeliveryStatusRetrying {
			row.NextAttemptAt = new(b.now.Days(1))
		} else {
			row.FinishedAt = new(createdAt.Plus(time.Minute))
		}
		if err := queries.SampleDelivery(ctx, u.Tx, row); err != nil {
			return err
		}
	}
	return nil
}

// never is the delay in days of the sample's events, which are only for show.
const never = 36_500

// inbox adds an active connection and an ended one, and an event of a processor in each state.
func (b *builder) inbox(ctx context.Context, u *work.Unit) error {
	in := connection.Input{ProgramID: b.programID, Processor: connection.Generic, Live: true, Replace: true}
	ended, _, err := connection.Service{Keeper: b.keeper}.Connect(ctx, at(u, b.start), in)
	if err != nil {
		return err
	}
	works, _, err := connection.Service{Keeper: b.keeper}.Connect(ctx, at(u, b.start), in)
	if err != nil {
		return err
	}
	sold := b.firstSale()
	for i, e := range []struct {
		connection, kind string
		status           db.InboxStatus
		code, reason     string
		due              *clock.Time
		sale             *payment
		charge           string
	}{
		{ended.ID, "sale", db.InboxStatusIgnored, "no_partner", "No partner brought the customer.", nil, nil, "ch_nobody"},
		{works.ID, "sale", db.InboxStatusRecorded, "", "", nil, sold, "ch_nw000001"},
		{
			works.ID, "refund", db.InboxStatusWaiting, "unknown_sale", "The refunded payment is not recorded.",
			new(b.now.Days(never)), nil, "ch_unknown",
		},
		{
			works.ID, "sale", db.InboxStatusFailed, "malformed", "amount_minor is missing or invalid.", nil, nil, "ch_broken",
		},
		{works.ID, "sale", db.InboxStatusPending, "", "", new(b.now.Days(never)), nil, "ch_new"},
	} {
		createdAt := b.now.Plus(-time.Duration(20-i) * time.Minute)
		row := db.InboxInsertParams{
			ID: u.NewID(ident.InboxEvent), OrgID: u.OrgID, ProgramID: b.programID, ConnectionID: e.connection,
			Processor: connection.Generic, ExternalEventID: "msg_" + number(i, 4), Type: e.kind, Livemode: true,
			Status: e.status, ReasonCode: opt.OrNil(e.code), Reason: opt.OrNil(e.reason), Headers: []byte("{}"), DueAt: e.due,
			CreatedAt: createdAt,
		}
		if e.sale != nil {
			row.CustomerID, row.SaleID = &e.sale.by.id, &e.sale.id
		}
		if e.status != db.InboxStatusPending {
			row.ProcessedAt, row.Attempts = new(createdAt.Plus(time.Second)), 1
		}
		body, err := json.Marshal(map[string]any{"type": e.kind, "external_charge_id": e.charge})
		if err != nil {
			return err
		}
		if row.Payload, err = b.keeper.Seal(body, inbox.PayloadPlace(row.ID)); err != nil {
			return err
		}
		if err := queries.InboxInsert(ctx, u.Tx, row); err != nil {
			return err
		}
	}
	return nil
}

// firstSale returns the first recorded payment.
func (b *builder) firstSale() *payment {
	var first *payment
	for _, c := range b.customers {
		if len(c.sales) > 0 && (first == nil || c.sales[0].at.Before(first.at.Time)) {
			first = c.sales[0]
		}
	}
	return first
}
