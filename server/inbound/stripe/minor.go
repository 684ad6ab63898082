package stripe

import (
	"math"

	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
	"rail/server/locale/currency"
)

// Stripe's minor unit is that of ISO 4217, as in Rail, with three exceptions: krónur and Ugandan shillings have
// no cents and are sent in hundredths, ariary have hundredths and are sent whole.
var (
	inHundredths = map[string]bool{"ISK": true, "UGX": true}
	sentWhole    = map[string]bool{"MGA": true}
)

// minor converts Stripe's amount to Rail's minor units. It refuses negative amounts, and hundredths of a
// currency without them.
func minor(amount lenient.Int, code string) (int64, bool) {
	n := amount.N
	switch {
	case !amount.OK || n < 0:
		return 0, false
	case inHundredths[code]:
		return n / 100, n%100 == 0
	case sentWhole[code]:
		return n * 100, n <= math.MaxInt64/100
	}
	return n, true
}

// nearest is minor for computed amounts such as taxes: it rounds half up, and treats missing and negative
// amounts as zero.
func nearest(amount lenient.Int, code string) int64 {
	if amount.OK && inHundredths[code] && amount.N < math.MaxInt64-50 {
		amount.N = (amount.N + 50) / 100 * 100
	}
	n, ok := minor(amount, code)
	if !ok {
		return 0
	}
	return n
}

// fee returns Stripe's fee for a payment in the payment's currency, nil if the charge does not have it. A fee in
// another currency is converted at the payment's exchange rate.
func (c *charge) fee(p *processor.Payment, paid lenient.Int) *int64 {
	b := c.Balance.Object
	in, ok := code(b.Currency)
	if !ok || !b.Fee.OK || b.Fee.N < 0 || b.Amount.N <= 0 {
		return nil
	}
	if in != p.Currency {
		b.Fee.N = lenient.Share(b.Fee.N, paid.N, b.Amount.N)
	}
	return new(min(nearest(b.Fee, p.Currency), p.AmountMinor))
}

// Fee returns Stripe's fee for a payment from its only charge, an object of the API; nil if the charge does not
// have it.
func Fee(object []byte, p *processor.Payment) *int64 {
	var c charge
	if lenient.Into(object, &c) != nil {
		return nil
	}
	return c.fee(p, c.paid())
}

// code converts Stripe's currency, which is in lower case, to ISO 4217.
func code(text lenient.Text) (string, bool) { return currency.Normal(string(text)) }
