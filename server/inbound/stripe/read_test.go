package stripe

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/stripetest"
	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
)

type object = stripetest.Object

const click = "clk_01kb2m4q8e7v9t3n5x6c0d1f2g"

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bought is a subscription's first payment with tax.
func bought(v stripetest.Version) stripetest.Purchase {
	return stripetest.Purchase{
		Version: v, Name: "1", Live: true, At: noon, Customer: "cus_1", Subscription: true, Invoiced: true,
		Amount: 2400, Tax: 400, Currency: "eur", Email: "ann@acme.example", Metadata: object{"rail_click": click, "plan": "pro"},
	}
}

// checkout is a payment of one session without an invoice.
func checkout(v stripetest.Version) stripetest.Purchase {
	p := bought(v)
	p.Subscription, p.Invoiced = false, false
	return p
}

func read(t *testing.T, body []byte) processor.Reading {
	t.Helper()
	r, err := Read(body)
	require.NoError(t, err, string(body))
	return r
}

func inEachVersion(t *testing.T, test func(t *testing.T, v stripetest.Version)) {
	t.Helper()
	t.Parallel()
	for _, v := range stripetest.Versions {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			test(t, v)
		})
	}
}

// TestInvoice: the same payment gives the same reading in every version, except for members that basil moved out
// of invoices.
func TestInvoice(t *testing.T) {
	inEachVersion(t, func(t *testing.T, v stripetest.Version) {
		p := bought(v)
		want := processor.Payment{
			Link: processor.Link{Charge: "in_1"}, AmountMinor: 2400, TaxMinor: 400, Currency: "EUR", At: clock.At(noon),
			ProductID: "prod_1", Metadata: map[string]any{"plan": "pro"}, Bought: "checkout of in_1",
			Binding: processor.Binding{
				Customer: "cus_1", Email: "ann@acme.example", Name: "Jenny Rosen", Click: click, Subscription: "sub_1",
			},
		}
		if v == stripetest.Acacia {
			want.Alias, want.Intent, want.Interval = []string{"pi_1", "ch_1"}, "pi_1", "month"
		}
		for _, kind := range []string{"invoice.paid", "invoice.payment_succeeded"} {
			r := read(t, p.Event(kind, p.Invoice()))
			require.Equal(t, &want, r.Payment)
			require.Equal(t, processor.Reading{
				ID: "evt_" + kind + "_1", Type: kind, Live: true, At: clock.At(noon), Payment: r.Payment,
			}, r)
		}
		renewal := p.Invoice()
		renewal["billing_reason"] = "subscription_cycle"
		require.Empty(t, read(t, p.Event("invoice.paid", renewal)).Payment.Bought)
	})
}

// TestInvoiceVariants changes one member of a paid invoice at a time.
func TestInvoiceVariants(t *testing.T) {
	inEachVersion(t, func(t *testing.T, v stripetest.Version) {
		variant := func(change object) processor.Reading {
			p := bought(v)
			in := p.Invoice()
			maps.Copy(in, change)
			return read(t, p.Event("invoice.paid", in))
		}
		trial := variant(object{"amount_paid": 0, "total": 0})
		require.Equal(t, processor.ZeroAmount, trial.Ignored)
		require.Equal(t, click, trial.Binding.Click, "a trial says who the customer is")
		require.Equal(t, processor.NotUsed, variant(object{"status": "open"}).Ignored)

		credit := variant(object{"amount_paid": 1001}).Payment // of 2400, credit paid the rest
		require.EqualValues(t, 1001, credit.AmountMinor)
		require.EqualValues(t, 167, credit.TaxMinor, "400·1001/2400 is 166.8")
		require.EqualValues(t, 400, variant(object{"amount_paid": 2600}).Payment.TaxMinor, "an older debt was paid, too")

		skip := variant(object{"metadata": object{"rail": "skip"}})
		require.Equal(t, processor.OptedOut, skip.Ignored)
		require.Nil(t, skip.Payment)
		require.Equal(t, "in_1", skip.Link.Charge)

		whole := variant(object{"customer": object{"id": "cus_9", "object": "customer", "name": "Ann", "metadata": object{
			"rail_customer": "user-7",
		}}}).Payment
		require.Equal(t, "cus_9", whole.Customer)
		require.Equal(t, "user-7", whole.Identifier)
		out := variant(object{"customer": object{"id": "cus_9", "metadata": object{"rail": "skip"}}})
		require.Equal(t, processor.OptedOut, out.Ignored)
		require.Equal(t, "acct_1", variant(object{"customer": nil, "customer_account": "acct_1"}).Payment.Customer)

		in := bought(v).Invoice()
		first := in["lines"].(object)["data"].([]any)[0].(object)
		require.Equal(t, processor.OptedOut,
			variant(object{"lines": object{"data": []any{with(first, "metadata", object{"rail": "skip"})}}}).Ignored)
		two := variant(object{"lines": object{"data": []any{first, other(first, v)}}}).Payment
		require.Empty(t, two.ProductID)
		require.Equal(t, []any{
			map[string]any{"id": "prod_1", "amount_minor": int64(2000), "quantity": int64(1)},
			map[string]any{"id": "prod_2", "amount_minor": int64(2000), "quantity": int64(1)},
		}, two.Metadata["products"])
		off := with(other(first, v), "amount", -500)
		require.Equal(t, "prod_1", variant(object{"lines": object{"data": []any{off, first}}}).Payment.ProductID,
			"a proration takes off and buys nothing")
		require.Empty(t, variant(object{"lines": object{"data": []any{first}, "has_more": true}}).Payment.ProductID,
			"what further lines are of is not known")
	})
}

