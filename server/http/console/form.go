package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"rail/server/locale/currency"
)

// A form's fields have the names of the members of an operation's body. The operation's schema gives the type of each
// field. A text that cannot be parsed stays text, so that the API refuses it by name and the form shows the refusal
// beside the field.

// body returns the form as the body of an operation. Members of objects have names with a point, such as
// payout_details.iban. An empty field is null where the schema takes null and absent otherwise, an
// unticked box is false if the form names it among its boxes, and amounts of money (_minor) are typed
// in the currency's own unit.
func (v *visit) body(operation string) map[string]any {
	schema := v.console.bodies[operation]
	out := map[string]any{}
	if schema == nil {
		return out
	}
	unit := v.program.Currency
	if code := v.value("currency"); code != "" {
		unit = code
	}
	for _, name := range v.Form["boxes"] {
		put(out, name, false)
	}
	for _, name := range v.Form["lists"] {
		put(out, name, []any{})
	}
	for name := range v.Form {
		member := memberOf(schema, name)
		if member == nil {
			continue
		}
		value, ok := reading(name, member, v.values(name), unit)
		switch {
		case ok:
			put(out, name, value)
		case strings.HasPrefix(operation, "update"): // left out, it would keep its value, and the page would say "saved"
			put(out, name, "")
		}
	}
	// An object of another program is then a 404, even if the form names that program.
	delete(out, "program_id")
	if v.program.ID != "" {
		out["program_id"] = v.program.ID
	}
	return out
}

// put sets a member by its name, in the object that the name's points lead to.
func put(into map[string]any, name string, value any) {
	outer, rest, nested := strings.Cut(name, ".")
	if !nested {
		into[name] = value
		return
	}
	inner, ok := into[outer].(map[string]any)
	if !ok {
		inner = map[string]any{}
		into[outer] = inner
	}
	put(inner, rest, value)
}

// memberOf returns the schema of a member; nil if there is none.
func memberOf(schema *openapi3.Schema, name string) *openapi3.Schema {
	outer, rest, nested := strings.Cut(name, ".")
	ref := schema.Properties[outer]
	switch {
	case ref == nil && nested && schema.Type.Is("object") && len(schema.Properties) == 0:
		return openapi3.NewStringSchema()
	case ref == nil:
		return nil
	case !nested:
		return ref.Value
	}
	inner, _ := simple(ref.Value)
	if len(inner.Properties) == 0 { // an object with free members
		return openapi3.NewStringSchema()
	}
	return memberOf(inner, rest)
}

// simple returns a schema without the alternatives that make it nullable, and whether it is.
func simple(s *openapi3.Schema) (*openapi3.Schema, bool) {
	nullable := s.Nullable || s.Type.Includes("null")
	for _, of := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
		if of.Value.Type.Is("null") {
			nullable = true
			continue
		}
		inner, too := simple(of.Value)
		return inner, nullable || too
	}
	return s, nullable
}

// reading parses the texts of one field. It reports false for an empty field.
func reading(name string, member *openapi3.Schema, texts []string, unit string) (any, bool) {
	s, nullable := simple(member)
	if s.Type.Includes("array") {
		texts = slices.DeleteFunc(texts, func(t string) bool { return t == "" })
		return texts, true
	}
	text := ""
	if len(texts) > 0 {
		text = texts[len(texts)-1]
	}
	if text == "" {
		return nil, nullable
	}
	switch {
	case s.Type.Includes("boolean"):
		return text == "on" || text == "true", true
	case s.Type.Includes("integer") && strings.HasSuffix(name, "_minor"):
		if minor, ok := currency.Minor(text, unit); ok {
			return minor, true
		}
	case s.Type.Includes("integer"):
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, true
		}
	}
	return text, true
}

// query returns the parameters of the page's address that an operation's filters are named like, for a
// list that the page shows. Empty ones are left out.
func (v *visit) query(names ...string) url.Values {
	out := url.Values{}
	for _, name := range names {
		for _, text := range v.QueryParams()[name] {
			if text = cleaned(text); text != "" {
				out.Add(name, text)
			}
		}
	}
	return out
}

// fileQuery returns the query of a list's file: the program, the partner that was asked for, the relations to expand,
// and the named filters.
func (v *visit) fileQuery(expand []string, filters ...string) (url.Values, error) {
	query := v.query(filters...)
	query.Set("program_id", v.program.ID)
	query["expand[]"] = expand
	partner, err := v.askedPartner()
	if partner != nil {
		query.Set("partner_id", *partner)
	}
	return query, err
}
