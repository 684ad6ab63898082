package inbox_test

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

// A sale of a visitor with a click creates the customer, the sale and its commission. Another
// delivery changes nothing, and a refund takes its share.
func TestGenericHook(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	click := h.Click(h.ProgramID, "ann").String("id")
	h.Receive(apitest.Paid("ch_1", M{
		"external_customer_id": "c_1", "click_id": click, "email": "Ada@example.com", "tax_minor": 500, "fee_minor": 9,
		"interval": "month",
	}), "msg_1")
	e := h.Last("recorded", nil)
	require.Equal(t, []any{"msg_1", "sale", int64(1), true}, []any{
		e.String("external_event_id"), e.String("type"), e.Int("attempts"), e.Body["livemode"],
	})
	sale := h.Must(200, h.Get("/v1/sales/"+e.String("sale_id")))
	require.Equal(t, []any{"ch_1", "generic", int64(5000), int64(500), int64(9), "USD", "subscription", h.PartnerID}, []any{
		sale.String("external_charge_id"), sale.String("processor"), sale.Int("amount_minor"), sale.Int("tax_minor"),
		sale.Int("fee_minor"),
		sale.String("currency"), sale.String("billing_type"), sale.String("partner_id"),
	})
	k := h.Must(200, h.Get("/v1/customers/"+e.String("customer_id")))
	require.Equal(t, []any{"c_1", "generic", "click", click}, []any{
		k.String("external_customer_id"), k.String("processor"), k.Body["attribution"].(M)["rule"],
		k.Body["attribution"].(M)["detail"],
	})
	h.Receive(apitest.Paid("ch_1", M{}), "msg_1")
	require.Len(t, h.Work(), 1)
	h.Receive(apitest.Paid("ch_1", M{"external_customer_id": "c_1"}))
	require.Equal(t, sale.String("id"), h.Last("ignored", "already_recorded").String("sale_id"))
	h.Receive(M{"external_charge_id": "ch_1", "external_refund_id": "re_1", "amount_minor": 1000})
	refund := h.Last("recorded", nil)
	require.NotEmpty(t, refund.String("refund_id"))
	require.Equal(t, sale.String("id"), refund.String("sale_id"))
	h.Receive(M{"type": "refund", "external_charge_id": "ch_1", "external_refund_id": "re_1", "amount_minor": 1000})
	h.Last("ignored", "already_recorded")
	commissions := h.Get("/v1/commissions?program_id=" + h.ProgramID).Data()
	require.Len(t, commissions, 1)
	require.EqualValues(t, 800, apitest.Answer{Body: commissions[0]}.Int("amount_minor"))
	h.Receive(M{"type": "refund", "external_charge_id": "ch_1", "external_refund_id": "re_2"})
	h.Last("recorded", nil)
	require.NotNil(t, h.Get("/v1/sales/" + sale.String("id")).Body["refunded_at"])
	require.NotNil(t, h.Get("/v1/processor_connections/" + h.Connection.ID).Body["last_event_at"])
	apitest.Balanced(t, h.Server)
}