func with(of object, key string, value any) object {
	out := object{}
	maps.Copy(out, of)
	out[key] = value
	return out
}

// other returns a line of another product.
func other(line object, v stripetest.Version) object {
	if v == stripetest.Acacia {
		return with(line, "price", with(line["price"].(object), "product", object{"id": "prod_2", "name": "Seats"}))
	}
	return with(line, "pricing", object{"price_details": object{"price": "price_2", "product": "prod_2"}})
}

// TestTax reads the tax in each version's place.
func TestTax(t *testing.T) {
	t.Parallel()
	two := []any{object{"amount": 100}, object{"amount": 50}}
	for name, c := range map[string]struct {
		in   object
		want int64
	}{
		"tax":                {object{"tax": 150}, 150},
		"total_tax_amounts":  {object{"tax": nil, "total_tax_amounts": two}, 150},
		"tax counts alone":   {object{"tax": 150, "total_tax_amounts": two}, 150},
		"total_taxes":        {object{"total_taxes": two}, 150},
		"total_taxes empty":  {object{"total_taxes": []any{}}, 0},
		"none":               {object{}, 0},
		"more than was paid": {object{"tax": 5000}, 1000},
		"below zero":         {object{"tax": -5}, 0},
		"in part":            {object{"tax": 200, "total": 2000}, 100},
		"rounded half up":    {object{"tax": 3, "total": 2000}, 2},
		"no number":          {object{"tax": "a lot"}, 0},
	} {
		in := object{"id": "in_1", "customer": "cus_1", "amount_paid": 1000, "total": 1000, "currency": "usd"}
		maps.Copy(in, c.in)
		r := read(t, bought(stripetest.Acacia).Event("invoice.paid", in))
		require.Equal(t, c.want, r.Payment.TaxMinor, name)
	}
}

// TestFee: Stripe's fee is known if the charge has its full balance transaction, in any payout currency.
func TestFee(t *testing.T) {
	inEachVersion(t, func(t *testing.T, v stripetest.Version) {
		p := bought(v)
		charge := func(fee, amount any, currency string) object {
			return with(with(p.ChargeObject(), "invoice", nil), "balance_transaction", object{
				"id": "txn_1", "object": "balance_transaction", "amount": amount, "fee": fee, "currency": currency,
			})
		}
		of := func(c object) map[string]*int64 {
			single := p
			single.Invoiced, single.Subscription = false, false
			session := with(single.Session(), "payment_intent", with(single.PaymentIntent(), "latest_charge", c))
			fees := map[string]*int64{
				"session": read(t, p.Event("checkout.session.completed", session)).Payment.FeeMinor,
				"intent": read(t, p.Event("payment_intent.succeeded",
					with(single.PaymentIntent(), "latest_charge", c))).Payment.FeeMinor,
				"charge": read(t, p.Event("charge.succeeded", with(c, "payment_intent", nil))).Payment.FeeMinor,
			}
			if v == stripetest.Acacia {
				fees["invoice"] = read(t, p.Event("invoice.paid", with(p.Invoice(), "charge", c))).Payment.FeeMinor
			}
			return fees
		}
		for name, c := range map[string]struct {
			charge object
			want   any
		}{
			"same currency":    {charge(100, 2400, "eur"), int64(100)},
			"another currency": {charge(150, 3600, "usd"), int64(100)},
			"more than all":    {charge(9999, 2400, "eur"), int64(2400)},
			"none":             {charge(0, 2400, "eur"), int64(0)},
			"unknown":          {with(charge(0, 0, ""), "balance_transaction", "txn_1"), nil},
			"no fee":           {charge(nil, 2400, "eur"), nil},
			"below zero":       {charge(-1, 2400, "eur"), nil},
			"no rate":          {charge(150, 0, "usd"), nil},
			"no currency":      {charge(150, 2400, "?"), nil},
		} {
			for where, fee := range of(c.charge) {
				if c.want == nil {
					require.Nil(t, fee, "%s of %s", name, where)
					continue
				}
				require.NotNil(t, fee, "%s of %s", name, where)
				require.Equal(t, c.want, *fee, "%s of %s", name, where)
			}
		}
	})
}

