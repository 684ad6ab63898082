package inbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/stripetest"
	"rail/server/inbound/connection"
)

// at sets the clock.
func (h inboxed) at(moment string) {
	h.T.Helper()
	to, err := time.Parse(time.RFC3339, moment)
	require.NoError(h.T, err)
	h.Clock.Set(to)
}

// newMonthly is a program that is connected to Stripe and pays balances of at least 50.00 each
// month.
func newMonthly(t *testing.T) inboxed {
	t.Helper()
	s := apitest.New(t)
	program := s.Program(M{"auto_payouts_enabled": true, "min_payout_minor": 5000})
	s.Flow(program)
	return inboxed{s.Inboxed(program, func(in *connection.Input) {
		in.Processor, in.Secret = connection.Stripe, stripeSecret
	})}
}

// monthEnds sets the clock to the first of a month, when the payouts of the month before are
// created. It pays them and returns their amounts.
func (h inboxed) monthEnds(first string) (paid []int64) {
	h.T.Helper()
	h.at(first + "T00:10:00Z")
	apitest.RunJob(h.T, h.Server, "auto-payouts")
	for _, p := range h.Get("/v1/payouts?status=pending&program_id=" + h.ProgramID).Data() {
		p := h.Must(200, h.Post("/v1/payouts/"+p["id"].(string)+"/mark_paid", nil))
		paid = append(paid, p.Int("amount_minor"))
	}
	apitest.Balanced(h.T, h.Server)
	return paid
}

// due returns the partner's due amount. It is negative after a refund of a paid commission.
func (h inboxed) due() int64 {
	h.T.Helper()
	_, due, _ := h.Balance(h.ProgramID, h.PartnerID, "USD")
	return due
}

// TestFieldCase2ShopMovesProcessor: field case 2. A shop moves from Paddle to Stripe in April. Its
// user keeps the id at the shop, and so remains one customer. The bounty for the first payment is
// paid once, and "20 % for 3 months" ends in March, whether or not both checkouts have the click.
func TestFieldCase2ShopMovesProcessor(t *testing.T) {
	t.Parallel()
	for _, click := range []bool{true, false} {
		for _, direct := range []bool{false, true} {
			t.Run(fmt.Sprintf("click %t, direct %t", click, direct), func(t *testing.T) {
				t.Parallel()
				moves(t, click, direct)
			})
		}
	}
}

func moves(t *testing.T, click, direct bool) {
	t.Helper()
	paddle := newInboxed(t, func(in *connection.Input) {
		in.Processor, in.Secret, in.RecordDirect = connection.Paddle, "pdl_ntfset_1", direct
	})
	paddle.Flow(paddle.ProgramID, M{
		"name": "Bounty", "partner_id": paddle.PartnerID, "rate_type": "percent", "rate_value": 1, "branches": []any{
			M{"conditions": []any{apitest.Condition("sale.is_first_sale", "eq", true)}, "rate_type": "fixed", "rate_value": 5000},
			apitest.Branch(2000, apitest.Condition("customer.months_since_conversion", "lt", 3)),
		},
	})
	paddle.at("2027-01-05T09:00:00Z")
	visit := paddle.Click(paddle.ProgramID, "ann").String("id")
	k := paddle.Must(201, paddle.Post("/v1/customers", M{
		"program_id": paddle.ProgramID, "click_id": visit, "identifier": "user-7", "email": "ada@buyers.example",
	})).String("id")
	custom := M{"rail_customer": "user-7"}
	if click {
		custom["rail_click"] = visit
	}

	var sales []string
	for month := 1; month <= 3; month++ {
		paddle.at(fmt.Sprintf("2027-%02d-05T10:00:00Z", month))
		paddle.notify(fmt.Sprint("evt_", month), "transaction.completed", M{
			"id": fmt.Sprint("txn_", month), "customer_id": "ctm_7", "subscription_id": "sub_1", "currency_code": "USD",
			"custom_data": custom, "details": M{"totals": M{"tax": "0", "total": "10000", "grand_total": "10000"}},
		})
		sales = append(sales, paddle.Last("recorded", nil).String("sale_id"))
	}
	paddle.Settle()
	stripe := paddle
	stripe.Connection = paddle.Connect(paddle.ProgramID, func(in *connection.Input) {
		in.Processor, in.Secret, in.RecordDirect = connection.Stripe, stripeSecret, direct
	})
	for month := 4; month <= 5; month++ {
		stripe.at(fmt.Sprintf("2027-%02d-05T10:00:00Z", month))
		p := stripetest.Purchase{
			Version: stripetest.Clover, Name: fmt.Sprint("m", month), Live: true, At: stripe.Clock.Now().Time, Customer: "cus_7",
			Subscription: true, Invoiced: true, Amount: 10000, Currency: "usd", Email: "ada@firm.example",
		}
		if month == 4 { // the renewal names only Stripe's customer
			p.Reference, p.Metadata = "user-7", custom
			stripe.deliver(p.Event("checkout.session.completed", p.Session()))
			require.Equal(t, k, stripe.Last("recorded", nil).String("customer_id"))
		}
		stripe.deliver(p.Event("invoice.paid", p.Invoice()))
		stripe.Clock.Advance(time.Minute)
		sales = append(sales, stripe.Last("recorded", nil).String("sale_id"))
	}
	stripe.oneCustomer(k, sales)

	paddle.notify("evt_back", "adjustment.created", numbered(paddleAdjustment("adj_#", "refund", "approved"), 3).(M))
	paddle.Last("recorded", nil)
	require.EqualValues(t, 2-180, paddle.due(), "9.00 of the last payment at Paddle, 20 %")
	apitest.Balanced(t, paddle.Server)
}

