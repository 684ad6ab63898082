package sale_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// signUps makes a rule of 7.00 for sign-ups of every partner and returns its id.
func (h inboxed) signUps() string {
	h.T.Helper()
	return h.Flow(h.ProgramID, M{"name": "Sign-up", "trigger": "new_signup", "rate_type": "fixed", "rate_value": 700})
}

// collect puts due commissions into payouts.
func (h inboxed) collect() {
	h.T.Helper()
	h.Must(201, h.Post("/v1/payout_batches", M{"program_id": h.ProgramID, "period_end": h.Clock.Now().String()}))
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
			h.Must(200, h.Post("/v1/flows/"+flow, M{"branches": apitest.FirstBranch("fixed", 6000)}))
		}, 1000},
		{"a part is refunded", func(h inboxed, _, later string) {
			h.Must(200, h.Post("/v1/sales/"+later+"/refund", M{"amount_minor": 1000}))
		}, 900},
	} {
		h := newInboxed(t)
		flow, now := h.FirstPays("fixed", 5000), h.Clock.Now().Time
		into, from := h.CreateCustomer(nil), h.CreateCustomer(nil)
		first := h.Sell(into, "ch_1", now.AddDate(0, 0, -9))
		later := h.Sell(from, "ch_2", now.AddDate(0, 0, -8))
		c.change(h, flow, later)
		h.Must(200, h.Merge(into, from, nil))
		require.Equal(t, []int64{5000, c.later}, []int64{h.CommissionsOf(first), h.CommissionsOf(later)}, c.name)
		apitest.Balanced(t, h.Server)
	}
}

// TestMergeAfterPaidBonus: a bonus that is paid, or in a payout, stays. The other bonus is voided,
// even if its payment was earlier.
func TestMergeAfterPaidBonus(t *testing.T) {
	t.Parallel()
	for name, pay := range map[string]func(inboxed){"paid": inboxed.Settle, "in a payout": inboxed.collect} {
		h := newInboxed(t)
		h.FirstPays("fixed", 5000)
		into, from, now := h.CreateCustomer(nil), h.CreateCustomer(nil), h.Clock.Now().Time
		later := h.Sell(into, "ch_1", now.AddDate(0, 0, -8))
		pay(h)
		first := h.Sell(from, "ch_2", now.AddDate(0, 0, -9))
		h.Must(200, h.Merge(into, from, nil))
		require.Equal(t, []int64{5000, 1000}, []int64{h.CommissionsOf(later), h.CommissionsOf(first)}, name)
		require.Equal(t, map[string]any{first: true, later: false}, h.firsts(), name)
		apitest.Balanced(t, h.Server)
	}
}

// TestMergeLeavesOneSignup: a sign-up commission that is paid or in a payout stays, and the open
// one is voided.
func TestMergeLeavesOneSignup(t *testing.T) {
	t.Parallel()
	for name, pay := range map[string]func(inboxed){
		"open": func(inboxed) {}, "paid": inboxed.Settle, "in a payout": inboxed.collect,
	} {
		h := newInboxed(t)
		h.signUps()
		into := h.CreateCustomer(nil)
		pay(h)
		from := h.CreateCustomer(nil)
		require.EqualValues(t, 1400, h.Earned(), name)
		h.Must(200, h.Merge(into, from, nil))
		require.EqualValues(t, 700, h.Earned(), name)
		apitest.Balanced(t, h.Server)
	}
}

// TestMergesLeaveOneSignup: a paid sign-up commission counts in the next merge too, although
// it keeps the id of the merged customer.
func TestMergesLeaveOneSignup(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	flow := h.signUps()
	first := h.CreateCustomer(nil)
	h.Settle()
	h.Must(200, h.Post("/v1/flows/"+flow, M{"status": "inactive"}))
	into := h.CreateCustomer(nil)
	h.Must(200, h.Post("/v1/flows/"+flow, M{"status": "active"}))
	last := h.CreateCustomer(nil)
	require.EqualValues(t, 1400, h.Earned())
	h.Must(200, h.Merge(into, first, nil))
	require.EqualValues(t, 1400, h.Earned())
	h.Must(200, h.Merge(into, last, nil))
	require.EqualValues(t, 700, h.Earned())
	apitest.Balanced(t, h.Server)
}

// TestSignupOfTheStayingPartner: of two open sign-up commissions, that of the partner who
// keeps the customer stays.
func TestSignupOfTheStayingPartner(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	bob := h.Partner(h.ProgramID, M{"handle": "bob"})
	h.signUps()
	into, from := h.CreateCustomer(nil), h.CreateCustomer(M{"partner_id": bob})
	h.Must(200, h.Merge(into, from, M{"partner_id": bob}))
	pending, due, paid := h.Balance(h.ProgramID, bob, "USD")
	require.EqualValues(t, 700, pending+due+paid)
	require.Zero(t, h.Earned())
	apitest.Balanced(t, h.Server)
}

// TestRefundAfterMerge: a refund after the merge takes its share of the remaining commission.
// Earlier refunds count.
func TestRefundAfterMerge(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	h.FirstPays("percent", 5000)
	into, from, now := h.CreateCustomer(nil), h.CreateCustomer(nil), h.Clock.Now().Time
	h.Sell(into, "ch_1", now.AddDate(0, 0, -9))
	sale := h.Sell(from, "ch_2", now.AddDate(0, 0, -8))
	refund := func(body M, left int64) {
		t.Helper()
		h.Must(200, h.Post("/v1/sales/"+sale+"/refund", body))
		require.Equal(t, left, h.CommissionsOf(sale))
		apitest.Balanced(t, h.Server)
	}
	refund(M{"amount_minor": 5000}, 2500)
	h.Must(200, h.Merge(into, from, nil))
	require.EqualValues(t, 500, h.CommissionsOf(sale), "10 % of 50.00")
	apitest.Balanced(t, h.Server)
	refund(M{"amount_minor": 2500}, 250)
	refund(M{}, 0)
}