// TestCurrencies: Rail has minor units of ISO 4217, from which Stripe's differ for three currencies.
func TestCurrencies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		amount int64
		code   string
		want   int64 // 0 for refused
	}{
		"two decimals":            {1099, "usd", 1099},
		"none":                    {1099, "jpy", 1099},
		"three":                   {1230, "kwd", 1230},
		"krónur in hundredths":    {150000, "isk", 1500},
		"shillings, too":          {500000, "ugx", 5000},
		"a hundredth of a króna":  {150001, "isk", 0},
		"ariary whole":            {5000, "mga", 500000},
		"too many ariary":         {1 << 62, "mga", 0},
		"forints have hundredths": {100050, "huf", 100050},
		"upper case":              {1099, "USD", 1099},
		"none of ISO's":           {1099, "usdc", 0},
		"no currency":             {1099, "", 0},
	} {
		in := object{"id": "in_1", "customer": "cus_1", "amount_paid": c.amount, "currency": c.code, "tax": c.amount / 10}
		r, err := Read(bought(stripetest.Acacia).Event("invoice.paid", in))
		if c.want == 0 {
			require.ErrorAs(t, err, &processor.MalformedError{}, name)
			require.Equal(t, "invoice.paid", r.Type, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, r.Payment.AmountMinor, name)
		require.LessOrEqual(t, r.Payment.TaxMinor, c.want/10+1, name)
	}
}

// TestSession: a checkout reports money only if no invoice does.
func TestSession(t *testing.T) {
	inEachVersion(t, func(t *testing.T, v stripetest.Version) {
		p := checkout(v)
		p.Reference, p.Promotion, p.Coupon = "team-5", "promo_1", "FALL"
		r := read(t, p.Event("checkout.session.completed", p.Session()))
		require.Equal(t, &processor.Payment{
			Link:        processor.Link{Charge: "pi_1", Alias: []string{"cs_test_1"}},
			AmountMinor: 2400, TaxMinor: 400, Currency: "EUR", At: clock.At(noon), Intent: "pi_1",
			Metadata: map[string]any{"plan": "pro"},
			Binding: processor.Binding{
				Customer: "cus_1", Identifier: "team-5", Email: "ann@acme.example", Name: "Jenny Rosen", Click: click,
				Coupon: []string{"promo_1", "FALL"},
			},
		}, r.Payment)
		variant := func(change object) processor.Reading {
			s := p.Session()
			maps.Copy(s, change)
			return read(t, p.Event("checkout.session.completed", s))
		}
		late := variant(object{"payment_status": "unpaid"})
		require.True(t, late.Payment.Unpaid)
		require.Equal(t, "promo_1", late.Binding.Coupon[0])
		early := variant(object{"payment_status": "unpaid", "payment_intent": nil})
		require.Equal(t, processor.NotUsed, early.Ignored, "no event can be told to report its money")
		require.Equal(t, "promo_1", early.Binding.Coupon[0])
		require.NotNil(t, read(t, p.Event("checkout.session.async_payment_succeeded", p.Session())).Payment)
		require.Equal(t, processor.ZeroAmount, variant(object{"payment_status": "no_payment_required"}).Ignored)
		require.Equal(t, processor.ZeroAmount, variant(object{"amount_total": 0}).Ignored)
		setup := variant(object{"mode": "setup", "payment_status": "no_payment_required", "payment_intent": nil})
		require.Equal(t, processor.BindsOnly, setup.Ignored)
		invoiced := variant(object{"invoice": "in_1"})
		require.Equal(t, processor.BindsOnly, invoiced.Ignored)
		require.Equal(t, processor.Link{Charge: "in_1", Alias: []string{"pi_1", "cs_test_1", "checkout of in_1"}}, invoiced.Link)
		require.Equal(t, processor.OptedOut, variant(object{"metadata": object{"rail": "skip"}}).Ignored)
		require.Equal(t, click, variant(object{"client_reference_id": click, "metadata": object{}}).Payment.Click)
		guest := variant(object{"customer": nil, "client_reference_id": nil}).Payment
		require.Empty(t, guest.Customer+guest.Identifier)
		require.Equal(t, "ann@acme.example", guest.Email)
		adaptive := variant(object{"currency": "jpy", "amount_total": 3600, "total_details": object{"amount_tax": 600},
			"currency_conversion": object{"amount_total": 2400, "source_currency": "eur", "fx_rate": "1.5"}}).Payment
		require.Equal(t, []any{"EUR", int64(2400), int64(400)}, []any{adaptive.Currency, adaptive.AmountMinor, adaptive.TaxMinor})

		s := bought(v)
		binds := read(t, s.Event("checkout.session.completed", s.Session()))
		require.Equal(t, processor.BindsOnly, binds.Ignored)
		require.Equal(t, "sub_1", binds.Binding.Subscription)
		require.Nil(t, binds.Payment)
	})
}

