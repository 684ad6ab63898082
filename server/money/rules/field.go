package rules

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"rail/server/ident"
)

// field is a field that conditions can read (decisions, 3.2).
type field struct {
	name   string
	kind   kind
	read   func(*Facts) any // returns nil if missing
	holder holder           // for a metadata key, instead of read
	key    string
	values []string     // for an enum
	prefix ident.Prefix // for an id
	fold   bool         // ignores case
	signup bool         // available at a sign-up
	needs  Needs
}

// holder is the object whose metadata a field reads.
type holder int

const (
	ofSale holder = iota
	ofCustomer
)

// metadata returns the holder's metadata; a sign-up has no sale.
func (h holder) metadata(f *Facts) json.RawMessage {
	switch {
	case h == ofCustomer:
		return f.Customer.Metadata
	case f.Sale != nil:
		return f.Sale.Metadata
	}
	return nil
}

const (
	saleMetadata     = "sale.metadata."
	customerMetadata = "customer.metadata."
)

// metadataKey matches valid metadata keys.
var metadataKey = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`)

// fields lists all fields, in the order of messages. Fields of the sale, and fields that begin with the first
// sale, are not available at a sign-up.
var fields = []field{
	{name: "sale.amount_minor", kind: kindMoney, read: inProgramCurrency(saleAmount)},
	{name: "sale.net_amount_minor", kind: kindMoney, read: inProgramCurrency(saleNet)},
	{name: "sale.currency", kind: kindCurrency, read: saleCurrency, fold: true},
	{name: "sale.product_id", kind: kindText, read: saleProductID},
	{name: "sale.product_name", kind: kindText, read: saleProductName, fold: true},
	{name: "sale.billing_type", kind: kindEnum, read: saleBillingType, values: []string{"one_time", "subscription"}},
	{name: "sale.interval", kind: kindEnum, read: saleInterval, values: []string{"day", "week", "month", "year"}},
	{name: "sale.is_first_sale", kind: kindBool, read: saleIsFirst},
	{name: "customer.sales_count", kind: kindInt, read: customerSales, needs: NeedCustomerCounters},
	{
		name: "customer.total_paid_minor", kind: kindMoney, read: inProgramCurrency(customerPaid),
		needs: NeedCustomerCounters,
	},
	{name: "customer.months_since_conversion", kind: kindInt, read: monthsSinceConversion},
	{name: "customer.days_since_conversion", kind: kindInt, read: daysSinceConversion},
	{name: "customer.days_since_lead", kind: kindInt, read: daysSinceLead, signup: true},
	{name: "customer.converted_at", kind: kindDate, read: func(f *Facts) any { return deref(f.Customer.ConvertedAt) }},
	{name: "customer.lead_at", kind: kindDate, read: func(f *Facts) any { return deref(f.Customer.LeadAt) }, signup: true},
	{
		name: "customer.country", kind: kindCountry, read: func(f *Facts) any { return deref(f.Customer.Country) },
		fold: true, signup: true, needs: NeedClickCountry,
	},
	{
		name: "customer.tracked_by", kind: kindEnum, read: func(f *Facts) any { return f.Customer.TrackedBy },
		values: []string{"link", "coupon", "manual", "api", "agent"}, signup: true,
	},
	{
		name: "customer.coupon_id", kind: kindID, read: func(f *Facts) any { return deref(f.Customer.CouponID) },
		prefix: ident.Coupon, signup: true,
	},
	{
		name: "customer.link_id", kind: kindID, read: func(f *Facts) any { return deref(f.Customer.LinkID) },
		prefix: ident.Link, signup: true,
	},
	{
		name: "customer.identifier", kind: kindText, read: func(f *Facts) any { return deref(f.Customer.Identifier) },
		signup: true,
	},
	{
		name: "partner.id", kind: kindID, read: func(f *Facts) any { return f.Partner.ID }, prefix: ident.Partner,
		signup: true,
	},
	{
		name: "partner.group_id", kind: kindID, read: func(f *Facts) any { return deref(f.Partner.GroupID) },
		prefix: ident.Group, signup: true,
	},
	{name: "partner.tag_ids", kind: kindIDSet, read: partnerTags, prefix: ident.Tag, signup: true, needs: NeedPartnerTags},
	{
		name: "partner.country_code", kind: kindCountry, read: func(f *Facts) any { return deref(f.Partner.CountryCode) },
		fold: true, signup: true,
	},
	{name: "partner.leads_count", kind: kindInt, read: partnerLeads, signup: true, needs: NeedPartnerCounters},
	{name: "partner.customers_count", kind: kindInt, read: partnerCustomers, signup: true, needs: NeedPartnerCounters},
	{name: "partner.sales_count", kind: kindInt, read: partnerSales, signup: true, needs: NeedPartnerCounters},
	{
		name: "partner.revenue_minor", kind: kindMoney, read: inProgramCurrency(partnerRevenue), signup: true,
		needs: NeedPartnerCounters,
	},
	{
		name: "partner.commissions_minor", kind: kindMoney, read: inProgramCurrency(partnerCommissions), signup: true,
		needs: NeedPartnerCounters,
	},
}

// fieldOf returns the field of that name for a trigger, or a message with the allowed names.
func fieldOf(name string, trigger Trigger) (*field, string) {
	f, problem := metadataField(name)
	if i := slices.IndexFunc(fields, func(f field) bool { return f.name == name }); i >= 0 {
		f = &fields[i]
	}
	switch {
	case problem != "":
		return nil, problem
	case f == nil:
		return nil, "must be one of " + fieldNames(trigger)
	case trigger == NewSignup && !f.signup:
		return nil, unavailable()
	}
	return f, ""
}

// unavailable returns the message for a field that needs a sale.
func unavailable() string {
	return "is not known when a customer signs up; with the trigger new_signup it must be one of " + fieldNames(NewSignup)
}

// metadataField returns the field of a metadata name, or nil.
func metadataField(name string) (*field, string) {
	of := ofSale
	key, ok := strings.CutPrefix(name, saleMetadata)
	if !ok {
		of = ofCustomer
		if key, ok = strings.CutPrefix(name, customerMetadata); !ok {
			return nil, ""
		}
	}
	if !metadataKey.MatchString(key) {
		return nil, "must name a metadata key of 1 to 40 letters, digits, underscores, dots and hyphens"
	}
	return &field{name: name, kind: kindScalar, holder: of, key: key, signup: of == ofCustomer}, ""
}

// fieldNames lists the fields of a trigger for a message.
func fieldNames(trigger Trigger) string {
	var names []string
	for _, f := range fields {
		if f.signup || trigger != NewSignup {
			names = append(names, f.name)
		}
	}
	if trigger != NewSignup {
		names = append(names, saleMetadata+"<key>")
	}
	return listing(append(names, customerMetadata+"<key>"))
}
