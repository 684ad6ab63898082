package stripe

import "rail/server/inbound/loose"

// The types in this file have the members used of Stripe's objects, of every API version: if two members hold
// one fact, a comment names the versions of each.

type event struct {
	ID      loose.ID   `json:"id"`
	Type    loose.Text `json:"type"`
	Object  loose.Text `json:"object"`
	Account loose.ID   `json:"account"`
	Live    loose.Bool `json:"livemode"`
	Created loose.Int  `json:"created"`
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
	Email loose.Text `json:"email"`
	Name  loose.Text `json:"name"`
}

type customer struct {
	person

	ID       loose.ID   `json:"id"`
	Metadata loose.Meta `json:"metadata"`
	discounted
}

// discounted is embedded in objects with discounts: one until basil, then a list, which holds ids unless
// expanded.
type discounted struct {
	Discount  discount             `json:"discount"`
	Discounts loose.List[discount] `json:"discounts"`
}

type discount struct {
	Customer     loose.ID `json:"customer"`
	Subscription loose.ID `json:"subscription"`
	Promotion    loose.ID `json:"promotion_code"`
	Coupon       loose.ID `json:"coupon"` // until clover
	Source       struct {
		Coupon loose.ID `json:"coupon"`
	} `json:"source"` // from clover
}

// UnmarshalJSON reads an object. An id alone does not reveal its coupon.
func (d *discount) UnmarshalJSON(b []byte) error {
	type members discount
	return loose.Into(b, (*members)(d))
}

type invoice struct {
	ID         loose.ID   `json:"id"`
	Status     loose.Text `json:"status"`
	AmountPaid loose.Int  `json:"amount_paid"`
	Total      loose.Int  `json:"total"`
	AmountDue  loose.Int  `json:"amount_due"`
	Currency   loose.Text `json:"currency"`
	Reason     loose.Text `json:"billing_reason"`

	Customer loose.Ref[customer] `json:"customer"`
	Account  loose.ID            `json:"customer_account"` // in place of a customer
	Email    loose.Text          `json:"customer_email"`
	Name     loose.Text          `json:"customer_name"`
	Metadata loose.Meta          `json:"metadata"`
	discounted
	Lines       lines `json:"lines"`
	Transitions struct {
		PaidAt loose.Int `json:"paid_at"`
	} `json:"status_transitions"`

	// Until basil.
	Outside       loose.Bool              `json:"paid_out_of_band"`
	Subscription  loose.Ref[subscription] `json:"subscription"`
	Details       subscriptionDetails     `json:"subscription_details"`
	PaymentIntent loose.Ref[intent]       `json:"payment_intent"`
	Charge        loose.Ref[charge]       `json:"charge"`
	Tax           loose.Int               `json:"tax"`
	TaxAmounts    loose.List[amount]      `json:"total_tax_amounts"`

	// From basil on.
	Parent struct {
		Details subscriptionDetails `json:"subscription_details"`
	} `json:"parent"`
	Payments   loose.List[invoicePayment] `json:"payments"`
	TotalTaxes loose.List[amount]         `json:"total_taxes"`
}

type subscriptionDetails struct {
	Subscription loose.Ref[subscription] `json:"subscription"`
	Metadata     loose.Meta              `json:"metadata"`
}

type amount struct {
	Amount loose.Int `json:"amount"`
}

type lines struct {
	Data    []line     `json:"data"`
	HasMore loose.Bool `json:"has_more"`
}

type line struct {
	Amount   loose.Int  `json:"amount"`
	Total    loose.Int  `json:"amount_total"` // in a checkout
	Quantity loose.Int  `json:"quantity"`
	Metadata loose.Meta `json:"metadata"`
	discounted

	// Until basil.
	Subscription loose.ID `json:"subscription"`
	Price        price    `json:"price"`
	Plan         plan     `json:"plan"`

	// From basil on.
	Pricing struct {
		Details struct {
			Price   price              `json:"price"`
			Product loose.Ref[product] `json:"product"`
		} `json:"price_details"`
	} `json:"pricing"`
	Parent struct {
		Item struct {
			Subscription loose.ID `json:"subscription"`
		} `json:"subscription_item_details"`
	} `json:"parent"`
}

type price struct {
	Product   loose.Ref[product] `json:"product"`
	Recurring plan               `json:"recurring"`
}

// plan is a plan, or the recurring part of a price, which have the same members.
type plan struct {
	Product  loose.Ref[product] `json:"product"`
	Interval loose.Text         `json:"interval"`
	Count    loose.Int          `json:"interval_count"`
}

type product struct {
	Name loose.Text `json:"name"`
}

type invoicePayment struct {
	Invoice loose.ID   `json:"invoice"`
	Status  loose.Text `json:"status"`
	Payment struct {
		Intent loose.Ref[intent] `json:"payment_intent"`
		Charge loose.ID          `json:"charge"`
	} `json:"payment"`
}