// TestOutside: money of an intent or a charge belongs to an invoice if the version shows that, and may belong to
// a checkout.
func TestOutside(t *testing.T) {
	inEachVersion(t, func(t *testing.T, v stripetest.Version) {
		p := bought(v)
		r := read(t, p.Event("payment_intent.succeeded", p.PaymentIntent()))
		if v == stripetest.Acacia {
			require.Equal(t, processor.NotUsed, r.Ignored)
			require.Equal(t, processor.Link{Charge: "in_1", Alias: []string{"pi_1", "ch_1"}}, r.Link)
		} else {
			require.True(t, r.Payment.Outside)
			require.Equal(t, processor.Link{Charge: "pi_1", Alias: []string{"ch_1"}}, r.Payment.Link)
		}
		require.Nil(t, read(t, p.Event("charge.succeeded", p.ChargeObject())).Payment, "its intent brings the money")

		own := checkout(v)
		own.NoSession = true
		paid := read(t, own.Event("payment_intent.succeeded", own.PaymentIntent())).Payment
		require.True(t, paid.Outside)
		require.Equal(t, click, paid.Click)
		require.EqualValues(t, 2400, paid.AmountMinor)
		require.False(t, paid.Captured)
		held := own.PaymentIntent()
		held["capture_method"] = "manual"
		require.True(t, read(t, own.Event("payment_intent.succeeded", held)).Payment.Captured)

		c := own.ChargeObject()
		c["payment_intent"] = nil
		require.Equal(t, "ch_1", read(t, own.Event("charge.succeeded", c)).Payment.Charge)
		c["captured"], c["amount_captured"] = false, 0
		require.Equal(t, processor.NotUsed, read(t, own.Event("charge.succeeded", c)).Ignored)
		c["captured"], c["amount_captured"] = true, 2000
		require.EqualValues(t, 2000, read(t, own.Event("charge.captured", c)).Payment.AmountMinor)
	})
}

// TestInvoicePayment links a payment and its invoice, which basil separated.
func TestInvoicePayment(t *testing.T) {
	t.Parallel()
	p := bought(stripetest.Clover)
	r := read(t, p.Event("invoice_payment.paid", p.InvoicePayment()))
	require.Equal(t, processor.Link{Charge: "in_1", Alias: []string{"pi_1"}}, r.Link)
	require.Equal(t, processor.BindsOnly, r.Ignored)
	in := p.Invoice()
	in["payments"] = object{"data": []any{p.InvoicePayment()}}
	expanded := read(t, p.Event("invoice.paid", in)).Payment
	require.Equal(t, []string{"pi_1"}, expanded.Alias)
	require.Equal(t, "pi_1", expanded.Intent)
}