// A known customer keeps its partner, whatever its next payment contains. A lead is found by the
// merchant's own id or, for a week, by its email.
func TestInboxFindsPayer(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	bob := h.Partner(h.ProgramID, M{"handle": "bob"})
	lead := func(more M) string {
		body := M{"program_id": h.ProgramID, "partner_id": bob}
		maps.Copy(body, more)
		return h.Must(201, h.Post("/v1/customers", body)).String("id")
	}
	existing := lead(M{"external_customer_id": "c_known"})
	named, mailed := lead(M{"identifier": "user-7"}), lead(M{"email": "Eve@example.com"})
	coupon := h.Must(201, h.Post("/v1/coupons", M{
		"program_id": h.ProgramID, "code": "ANN10", "partner_id": h.PartnerID, "external_id": "promo_1",
	})).String("id")
	click := h.Click(h.ProgramID, "ann")
	byClick := h.Must(201, h.Post("/v1/customers", M{"program_id": h.ProgramID, "click_id": click.String("id")}))
	for i, c := range []struct {
		more               M
		customer, rule     string
		detail, externalID any
	}{
		{M{"external_customer_id": "c_known", "click_id": click.String("id")}, existing, "api", bob, "c_known"},
		{M{"external_customer_id": "c_2", "identifier": "user-7"}, named, "identifier", "user-7", "c_2"},
		{M{"external_customer_id": "c_3", "email": "eve@EXAMPLE.com"}, mailed, "email", "eve@example.com", "c_3"},
		{M{"external_customer_id": "c_4", "coupon_external_id": "promo_1"}, "", "promotion_code", coupon, "c_4"},
		{M{"email": "guest@example.com", "coupon_external_id": "promo_1"}, "", "promotion_code", coupon, nil},
		{M{"external_customer_id": "c_5", "click_id": click.String("id")}, byClick.String("id"), "click",
			click.String("id"), "c_5"},
		{M{"external_customer_id": "c_6", "click_id": click.String("referral_id")}, "", "referral",
			click.String("referral_id"), "c_6"},
	} {
		h.Receive(apitest.Paid(fmt.Sprint("ch_", i), c.more))
		e := h.Last("recorded", nil)
		if c.customer != "" {
			require.Equal(t, c.customer, e.String("customer_id"), "%v", c.more)
		}
		k := h.Get("/v1/customers/" + e.String("customer_id"))
		by := k.Body["attribution"].(M)
		require.Equal(t, []any{c.rule, c.detail, c.externalID}, []any{by["rule"], by["detail"],
			k.Body["external_customer_id"]}, "%v", c.more)
	}
	h.Receive(apitest.Paid("ch_again", M{"email": "guest@example.com"}))
	require.Equal(t, "promotion_code", h.Get("/v1/customers/" +
		h.Last("recorded", nil).String("customer_id")).Body["attribution"].(M)["rule"], "a guest is known by the email")
	// The text of a code alone identifies no partner.
	h.Receive(apitest.Paid("ch_text", M{"external_customer_id": "c_8", "coupon_external_id": "ANN10"}))
	h.Last("ignored", "no_partner")
	apitest.Balanced(t, h.Server)
}

// An unattributed payment is not a sale. A coupon or a lead that attributes it within 30 days makes
// it a sale at once.
func TestInboxExplainedLater(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	h.Receive(apitest.Paid("ch_1", M{"external_customer_id": "c_1", "coupon_external_id": "promo_1"}))
	h.Last("ignored", "no_partner")
	h.Receive(apitest.Paid("ch_2", M{"external_customer_id": "c_2", "identifier": "user-2"}))
	h.Last("ignored", "no_partner")
	require.Zero(t, h.Total("sales")+h.Total("customers"))
	h.Clock.Advance(29 * 24 * time.Hour)
	h.Must(201, h.Post("/v1/coupons", M{
		"program_id": h.ProgramID, "code": "X", "partner_id": h.PartnerID, "external_id": "promo_1",
	}))
	require.Equal(t, "recorded", h.Work()[0].String("status"))
	h.Must(201, h.Post("/v1/customers", M{
		"program_id": h.ProgramID, "partner_id": h.PartnerID, "identifier": "user-2",
	}))
	h.Last("recorded", nil)
	require.EqualValues(t, 2, h.Total("sales"))
	// After 30 days it is too late.
	h.Receive(apitest.Paid("ch_3", M{"external_customer_id": "c_3"}))
	h.Last("ignored", "no_partner")
	h.Clock.Advance(time.Minute)
	require.EqualValues(t, 2, h.Last("ignored", "no_partner").Int("attempts"), "for who signed up in the same moment")
	h.Clock.Advance(31 * 24 * time.Hour)
	h.Must(201, h.Post("/v1/customers", M{
		"program_id": h.ProgramID, "partner_id": h.PartnerID, "external_customer_id": "c_3",
	}))
	h.Last("ignored", "no_partner")
	// With record_direct it is a sale without a partner.
	direct := newInboxed(t, func(in *connection.Input) { in.RecordDirect = true })
	direct.Receive(apitest.Paid("ch_1", M{"external_customer_id": "c_1"}))
	e := direct.Last("recorded", nil)
	require.Nil(t, direct.Get("/v1/sales/" + e.String("sale_id")).Body["partner_id"])
}

