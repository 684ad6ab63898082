package stripe

import (
	"math"

	"rail/server/inbound/loose"
	"rail/server/inbound/processor"
	"rail/server/locale/currency"
)

// Stripe's minor unit is that of ISO 4217, which Rail has, but for three
// currencies: krónur and Ugandan shillings have no cents and are sent in
// hundredths, ariary have hundredths and are sent whole.
var (
	inHundredths = map[string]bool{"ISK": true, "UGX": true}
	sentWhole    = map[string]bool{"MGA": true}
)

// minor returns an amount of Stripe's in Rail's minor units. It refuses what is
// below zero, and hundredths of what has none.
func minor(amount loose.Int, code string) (int64, bool) {
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

// nearest is minor for what is computed and not charged, as taxes: it rounds half
// up, and takes what is absent or below zero for nothing.
func nearest(amount loose.Int, code string) int64 {
	if amount.OK && inHundredths[code] && amount.N < math.MaxInt64-50 {
		amount.N = (amount.N + 50) / 100 * 100
	}
	n, ok := minor(amount, code)
	if !ok {
		return 0
	}
	return n
}

// fee returns what Stripe kept of a payment, in the payment's own currency, or nil
// where the charge does not show it. One that was taken in another currency is
// turned back at the rate at which the payment itself was.
func (c *charge) fee(p *processor.Payment, paid loose.Int) *int64 {
	b := c.Balance.Object
	in, ok := code(b.Currency)
	if !ok || !b.Fee.OK || b.Fee.N < 0 || b.Amount.N <= 0 {
		return nil
	}
	if in != p.Currency {
		b.Fee.N = loose.Share(b.Fee.N, paid.N, b.Amount.N)
	}
	return new(min(nearest(b.Fee, p.Currency), p.AmountMinor))
}

// Kept returns what Stripe kept of a payment by its one charge, an object of its API;
// nil where that does not show it.
func Kept(object []byte, p *processor.Payment) *int64 {
	var c charge
	if loose.Into(object, &c) != nil {
		return nil
	}
	return c.fee(p, c.paid())
}

// code returns Stripe's currency, which is in lower case, as ISO 4217 has it.
func code(given loose.Text) (string, bool) { return currency.Normal(string(given)) }
