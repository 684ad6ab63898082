package handlers_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// create creates a customer of the partner.
func (h inboxed) create(more M) string {
	h.t.Helper()
	body := M{"program_id": h.program, "partner_id": h.partner}
	maps.Copy(body, more)
	return h.Must(201, h.Post("/v1/customers", body)).String("id")
}

// merge merges the customer from into another one.
func (h inboxed) merge(into, from string, more M) apitest.Answer {
	h.t.Helper()
	body := M{"customer_id": from}
	maps.Copy(body, more)
	return h.Post("/v1/customers/"+into+"/merge", body)
}

// firstPays makes a rule of 10 % for the partner, with another rate for a first payment, and
// returns its id.
func (h inboxed) firstPays(rateType string, rateValue int64) string {
	h.t.Helper()
	return h.Flow(h.program, M{
		"name": "First payment", "partner_id": h.partner, "rate_type": "percent", "rate_value": 1000,
		"branches": firstBranch(rateType, rateValue),
	})
}

// firstBranch is the branch of a flow for first payments.
func firstBranch(rateType string, rateValue int64) []M {
	return []M{{
		"conditions": []M{{"field": "sale.is_first_sale", "operator": "eq", "value": true}},
		"rate_type":  rateType, "rate_value": rateValue,
	}}
}

// signUps makes a rule of 7.00 for sign-ups of every partner and returns its id.
func (h inboxed) signUps() string {
	h.t.Helper()
	return h.Flow(h.program, M{"name": "Sign-up", "trigger": "new_signup", "rate_type": "fixed", "rate_value": 700})
}

// collect puts due commissions into payouts.
func (h inboxed) collect() {
	h.t.Helper()
	h.Must(201, h.Post("/v1/payout_batches", M{"program_id": h.program, "period_end": h.Clock.Now().String()}))
}

// TestMergePaysOneBonus: two first payments become one, and the bonus of the later one is voided.
// Its amount may differ from that of the rule.
func TestMergePaysOneBonus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(h inboxed, flow, later string)
		later  int64 // the remaining commission of the later payment
	}{
		{"nothing happened since", func(inboxed, string, string) {}, 1000},
		{"the rule pays more since", func(h inboxed, flow, _ string) {
			h.Must(200, h.Post("/v1/flows/"+flow, M{"branches": firstBranch("fixed", 6000)}))
		}, 1000},
		{"a part is refunded", func(h inboxed, _, later string) {
			h.Must(200, h.Post("/v1/sales/"+later+"/refund", M{"amount_minor": 1000}))
		}, 900},
	} {
		h := newInboxed(t)
		flow, now := h.firstPays("fixed", 5000), h.Clock.Now().Time
		into, from := h.create(nil), h.create(nil)
		first := h.sell(into, "ch_1", now.AddDate(0, 0, -9))
		later := h.sell(from, "ch_2", now.AddDate(0, 0, -8))
		c.change(h, flow, later)
		h.Must(200, h.merge(into, from, nil))
		require.Equal(t, []int64{5000, c.later}, []int64{h.of(first), h.of(later)}, c.name)
		balanced(t, h.Server)
	}
}

// TestMergeAfterPaidBonus: a bonus that is paid, or in a payout, stays. The other bonus is voided,
// even if its payment was earlier.
func TestMergeAfterPaidBonus(t *testing.T) {
	t.Parallel()
	for name, pay := range map[string]func(inboxed){"paid": inboxed.settle, "in a payout": inboxed.collect} {
		h := newInboxed(t)
		h.firstPays("fixed", 5000)
		into, from, now := h.create(nil), h.create(nil), h.Clock.Now().Time
		later := h.sell(into, "ch_1", now.AddDate(0, 0, -8))
		pay(h)
		first := h.sell(from, "ch_2", now.AddDate(0, 0, -9))
		h.Must(200, h.merge(into, from, nil))
		require.Equal(t, []int64{5000, 1000}, []int64{h.of(later), h.of(first)}, name)
		require.Equal(t, map[string]any{first: true, later: false}, h.firsts(), name)
		balanced(t, h.Server)
	}
}

// TestMergeLeavesOneSignup: a sign-up commission that is paid or in a payout stays, and the open
// one is voided.
func TestMergeLeavesOneSignup(t *testing.T) {
	t.Parallel()
	for name, pay := range map[string]func(inboxed){
		"open": func(inboxed) {}, "paid": inboxed.settle, "in a payout": inboxed.collect,
	} {
		h := newInboxed(t)
		h.signUps()
		into := h.create(nil)
		pay(h)
		from := h.create(nil)
		require.EqualValues(t, 1400, h.earned(), name)
		h.Must(200, h.merge(into, from, nil))
		require.EqualValues(t, 700, h.earned(), name)
		balanced(t, h.Server)
	}
}

// TestMergesLeaveOneSignup: a paid sign-up commission counts in the next merge too, although
// it keeps the id of the merged customer.
func TestMergesLeaveOneSignup(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	flow := h.signUps()
	first := h.create(nil)
	h.settle()
	h.Must(200, h.Post("/v1/flows/"+flow, M{"status": "inactive"}))
	into := h.create(nil)
	h.Must(200, h.Post("/v1/flows/"+flow, M{"status": "active"}))
	last := h.create(nil)
	require.EqualValues(t, 1400, h.earned())
	h.Must(200, h.merge(into, first, nil))
	require.EqualValues(t, 1400, h.earned())
	h.Must(200, h.merge(into, last, nil))
	require.EqualValues(t, 700, h.earned())
	balanced(t, h.Server)
}