// A refund before its sale waits, and is applied when the sale arrives by any route. After 30 days
// it is ignored, like a refund of a payment that is not the program's.
func TestInboxWaits(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	customer := h.Customer(h.ProgramID, h.PartnerID)
	refund := func(charge string) {
		t.Helper()
		h.Receive(M{"type": "refund", "external_charge_id": charge, "external_refund_id": "re_" + charge, "amount_minor": 2000})
		h.Last("waiting", "unknown_sale")
	}
	refund("ch_1")
	h.Sale(h.ProgramID, customer, M{"external_charge_id": "ch_1", "amount_minor": 5000})
	h.Last("recorded", nil)
	refund("ch_2")
	click := h.Click(h.ProgramID, "ann").String("id")
	h.Receive(apitest.Paid("ch_2", M{"external_customer_id": "c_2", "click_id": click}))
	h.Work()
	require.Equal(t, "recorded", h.Work()[1].String("status"))
	require.EqualValues(t, 2000, apitest.Answer{
		Body: h.Get("/v1/sales?external_charge_id=ch_2&program_id=" + h.ProgramID).Data()[0],
	}.Int("refunded_minor"))
	refund("ch_3")
	for range 70 {
		h.Clock.Advance(12 * time.Hour)
		h.Work()
	}
	require.Contains(t, h.Last("ignored", "unknown_sale").String("reason"), "did not arrive within 30 days")
	apitest.Balanced(t, h.Server)
}

// An event that is unsigned or too old is refused and not stored. A signed event without usable
// content is stored with the reason.
func TestHookRefusals(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	now, body := h.Clock.Now().Time, []byte(`{"external_charge_id":"ch_1","amount_minor":1,"currency":"USD"}`)
	other := h.Connect(h.Program()).Signing
	for name, a := range map[string]apitest.Answer{
		"forged": h.Connection.SendRaw(body, "msg_1", now, other),
		"stale":  h.Connection.SendRaw(body, "msg_1", now.Add(-301*time.Second), h.Connection.Signing),
		"ahead":  h.Connection.SendRaw(body, "msg_1", now.Add(301*time.Second), h.Connection.Signing),
		"no id":  h.Connection.SendRaw(body, "", now, h.Connection.Signing),
	} {
		require.Equal(t, []any{400, "signature_invalid"}, []any{a.Status, a.Body["error"].(M)["code"]}, name)
	}
	require.Equal(t, 413, h.Connection.SendRaw(bytes.Repeat([]byte(" "), 2<<20+1), "msg_1", now, h.Connection.Signing).Status)
	require.Equal(t, 200, h.Connection.SendRaw(append(bytes.Repeat([]byte(" "), 2<<20-len(body)), body...), "big", now, h.Connection.Signing).Status)
	gone := h.Connection
	h.Connection = h.Connect(h.ProgramID)
	require.Equal(t, 404, gone.SendRaw(body, "msg_1", now, gone.Signing).Status, "disconnected")
	unknown := h.Connection
	unknown.ID = "pco_none"
	require.Equal(t, 404, unknown.SendRaw(body, "msg_1", now, h.Connection.Signing).Status)
	unknown.ID, unknown.Processor = h.Connection.ID, "stripe"
	require.Equal(t, 404, unknown.SendRaw(body, "msg_1", now, h.Connection.Signing).Status)
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
		`{"type":"invoice"}`: {"ignored", "not_used"}, `{"test":true,"external_charge_id":"x"}`: {"ignored", "test_event"},
		`{"test":true,"amount_minor":1,"currency":"usd"}`:                          {"ignored", "test_event"},
		`{"test":true,"external_charge_id":"x","amount_minor":1,"currency":"usd"}`: {"ignored", "test_event"},
		``: {"failed", "malformed"}, "\xff": {"failed", "malformed"},
	} {
		a := h.Connection.SendRaw([]byte(text), apitest.Unique("msg_"), now, h.Connection.Signing)
		require.Equal(t, 200, a.Status, text)
		require.Equal(t, want[0], h.Last(want[0].(string), want[1]).String("status"), text)
	}
	require.Zero(t, h.Total("sales"))
	require.NotContains(t, h.Log(), "level=ERROR")
}

