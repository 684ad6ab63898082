package handlers_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/ident"
	"rail/server/inbound/connection"
)

// inboxed is a program with a partner at 20 % and a connection of the generic processor.
type inboxed struct {
	*apitest.Server
	t                *testing.T
	program, partner string
	c                apitest.Connected
}

func newInboxed(t *testing.T, options ...func(*connection.Input)) inboxed {
	t.Helper()
	s := apitest.New(t)
	program := s.Program()
	s.Flow(program)
	return inboxed{s, t, program, s.Partner(program, M{"handle": "ann"}), s.Connect(program, options...)}
}

// send stores an event as if it had been received.
func (h inboxed) send(body M, id ...string) { h.t.Helper(); h.Must(200, h.c.Send(body, id...)) }

// work processes the inbox, and returns its events in the order of their arrival.
func (h inboxed) work() (events []apitest.Answer) {
	h.t.Helper()
	runJob(h.t, h.Server, "work-inbox")
	data := h.Get("/v1/inbox_events?limit=100&program_id=" + h.program).Data()
	for i := range data {
		events = append(events, apitest.Answer{Body: data[len(data)-1-i]})
	}
	return events
}

// last processes the inbox and requires this outcome of the newest event.
func (h inboxed) last(status string, code any) apitest.Answer {
	h.t.Helper()
	events := h.work()
	e := events[len(events)-1]
	require.Equal(h.t, []any{status, code}, []any{e.Body["status"], e.Body["reason_code"]}, "%v", e.Body)
	return e
}

func (h inboxed) total(list string) int64 {
	h.t.Helper()
	return h.Get("/v1/" + list + "?program_id=" + h.program).Int("total_count")
}

// paid returns the event of a sale with these members changed.
func paid(charge string, more M) M {
	body := M{"type": "sale", "external_charge_id": charge, "amount_minor": 5000, "currency": "usd"}
	maps.Copy(body, more)
	return body
}

// A sale of a visitor with a click creates the customer, the sale and its commission. Another
// delivery changes nothing, and a refund takes its share.
func TestGenericHook(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	click := h.Click(h.program, "ann").String("id")
	h.send(paid("ch_1", M{
		"external_customer_id": "c_1", "click_id": click, "email": "Ada@example.com", "tax_minor": 500, "fee_minor": 9,
		"interval": "month",
	}), "msg_1")
	e := h.last("recorded", nil)
	require.Equal(t, []any{"msg_1", "sale", int64(1), true}, []any{
		e.String("external_event_id"), e.String("type"), e.Int("attempts"), e.Body["livemode"],
	})
	sale := h.Must(200, h.Get("/v1/sales/"+e.String("sale_id")))
	require.Equal(t, []any{"ch_1", "generic", int64(5000), int64(500), int64(9), "USD", "subscription", h.partner}, []any{
		sale.String("external_charge_id"), sale.String("processor"), sale.Int("amount_minor"), sale.Int("tax_minor"),
		sale.Int("fee_minor"),
		sale.String("currency"), sale.String("billing_type"), sale.String("partner_id"),
	})
	k := h.Must(200, h.Get("/v1/customers/"+e.String("customer_id")))
	require.Equal(t, []any{"c_1", "generic", "click", click}, []any{
		k.String("external_customer_id"), k.String("processor"), k.Body["attribution"].(M)["rule"],
		k.Body["attribution"].(M)["detail"],
	})
	h.send(paid("ch_1", M{}), "msg_1")
	require.Len(t, h.work(), 1)
	h.send(paid("ch_1", M{"external_customer_id": "c_1"}))
	require.Equal(t, sale.String("id"), h.last("ignored", "already_recorded").String("sale_id"))
	h.send(M{"external_charge_id": "ch_1", "external_refund_id": "re_1", "amount_minor": 1000})
	refund := h.last("recorded", nil)
	require.NotEmpty(t, refund.String("refund_id"))
	require.Equal(t, sale.String("id"), refund.String("sale_id"))
	h.send(M{"type": "refund", "external_charge_id": "ch_1", "external_refund_id": "re_1", "amount_minor": 1000})
	h.last("ignored", "already_recorded")
	commissions := h.Get("/v1/commissions?program_id=" + h.program).Data()
	require.Len(t, commissions, 1)
	require.EqualValues(t, 800, apitest.Answer{Body: commissions[0]}.Int("amount_minor"))
	h.send(M{"type": "refund", "external_charge_id": "ch_1", "external_refund_id": "re_2"})
	h.last("recorded", nil)
	require.NotNil(t, h.Get("/v1/sales/" + sale.String("id")).Body["refunded_at"])
	require.NotNil(t, h.Get("/v1/processor_connections/" + h.c.ID).Body["last_event_at"])
	balanced(t, h.Server)
}

