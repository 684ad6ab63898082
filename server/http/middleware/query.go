package middleware

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"rail/server/problem"
)

// canonical normalizes the query (step 8): expand=a,b, expand[]=a and their repetitions become one
// list. It refuses ambiguous queries instead of ignoring a part of them.
func (f *Front) canonical(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if _, err := url.ParseQuery(c.Request().URL.RawQuery); err != nil {
			return problem.New(problem.ParameterInvalid, "The query string is not well formed.")
		}
		for i, value := range c.ParamValues() {
			if !plausible(c, c.ParamNames()[i], value) {
				return problem.NotFound("")
			}
		}
		q := values(c)
		for _, name := range []string{"expand", "include"} {
			mergeList(q, name)
		}
		joinFilters(q, stateOf(c).route)
		if err := checkQuery(q, stateOf(c).route); err != nil {
			return err
		}
		return next(c)
	}
}

// plausible reports whether the ids of a path may be queried. Ids of payment processors may have
// any characters.
func plausible(c echo.Context, name, value string) bool {
	if name != "external_customer_id" {
		return plausibleID(value)
	}
	if c.Request().URL.RawPath != "" { // echo matches the path as sent
		unescaped, err := url.PathUnescape(value)
		if err != nil {
			return false
		}
		value = unescaped
	}
	return value != "" && utf8.ValidString(value) && !strings.ContainsRune(value, 0) &&
		utf8.RuneCountInString(value) <= 255
}

// plausibleID reports whether an id of a path may be queried: PostgreSQL accepts no NUL and no
// invalid UTF-8. Others get the same answer as an unknown id.
func plausibleID(escaped string) bool {
	id, err := url.PathUnescape(escaped) // echo does not unescape all paths
	if err != nil || id == "" || len(id) > 128 {
		return false
	}
	for i := range len(id) {
		if id[i] <= 0x20 || id[i] > 0x7e {
			return false
		}
	}
	return true
}

// mergeList joins name and name[] into name[], split at commas, without
// repetitions.
func mergeList(q url.Values, name string) {
	values := slices.Concat(q[name+"[]"], q[name])
	delete(q, name)
	if len(values) == 0 {
		return
	}
	out := make([]string, 0, len(values))
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part != "" && !slices.Contains(out, part) {
				out = append(out, part)
			}
		}
	}
	if len(out) == 0 {
		delete(q, name+"[]")
		return
	}
	q[name+"[]"] = out
}

// joinFilters joins the repetitions of a comma list, such as status=a&status=b, into status=a,b;
// status[]=a counts as status=a. Many clients write lists in these ways.
func joinFilters(q url.Values, r *route) {
	for name, p := range r.query {
		if !p.commas {
			continue
		}
		if values := slices.Concat(q[name], q[name+"[]"]); len(values) > 0 {
			q[name] = []string{strings.Join(values, ",")}
			delete(q, name+"[]")
		}
	}
}

// checkQuery refuses unknown parameters (a misspelled filter must not return everything), repeated
// parameters, and integers that are not plain digits.
func checkQuery(q url.Values, r *route) error {
	for name, values := range q {
		p, ok := r.query[name]
		if !ok {
			if err := unknownParameter(name, r); err != nil {
				return err
			}
			continue
		}
		if !p.repeatable && len(values) > 1 {
			return problem.Invalid(name, "%s is given %d times.", name, len(values))
		}
		if p.commas {
			values[0] = spaceless(values[0])
		}
		for _, v := range values {
			if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
				return problem.Invalid(name, "%s is not valid text.", name)
			}
			if p.integer && !plainInteger(v) {
				return problem.Invalid(name, "%s must be an integer.", name)
			}
		}
	}
	return nil
}

// spaceless removes the spaces around the values of a comma list.
func spaceless(list string) string {
	values := strings.Split(list, ",")
	for i, v := range values {
		values[i] = strings.TrimSpace(v)
	}
	return strings.Join(values, ",")
}

// unknownParameter returns the refusal of an unknown parameter, or nil for program_id. It replaces
// an unprintable name by "query".
func unknownParameter(name string, r *route) error {
	switch name {
	case "expand[]":
		return problem.On(name, problem.InvalidExpand, "This operation has no relations to expand.")
	case "include[]":
		return problem.On(name, problem.InvalidInclude, "This operation has nothing to include.")
	case "program_id": // accepted on every route (decisions, 10)
		return nil
	}
	if !utf8.ValidString(name) || strings.ContainsRune(name, 0) || len(name) > 255 {
		name = "query"
	}
	return problem.UnknownName(name, "is not a query parameter of "+r.ID, name, slices.Sorted(maps.Keys(r.query)))
}

// plainInteger reports whether v is an integer in plain digits, short enough for
// an int64.
func plainInteger(v string) bool {
	digits := strings.TrimPrefix(v, "-")
	if digits == "" || len(digits) > 18 {
		return false
	}
	return strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) < 0
}
