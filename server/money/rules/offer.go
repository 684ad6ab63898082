package rules

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"rail/server/locale"
)

// An offer describes a flow to the partners that it pays. It never has an id: products have their names, and what can
// only be told by an id is left to the branch's label.

// offered is a rate of a flow, in words.
type offered struct {
	rate  Rate
	says  string
	whole string // the whole sentence; "" for one with says
}

// branch is a branch of a stored flow.
type branch struct {
	Label      *string
	Conditions json.RawMessage
	RateType   RateType `json:"rate_type"`
	RateValue  int64    `json:"rate_value"`
}

// Terms describes a flow's rates for the partners that it pays, the best rate first: its own rate, and its branches, a
// JSON list of which the first match counts.
func (s Speaker) Terms(own Rate, branches json.RawMessage) ([]string, error) {
	var cases []branch
	if err := json.Unmarshal(branches, &cases); err != nil {
		return nil, err
	}
	var rates []offered
	inTime := 0 // of the rates, how many are for a customer's first time
	for _, b := range cases {
		rate := Rate{RateType: b.RateType, RateValue: b.RateValue}
		what, public, err := s.offer(b)
		if err != nil {
			return nil, err
		}
		if !public {
			continue
		}
		if len(what.wraps) == 0 && len(what.rest) == 0 && !what.unnamed { // later branches are never reached
			own = rate
			break
		}
		if len(what.wraps) == 1 && what.wraps[0].first && len(what.rest) == 0 && !what.unnamed {
			inTime++
		}
		rates = append(rates, offered{rate, what.says(s, rate, b.Label), what.without(s, rate)})
	}
	if own.RateValue > 0 || len(rates) == 0 {
		rates = append(rates, offered{rate: own, says: s.remainder(own, rates, inTime)})
	}
	slices.SortStableFunc(rates, better)
	out := make([]string, len(rates))
	for i, r := range rates {
		if out[i] = r.whole; out[i] == "" {
			out[i] = s.locale().T("You earn %s.", r.says)
		}
	}
	return out, nil
}

// better sorts the higher rate first; a percentage and an amount cannot be compared.
func better(a, b offered) int {
	switch {
	case a.rate.RateValue == 0 || b.rate.RateValue == 0 || a.rate.RateType == b.rate.RateType:
		return int(b.rate.RateValue - a.rate.RateValue)
	default:
		return 0
	}
}

// remainder describes a flow's own rate, for payments that match no branch.
func (s Speaker) remainder(own Rate, branches []offered, inTime int) string {
	l := s.locale()
	above := slices.ContainsFunc(branches, func(b offered) bool { return better(b, offered{rate: own}) <= 0 })
	switch {
	case !above: // the best rate comes first, and branches take from it
		return own.In(l, s.Trigger, s.Currency)
	case inTime == len(branches):
		return l.T("%s after that", own.In(l, s.Trigger, s.Currency))
	case s.Trigger == NewSignup:
		return l.T("%s in all other cases", own.In(l, s.Trigger, s.Currency))
	}
	return l.T("%s on everything else", own.short(l, s.Currency))
}

// short describes a rate before its subject.
func (r Rate) short(l *locale.Locale, code string) string {
	if r.RateType == RatePercent && r.RateValue > 0 {
		return l.Percent(r.RateValue)
	}
	return r.In(l, NewPayment, code)
}

// what is the subject of a branch's rate, from its conditions.
type what struct {
	wraps   []wrap
	rest    []string // conditions that are sentences
	unnamed bool     // a condition that only an id could tell
}

// wrap is a condition as a phrase around the rate.
type wrap struct {
	text  string // such as "%s on %s"
	value any    // its second argument; nil for none
	on    bool   // the phrase replaces "of every payment"
	once  bool   // the phrase is about a single payment
	first bool   // the phrase is a customer's first time
}

// offer reads what a branch pays for. It reports false if the branch must not be public.
func (s Speaker) offer(b branch) (out what, public bool, err error) {
	var items []json.RawMessage
	if err := json.Unmarshal(b.Conditions, &items); err != nil {
		return out, false, err
	}
	for _, raw := range items {
		var c comparison
		if err := json.Unmarshal(raw, &c); err != nil {
			return out, false, err
		}
		if w, ok := s.wrap(c); ok {
			out.wraps = append(out.wraps, w)
			continue
		}
		says, err := s.item(raw, len(items) > 1)
		switch {
		case errors.Is(err, errPrivate):
			return out, false, nil
		case errors.Is(err, errUnnamed):
			out.unnamed = true
		case err != nil:
			return out, false, err
		default:
			out.rest = append(out.rest, says)
		}
	}
	return out, true, nil
}

// without is the sentence for named products that pay no commission; "" for other rates.
func (w what) without(s Speaker, rate Rate) string {
	if rate.RateValue != 0 || len(w.wraps) != 1 || w.wraps[0].text != onProducts || len(w.rest) > 0 || w.unnamed {
		return ""
	}
	return s.locale().T("You earn no commission on %s.", w.wraps[0].value)
}