// A known customer keeps its partner, whatever its next payment contains. A lead is found by the
// merchant's own id or, for a week, by its email.
func TestInboxFindsWhoPaid(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	bob := h.Partner(h.program, M{"handle": "bob"})
	lead := func(more M) string {
		body := M{"program_id": h.program, "partner_id": bob}
		maps.Copy(body, more)
		return h.Must(201, h.Post("/v1/customers", body)).String("id")
	}
	known := lead(M{"external_customer_id": "c_known"})
	named, mailed := lead(M{"identifier": "user-7"}), lead(M{"email": "Eve@example.com"})
	coupon := h.Must(201, h.Post("/v1/coupons", M{
		"program_id": h.program, "code": "ANN10", "partner_id": h.partner, "external_id": "promo_1",
	})).String("id")
	click := h.Click(h.program, "ann")
	byClick := h.Must(201, h.Post("/v1/customers", M{"program_id": h.program, "click_id": click.String("id")}))
	for i, c := range []struct {
		more               M
		customer, rule     string
		detail, externalID any
	}{
		{M{"external_customer_id": "c_known", "click_id": click.String("id")}, known, "api", bob, "c_known"},
		{M{"external_customer_id": "c_2", "identifier": "user-7"}, named, "identifier", "user-7", "c_2"},
		{M{"external_customer_id": "c_3", "email": "eve@EXAMPLE.com"}, mailed, "email", "eve@example.com", "c_3"},
		{M{"external_customer_id": "c_4", "coupon_external_id": "promo_1"}, "", "promotion_code", coupon, "c_4"},
		{M{"email": "guest@example.com", "coupon_external_id": "promo_1"}, "", "promotion_code", coupon, nil},
		{M{"external_customer_id": "c_5", "click_id": click.String("id")}, byClick.String("id"), "click",
			click.String("id"), "c_5"},
		{M{"external_customer_id": "c_6", "click_id": click.String("referral_id")}, "", "referral",
			click.String("referral_id"), "c_6"},
	} {
		h.send(paid(fmt.Sprint("ch_", i), c.more))
		e := h.last("recorded", nil)
		if c.customer != "" {
			require.Equal(t, c.customer, e.String("customer_id"), "%v", c.more)
		}
		k := h.Get("/v1/customers/" + e.String("customer_id"))
		by := k.Body["attribution"].(M)
		require.Equal(t, []any{c.rule, c.detail, c.externalID}, []any{by["rule"], by["detail"],
			k.Body["external_customer_id"]}, "%v", c.more)
	}
	h.send(paid("ch_again", M{"email": "guest@example.com"}))
	require.Equal(t, "promotion_code", h.Get("/v1/customers/" +
		h.last("recorded", nil).String("customer_id")).Body["attribution"].(M)["rule"], "a guest is known by the e-mail")
	// The text of a code alone identifies no partner.
	h.send(paid("ch_text", M{"external_customer_id": "c_8", "coupon_external_id": "ANN10"}))
	h.last("ignored", "no_partner")
	balanced(t, h.Server)
}

// An unattributed payment is not a sale. A coupon or a lead that attributes it within 30 days makes
// it a sale at once.
func TestInboxExplainedLater(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	h.send(paid("ch_1", M{"external_customer_id": "c_1", "coupon_external_id": "promo_1"}))
	h.last("ignored", "no_partner")
	h.send(paid("ch_2", M{"external_customer_id": "c_2", "identifier": "user-2"}))
	h.last("ignored", "no_partner")
	require.Zero(t, h.total("sales")+h.total("customers"))
	h.Clock.Advance(29 * 24 * time.Hour)
	h.Must(201, h.Post("/v1/coupons", M{
		"program_id": h.program, "code": "X", "partner_id": h.partner, "external_id": "promo_1",
	}))
	require.Equal(t, "recorded", h.work()[0].String("status"))
	h.Must(201, h.Post("/v1/customers", M{
		"program_id": h.program, "partner_id": h.partner, "identifier": "user-2",
	}))
	h.last("recorded", nil)
	require.EqualValues(t, 2, h.total("sales"))
	// After 30 days it is too late.
	h.send(paid("ch_3", M{"external_customer_id": "c_3"}))
	h.last("ignored", "no_partner")
	h.Clock.Advance(time.Minute)
	require.EqualValues(t, 2, h.last("ignored", "no_partner").Int("attempts"), "for who signed up in the same moment")
	h.Clock.Advance(31 * 24 * time.Hour)
	h.Must(201, h.Post("/v1/customers", M{
		"program_id": h.program, "partner_id": h.partner, "external_customer_id": "c_3",
	}))
	h.last("ignored", "no_partner")
	// With record_direct it is a sale without a partner.
	direct := newInboxed(t, func(in *connection.Input) { in.RecordDirect = true })
	direct.send(paid("ch_1", M{"external_customer_id": "c_1"}))
	e := direct.last("recorded", nil)
	require.Nil(t, direct.Get("/v1/sales/" + e.String("sale_id")).Body["partner_id"])
}

