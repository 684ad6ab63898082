package source

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"rail/server/clock"
)

// maxEqual bounds the lines of a file that are told apart by their content because they have no id. Each takes about
// 20 bytes. It bounds the ids that are remembered, too.
const maxEqual = 4_000_000

// rows returns the rows of the line: one, and a link beside a partner with a tracking value. Of lines with one id that
// differ, the first one is imported, and the links of all.
func (t *table) rows() []Row {
	lineID := hashed("line", strconv.Itoa(t.line), strings.Join(t.cells, "\x00"))
	if t.wrong != "" {
		return []Row{{Kind: t.kind, ID: lineID, Problem: t.problem(MissingMember, "%s", t.wrong)}}
	}
	r := &record{table: t}
	row := readers[t.kind](r)
	row.Kind = t.kind
	id := row.ID
	if before := t.before(row.ID); before > 0 {
		r.fail(Duplicate, "line %d has the id %q as well. Line %d is imported", before, row.ID, before)
		id = lineID
	}
	if r.wrong != nil && id == "" {
		id = hashed(t.cells...)
	}
	var all []Row
	if r.wrong != nil {
		all = []Row{{Kind: t.kind, ID: id, Problem: r.wrong}}
	} else {
		row.boundAddresses()
		all = []Row{row}
		t.remember(row.ID)
	}
	value := r.get("value")
	if t.kind == KindPartner && (value != "" || !t.own && r.get("handle") != "") &&
		(r.wrong == nil || r.wrong.Code == Duplicate) {
		all = append(all, r.linkOf(row))
	}
	return all
}

// first is the first line with an id.
type first struct {
	line    int
	content uint64 // hash of its cells
}

// before returns the number of the first line with an id, 0 without one or if the line is equal to it.
func (t *table) before(id string) int {
	earlier, seen := t.ids[maphash.String(t.seed, id)]
	if !seen || earlier.content == t.content() {
		return 0
	}
	return earlier.line
}

// remember notes that the line has an id.
func (t *table) remember(id string) {
	key := maphash.String(t.seed, id)
	if _, seen := t.ids[key]; !seen && len(t.ids) < maxEqual {
		t.ids[key] = first{t.line, t.content()}
	}
}

// content returns a hash of the line's cells.
func (t *table) content() uint64 { return maphash.String(t.seed, strings.Join(t.cells, "\x00")) }

// problem returns a problem that names the line.
func (t *table) problem(code Code, format string, args ...any) *Problem {
	return &Problem{Code: code, Detail: fmt.Sprintf("Line %d: ", t.line) + fmt.Sprintf(format, args...) + "."}
}

// hashed returns an id for the parts of a natural key.
func hashed(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "csv_" + hex.EncodeToString(sum[:12])
}

// readers read a record of each kind.
var readers = map[Kind]func(*record) Row{
	KindPartner:    (*record).partner,
	KindLink:       (*record).link,
	KindCoupon:     (*record).coupon,
	KindCustomer:   (*record).customer,
	KindSale:       (*record).sale,
	KindCommission: (*record).commission,
	KindPayout:     (*record).payout,
}

// record is a line with the first problem of its cells.
type record struct {
	*table
	wrong *Problem
}

// fail keeps the first problem.
func (r *record) fail(code Code, format string, args ...any) {
	if r.wrong == nil {
		r.wrong = r.problem(code, format, args...)
	}
}

// get returns the text of a field, "" without one. In Rail's own export, an apostrophe before a sign keeps
// spreadsheets from reading a formula; it is no part of the text.
func (r *record) get(field string) string {
	at, ok := r.column[field]
	if !ok {
		return ""
	}
	text := r.cells[at]
	if r.own && len(text) > 1 && text[0] == '\'' && strings.ContainsRune("=+-@\t\r\n", rune(text[1])) {
		return text[1:]
	}
	return strings.TrimSpace(text)
}

// must returns the text of a field that no line may lack.
func (r *record) must(field string) string {
	text := r.get(field)
	if text == "" {
		at, ok := r.column[field]
		if ok {
			field = r.headers[at]
		}
		r.fail(MissingMember, "%s is empty", field)
	}
	return text
}

// id returns the line's id, or the other one.
func (r *record) id(other string) string {
	if id := r.get("id"); id != "" {
		return person(id)
	}
	return other
}

// person returns an id; an email has no case.
func person(id string) string {
	if strings.Contains(id, "@") {
		return strings.ToLower(id)
	}
	return id
}

// counted returns an id for a line without one: of its natural key, and of the number of equal lines before it.
func (r *record) counted(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	key := binary.BigEndian.Uint64(sum[:8])
	if _, seen := r.equal[key]; !seen && len(r.equal) >= maxEqual {
		r.fail(MissingMember, "there are more than %d lines without an id", maxEqual)
		return ""
	}
	r.equal[key]++
	return hashed(append(parts, strconv.Itoa(r.equal[key]))...)
}