// says puts a rate and its subject into words. The branch's label replaces conditions that are no phrases.
func (w what) says(s Speaker, rate Rate, label *string) string {
	l := s.locale()
	out := rate.In(l, s.Trigger, s.Currency)
	switch {
	case rate.RateValue == 0 || s.Trigger == NewSignup:
	case slices.ContainsFunc(w.wraps, func(w wrap) bool { return w.once }) && rate.RateType == RateFixed:
		out = l.Money(rate.RateValue, s.Currency)
	case slices.ContainsFunc(w.wraps, func(w wrap) bool { return w.on }):
		out = rate.short(l, s.Currency)
	}
	for _, p := range w.wraps {
		if p.value == nil {
			out = l.T(p.text, out)
		} else {
			out = l.T(p.text, out, p.value)
		}
	}
	switch {
	case len(w.rest) == 0 && !w.unnamed:
	case label != nil && *label != "":
		return out + " (" + *label + ")"
	case len(w.rest) == 0:
		return l.T("%s in certain cases", out)
	default:
		return l.T("%s, if %s", out, s.all(w.rest))
	}
	return out
}

// all joins sentences of which all hold.
func (s Speaker) all(sentences []string) string {
	out := sentences[0]
	for _, next := range sentences[1:] {
		out = s.locale().T("%s and %s", out, next)
	}
	return out
}

// comparison is a condition as it is stored.
type comparison struct {
	Field    string
	Operator operator
	Value    json.RawMessage
}

// wrap returns a condition as a phrase; false if there is none for it.
func (s Speaker) wrap(c comparison) (wrap, bool) {
	switch c.Field {
	case productID, "sale.product_name":
		return s.products(c)
	case "sale.is_first_sale":
		if string(c.Value) == "true" {
			return wrap{text: "%s on a customer’s first payment", on: true, once: true}, true
		}
		return wrap{text: "%s on a customer’s later payments", on: true}, true
	case "sale.interval", "sale.billing_type":
		text := plans[strings.Join(texts(c.Value), " ")]
		return wrap{text: text, on: true}, text != "" && (c.Operator == opEq || c.Operator == opIn)
	case "customer.months_since_conversion":
		return firstTime(c, "%s for a customer’s first %d months", "%s after a customer’s first %d months")
	case "customer.days_since_conversion":
		return firstTime(c, "%s for a customer’s first %d days", "%s after a customer’s first %d days")
	}
	return wrap{}, false
}

// firstMonth has the phrases about a single month.
var firstMonth = map[string]string{
	"%s for a customer’s first %d months":   "%s for a customer’s first month",
	"%s after a customer’s first %d months": "%s after a customer’s first month",
}

// plans are the phrases for kinds of payments.
var plans = map[string]string{
	"year": "%s on yearly plans", "month": "%s on monthly plans", "one_time": "%s on one-time payments",
	"subscription": "%s on subscriptions",
}

// texts returns a stored text, or a list of them.
func texts(raw json.RawMessage) []string {
	var out []string
	var one string
	switch {
	case json.Unmarshal(raw, &out) == nil:
		return out
	case json.Unmarshal(raw, &one) == nil:
		return []string{one}
	}
	return nil
}

// onProducts is the phrase for named products.
const onProducts = "%s on %s"

// products returns a condition on the product as a phrase. Where the name of a product is unknown, it is not said.
func (s Speaker) products(c comparison) (wrap, bool) {
	var names []string
	for _, text := range texts(c.Value) {
		if c.Field == productID {
			text = s.productName(text)
		}
		names = append(names, text)
	}
	is, not := c.Operator == opEq || c.Operator == opIn, c.Operator == opNeq || c.Operator == opNotIn
	if len(names) == 0 || slices.Contains(names, "") || !is && !not {
		return wrap{text: "%s on selected products", on: true}, true
	}
	last := len(names) - 1
	list := names[last]
	if last > 0 {
		list = s.locale().T("%s and %s", strings.Join(names[:last], ", "), list)
	}
	if not {
		return wrap{text: "%s on everything except %s", value: list, on: true}, true
	}
	return wrap{text: onProducts, value: list, on: true}, true
}

// productName returns the name of a product, "" if it is unknown or only an id.
func (s Speaker) productName(id string) string {
	if s.Product == nil {
		return ""
	}
	name := s.Product(id)
	if name == id {
		return ""
	}
	return name
}

// firstTime returns a condition on the time since a customer's first payment as a phrase: before is for less than a
// time, and after for at least a time. Values are whole: more than eleven means at least twelve.
func firstTime(c comparison, before, after string) (wrap, bool) {
	var n int64
	if json.Unmarshal(c.Value, &n) != nil {
		return wrap{}, false
	}
	if c.Operator == opLte || c.Operator == opGt {
		n++
	}
	out := wrap{text: after, value: n}
	switch c.Operator {
	case opLt, opLte:
		out.text, out.first = before, true
	case opGte, opGt:
	default:
		return wrap{}, false
	}
	if text := firstMonth[out.text]; n == 1 && text != "" {
		out.text, out.value = text, nil
	}
	return out, n > 0
}