// A refund before its sale waits, and is applied when the sale arrives by any route. After 30 days
// it is ignored, like a refund of a payment that is not the program's.
func TestInboxWaits(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	customer := h.Customer(h.program, h.partner)
	refund := func(charge string) {
		t.Helper()
		h.send(M{"type": "refund", "external_charge_id": charge, "external_refund_id": "re_" + charge, "amount_minor": 2000})
		h.last("waiting", "unknown_sale")
	}
	refund("ch_1")
	h.Sale(h.program, customer, M{"external_charge_id": "ch_1", "amount_minor": 5000})
	h.last("recorded", nil)
	refund("ch_2")
	click := h.Click(h.program, "ann").String("id")
	h.send(paid("ch_2", M{"external_customer_id": "c_2", "click_id": click}))
	h.work()
	require.Equal(t, "recorded", h.work()[1].String("status"))
	require.EqualValues(t, 2000, apitest.Answer{
		Body: h.Get("/v1/sales?external_charge_id=ch_2&program_id=" + h.program).Data()[0],
	}.Int("refunded_minor"))
	refund("ch_3")
	for range 70 {
		h.Clock.Advance(12 * time.Hour)
		h.work()
	}
	require.Contains(t, h.last("ignored", "unknown_sale").String("reason"), "did not arrive within 30 days")
	balanced(t, h.Server)
}

// An event that is unsigned or too old is refused and not stored. A signed event without usable
// content is stored with the reason.
func TestHookRefusals(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	now, body := h.Clock.Now().Time, []byte(`{"external_charge_id":"ch_1","amount_minor":1,"currency":"USD"}`)
	other := h.Connect(h.Program()).Signing
	for name, a := range map[string]apitest.Answer{
		"forged": h.c.SendRaw(body, "msg_1", now, other),
		"stale":  h.c.SendRaw(body, "msg_1", now.Add(-301*time.Second), h.c.Signing),
		"ahead":  h.c.SendRaw(body, "msg_1", now.Add(301*time.Second), h.c.Signing),
		"no id":  h.c.SendRaw(body, "", now, h.c.Signing),
	} {
		require.Equal(t, []any{400, "signature_invalid"}, []any{a.Status, a.Body["error"].(M)["code"]}, name)
	}
	require.Equal(t, 413, h.c.SendRaw(bytes.Repeat([]byte(" "), 2<<20+1), "msg_1", now, h.c.Signing).Status)
	require.Equal(t, 200, h.c.SendRaw(append(bytes.Repeat([]byte(" "), 2<<20-len(body)), body...), "big", now, h.c.Signing).Status)
	gone := h.c
	h.c = h.Connect(h.program)
	require.Equal(t, 404, gone.SendRaw(body, "msg_1", now, gone.Signing).Status, "disconnected")
	unknown := h.c
	unknown.ID = "pco_none"
	require.Equal(t, 404, unknown.SendRaw(body, "msg_1", now, h.c.Signing).Status)
	unknown.ID, unknown.Processor = h.c.ID, "stripe"
	require.Equal(t, 404, unknown.SendRaw(body, "msg_1", now, h.c.Signing).Status)
	for text, want := range map[string][]any{
		`nothing`: {"failed", "malformed"}, `[]`: {"failed", "malformed"}, `"\u0000"`: {"failed", "malformed"},
		`{}`: {"failed", "malformed"}, `{"external_charge_id":"x"}`: {"failed", "malformed"},
		`{"external_charge_id":"x","amount_minor":"y"}`:                          {"failed", "malformed"},
		`{"external_charge_id":"x","amount_minor":-1}`:                           {"failed", "malformed"},
		`{"external_charge_id":"x","amount_minor":1e30}`:                         {"failed", "malformed"},
		`{"external_charge_id":"x","amount_minor":0}`:                            {"ignored", "zero_amount"},
		`{"external_charge_id":"x","amount_minor":1,"metadata":{"rail":"skip"}}`: {"ignored", "opted_out"},
		`{"external_charge_id":"x","amount_minor":1,"occurred_at":"never"}`:      {"failed", "malformed"},
		`{"type":"refund","external_charge_id":"x"}`:                             {"failed", "malformed"},
		`{"type":"invoice"}`: {"ignored", "not_used"}, `{"test":true,"external_charge_id":"x"}`: {"failed", "malformed"},
		`{"test":true,"external_charge_id":"x","amount_minor":1,"currency":"usd"}`: {"ignored", "test_event"},
		``: {"failed", "malformed"}, "\xff": {"failed", "malformed"},
	} {
		require.Equal(t, 200, h.c.SendRaw([]byte(text), apitest.Unique("msg_"), now, h.c.Signing).Status, text)
		require.Equal(t, want[0], h.last(want[0].(string), want[1]).String("status"), text)
	}
	require.Zero(t, h.total("sales"))
	require.NotContains(t, h.Log(), "level=ERROR")
}