// A test connection refuses a payment and a refund without the charge's id: a later payment without it would be taken
// for the same one.
func TestTestEventWithoutCharge(t *testing.T) {
	t.Parallel()
	h := newInboxed(t, func(in *connection.Input) { in.Live = false })
	click := h.Click(h.ProgramID, "ann").String("id")
	for _, body := range []M{
		apitest.Paid("", M{"test": true, "external_customer_id": "c_1", "click_id": click}),
		{"test": true, "external_refund_id": "re_1", "amount_minor": 1000},
	} {
		h.Receive(body)
		e := h.Last("failed", "malformed")
		require.Equal(t, []any{"external_charge_id is missing or invalid.", false}, []any{e.Body["reason"], e.Body["livemode"]})
	}
	require.Zero(t, h.Total("sales"))
	h.Receive(apitest.Paid("", M{}))
	h.Last("ignored", "live_event")
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
		sold := apitest.Paid(charge, M{"external_customer_id": "c_" + charge[3:4], "click_id": h.Click(h.ProgramID, "ann").String("id")})
		bodies = append(bodies, sold, sold,
			M{"type": "refund", "external_charge_id": charge, "external_refund_id": "a" + charge, "amount_minor": 1000},
			M{"type": "refund", "external_charge_id": charge, "external_refund_id": "b" + charge, "amount_minor": 500},
			M{"type": "refund", "external_charge_id": charge, "external_refund_id": "b" + charge, "amount_minor": 500})
	}
	rand.Shuffle(len(bodies), func(i, j int) { bodies[i], bodies[j] = bodies[j], bodies[i] })
	var senders sync.WaitGroup
	for i, body := range bodies {
		senders.Go(func() { h.Receive(body, fmt.Sprint("msg_", i)) })
		senders.Go(func() { h.Receive(body, fmt.Sprint("msg_", i)) })
	}
	for range 4 {
		senders.Go(func() { apitest.RunJob(t, h.Server, "work-inbox") })
	}
	senders.Wait()
	for range 3 {
		var workers sync.WaitGroup
		for range 3 {
			workers.Go(func() { apitest.RunJob(t, h.Server, "work-inbox") })
		}
		workers.Wait()
		h.Clock.Advance(2 * time.Minute)
	}
	events := h.Work()
	require.Len(t, events, len(bodies))
	count := map[string]int{}
	for _, e := range events {
		count[strings.TrimSuffix(e.String("status")+" "+fmt.Sprint(e.Body["reason_code"]), " <nil>")]++
	}
	require.Equal(t, map[string]int{"recorded": 18, "ignored already_recorded": 12}, count)
	require.EqualValues(t, 6, h.Total("sales"))
	for _, s := range h.Get("/v1/sales?program_id=" + h.ProgramID).Data() {
		require.EqualValues(t, 1500, apitest.Answer{Body: s}.Int("refunded_minor"))
	}
	apitest.Balanced(t, h.Server)
}