// TestRefunds: a charge has the total refunded amount, a refund the minimum.
func TestRefunds(t *testing.T) {
	inEachVersion(t, func(t *testing.T, v stripetest.Version) {
		p := bought(v)
		p.Refunded = 900
		r := read(t, p.Event("charge.refunded", p.ChargeObject()))
		want := processor.Link{Charge: "pi_1", Alias: []string{"ch_1"}}
		if v == stripetest.Acacia {
			want.Alias = append(want.Alias, "in_1")
		}
		require.Equal(t, &processor.Refund{Link: want, LevelMinor: 900, OfMinor: 2400, Currency: "EUR", At: clock.At(noon)}, r.Refund)

		released := p.ChargeObject()
		released["amount_captured"], released["amount_refunded"] = 1500, 900
		r = read(t, p.Event("charge.refunded", released))
		require.Equal(t, processor.ZeroAmount, r.Ignored, "what was not captured was not paid")
		released["amount_refunded"] = 1000
		require.EqualValues(t, 100, read(t, p.Event("charge.refunded", released)).Refund.LevelMinor)

		one := read(t, p.Event("refund.created", p.Refund("re_1", 300, "succeeded"))).Refund
		require.Equal(t, []any{"re_1", int64(300), "pi_1", false}, []any{one.ID, one.LevelMinor, one.Charge, one.Failed})
		require.Equal(t, processor.NotFinal, read(t, p.Event("refund.created", p.Refund("re_1", 300, "pending"))).Ignored)
		for kind, status := range map[string]string{
			"refund.failed": "failed", "refund.updated": "canceled", "charge.refund.updated": "failed",
		} {
			require.True(t, read(t, p.Event(kind, p.Refund("re_1", 300, status))).Refund.Failed, kind)
		}
		whole := p.Refund("re_1", 300, "succeeded")
		whole["charge"] = p.ChargeObject()
		require.EqualValues(t, 900, read(t, p.Event("refund.updated", whole)).Refund.LevelMinor)
		whole["status"] = "failed"
		failed := read(t, p.Event("refund.updated", whole)).Refund
		require.Equal(t, []int64{300, 2400}, []int64{failed.LevelMinor, failed.OfMinor}, "of the payment's amount")
	})
}

// TestDisputes reads the state in each type of event.
func TestDisputes(t *testing.T) {
	t.Parallel()
	p := bought(stripetest.Clover)
	for status, want := range map[string]string{
		"needs_response": "open", "under_review": "open", "warning_needs_response": "open", "of tomorrow": "open",
		"won": "won", "warning_closed": "withdrawn", "prevented": "withdrawn", "charge_refunded": "withdrawn", "lost": "lost",
	} {
		for _, kind := range []string{
			"created", "updated", "closed", "funds_withdrawn", "funds_reinstated",
		} {
			r := read(t, p.Event("charge.dispute."+kind, p.Dispute(2400, status)))
			require.Equal(t, &processor.Dispute{
				Link: processor.Link{Charge: "pi_1", Alias: []string{"ch_1"}}, ID: "dp_1", Status: want, Detail: status,
				AmountMinor: 2400, Currency: "EUR", At: clock.At(noon),
			}, r.Dispute)
		}
	}
}

