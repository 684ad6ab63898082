package source

// Field is a member of Rail's objects that a column of a file may have.
type Field struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Required means that a file needs a column for it, or for another field with the same Need.
	Required bool   `json:"required"`
	Need     string `json:"need,omitempty"` // for people, such as "the partner"
	words    []string
}

// Fields lists Rail's fields of a kind, with a title for people and whether they are required.
func Fields(kind Kind) []Field { return fields[kind] }

// field returns an optional field. words are headers with its meaning besides its name, the best first; those in one
// text with spaces between are equally good.
func field(name, title string, words ...string) Field {
	return Field{Name: name, Title: title, words: words}
}

// needed returns a field that a file needs.
func needed(need string, f Field) Field {
	f.Required, f.Need = true, need
	return f
}

// thePartner returns the fields that refer to a partner, the id first.
func thePartner() []Field {
	return []Field{
		field("partner_id", "Partner's id", "affiliate_id", "promoter_id", "referrer_id", "partner_tenant_id"),
		field("partner_email", "Partner's email, if there is no id", "affiliate_email", "promoter_email", "referrer_email",
			"affiliate", "partner", "promoter"),
	}
}

// requiredPartner returns the same fields, one of which is required.
func requiredPartner() []Field {
	all := thePartner()
	for i := range all {
		all[i] = needed("the partner (id or email)", all[i])
	}
	return all
}

// theCustomer returns the fields that refer to a customer, the id first.
func theCustomer() []Field {
	return []Field{
		field("customer_id", "Customer's id"),
		field("external_customer_id", "Customer's id at the processor", "customer_external_id", "stripe_customer_id",
			"external_id"),
		field("customer_email", "Customer's email, if there is no id", "buyer_email", "customer", "email"),
	}
}

// requiredCustomer returns the same fields, one of which is required.
func requiredCustomer() []Field {
	all := theCustomer()
	for i := range all {
		all[i] = needed("the customer (id or email)", all[i])
	}
	return all
}

// theValue has the names of tracking values: Rewardful's token, Tapfiliate's referral_code, FirstPromoter's cust_ref
// and ref_id, PartnerStack's partner_key, Affonso's tracking parameter.
func theValue() []string {
	return []string{
		"token", "referral_code", "ref_id", "cust_ref", "partner_key", "tracking_parameter", "ref_code", "slug", "via",
		"affiliate_code", "tracking_value",
	}
}

var created = field("created_at", "Created", "created", "date_created", "creation_date", "date_added", "date")