// first returns the first field that is not empty.
func (r *record) first(names ...string) string {
	for _, f := range names {
		if text := r.get(f); text != "" {
			return person(text)
		}
	}
	return ""
}

// partnerID returns the reference to a partner: its id, or else its email.
func (r *record) partnerID() string { return r.first("partner_id", "partner_email") }

// mustPartner returns a reference that no line may lack.
func (r *record) mustPartner() string {
	id := r.partnerID()
	if id == "" {
		r.fail(MissingMember, "the partner is missing")
	}
	return id
}

// customerID returns the reference to a customer: its id, or else its external id, or else its email.
func (r *record) customerID() string {
	return r.first("customer_id", "external_customer_id", "customer_email")
}

// partner reads a partner.
func (r *record) partner() Row {
	email := r.must("email")
	p := &Partner{
		Email: email, FirstName: r.get("first_name"), LastName: r.get("last_name"), CompanyName: r.get("company_name"),
		WebsiteURL: r.get("website_url"), Handle: r.get("handle"), Status: r.status(partnerStates, Active),
		Group: r.get("group_name"), ExternalID: r.get("external_id"), CreatedAt: r.created("created_at"),
		Metadata: r.metadata(), Published: r.own && r.get("handle") != "",
	}
	if !strings.Contains(email, "@") {
		r.fail(MissingMember, "%q is not an email", email)
	}
	if name := r.get("name"); name != "" && p.FirstName == "" && p.LastName == "" {
		p.FirstName, p.LastName, _ = strings.Cut(name, " ")
	}
	p.country(r.get("country_code"))
	if r.get("open_minor") != "" {
		if open, code := r.money("open_minor"); open != 0 {
			p.Open = map[string]int64{code: open}
		}
	}
	return Row{ID: r.id(strings.ToLower(email)), Partner: p}
}

// country keeps a country that is not a code of two letters as own data.
func (p *Partner) country(text string) {
	switch {
	case len(text) == 2:
		p.CountryCode = strings.ToUpper(text)
	case text != "":
		if p.Metadata == nil {
			p.Metadata = map[string]string{}
		}
		p.Metadata["country"] = text
	}
}

// metadata reads the partner's own data, an object of JSON. Values that are no text are kept as JSON.
func (r *record) metadata() map[string]string {
	var members map[string]json.RawMessage
	if text := r.get("metadata"); text == "" || json.Unmarshal([]byte(text), &members) != nil || len(members) == 0 {
		return nil
	}
	out := map[string]string{}
	for name, value := range members {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		out[name] = text
	}
	return out
}

// linkOf returns the link of a partner's line.
func (r *record) linkOf(partner Row) Row {
	value := r.get("value")
	if value == "" {
		value = r.get("handle")
	}
	return Row{Kind: KindLink, ID: hashed("link", partner.ID, value), Link: &Link{
		PartnerID: partner.ID, Param: r.get("param"), Value: value, CreatedAt: partner.Partner.CreatedAt,
	}}
}

// link reads a link.
func (r *record) link() Row {
	l := &Link{
		PartnerID: r.mustPartner(), Param: r.get("param"), Value: r.must("value"), URL: r.get("destination_url"),
		CreatedAt: r.created("created_at"),
	}
	return Row{ID: r.id(hashed("link", l.PartnerID, l.Value)), Link: l}
}

// coupon reads a coupon.
func (r *record) coupon() Row {
	code := r.must("code")
	return Row{ID: r.id(strings.ToLower(code)), Coupon: &Coupon{
		PartnerID: r.mustPartner(), Code: code, ExternalID: r.get("external_id"), Active: r.yes("active", true),
		CreatedAt: r.created("created_at"),
	}}
}

// customer reads a customer.
func (r *record) customer() Row {
	k := &Customer{
		PartnerID: r.partnerID(), ExternalIDs: r.externalIDs(), Email: r.get("email"), Name: r.get("name"),
		LinkID: r.get("link_id"), CouponID: r.get("coupon_id"), Status: r.status(customerStates, Lead),
		LeadAt: r.created("lead_at", "created_at"), ConvertedAt: r.time("converted_at"),
		CreatedAt: r.created("created_at", "lead_at"), Identifier: r.get("identifier"),
		SubscriptionID: r.get("external_subscription_id"),
	}
	if p := strings.ToLower(r.get("processor")); slices.Contains(processors, p) {
		k.Processor = p
	}
	if r.get("status") == "" && k.ConvertedAt != nil {
		k.Status = Paying
	}
	other := strings.ToLower(k.Email)
	if len(k.ExternalIDs) > 0 {
		other = k.ExternalIDs[0]
	}
	id := r.id(other)
	if id == "" {
		r.fail(MissingMember, "the customer has no id and no email")
	}
	return Row{ID: id, Customer: k}
}

