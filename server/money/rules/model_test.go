package rules

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// model is the model's form of the facts: names to plain values, where an absent name is a missing value.
// Numbers are int64, tags []string.
type model map[string]any

// domains are small sets, so that values are often equal.
var domains = map[string][]string{
	"sale.currency": {"USD", "EUR"}, "sale.product_id": {"a", "ab", "B"}, "sale.product_name": {"Ab", "abc", "C"},
	"sale.billing_type": {"one_time", "subscription"}, "sale.interval": {"day", "week", "month", "year"},
	"customer.country": {"US", "de"}, "customer.tracked_by": {"link", "coupon", "manual", "api"},
	"customer.coupon_id": {"cpn_a", "cpn_b"}, "customer.link_id": {"lnk_a", "lnk_b"}, "customer.identifier": {"x", "X", "xy"},
	"partner.id": {"part_a", "part_b"}, "partner.group_id": {"grp_a", "grp_b"}, "partner.country_code": {"US", "de"},
}

var always = set([]string{"sale.currency", "sale.billing_type", "customer.tracked_by", "partner.id"})

var foldsCase = set([]string{"sale.currency", "sale.product_name", "customer.country", "partner.country_code"})

var tagDomain = []string{"tag_a", "tag_b", "tag_c"}

func drawModel(t *rapid.T) model {
	w := model{}
	for _, f := range fields {
		if values := domains[f.name]; values != nil && (always[f.name] || rapid.Bool().Draw(t, "has "+f.name)) {
			w[f.name] = rapid.SampledFrom(values).Draw(t, f.name)
		}
	}
	for _, name := range []string{"sale.amount_minor", "sale.net_amount_minor"} {
		w[name] = rapid.Int64Range(0, 3).Draw(t, name)
	}
	w["sale.is_first_sale"] = rapid.Bool().Draw(t, "first")
	drawCounters(t, w, "customer.sales_count", "customer.total_paid_minor")
	drawCounters(t, w, "partner.leads_count", "partner.customers_count", "partner.sales_count", "partner.revenue_minor",
		"partner.commissions_minor")
	if tags := rapid.SliceOfN(rapid.SampledFrom(tagDomain), 0, 2).Draw(t, "tags"); len(tags) > 0 {
		w["partner.tag_ids"] = tags
	}
	for _, name := range []string{"sale.metadata.k", "customer.metadata.k"} {
		if raw := rapid.SampledFrom([]string{"", `"a"`, `"2"`, `"2.50"`, `2`, `2.5`, `true`, `[]`, `null`}).Draw(t,
			name); raw != "" {
			w[name] = json.RawMessage(raw)
		}
	}
	return w
}

func drawCounters(t *rapid.T, w model, names ...string) {
	if rapid.Bool().Draw(t, "has "+names[0]) {
		for _, name := range names {
			w[name] = rapid.Int64Range(0, 3).Draw(t, name)
		}
	}
}

func optional[T any](w model, name string) *T {
	if v, ok := w[name].(T); ok {
		return &v
	}
	return nil
}

func amount(w model, name string) int64 { n, _ := w[name].(int64); return n }

func metadata(w model, name string) json.RawMessage {
	if raw, ok := w[name].(json.RawMessage); ok {
		return json.RawMessage(`{ "k" : ` + string(raw) + ` }`)
	}
	return nil
}