// fields has the fields of all kinds. A header means the first field that has it.
var fields = map[Kind][]Field{
	KindPartner: {
		field("id", "Id", "partner_id", "affiliate_id", "promoter_id"),
		needed("the email", field("email", "Email", "email_address", "e_mail", "partner_email", "affiliate_email",
			"promoter_email", "user_email", "mail")),
		field("first_name", "First name", "firstname", "partner_first", "given_name"),
		field("last_name", "Last name", "lastname", "partner_last", "surname", "family_name"),
		field("name", "Full name, if it is one column", "full_name", "partner_name", "affiliate_name", "promoter_name",
			"display_name"),
		field("company_name", "Company", "company", "organization"),
		field("website_url", "Website", "website", "url", "site"),
		field("country_code", "Country (two letters)", "country"),
		field("handle", "Handle"),
		field("value", "Tracking value (the content of the link's parameter)", theValue()...),
		field("param", "Query parameter of the link", "parameter", "url_param"),
		field("status", "Status", "state", "partner_status"),
		field("group_name", "Group", "group", "partner_group", "campaign", "campaign_name", "program_name"),
		field("external_id", "Your own id of the partner", "tenant_id", "custom_id", "unique_merchant_id", "partner_tenant_id"),
		field("open_minor", "Unpaid amount", "unpaid_minor", "unpaid_earnings", "unpaid_amount", "unpaid", "unpaid_balance",
			"current_balance", "balance"),
		field("currency", "Currency", "currency_code"),
		field("created_at", "Joined", "enrolled_at", "joined_at", "partner_joined_date", "date_joined", "joined", "signed_up_at",
			"signup_date", "date_registered", "registered_at", "created", "date_created", "date"),
		field("metadata", "Own data (JSON)", "meta_data"),
	},
	KindLink: join([]Field{field("id", "Id", "link_id")}, requiredPartner(), []Field{
		needed("the tracking value", field("value", "Tracking value", append(theValue(), "key", "code")...)),
		field("param", "Query parameter", "parameter", "url_param", "query_param"),
		field("destination_url", "Page, without the parameter", "landing_page", "landing_url", "destination", "target_url",
			"website_url", "url"),
		created,
	}),
	KindCoupon: join([]Field{field("id", "Id", "coupon_id")}, requiredPartner(), []Field{
		needed("the code", field("code", "Code", "coupon_code", "coupon", "promo_code", "promotion_code", "discount_code")),
		field("external_id", "Processor's id of the code", "external_coupon_id", "stripe_promotion_code_id",
			"promotion_code_id", "promo_code_id"),
		field("active", "Active", "is_active", "enabled", "status"),
		created,
	}),
	KindCustomer: join([]Field{field("id", "Id", "referral_id")}, thePartner(), []Field{
		field("external_customer_ids", "All ids at the processor, with spaces between", "external_ids"),
		needed("the customer (an id or the email)", field("external_customer_id", "Customer's id at the processor",
			"customer_external_id", "stripe_customer_id", "external_id", "customer_id", "uid")),
		needed("the customer (an id or the email)", field("email", "Email", "customer_email", "email_address")),
		field("name", "Name", "customer_name", "full_name"),
		field("identifier", "Your own id of the customer"),
		field("external_subscription_id", "Subscription's id at the processor", "subscription_id", "stripe_subscription_id"),
		field("processor", "Processor", "payment_processor"),
		field("link_id", "Link's id"),
		field("coupon_id", "Coupon's id"),
		field("status", "Status", "state", "conversion_state"),
		field("lead_at", "Signed up", "became_lead_at", "signed_up_at", "signup_date", "lead_date"),
		field("converted_at", "First paid", "became_conversion_at", "first_sale_at", "conversion_date"),
		created,
	}),
	KindSale: join([]Field{field("id", "Id", "sale_id", "conversion_id")}, requiredCustomer(), thePartner(), []Field{
		field("external_charge_id", "Processor's id of the payment", "charge_id", "stripe_charge_id", "transaction_id",
			"payment_id", "order_id", "invoice_id", "order_number", "reference"),
		needed("the amount", field("charged_minor", "Amount before refunds", "gross_amount")),
		needed("the amount", field("amount_minor", "Amount, if there is no other column", "amount", "amount_cents", "sale_amount",
			"sale_amount_cents", "total", "order_total", "total_cost", "revenue", "price")),
		field("refunded_minor", "Refunded part", "refunded_amount", "refund_amount", "amount_refunded", "refunded"),
		field("tax_minor", "Tax in the amount", "tax", "tax_amount", "vat"),
		field("currency", "Currency", "currency_code"),
		field("product_name", "Product", "product", "plan"),
		field("billing_type", "Recurring", "recurring", "is_recurring"),
		field("occurred_at", "Paid", "charged_at", "paid_at", "sale_date", "order_date", "date", "created_at", "created"),
		field("refunded_at", "Refunded", "refund_date"),
	}),
	KindCommission: join([]Field{field("id", "Id", "commission_id")}, requiredPartner(), theCustomer(), []Field{
		field("sale_id", "Sale's id", "sale", "conversion_id"),
		field("external_charge_id", "Processor's id of the payment", "charge_id", "stripe_charge_id"),
		needed("the amount", field("amount_minor", "Amount of the commission", "earnings", "earnings_cents",
			"commission_amount", "commission_amount_cents", "commission", "reward", "reward_amount", "amount amount_cents payout")),
		field("currency", "Currency", "currency_code"),
		needed("the status", field("status", "Status", "state", "commission_status")),
		field("void_reason", "Reason of a refusal", "reason", "comment"),
		field("mature_at", "Payable from", "due_at", "due_date"),
		field("paid_at", "Paid", "paid_date", "date_paid"),
		field("voided_at", "Voided", "refunded_at", "cancelled_at", "canceled_at"),
		field("payout_id", "Payout's id", "payment_id"),
		created,
	}),
	KindPayout: join([]Field{field("id", "Id", "payout_id", "payment_id")}, requiredPartner(), []Field{
		needed("the amount", field("amount_minor", "Amount", "amount", "amount_cents", "total", "payout_amount")),
		field("currency", "Currency", "currency_code"),
		field("status", "Status", "state", "payout_status"),
		field("method", "Method", "payout_method", "payment_method"),
		field("paid_at", "Paid", "paid_date", "date_paid", "payment_date", "paid_on", "completed_at"),
		created,
	}),
}

// join returns the fields of several lists.
func join(lists ...[]Field) (all []Field) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