// oneCustomer requires that the sales of five months belong to one customer.
func (h inboxed) oneCustomer(k string, sales []string) {
	h.T.Helper()
	var got []int64
	for i, id := range sales {
		sale := h.Get("/v1/sales/" + id)
		require.Equal(h.T, []any{k, h.PartnerID, i == 0}, []any{
			sale.String("customer_id"), sale.String("partner_id"), sale.Body["is_first_sale"],
		})
		got = append(got, h.CommissionsOf(id))
	}
	require.Equal(h.T, []int64{5000, 2000, 2000, 1, 1}, got)
	require.Equal(h.T, []string{"ctm_7", "cus_7"}, h.ExternalIDs(k))
	require.Equal(h.T, []int64{1, 5}, []int64{h.Total("customers"), h.Total("sales")})
	require.Equal(h.T, "2027-01-05T10:00:00.000Z", h.Get("/v1/customers/"+k).String("converted_at"))
	year := h.Server.Reported(h.ProgramID, "&dimension=partner&from=2027-01-01&to=2027-05-31&compare=none")
	require.Equal(h.T, []string{"1", "1", "1", "5", "0", "50000", "9002"}, apitest.ReportRow(year, h.PartnerID))
	apitest.Balanced(h.T, h.Server)
}

// TestFieldCase10DebtIsCarried: field case 10. The commission of an annual plan is paid out. In
// April nine of twelve months are refunded. The next commissions reduce the debt, and no payout is
// made until they exceed it by the minimum.
func TestFieldCase10DebtIsCarried(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		monthly int64
		due     []int64 // at the end of each month from April on
		payouts map[string]int64
		held    int64 // how many commissions the first payout after the debt has
	}{
		{12000, []int64{-15600, -13200, -10800, -8400, -6000, -3600, -1200, 1200, 3600, 6000}, map[string]int64{"2028-02-01": 6000}, 11},
		{60000, []int64{-6000, 6000, 12000}, map[string]int64{"2027-06-01": 6000, "2027-07-01": 12000}, 3},
	} {
		t.Run(fmt.Sprint(c.monthly), func(t *testing.T) {
			t.Parallel()
			h := newMonthly(t)
			p := h.purchase(stripetest.Clover, "year")
			pay := func(name string, amount int64) {
				p.Name, p.Amount, p.At = name, amount, h.Clock.Now().Time
				h.deliver(p.Event("invoice.paid", p.Invoice()))
				h.Last("recorded", nil)
			}
			h.at("2027-01-10T10:00:00Z")
			p.Reference = h.Click(h.ProgramID, "ann").String("id")
			h.deliver(p.Event("checkout.session.completed", p.Session()))
			h.deliver(p.Event("invoice_payment.paid", p.InvoicePayment()))
			pay("year", 120000)
			require.Equal(t, []int64{24000}, h.monthEnds("2027-02-01"))
			require.Empty(t, h.monthEnds("2027-03-01"))
			require.Empty(t, h.monthEnds("2027-04-01"))

			h.at("2027-04-02T10:00:00Z")
			p.At, p.Refunded = h.Clock.Now().Time, 90000
			h.deliver(p.Event("charge.refunded", p.ChargeObject()))
			h.Last("recorded", nil)
			require.EqualValues(t, -18000, h.due())
			p.Refunded = 0
			payouts := 0
			for i, due := range c.due {
				month := time.Date(2027, time.April+time.Month(i), 20, 10, 0, 0, 0, time.UTC)
				h.Clock.Set(month)
				pay(fmt.Sprint("month", i), c.monthly)
				require.Equal(t, due, h.due(), month)
				end := month.AddDate(0, 1, -19).Format(time.DateOnly)
				want, ok := c.payouts[end]
				if !ok {
					require.Empty(t, h.monthEnds(end), end)
					continue
				}
				require.Equal(t, []int64{want}, h.monthEnds(end), end)
				require.Zero(t, h.due())
				if payouts++; payouts == 1 {
					latest := apitest.Answer{Body: h.Get("/v1/payouts?status=paid&program_id=" + h.ProgramID).Data()[0]}
					require.Equal(t, c.held, latest.Int("commission_count"), "with the one that took 180.00 back")
				}
			}
			require.Len(t, c.payouts, payouts)
		})
	}
}