// TestCustomers reads events that identify customers without money.
func TestCustomers(t *testing.T) {
	inEachVersion(t, func(t *testing.T, v stripetest.Version) {
		p := bought(v)
		p.Promotion, p.Coupon = "promo_1", "FALL"
		b := read(t, p.Event("customer.created", p.CustomerObject())).Binding
		require.Equal(t, []string{"cus_1", click, "ann@acme.example"}, []string{b.Customer, b.Click, b.Email})
		b = read(t, p.Event("customer.discount.created", p.Discount())).Binding
		require.Equal(t, processor.Binding{Customer: "cus_1", Coupon: []string{"promo_1", "FALL"}}, *b)
		for status, want := range map[string]string{
			"trialing": "trial", "active": "active", "canceled": "cancelled", "past_due": "", "unpaid": "", "paused": "",
		} {
			b = read(t, p.Event("customer.subscription.updated", p.SubscriptionObject(status))).Binding
			require.Equal(t, []string{want, "cus_1", click, "month"}, []string{b.Status, b.Customer, b.Click, b.Interval})
		}
		b = read(t, p.Event("customer.subscription.deleted", p.SubscriptionObject("active"))).Binding
		require.Equal(t, "cancelled", b.Status)
		require.Equal(t, &processor.Coupon{ID: "promo_1", Code: "FALL20", Parent: "FALL", Active: true},
			read(t, p.Event("promotion_code.updated", p.PromotionCode(true))).Coupon)
		require.False(t, read(t, p.Event("promotion_code.updated", p.PromotionCode(false))).Coupon.Active)
		p.Metadata = object{"rail": "skip"}
		out := read(t, p.Event("customer.updated", p.CustomerObject()))
		require.Equal(t, processor.OptedOut, out.Ignored)
		require.True(t, out.Binding.Skip)
		require.Equal(t, processor.OptedOut, read(t, p.Event("customer.subscription.created", p.SubscriptionObject("active"))).Ignored)
		require.Equal(t, processor.OptedOut, read(t, p.Event("invoice.paid", p.Invoice())).Ignored,
			"the invoice shows the subscription's metadata")
	})
	r := read(t, bought(stripetest.Clover).Event("coupon.deleted", object{"id": "FALL", "object": "coupon"}))
	require.Equal(t, &processor.Coupon{ID: "FALL"}, r.Coupon)
}

// TestBounds: an event may name at most as many payments and codes as Stripe allows, because Rail
// locks each or waits for it.
func TestBounds(t *testing.T) {
	t.Parallel()
	var ids []lenient.ID
	var of discounted
	for i := range 5000 {
		ids = append(ids, lenient.ID(fmt.Sprint("pi_", i)))
		of.Discounts = append(of.Discounts, discount{Promotion: lenient.ID(fmt.Sprint("promo_", i))})
	}
	l := link(ids...)
	require.Equal(t, "pi_0", l.Charge)
	require.Len(t, l.Alias, maxAliases)
	var b processor.Binding
	redeem(&b, of)
	require.Len(t, b.Coupon, maxCoupons)
}

// TestEnvelope reads the members around every object.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]processor.Reading{
		`{"id":"evt_1","type":"payout.paid","created":1,"livemode":true}`: {Ignored: processor.NotUsed, Live: true},
		`{"id":"evt_1","type":"invoice.paid","account":"acct_1","livemode":false}`: {
			Ignored: processor.ConnectAccount, Account: "acct_1",
		},
		`{"id":"evt_1","object":"v2.core.event","type":"invoice.paid","created":"2026-01-01T00:00:00Z"}`: {
			Ignored: processor.NotUsed,
		},
	} {
		r := read(t, []byte(body))
		require.Equal(t, []any{"evt_1", want.Ignored, want.Account, want.Live}, []any{r.ID, r.Ignored, r.Account, r.Live})
	}
	for body, member := range map[string]string{
		"":                                 "The body",
		"{":                                "The body",
		`[]`:                               "id",
		`null`:                             "id",
		`{"id":7}`:                         "type",
		`{"id":"e","type":{}}`:             "type",
		`{"id":"e","type":"invoice.paid"}`: "livemode",
		`{"id":"e","type":"invoice.paid","livemode":true,"created":1e30}`:                            "created",
		`{"id":"e","type":"invoice.paid","livemode":true,"created":1767225600}`:                      "data.object",
		`{"id":"e","type":"invoice.paid","livemode":true,"created":1767225600,"data":{"object":[]}}`: "data.object",
		`{"id":"e","type":"invoice.paid","livemode":true,"created":1767225600,"data":{"object":{}}}`: "invoice.id",
	} {
		_, err := Read([]byte(body))
		require.Equal(t, processor.MalformedError{Member: member}, err, body)
	}
}

// TestMetadata bounds a merchant's metadata.
func TestMetadata(t *testing.T) {
	t.Parallel()
	many := object{"": "x", "null\x00byte": "a\x00b", "n": 5, "rail_click": click}
	for i := range 50 {
		many["k"+string(rune('A'+i))] = "v"
	}
	p := checkout(stripetest.Clover)
	p.Metadata = many
	got := read(t, p.Event("checkout.session.completed", p.Session())).Payment.Metadata
	require.Len(t, got, 45)
	require.NotContains(t, got, "rail_click")
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(text), `\u0000`)
}
