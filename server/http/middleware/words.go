package middleware

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"

	"rail/server/clock"
	"rail/server/problem"
)

// patterns maps the regular expressions of requests to words that complete a sentence beginning
// with the member's name.
var patterns = map[string]string{
	`^[A-Za-z]{3}$`:     "must be an ISO 4217 code of three letters, such as USD",
	`^[A-Za-z]{2}$`:     "must be an ISO 3166 code of two letters, such as DE",
	`^#[0-9A-Fa-f]{6}$`: "must be # and six hexadecimal digits, such as #64748B",
	`^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$`: "must be 2 to 32 lower-case letters, digits and hyphens " +
		"with no hyphen at an end, such as ada-lovelace",
	`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`: "must be 1 to 63 lower-case letters, digits and hyphens " +
		"with no hyphen at an end, such as acme",
	`^[A-Za-z0-9]([A-Za-z0-9-]{0,10}[A-Za-z0-9])?$`: "must be 1 to 12 letters, digits and hyphens, without a hyphen at " +
		"its ends, such as SHOP",
	`^[A-Za-z0-9-]{1,64}$`: "must be the number of a statement, such as SHOP-2026-000001",
	`^[A-Za-z0-9][A-Za-z0-9._-]{1,63}$`: "must be 2 to 64 letters, digits, points, hyphens and underscores " +
		"that begin with a letter or a digit, such as summer.sale",
	`^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2}))?$`: clock.ErrDate.Error(),
	`^(\*\.)?[0-9A-Za-z.-]+(:[0-9]{1,5})?$`: "must be a host, such as shop.example, *.shop.example or " +
		"localhost:3000",
	`^rail_pub_[0-9A-Za-z]{32}$`: "must be a publishable key: rail_pub_ and 32 letters and digits",
	`^[A-Za-z0-9_-]{22}$`:        "must be a visitor's token of 22 characters, as an answer before had it",
	`^[A-Za-z0-9_-]{1,32}$`:      "must be 1 to 32 letters, digits, hyphens and underscores, such as ref",
}

// idKind is a type of ids from its schema: the prefix before the random part, its object in words,
// and an example.
type idKind struct{ pattern, prefix, owner, whose, example string }

// idKinds reads the types of ids from the schemas named after them, such as PartnerId, so that a
// new type needs no code.
func idKinds(spec *openapi3.T) []idKind {
	var out []idKind
	for name, s := range spec.Components.Schemas {
		owner, isID := strings.CutSuffix(name, "Id")
		// Some objects, such as events, have no samples.
		prefix, prefixed := strings.CutPrefix(strings.Replace(s.Value.Pattern, "^(sample_)?", "^", 1), "^")
		if !isID || !prefixed {
			continue
		}
		k := idKind{
			pattern: s.Value.Pattern, prefix: prefix[:strings.IndexAny(prefix, "[(")], owner: owner, whose: whose(owner),
		}
		k.example = k.prefix + "…"
		if examples := s.Value.Examples; len(examples) > 0 {
			k.example = fmt.Sprint(examples[0])
		}
		out = append(out, k)
	}
	// Messages must not depend on the order of a map.
	slices.SortFunc(out, func(a, b idKind) int { return strings.Compare(a.prefix, b.prefix) })
	return out
}

// whose returns "a payout batch's id" for PayoutBatch.
func whose(owner string) string {
	var words strings.Builder
	for i, r := range strings.TrimSuffix(owner, "Status") {
		if i > 0 && unicode.IsUpper(r) {
			words.WriteByte(' ')
		}
		words.WriteRune(unicode.ToLower(r))
	}
	name := strings.Replace(words.String(), "api", "API", 1)
	if strings.ContainsRune("aeiA", rune(name[0])) {
		return "an " + name + "'s id"
	}
	return "a " + name + "'s id"
}

// kindOf returns the kind of objects in a collection of the paths, such as payout_batches.
func (d *Document) kindOf(collection string) *idKind {
	for i, k := range d.ids {
		var name strings.Builder
		for j, r := range k.owner {
			if j > 0 && unicode.IsUpper(r) {
				name.WriteByte('_')
			}
			name.WriteRune(unicode.ToLower(r))
		}
		switch collection {
		case name.String() + "s", name.String() + "es", strings.TrimSuffix(name.String(), "y") + "ies":
			return &d.ids[i]
		}
	}
	return nil
}