// TestFieldCase11DebitReturned: field case 11. A bank debit succeeds and its commission is paid
// out. Seven weeks later the bank returns the debit. The three events of the lost dispute take the
// share back once. The commission of the next payment, by card, reduces the debt.
func TestFieldCase11DebitReturned(t *testing.T) {
	t.Parallel()
	h := newMonthly(t)
	h.at("2027-02-03T10:00:00Z")
	p := h.purchase(stripetest.Clover, "debit")
	p.Subscription, p.Invoiced, p.Amount = false, false, 50000
	begun := p.Session()
	begun["payment_status"] = "unpaid"
	h.deliver(p.Event("checkout.session.completed", begun))
	h.Work()
	require.Zero(t, h.Total("sales"), "a debit is on its way")
	h.at("2027-02-08T10:00:00Z")
	p.At = h.Clock.Now().Time
	h.deliver(p.Event("checkout.session.async_payment_succeeded", p.Session()))
	sale := h.Last("recorded", nil).String("sale_id")
	require.Equal(t, []int64{10000}, h.monthEnds("2027-03-01"))

	h.at("2027-03-29T10:00:00Z")
	p.At = h.Clock.Now().Time
	for _, kind := range []string{"created", "funds_withdrawn", "closed"} {
		dispute := p.Dispute(50000, "lost")
		dispute["reason"] = "debit_not_authorized"
		h.deliver(p.Event("charge.dispute."+kind, dispute))
		h.Work()
	}
	require.EqualValues(t, -10000, h.due())
	s := h.Get("/v1/sales/" + sale)
	require.NotNil(t, s.Body["refunded_at"])
	require.EqualValues(t, 1, h.Get("/v1/refunds?program_id="+h.ProgramID+"&sale_id="+sale).Int("total_count"))
	flags := h.Get("/v1/risk_flags?program_id=" + h.ProgramID).Data()
	require.Len(t, flags, 1)
	require.Equal(t, []any{"dispute", "resolved"}, []any{flags[0]["kind"], flags[0]["status"]})
	require.Empty(t, h.monthEnds("2027-04-01"))

	card := p
	for i, want := range [][]int64{nil, {10000}} {
		h.at(fmt.Sprintf("2027-%02d-06T10:00:00Z", i+4))
		card.Name, card.At = fmt.Sprint("card", i), h.Clock.Now().Time
		h.deliver(card.Event("checkout.session.completed", card.Session()))
		h.Last("recorded", nil)
		require.EqualValues(t, i*10000, h.due())
		require.Equal(t, want, h.monthEnds(fmt.Sprintf("2027-%02d-01", i+5)))
	}
}