var processors = []string{"stripe", "paddle", "chargebee", "lemon_squeezy", "polar"}

// externalIDs returns the main id and the others. Rail's own export escapes spaces in the list.
func (r *record) externalIDs() (all []string) {
	if first := r.get("external_customer_id"); first != "" {
		all = append(all, first)
	}
	for _, id := range strings.FieldsFunc(r.get("external_customer_ids"), func(c rune) bool { return c == ' ' || c == ';' }) {
		if plain, err := url.PathUnescape(id); err == nil && r.own {
			id = plain
		}
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all
}

// sale reads a sale.
func (r *record) sale() Row {
	amount := "amount_minor"
	if r.get("charged_minor") != "" {
		amount = "charged_minor"
	}
	s := &Sale{
		CustomerID: r.customerID(), PartnerID: r.partnerID(), ChargeID: r.get("external_charge_id"),
		ProductName: r.get("product_name"), OccurredAt: r.created("occurred_at"), RefundedAt: r.time("refunded_at"),
	}
	s.AmountMinor, s.Currency = r.money(amount)
	if r.get("tax_minor") != "" {
		tax, _ := r.money("tax_minor")
		s.TaxMinor = &tax
	}
	switch refunded := strings.ToLower(r.get("refunded_minor")); {
	case refunded == "no" || refunded == "false":
	case refunded == "yes" || refunded == "true" || refunded == "" && s.RefundedAt != nil:
		s.RefundedMinor = s.AmountMinor
	case refunded != "":
		s.RefundedMinor, _ = r.money("refunded_minor")
		s.RefundedMinor = max(s.RefundedMinor, -s.RefundedMinor)
	}
	if text := strings.ToLower(r.get("billing_type")); text != "" {
		s.Recurring = slices.Contains([]string{"subscription", "recurring", "true", "yes", "1"}, text)
	}
	if s.CustomerID == "" {
		r.fail(MissingMember, "the customer is missing")
	}
	id := r.first("id", "external_charge_id")
	if id == "" {
		id = r.counted(s.CustomerID, s.PartnerID, strconv.FormatInt(s.AmountMinor, 10), s.Currency, r.get("occurred_at"))
	}
	return Row{ID: id, Sale: s}
}

// commission reads a commission. Only a paid one has a payout.
func (r *record) commission() Row {
	k := &Commission{
		PartnerID: r.mustPartner(), CustomerID: r.customerID(), SaleID: r.first("sale_id", "external_charge_id"),
		Status: r.status(commissionStates, ""), Reason: r.get("void_reason"), CreatedAt: r.created("created_at"),
		MatureAt: r.time("mature_at"), PaidAt: r.time("paid_at"), VoidedAt: r.time("voided_at"),
	}
	k.AmountMinor, k.Currency = r.money("amount_minor")
	// An approved commission of Rail matures later.
	if k.Status == Due && k.MatureAt != nil && k.MatureAt.After(r.Now.Time) {
		k.Status = Open
	} else if k.Status == Open && r.own { // a pending commission of Rail waits for a decision
		k.MatureAt = nil
	}
	if k.Status == Paid {
		k.PayoutID = r.get("payout_id")
	}
	id := r.get("id")
	if id == "" {
		id = r.counted(k.PartnerID, k.CustomerID, k.SaleID, strconv.FormatInt(k.AmountMinor, 10), k.Currency,
			r.get("created_at"))
	}
	return Row{ID: id, Commission: k}
}

// payout reads a payout.
func (r *record) payout() Row {
	p := &Payout{PartnerID: r.mustPartner(), Method: r.get("method"), PaidAt: r.time("paid_at")}
	p.AmountMinor, p.Currency = r.money("amount_minor")
	p.CreatedAt = r.created("created_at", "paid_at")
	p.Status = strings.ToLower(r.get("status"))
	if p.Status == "" || slices.Contains([]string{"completed", "complete", "succeeded", "success"}, p.Status) {
		p.Status = Paid
	}
	if at := p.CreatedAt; p.Status == Paid && p.PaidAt == nil {
		p.PaidAt = &at
	}
	id := r.get("id")
	if id == "" {
		id = r.counted(p.PartnerID, strconv.FormatInt(p.AmountMinor, 10), p.Currency, r.first("paid_at", "created_at"))
	}
	return Row{ID: id, Payout: p}
}

// created returns the time of the first field that has one, or now without any.
func (r *record) created(names ...string) clock.Time {
	for _, f := range names {
		if at := r.time(f); at != nil {
			return *at
		}
	}
	return clock.Time{} // the same in each reading of the file
}
