package stripe

import "rail/server/inbound/lenient"

// The types in this file have the members used of Stripe's objects, of every API version: if two members hold
// one fact, a comment names the versions of each.

type event struct {
	ID      lenient.ID   `json:"id"`
	Type    lenient.Text `json:"type"`
	Object  lenient.Text `json:"object"`
	Account lenient.ID   `json:"account"`
	Live    lenient.Bool `json:"livemode"`
	Created lenient.Int  `json:"created"`
	Data    struct {
		Object raw `json:"object"`
	} `json:"data"`
}

// raw is an object that is decoded once its type is known.
type raw []byte

// UnmarshalJSON keeps a copy.
func (r *raw) UnmarshalJSON(b []byte) error {
	*r = append((*r)[:0], b...)
	return nil
}

type person struct {
	Email lenient.Text `json:"email"`
	Name  lenient.Text `json:"name"`
}

type customer struct {
	person

	ID       lenient.ID   `json:"id"`
	Metadata lenient.Meta `json:"metadata"`
	discounted
}

// discounted is embedded in objects with discounts: one until basil, then a list, which holds ids unless
// expanded.
type discounted struct {
	Discount  discount               `json:"discount"`
	Discounts lenient.List[discount] `json:"discounts"`
}

type discount struct {
	Customer     lenient.ID `json:"customer"`
	Subscription lenient.ID `json:"subscription"`
	Promotion    lenient.ID `json:"promotion_code"`
	Coupon       lenient.ID `json:"coupon"` // until clover
	Source       struct {
		Coupon lenient.ID `json:"coupon"`
	} `json:"source"` // from clover
}

// UnmarshalJSON reads an object. An id alone does not reveal its coupon.
func (d *discount) UnmarshalJSON(b []byte) error {
	type members discount
	return lenient.Into(b, (*members)(d))
}

type invoice struct {
	ID         lenient.ID   `json:"id"`
	Status     lenient.Text `json:"status"`
	AmountPaid lenient.Int  `json:"amount_paid"`
	Total      lenient.Int  `json:"total"`
	AmountDue  lenient.Int  `json:"amount_due"`
	Currency   lenient.Text `json:"currency"`
	Reason     lenient.Text `json:"billing_reason"`

	Customer lenient.Ref[customer] `json:"customer"`
	Account  lenient.ID            `json:"customer_account"` // in place of a customer
	Email    lenient.Text          `json:"customer_email"`
	Name     lenient.Text          `json:"customer_name"`
	Metadata lenient.Meta          `json:"metadata"`
	discounted
	Lines       lines `json:"lines"`
	Transitions struct {
		PaidAt lenient.Int `json:"paid_at"`
	} `json:"status_transitions"`

	// Until basil.
	Outside       lenient.Bool              `json:"paid_out_of_band"`
	Subscription  lenient.Ref[subscription] `json:"subscription"`
	Details       subscriptionDetails       `json:"subscription_details"`
	PaymentIntent lenient.Ref[intent]       `json:"payment_intent"`
	Charge        lenient.Ref[charge]       `json:"charge"`
	Tax           lenient.Int               `json:"tax"`
	TaxAmounts    lenient.List[amount]      `json:"total_tax_amounts"`

	// From basil on.
	Parent struct {
		Details subscriptionDetails `json:"subscription_details"`
	} `json:"parent"`
	Payments   lenient.List[invoicePayment] `json:"payments"`
	TotalTaxes lenient.List[amount]         `json:"total_taxes"`
}

type subscriptionDetails struct {
	Subscription lenient.Ref[subscription] `json:"subscription"`
	Metadata     lenient.Meta              `json:"metadata"`
}

type amount struct {
	Amount lenient.Int `json:"amount"`
}

type lines struct {
	Data    []line       `json:"data"`
	HasMore lenient.Bool `json:"has_more"`
}

type line struct {
	Amount   lenient.Int  `json:"amount"`
	Total    lenient.Int  `json:"amount_total"` // in a checkout
	Quantity lenient.Int  `json:"quantity"`
	Metadata lenient.Meta `json:"metadata"`
	discounted

	// Until basil.
	Subscription lenient.ID `json:"subscription"`
	Price        price      `json:"price"`
	Plan         plan       `json:"plan"`

	// From basil on.
	Pricing struct {
		Details struct {
			Price   price                `json:"price"`
			Product lenient.Ref[product] `json:"product"`
		} `json:"price_details"`
	} `json:"pricing"`
	Parent struct {
		Item struct {
			Subscription lenient.ID `json:"subscription"`
		} `json:"subscription_item_details"`
	} `json:"parent"`
}

type price struct {
	Product   lenient.Ref[product] `json:"product"`
	Recurring plan                 `json:"recurring"`
}

// plan is a plan, or the recurring part of a price, which have the same members.
type plan struct {
	Product  lenient.Ref[product] `json:"product"`
	Interval lenient.Text         `json:"interval"`
	Count    lenient.Int          `json:"interval_count"`
}

type product struct {
	Name lenient.Text `json:"name"`
}

type invoicePayment struct {
	Invoice lenient.ID   `json:"invoice"`
	Status  lenient.Text `json:"status"`
	Payment struct {
		Intent lenient.Ref[intent] `json:"payment_intent"`
		Charge lenient.ID          `json:"charge"`
	} `json:"payment"`
}