// TestSignupOfTheStayingPartner: of two open sign-up commissions, that of the partner who
// keeps the customer stays.
func TestSignupOfTheStayingPartner(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	bob := h.Partner(h.program, M{"handle": "bob"})
	h.signUps()
	into, from := h.create(nil), h.create(M{"partner_id": bob})
	h.Must(200, h.merge(into, from, M{"partner_id": bob}))
	pending, due, paid := h.Balance(h.program, bob, "USD")
	require.EqualValues(t, 700, pending+due+paid)
	require.Zero(t, h.earned())
	balanced(t, h.Server)
}

// TestRefundAfterMerge: a refund after the merge takes its share of the remaining commission.
// Earlier refunds count.
func TestRefundAfterMerge(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	h.firstPays("percent", 5000)
	into, from, now := h.create(nil), h.create(nil), h.Clock.Now().Time
	h.sell(into, "ch_1", now.AddDate(0, 0, -9))
	sale := h.sell(from, "ch_2", now.AddDate(0, 0, -8))
	refund := func(body M, left int64) {
		t.Helper()
		h.Must(200, h.Post("/v1/sales/"+sale+"/refund", body))
		require.Equal(t, left, h.of(sale))
		balanced(t, h.Server)
	}
	refund(M{"amount_minor": 5000}, 2500)
	h.Must(200, h.merge(into, from, nil))
	require.EqualValues(t, 500, h.of(sale), "10 % of 50.00")
	balanced(t, h.Server)
	refund(M{"amount_minor": 2500}, 250)
	refund(M{}, 0)
}

// TestMergeOfDirectCustomer: a customer without a partner keeps its first payment in a merge. A
// later credit of that payment pays the bonus.
func TestMergeOfDirectCustomer(t *testing.T) {
	t.Parallel()
	h := newInboxed(t, recordDirect)
	h.bounty()
	now := h.Clock.Now().Time
	h.send(paid("ch_1", M{"external_customer_id": "c1", "occurred_at": now.AddDate(0, 0, -5)}))
	from := h.last("recorded", nil).String("customer_id")
	into := h.create(nil)
	sale := h.sell(into, "ch_2", now.AddDate(0, 0, -1))
	require.EqualValues(t, 5000, h.of(sale))
	dry := h.Must(200, h.merge(into, from, M{"dry_run": true}))
	done := h.Must(200, h.merge(into, from, nil))
	require.Equal(t, dry.Body["commissions"], done.Body["commissions"])
	require.EqualValues(t, 2000, h.of(sale), "20 % of a later payment")
	credit := M{"partner_id": h.partner, "since": now.AddDate(0, -1, 0)}
	require.EqualValues(t, 5000, h.Must(200, h.Post("/v1/customers/"+into+"/credit", credit)).Int("amount_minor"))
	require.EqualValues(t, 5000+2000, h.earned())
	require.Zero(t, h.Must(200, h.Post("/v1/customers/"+into+"/credit", credit)).Int("amount_minor"))
	balanced(t, h.Server)
}

// TestReportsAfterMergeAndCredit: the daily sums still equal their rows after customers move
// between partners and links.
func TestReportsAfterMergeAndCredit(t *testing.T) {
	t.Parallel()
	h := newInboxed(t, recordDirect)
	h.bounty()
	bob := h.Partner(h.program, M{"handle": "bob"})
	h.Must(201, h.Post("/v1/links", M{
		"program_id": h.program, "partner_id": bob, "value": "bobs", "destination_url": "https://shop.example/",
	}))
	day := func() { h.Clock.Advance(24 * time.Hour) }
	var ids []string
	for _, value := range []string{"ann", "bobs", "ann"} {
		ids = append(ids, h.Must(201, h.Post("/v1/customers", M{
			"program_id": h.program, "click_id": h.Click(h.program, value).String("id"),
		})).String("id"))
		day()
	}
	for i, id := range ids {
		h.sell(id, []string{"ch_1", "ch_2", "ch_3"}[i], h.Clock.Now().Time)
		day()
	}
	h.send(paid("ch_4", M{"external_customer_id": "c1"}))
	direct := h.last("recorded", nil).String("customer_id")
	h.Clock.Advance(5 * 24 * time.Hour)
	sumReports(t, h.Server)
	credit := M{"partner_id": bob, "since": h.Clock.Now().Time.AddDate(0, -1, 0)}
	for _, write := range []func() apitest.Answer{
		func() apitest.Answer { return h.merge(ids[0], ids[1], M{"partner_id": bob}) },
		func() apitest.Answer { return h.merge(ids[2], ids[0], M{"partner_id": h.partner}) },
		func() apitest.Answer { return h.Post("/v1/customers/"+direct+"/credit", credit) },
		func() apitest.Answer { return h.merge(ids[2], direct, M{"partner_id": bob}) },
	} {
		h.Must(200, write())
		balanced(t, h.Server)
	}
	for _, stage := range []string{"sums to be made again", "summed again"} {
		got := reported(h.Server, h.program, "&from=2026-08-01&to=2026-09-30&compare=none")
		require.Equal(t, []string{"2", "20000"}, []string{row(got, h.partner)[3], row(got, h.partner)[5]}, stage)
		require.Equal(t, []string{"2", "15000"}, []string{row(got, bob)[3], row(got, bob)[5]}, stage)
		sumReports(t, h.Server)
		balanced(t, h.Server)
	}
}