func (w model) facts() *Facts {
	f := &Facts{ProgramCurrency: "USD"}
	f.Sale = &SaleFacts{
		AmountMinor: amount(w, "sale.amount_minor"), NetAmountMinor: amount(w, "sale.net_amount_minor"),
		Currency: w["sale.currency"].(string), BillingType: w["sale.billing_type"].(string),
		ProductID: optional[string](w, "sale.product_id"), ProductName: optional[string](w, "sale.product_name"),
		Interval: optional[string](w, "sale.interval"), IsFirstSale: w["sale.is_first_sale"].(bool),
		Metadata: metadata(w, "sale.metadata.k"), OccurredAt: when("2026-05-01"),
	}
	f.Customer = CustomerFacts{
		Country: optional[string](w, "customer.country"), TrackedBy: w["customer.tracked_by"].(string),
		CouponID: optional[string](w, "customer.coupon_id"), LinkID: optional[string](w, "customer.link_id"),
		Identifier: optional[string](w, "customer.identifier"), Metadata: metadata(w, "customer.metadata.k"),
	}
	if _, ok := w["customer.sales_count"]; ok {
		f.Customer.Counters = &CustomerCounters{amount(w, "customer.sales_count"), amount(w, "customer.total_paid_minor")}
	}
	f.Partner = PartnerFacts{
		ID: w["partner.id"].(string), GroupID: optional[string](w, "partner.group_id"),
		CountryCode: optional[string](w, "partner.country_code"),
	}
	f.Partner.TagIDs, _ = w["partner.tag_ids"].([]string)
	if _, ok := w["partner.leads_count"]; ok {
		f.Partner.Counters = &PartnerCounters{
			amount(w, "partner.leads_count"), amount(w, "partner.customers_count"), amount(w, "partner.sales_count"),
			amount(w, "partner.revenue_minor"), amount(w, "partner.commissions_minor"),
		}
	}
	return f
}

// drawItem draws a decoded condition that must parse.
func drawItem(t *rapid.T, depth int, names []string) map[string]any {
	if depth < 3 && rapid.IntRange(0, 3).Draw(t, "group") == 0 {
		return map[string]any{rapid.SampledFrom([]string{"any", "all"}).Draw(t, "of"): drawItems(t, depth+1, 1, names)}
	}
	name := rapid.SampledFrom(names).Draw(t, "field")
	f, problem := fieldOf(name, NewPayment)
	require.Empty(t, problem)
	op := string(rapid.SampledFrom(operators[f.kind]).Draw(t, "operator"))
	return map[string]any{"field": name, "operator": op, "value": drawValue(t, name, op)}
}

func drawItems(t *rapid.T, depth, least int, names []string) []any {
	items := []any{}
	for range rapid.IntRange(least, 2).Draw(t, "items") {
		items = append(items, drawItem(t, depth, names))
	}
	return items
}

func drawValue(t *rapid.T, name, op string) any {
	if op == "exists" || name == "sale.is_first_sale" {
		return rapid.Bool().Draw(t, "flag")
	}
	one := func() any { return int64(rapid.IntRange(0, 3).Draw(t, "n")) }
	values := domains[name]
	if name == "partner.tag_ids" {
		values = tagDomain
	}
	isText := strings.Contains("contains starts_with ends_with", op)
	if strings.Contains(name, ".metadata.") &&
		(isText || !strings.Contains("gte lte", op) && rapid.Bool().Draw(t, "text")) {
		values = []string{"a", "2", "2.50"}
	}
	if values != nil {
		one = func() any { return rapid.SampledFrom(values).Draw(t, "s") }
	}
	if op != "in" && op != "not_in" {
		return one()
	}
	list := []any{}
	for range rapid.IntRange(1, 3).Draw(t, "len") {
		list = append(list, one())
	}
	return list
}

// believe is the naive evaluator, over decoded values.
func (w model) believe(item map[string]any) bool {
	if list, ok := item["any"].([]any); ok {
		for _, x := range list {
			if w.believe(x.(map[string]any)) {
				return true
			}
		}
		return false
	}
	if list, ok := item["all"].([]any); ok {
		return w.believeAll(list)
	}
	return w.believeLeaf(item["field"].(string), item["operator"].(string), item["value"])
}

func (w model) believeAll(list []any) bool {
	for _, x := range list {
		if !w.believe(x.(map[string]any)) {
			return false
		}
	}
	return true
}

func (w model) believeLeaf(name, op string, value any) bool {
	have, ok := w[name]
	if raw, is := have.(json.RawMessage); is {
		_ = json.Unmarshal(raw, &have)
		ok = have != nil
	}
	if strings.HasSuffix(name, "_minor") && w["sale.currency"] != "USD" {
		ok = false
	}
	if op == "exists" {
		return ok == value.(bool)
	}
	if !ok {
		return false
	}
	wanted, many := value.([]any)
	if !many {
		wanted = []any{value}
	}
	return decide(op, compareAll(name, have, wanted))
}