// An event can be retrieved with its body and found by the filters. A replay processes it again and
// records nothing twice.
func TestInboxEvents(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	click := h.Click(h.ProgramID, "ann").String("id")
	h.Receive(apitest.Paid("ch_1", M{"external_customer_id": "c_1", "click_id": click}), "msg_1")
	h.Receive(M{"type": "other"}, "msg_2")
	events := h.Work()
	id := events[0].String("id")
	require.NotContains(t, h.Must(200, h.Get("/v1/inbox_events/"+id)).Body, "payload")
	shown := h.Must(200, h.Get("/v1/inbox_events/"+id+"?include[]=payload"))
	require.Equal(t, "ch_1", shown.Body["payload"].(M)["external_charge_id"])
	for query, want := range map[string]int64{
		"status=recorded": 1, "status=recorded,ignored": 2, "type=sale": 1, "external_event_id=msg_2": 1,
		"connection_id=" + h.Connection.ID: 2, "status=waiting": 0, "reason_code=" + events[1].String("reason_code"): 1, "reason_code=none": 0,
	} {
		require.Equal(t, want, h.Must(200, h.Get("/v1/inbox_events?program_id="+h.ProgramID+"&"+query)).Int("total_count"), query)
	}
	h.Refused(400, "invalid_reference", "connection_id",
		h.Get("/v1/inbox_events?program_id="+h.Program()+"&connection_id="+h.Connection.ID))
	replayed := h.Must(200, h.Post("/v1/inbox_events/"+id+"/replay", nil))
	require.Equal(t, "pending", replayed.String("status"))
	again := h.Work()[0]
	require.Equal(t, []any{"recorded", nil, events[0].String("sale_id"), int64(2)}, []any{
		again.Body["status"], again.Body["reason_code"], again.Body["sale_id"], again.Int("attempts"),
	})
	require.EqualValues(t, 1, h.Total("sales"))
	h.Refused(404, "resource_not_found", "", h.Post("/v1/inbox_events/inb_none/replay", nil))
	h.Clock.Advance(91 * 24 * time.Hour)
	apitest.RunJob(t, h.Server, "clean-up")
	require.Zero(t, h.Total("inbox_events"))
}

// TestInboxPoison: an event that fails eight times is given up. Until then, only later events of its customer wait.
func TestInboxPoison(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	h.Receive(apitest.Paid("ch_1", M{"external_customer_id": "c_bad"}), "msg_bad")
	_, err := h.Pool.Exec(t.Context(), "UPDATE inbox_events SET payload = 'broken'")
	require.NoError(t, err)
	h.Receive(apitest.Paid("ch_2", M{
		"external_customer_id": "c_bad", "click_id": h.Click(h.ProgramID, "ann").String("id"),
	}), "msg_after")
	h.Last("pending", nil)
	for n := 1; n <= 10; n++ {
		click := h.Click(h.ProgramID, "ann").String("id")
		h.Receive(apitest.Paid(fmt.Sprint("ch_good_", n), M{"external_customer_id": fmt.Sprint("c_", n), "click_id": click}))
		h.Last("recorded", nil)
		h.Clock.Advance(24 * time.Hour)
	}
	events := h.Work()
	bad := events[0]
	require.Equal(t, []any{"failed", "error", int64(8)}, []any{bad.Body["status"], bad.Body["reason_code"], bad.Int("attempts")})
	require.Equal(t, "recorded", events[1].String("status"))
	require.Equal(t, 1, apitest.Tally(h.Server, h.ProgramID, "inbox_event.failed"), "told once it is given up")
}

// A payment that is processed late belongs to the customer's partner at the time of the payment. If
// the visit had expired by then, the payment has no partner.
func TestInboxReadsLate(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	click, then := h.Click(h.ProgramID, "ann").String("id"), h.Clock.Now().Plus(time.Hour)
	h.Customer(h.ProgramID, h.PartnerID, M{"email": "lead@example.com"})
	h.Clock.Advance(40 * 24 * time.Hour)
	h.Receive(apitest.Paid("ch_late", M{"external_customer_id": "c_late", "click_id": click}))
	h.Last("ignored", "no_partner")
	h.Receive(apitest.Paid("ch_1", M{"external_customer_id": "c_1", "click_id": click, "occurred_at": then}))
	sale := h.Get("/v1/sales/" + h.Last("recorded", nil).String("sale_id"))
	require.Equal(t, h.PartnerID, sale.String("partner_id"))
	h.Receive(apitest.Paid("ch_2", M{"external_customer_id": "c_2", "email": "lead@example.com", "occurred_at": then}))
	h.Last("recorded", nil)
	apitest.Balanced(t, h.Server)
}