// TestMergeOfDirectCustomer: a customer without a partner keeps its first payment in a merge. A
// later credit of that payment pays the bonus.
func TestMergeOfDirectCustomer(t *testing.T) {
	t.Parallel()
	h := newInboxed(t, apitest.RecordDirect)
	h.bounty()
	now := h.Clock.Now().Time
	h.Receive(apitest.Paid("ch_1", M{"external_customer_id": "c1", "occurred_at": now.AddDate(0, 0, -5)}))
	from := h.Last("recorded", nil).String("customer_id")
	into := h.CreateCustomer(nil)
	sale := h.Sell(into, "ch_2", now.AddDate(0, 0, -1))
	require.EqualValues(t, 5000, h.CommissionsOf(sale))
	dry := h.Must(200, h.Merge(into, from, M{"dry_run": true}))
	done := h.Must(200, h.Merge(into, from, nil))
	require.Equal(t, dry.Body["commissions"], done.Body["commissions"])
	require.EqualValues(t, 2000, h.CommissionsOf(sale), "20 % of a later payment")
	credit := M{"partner_id": h.PartnerID, "since": now.AddDate(0, -1, 0)}
	require.EqualValues(t, 5000, h.Must(200, h.Post("/v1/customers/"+into+"/credit", credit)).Int("amount_minor"))
	require.EqualValues(t, 5000+2000, h.Earned())
	require.Zero(t, h.Must(200, h.Post("/v1/customers/"+into+"/credit", credit)).Int("amount_minor"))
	apitest.Balanced(t, h.Server)
}

// TestReportsAfterMergeAndCredit: the daily sums still equal their rows after customers move
// between partners and links.
func TestReportsAfterMergeAndCredit(t *testing.T) {
	t.Parallel()
	h := newInboxed(t, apitest.RecordDirect)
	h.bounty()
	bob := h.Partner(h.ProgramID, M{"handle": "bob"})
	h.Must(201, h.Post("/v1/links", M{
		"program_id": h.ProgramID, "partner_id": bob, "value": "bobs", "destination_url": "https://shop.example/",
	}))
	day := func() { h.Clock.Advance(24 * time.Hour) }
	var ids []string
	for _, value := range []string{"ann", "bobs", "ann"} {
		ids = append(ids, h.Must(201, h.Post("/v1/customers", M{
			"program_id": h.ProgramID, "click_id": h.Click(h.ProgramID, value).String("id"),
		})).String("id"))
		day()
	}
	for i, id := range ids {
		h.Sell(id, []string{"ch_1", "ch_2", "ch_3"}[i], h.Clock.Now().Time)
		day()
	}
	h.Receive(apitest.Paid("ch_4", M{"external_customer_id": "c1"}))
	direct := h.Last("recorded", nil).String("customer_id")
	h.Clock.Advance(5 * 24 * time.Hour)
	apitest.SumReports(t, h.Server)
	credit := M{"partner_id": bob, "since": h.Clock.Now().Time.AddDate(0, -1, 0)}
	for _, write := range []func() apitest.Answer{
		func() apitest.Answer { return h.Merge(ids[0], ids[1], M{"partner_id": bob}) },
		func() apitest.Answer { return h.Merge(ids[2], ids[0], M{"partner_id": h.PartnerID}) },
		func() apitest.Answer { return h.Post("/v1/customers/"+direct+"/credit", credit) },
		func() apitest.Answer { return h.Merge(ids[2], direct, M{"partner_id": bob}) },
	} {
		h.Must(200, write())
		apitest.Balanced(t, h.Server)
	}
	for _, stage := range []string{"sums to be made again", "summed again"} {
		got := h.Server.Reported(h.ProgramID, "&from=2026-08-01&to=2026-09-30&compare=none")
		require.Equal(t, []string{"2", "20000"}, []string{apitest.ReportRow(got, h.PartnerID)[3], apitest.ReportRow(got, h.PartnerID)[5]}, stage)
		require.Equal(t, []string{"2", "15000"}, []string{apitest.ReportRow(got, bob)[3], apitest.ReportRow(got, bob)[5]}, stage)
		apitest.SumReports(t, h.Server)
		apitest.Balanced(t, h.Server)
	}
}

// TestMergePaysLaterPayment: a rule that pays only later payments pays for a first payment that a merge makes a later
// one. A repeat of its charge reports the commission.
func TestMergePaysLaterPayment(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	h.FirstPays("percent", 0)
	into, from, now := h.CreateCustomer(nil), h.CreateCustomer(nil), h.Clock.Now().Time
	first := h.Sell(into, "ch_1", now.AddDate(0, 0, -9))
	later := h.Sell(from, "ch_2", now.AddDate(0, 0, -8))
	for _, c := range []struct {
		dry  bool
		want string
	}{{true, "sale_recorded"}, {false, "commission_created"}} {
		h.Must(200, h.Merge(into, from, M{"dry_run": c.dry}))
		again := h.Must(200, h.Post("/v1/sales", M{
			"program_id": h.ProgramID, "customer_id": from, "external_charge_id": "ch_2", "amount_minor": 10000,
			"currency": "USD",
		}))
		require.Equal(t, []any{later, c.want}, []any{again.String("id"), again.String("activity_outcome")})
		require.Equal(t, c.dry, len(again.Body["warnings"].([]any)) > 0)
	}
	require.Equal(t, []int64{0, 1000}, []int64{h.CommissionsOf(first), h.CommissionsOf(later)})
	apitest.Balanced(t, h.Server)
}