// verdict is the result of comparing a fact with a value; comparable is false if the types do not fit.
type verdict struct {
	comparable                  bool
	order                       int
	contains, startsW, endsWith bool
}

func compareAll(name string, have any, wanted []any) (out []verdict) {
	list, isSet := have.([]string)
	if !isSet {
		for _, v := range wanted {
			out = append(out, compareOne(name, have, v))
		}
		return out
	}
	for _, x := range list {
		for _, v := range wanted {
			out = append(out, compareOne(name, x, v))
		}
	}
	return out
}

func compareOne(name string, have, want any) verdict {
	a, b := fmt.Sprint(have), fmt.Sprint(want)
	if foldsCase[name] {
		a, b = strings.ToUpper(a), strings.ToUpper(b)
	}
	_, numeric := want.(int64)
	if strings.Contains(name, ".metadata.") {
		if _, isText := have.(string); !numeric && !isText {
			return verdict{}
		}
		if _, is := have.(bool); is {
			return verdict{}
		}
	}
	if numeric {
		x, ok := new(big.Rat).SetString(a)
		if !ok {
			return verdict{}
		}
		return verdict{comparable: true, order: x.Cmp(big.NewRat(want.(int64), 1))}
	}
	return verdict{true, strings.Compare(a, b), strings.Contains(a, b), strings.HasPrefix(a, b), strings.HasSuffix(a, b)}
}

func decide(op string, verdicts []verdict) bool {
	equal, comparable := false, true
	for _, v := range verdicts {
		comparable = comparable && v.comparable
		equal = equal || v.comparable && v.order == 0
	}
	if !comparable {
		return false
	}
	v := verdicts[0]
	return map[string]bool{
		"eq": equal, "in": equal, "neq": !equal, "not_in": !equal,
		"gt": v.order > 0, "gte": v.order >= 0, "lt": v.order < 0, "lte": v.order <= 0,
		"contains": v.contains, "starts_with": v.startsW, "ends_with": v.endsWith,
	}[op]
}

// modelled lists the fields of the model; times have separate tables.
func modelled() []string {
	names := []string{"sale.metadata.k", "customer.metadata.k"}
	for _, f := range fields {
		if f.kind != kindDate && !strings.Contains(f.name, "_since_") {
			names = append(names, f.name)
		}
	}
	return names
}

func TestMatchAgainstModel(t *testing.T) {
	t.Parallel()
	names := modelled()
	rapid.Check(t, func(t *rapid.T) {
		w, items := drawModel(t), drawItems(t, 1, 0, names)
		raw, err := json.Marshal(items)
		require.NoError(t, err)
		c, problem := ParseConditions(raw, NewPayment)
		require.Nil(t, problem, string(raw))
		require.Equal(t, w.believeAll(items), c.Match(w.facts()), string(raw))
	})
}

// Needs must name every fact that changes the answer.
func TestNeedsCoverReads(t *testing.T) {
	t.Parallel()
	names := modelled()
	rapid.Check(t, func(t *rapid.T) {
		w := drawModel(t)
		raw, err := json.Marshal(drawItems(t, 1, 1, names))
		require.NoError(t, err)
		c, problem := ParseConditions(raw, NewPayment)
		require.Nil(t, problem, string(raw))
		bare := w.facts()
		if !c.Needs().Has(NeedCustomerCounters) {
			bare.Customer.Counters = nil
		}
		if !c.Needs().Has(NeedPartnerCounters) {
			bare.Partner.Counters = nil
		}
		if !c.Needs().Has(NeedClickCountry) {
			bare.Customer.Country = nil
		}
		if !c.Needs().Has(NeedPartnerTags) {
			bare.Partner.TagIDs = nil
		}
		require.Equal(t, c.Match(w.facts()), c.Match(bare), string(raw))
	})
}

func set(values []string) map[string]bool {
	m := make(map[string]bool, len(values))
	for _, v := range values {
		m[v] = true
	}
	return m
}