// absent completes the refusal of an id in the path: it names the kind of object that does not
// exist, and the kind of the given id if it differs. The message depends only on the form of the
// id.
func (d *Document) absent(r *route, p *problem.Error, value string) *problem.Error {
	if r == nil || strings.Count(r.Path, "{") != 1 || !strings.Contains(r.Path, "/{id}") {
		return p
	}
	collection, _, _ := strings.Cut(strings.TrimPrefix(r.Path, "/v1/"), "/")
	kind := d.kindOf(collection)
	if kind == nil {
		return p
	}
	_, noun, _ := strings.Cut(strings.TrimSuffix(kind.whose, "'s id"), " ")
	named := *p
	named.Message = "No such " + noun + "."
	if other := d.mistaken(*kind, value); other != "" {
		named.Message = "No such " + noun + "; " + other + "."
	}
	return &named
}

// mistaken names the kind of an id that was given in place of another kind's, or returns "".
func (d *Document) mistaken(kind idKind, value string) string {
	for _, k := range d.ids {
		if k.pattern != kind.pattern && strings.HasPrefix(strings.TrimPrefix(value, "sample_"), k.prefix) {
			return k.prefix + "… is " + k.whose
		}
	}
	return ""
}

// pattern describes in words how a text matches a pattern, or returns "" if the pattern has no
// words. It names the type of an id of another type: mixing up two ids is the usual mistake.
func (d *Document) pattern(pattern, value string) string {
	i := slices.IndexFunc(d.ids, func(k idKind) bool { return k.pattern == pattern })
	if i < 0 {
		return patterns[pattern]
	}
	text := "must be " + d.ids[i].whose + ", such as " + d.ids[i].example
	if other := d.mistaken(d.ids[i], value); other != "" {
		text += "; " + other
	}
	return text
}

// must describes in words how a value is valid, or returns "" to use the validator's message.
func (d *Document) must(se *openapi3.SchemaError) string {
	s := se.Schema
	switch se.SchemaField {
	case "pattern", "minLength", "maxLength":
		value, _ := se.Value.(string)
		if text := d.pattern(s.Pattern, value); text != "" {
			return text
		}
	}
	switch se.SchemaField {
	case "minLength":
		if s.MinLength == 1 {
			return "must not be empty"
		}
		return "must have at least " + counted(s.MinLength, "character")
	case "maxLength":
		return "must have at most " + counted(*s.MaxLength, "character")
	case "minItems":
		if s.MinItems == 1 {
			return "must not be empty"
		}
		return "must have at least " + counted(s.MinItems, "item")
	case "maxItems":
		return "must have at most " + counted(*s.MaxItems, "item")
	case "maximum":
		return "must be at most " + digits(s.Max)
	case "minimum":
		return "must be at least " + digits(s.Min)
	// The other faults, by the schema's keyword.
	case "nullable":
		return "must not be null"
	case "type":
		if s.Format == "date-time" {
			return clock.ErrFormat.Error()
		}
		return strings.TrimPrefix(se.Reason, "value ")
	case "format":
		if own := errors.Unwrap(se.Origin); own != nil {
			return own.Error()
		}
	}
	return ""
}

// counted returns a number of things in words.
func counted(n uint64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// digits formats a bound without an exponent: 1000000 instead of 1e+06.
func digits(bound *float64) string { return strconv.FormatFloat(*bound, 'f', -1, 64) }

// eventName replaces the API's name of an object by its name in events: partner.created becomes affiliate.created.
func eventName(name string) string {
	object, change, _ := strings.Cut(name, ".")
	if word := objectsOfEvents[object]; word != "" {
		return word + "." + change
	}
	return name
}

// objectsOfEvents maps the API's name of an object to its name in events.
var objectsOfEvents = map[string]string{
	"partner": "affiliate", "link": "affiliate_link", "coupon": "affiliate_coupon", "flow": "rule",
}

// fault returns the refusal of a value that breaks a rule of its schema; param names the value as
// the client sent it.
func (d *Document) fault(se *openapi3.SchemaError, param string) *problem.Error {
	if se.SchemaField == "enum" {
		allowed := make([]string, 0, len(se.Schema.Enum))
		for _, v := range se.Schema.Enum {
			allowed = append(allowed, fmt.Sprint(v))
		}
		value := fmt.Sprint(se.Value)
		if !strings.HasPrefix(param, "event_types[") {
			return problem.NotOneOf(param, value, allowed)
		}
		if value == "all" || strings.Contains(value, "*") {
			return problem.Invalid(param, "%s must be a type of event; leave event_types empty for all of them.", param)
		}
		return problem.NotOneOf(param, eventName(value), allowed)
	}
	if text := d.must(se); text != "" {
		return problem.Invalid(param, "%s %s.", param, text)
	}
	return problem.Invalid(param, "%s: %s.", param, se.Reason)
}