type session struct {
	ID            lenient.ID                `json:"id"`
	Mode          lenient.Text              `json:"mode"`
	PaymentStatus lenient.Text              `json:"payment_status"`
	AmountTotal   lenient.Int               `json:"amount_total"`
	Currency      lenient.Text              `json:"currency"`
	Reference     lenient.Text              `json:"client_reference_id"`
	Customer      lenient.Ref[customer]     `json:"customer"`
	Account       lenient.ID                `json:"customer_account"` // in place of a customer
	Person        person                    `json:"customer_details"`
	Email         lenient.Text              `json:"customer_email"`
	Metadata      lenient.Meta              `json:"metadata"`
	Intent        lenient.Ref[intent]       `json:"payment_intent"`
	Invoice       lenient.Ref[invoice]      `json:"invoice"`
	Subscription  lenient.Ref[subscription] `json:"subscription"`
	Lines         lines                     `json:"line_items"`
	discounted
	Totals struct {
		Tax lenient.Int `json:"amount_tax"`
	} `json:"total_details"`
	Conversion struct {
		AmountTotal lenient.Int  `json:"amount_total"`
		Currency    lenient.Text `json:"source_currency"`
	} `json:"currency_conversion"`
}

type intent struct {
	ID       lenient.ID            `json:"id"`
	Received lenient.Int           `json:"amount_received"`
	Capture  lenient.Text          `json:"capture_method"`
	Currency lenient.Text          `json:"currency"`
	Customer lenient.Ref[customer] `json:"customer"`
	Account  lenient.ID            `json:"customer_account"` // in place of a customer
	Email    lenient.Text          `json:"receipt_email"`
	Metadata lenient.Meta          `json:"metadata"`
	Latest   lenient.Ref[charge]   `json:"latest_charge"`
	Charges  lenient.List[charge]  `json:"charges"` // until 2022-11-15
	Invoice  lenient.ID            `json:"invoice"` // until basil
}

type charge struct {
	ID       lenient.ID            `json:"id"`
	Amount   lenient.Int           `json:"amount"`
	Captured lenient.Bool          `json:"captured"`
	Caught   lenient.Int           `json:"amount_captured"`
	Refunded lenient.Int           `json:"amount_refunded"`
	Currency lenient.Text          `json:"currency"`
	Customer lenient.Ref[customer] `json:"customer"`
	Account  lenient.ID            `json:"customer_account"` // in place of a customer
	Billing  person                `json:"billing_details"`
	Email    lenient.Text          `json:"receipt_email"`
	Metadata lenient.Meta          `json:"metadata"`
	Intent   lenient.ID            `json:"payment_intent"`
	Invoice  lenient.ID            `json:"invoice"` // until basil
	Balance  lenient.Ref[balance]  `json:"balance_transaction"`
}

// balance is a charge's transaction on the merchant's balance, in the payout currency. Events have only its id
// unless expanded.
type balance struct {
	Amount   lenient.Int  `json:"amount"`
	Fee      lenient.Int  `json:"fee"`
	Currency lenient.Text `json:"currency"`
}

type refund struct {
	ID       lenient.ID          `json:"id"`
	Amount   lenient.Int         `json:"amount"`
	Currency lenient.Text        `json:"currency"`
	Status   lenient.Text        `json:"status"`
	Charge   lenient.Ref[charge] `json:"charge"`
	Intent   lenient.ID          `json:"payment_intent"`
	Reason   lenient.Text        `json:"failure_reason"`
}

type dispute struct {
	ID       lenient.ID          `json:"id"`
	Amount   lenient.Int         `json:"amount"`
	Currency lenient.Text        `json:"currency"`
	Status   lenient.Text        `json:"status"`
	Reason   lenient.Text        `json:"reason"`
	Charge   lenient.Ref[charge] `json:"charge"`
	Intent   lenient.ID          `json:"payment_intent"`
}

type fraudWarning struct {
	ID         lenient.ID          `json:"id"`
	Type       lenient.Text        `json:"fraud_type"`
	Actionable lenient.Bool        `json:"actionable"`
	Charge     lenient.Ref[charge] `json:"charge"`
	Intent     lenient.ID          `json:"payment_intent"`
}

type creditNote struct {
	ID       lenient.ID   `json:"id"`
	Invoice  lenient.ID   `json:"invoice"`
	Status   lenient.Text `json:"status"`
	Currency lenient.Text `json:"currency"`
	Outside  lenient.Int  `json:"out_of_band_amount"`
}

type subscription struct {
	ID       lenient.ID            `json:"id"`
	Status   lenient.Text          `json:"status"`
	Customer lenient.Ref[customer] `json:"customer"`
	Account  lenient.ID            `json:"customer_account"` // in place of a customer
	Metadata lenient.Meta          `json:"metadata"`
	Items    lenient.List[line]    `json:"items"`
	discounted
}

type promotionCode struct {
	ID        lenient.ID   `json:"id"`
	Code      lenient.Text `json:"code"`
	Active    lenient.Bool `json:"active"`
	Coupon    lenient.ID   `json:"coupon"` // until clover
	Promotion struct {
		Coupon lenient.ID `json:"coupon"`
	} `json:"promotion"` // from clover
}