// Forged requests count against their address; signed ones do not.
func TestHookLimits(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.AddressRateLimit = 5 })
	c := s.Connect(s.Program())
	body := []byte(`{}`)
	refused := 0
	for range 20 {
		if c.SendRaw(body, "msg_1", s.Clock.Now().Time, "whsec_AAAA").Status == http.StatusTooManyRequests {
			refused++
		}
	}
	require.Equal(t, 15, refused)
	for range 50 {
		require.Equal(t, 200, c.Send(M{}).Status)
	}
}

// Over an address's limit, requests for connections that do not exist no longer query the database.
// Requests for existing connections still do.
func TestHooksOfUnknownConnections(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.AddressRateLimit = 5 })
	c := s.Connect(s.Program())
	ask := func() int {
		unknown := c
		unknown.ID = ident.New(ident.Connection)
		return unknown.Send(M{}).Status
	}
	rename := func(from, to string) {
		_, err := s.Pool.Exec(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to)
		require.NoError(t, err)
	}
	rename("processor_connections", "away")
	require.Equal(t, 500, ask(), "it is looked up")
	rename("away", "processor_connections")
	for range 4 {
		require.Equal(t, http.StatusNotFound, ask())
	}
	require.Equal(t, http.StatusTooManyRequests, ask())
	rename("processor_connections", "away")
	for range 20 {
		require.Equal(t, http.StatusTooManyRequests, ask())
	}
	rename("away", "processor_connections")
	for range 20 {
		require.Equal(t, 200, c.Send(M{}).Status)
	}
	later := s.Connect(s.Program())
	s.Clock.Advance(time.Second)
	for range 5 {
		require.Equal(t, http.StatusNotFound, ask())
	}
	require.Equal(t, 200, later.Send(M{}).Status, "made since")
}

// A sale, its refunds and their repeats arrive in any order and from two servers at once. The
// result is one sale, and each refund once.
func TestInboxRaces(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	var bodies []M
	for i := range 6 {
		charge := fmt.Sprint("ch_", i)
		sold := paid(charge, M{"external_customer_id": "c_" + charge[3:4], "click_id": h.Click(h.program, "ann").String("id")})
		bodies = append(bodies, sold, sold,
			M{"type": "refund", "external_charge_id": charge, "external_refund_id": "a" + charge, "amount_minor": 1000},
			M{"type": "refund", "external_charge_id": charge, "external_refund_id": "b" + charge, "amount_minor": 500},
			M{"type": "refund", "external_charge_id": charge, "external_refund_id": "b" + charge, "amount_minor": 500})
	}
	rand.Shuffle(len(bodies), func(i, j int) { bodies[i], bodies[j] = bodies[j], bodies[i] })
	var senders sync.WaitGroup
	for i, body := range bodies {
		senders.Go(func() { h.send(body, fmt.Sprint("msg_", i)) })
		senders.Go(func() { h.send(body, fmt.Sprint("msg_", i)) })
	}
	for range 4 {
		senders.Go(func() { runJob(t, h.Server, "work-inbox") })
	}
	senders.Wait()
	for range 3 {
		var workers sync.WaitGroup
		for range 3 {
			workers.Go(func() { runJob(t, h.Server, "work-inbox") })
		}
		workers.Wait()
		h.Clock.Advance(2 * time.Minute)
	}
	events := h.work()
	require.Len(t, events, len(bodies))
	count := map[string]int{}
	for _, e := range events {
		count[strings.TrimSuffix(e.String("status")+" "+fmt.Sprint(e.Body["reason_code"]), " <nil>")]++
	}
	require.Equal(t, map[string]int{"recorded": 18, "ignored already_recorded": 12}, count)
	require.EqualValues(t, 6, h.total("sales"))
	for _, s := range h.Get("/v1/sales?program_id=" + h.program).Data() {
		require.EqualValues(t, 1500, apitest.Answer{Body: s}.Int("refunded_minor"))
	}
	balanced(t, h.Server)
}