type session struct {
	ID            loose.ID                `json:"id"`
	Mode          loose.Text              `json:"mode"`
	PaymentStatus loose.Text              `json:"payment_status"`
	AmountTotal   loose.Int               `json:"amount_total"`
	Currency      loose.Text              `json:"currency"`
	Reference     loose.Text              `json:"client_reference_id"`
	Customer      loose.Ref[customer]     `json:"customer"`
	Account       loose.ID                `json:"customer_account"` // in place of a customer
	Person        person                  `json:"customer_details"`
	Email         loose.Text              `json:"customer_email"`
	Metadata      loose.Meta              `json:"metadata"`
	Intent        loose.Ref[intent]       `json:"payment_intent"`
	Invoice       loose.Ref[invoice]      `json:"invoice"`
	Subscription  loose.Ref[subscription] `json:"subscription"`
	Lines         lines                   `json:"line_items"`
	discounted
	Totals struct {
		Tax loose.Int `json:"amount_tax"`
	} `json:"total_details"`
	Conversion struct {
		AmountTotal loose.Int  `json:"amount_total"`
		Currency    loose.Text `json:"source_currency"`
	} `json:"currency_conversion"`
}

type intent struct {
	ID       loose.ID            `json:"id"`
	Received loose.Int           `json:"amount_received"`
	Capture  loose.Text          `json:"capture_method"`
	Currency loose.Text          `json:"currency"`
	Customer loose.Ref[customer] `json:"customer"`
	Account  loose.ID            `json:"customer_account"` // in place of a customer
	Email    loose.Text          `json:"receipt_email"`
	Metadata loose.Meta          `json:"metadata"`
	Latest   loose.Ref[charge]   `json:"latest_charge"`
	Charges  loose.List[charge]  `json:"charges"` // until 2022-11-15
	Invoice  loose.ID            `json:"invoice"` // until basil
}

type charge struct {
	ID       loose.ID            `json:"id"`
	Amount   loose.Int           `json:"amount"`
	Captured loose.Bool          `json:"captured"`
	Caught   loose.Int           `json:"amount_captured"`
	Refunded loose.Int           `json:"amount_refunded"`
	Currency loose.Text          `json:"currency"`
	Customer loose.Ref[customer] `json:"customer"`
	Account  loose.ID            `json:"customer_account"` // in place of a customer
	Billing  person              `json:"billing_details"`
	Email    loose.Text          `json:"receipt_email"`
	Metadata loose.Meta          `json:"metadata"`
	Intent   loose.ID            `json:"payment_intent"`
	Invoice  loose.ID            `json:"invoice"` // until basil
	Balance  loose.Ref[balance]  `json:"balance_transaction"`
}

// balance is a charge's transaction on the merchant's balance, in the payout currency. Events have only its id
// unless expanded.
type balance struct {
	Amount   loose.Int  `json:"amount"`
	Fee      loose.Int  `json:"fee"`
	Currency loose.Text `json:"currency"`
}

type refund struct {
	ID       loose.ID          `json:"id"`
	Amount   loose.Int         `json:"amount"`
	Currency loose.Text        `json:"currency"`
	Status   loose.Text        `json:"status"`
	Charge   loose.Ref[charge] `json:"charge"`
	Intent   loose.ID          `json:"payment_intent"`
	Reason   loose.Text        `json:"failure_reason"`
}

type dispute struct {
	ID       loose.ID          `json:"id"`
	Amount   loose.Int         `json:"amount"`
	Currency loose.Text        `json:"currency"`
	Status   loose.Text        `json:"status"`
	Reason   loose.Text        `json:"reason"`
	Charge   loose.Ref[charge] `json:"charge"`
	Intent   loose.ID          `json:"payment_intent"`
}

type fraudWarning struct {
	ID         loose.ID          `json:"id"`
	Type       loose.Text        `json:"fraud_type"`
	Actionable loose.Bool        `json:"actionable"`
	Charge     loose.Ref[charge] `json:"charge"`
	Intent     loose.ID          `json:"payment_intent"`
}

type creditNote struct {
	ID       loose.ID   `json:"id"`
	Invoice  loose.ID   `json:"invoice"`
	Status   loose.Text `json:"status"`
	Currency loose.Text `json:"currency"`
	Outside  loose.Int  `json:"out_of_band_amount"`
}

type subscription struct {
	ID       loose.ID            `json:"id"`
	Status   loose.Text          `json:"status"`
	Customer loose.Ref[customer] `json:"customer"`
	Account  loose.ID            `json:"customer_account"` // in place of a customer
	Metadata loose.Meta          `json:"metadata"`
	Items    loose.List[line]    `json:"items"`
	discounted
}

type promotionCode struct {
	ID        loose.ID   `json:"id"`
	Code      loose.Text `json:"code"`
	Active    loose.Bool `json:"active"`
	Coupon    loose.ID   `json:"coupon"` // until clover
	Promotion struct {
		Coupon loose.ID `json:"coupon"`
	} `json:"promotion"` // from clover
}