// An event can be retrieved with its body and found by the filters. A replay processes it again and
// records nothing twice.
func TestInboxEvents(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	click := h.Click(h.program, "ann").String("id")
	h.send(paid("ch_1", M{"external_customer_id": "c_1", "click_id": click}), "msg_1")
	h.send(M{"type": "other"}, "msg_2")
	events := h.work()
	id := events[0].String("id")
	require.NotContains(t, h.Must(200, h.Get("/v1/inbox_events/"+id)).Body, "payload")
	shown := h.Must(200, h.Get("/v1/inbox_events/"+id+"?include[]=payload"))
	require.Equal(t, "ch_1", shown.Body["payload"].(M)["external_charge_id"])
	for query, want := range map[string]int64{
		"status=recorded": 1, "status=recorded,ignored": 2, "type=sale": 1, "external_event_id=msg_2": 1,
		"connection_id=" + h.c.ID: 2, "status=waiting": 0, "reason_code=" + events[1].String("reason_code"): 1, "reason_code=none": 0,
	} {
		require.Equal(t, want, h.Must(200, h.Get("/v1/inbox_events?program_id="+h.program+"&"+query)).Int("total_count"), query)
	}
	h.Refused(400, "invalid_reference", "connection_id",
		h.Get("/v1/inbox_events?program_id="+h.Program()+"&connection_id="+h.c.ID))
	replayed := h.Must(200, h.Post("/v1/inbox_events/"+id+"/replay", nil))
	require.Equal(t, "pending", replayed.String("status"))
	again := h.work()[0]
	require.Equal(t, []any{"recorded", nil, events[0].String("sale_id"), int64(2)}, []any{
		again.Body["status"], again.Body["reason_code"], again.Body["sale_id"], again.Int("attempts"),
	})
	require.EqualValues(t, 1, h.total("sales"))
	h.Refused(404, "resource_not_found", "", h.Post("/v1/inbox_events/inb_none/replay", nil))
	h.Clock.Advance(91 * 24 * time.Hour)
	runJob(t, h.Server, "clean-up")
	require.Zero(t, h.total("inbox_events"))
}

// An event that fails eight times is given up. It does not block other events.
func TestInboxPoison(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	h.send(paid("ch_1", M{"external_customer_id": "c_1"}), "msg_bad")
	_, err := h.Pool.Exec(t.Context(), "UPDATE inbox_events SET payload = 'broken'")
	require.NoError(t, err)
	for n := 1; n <= 10; n++ {
		click := h.Click(h.program, "ann").String("id")
		h.send(paid(fmt.Sprint("ch_good_", n), M{"external_customer_id": fmt.Sprint("c_", n), "click_id": click}))
		h.last("recorded", nil)
		h.Clock.Advance(24 * time.Hour)
	}
	bad := h.work()[0]
	require.Equal(t, []any{"failed", "error", int64(8)}, []any{bad.Body["status"], bad.Body["reason_code"], bad.Int("attempts")})
	require.Equal(t, 1, tally(h.Server, h.program, "inbox_event.failed"), "told once it is given up")
}

// A payment that is processed late belongs to the customer's partner at the time of the payment. If
// the visit had expired by then, the payment has no partner.
func TestInboxReadsLate(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	click, then := h.Click(h.program, "ann").String("id"), h.Clock.Now().Plus(time.Hour)
	h.Customer(h.program, h.partner, M{"email": "lead@example.com"})
	h.Clock.Advance(40 * 24 * time.Hour)
	h.send(paid("ch_late", M{"external_customer_id": "c_late", "click_id": click}))
	h.last("ignored", "no_partner")
	h.send(paid("ch_1", M{"external_customer_id": "c_1", "click_id": click, "occurred_at": then}))
	sale := h.Get("/v1/sales/" + h.last("recorded", nil).String("sale_id"))
	require.Equal(t, h.partner, sale.String("partner_id"))
	h.send(paid("ch_2", M{"external_customer_id": "c_2", "email": "lead@example.com", "occurred_at": then}))
	h.last("recorded", nil)
	balanced(t, h.Server)
}
