package tracking

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// Pasted returns the likely original forms of a pasted value, the most likely first, without the value itself.
// Callers look up the value itself first, because any printable text can be a value (decisions, 319).
func Pasted(value string) []string {
	text := value
	if plain, err := url.PathUnescape(value); err == nil {
		text = plain
	}
	text = normalize(text)
	whole := strings.TrimFunc(text, func(r rune) bool { return !inValue(r) })
	first := whole
	if end := strings.IndexFunc(whole, endsValue); end >= 0 {
		first = whole[:end]
	}
	var forms []string
	for _, f := range []string{text, whole, withoutStop(whole), first, withoutStop(first)} {
		if f != "" && f != value && !slices.Contains(forms, f) {
			forms = append(forms, f)
		}
	}
	return forms
}

// inValue reports whether r is a character of handles and link values, or a letter of another script, which
// imported values may contain.
func inValue(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.N) || strings.ContainsRune("._-", r)
}

// endsValue reports whether a value ends before r. An @ does not end it: a visit with john@example.com is not a
// visit of the partner "john".
func endsValue(r rune) bool { return !inValue(r) && r != '@' }

// withoutStop trims points and dashes from the end, which may belong to the sentence around the link.
func withoutStop(value string) string { return strings.TrimRight(value, "._-") }

// normalize returns text without invisible characters and surrounding spaces, in Unicode's composed form.
func normalize(text string) string {
	text = strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, text)
	return norm.NFC.String(strings.TrimSpace(text))
}

// invisible reports whether r takes no space in a line: control and format characters, such as zero width spaces
// and direction marks, and variation selectors, but not spaces.
func invisible(r rune) bool {
	return !unicode.IsSpace(r) && unicode.In(r,
		unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// resolvePasted looks up the other forms of values that lead to no active partner, and replaces the hits of
// their visits. If no value has other forms, it runs no statement.
func resolvePasted(
	ctx context.Context, read reader, units []*work.Unit, visits []arrival, hits []db.TrackingResolveRow,
) error {
	values, err := knownForms(ctx, read, units, visits, hits)
	if err != nil || len(values) == 0 {
		return err
	}
	var at []int // indexes of hits
	var askers []*work.Unit
	var again []arrival
	for i, value := range values {
		a := visits[i]
		a.value = value
		at, askers, again = append(at, i), append(askers, units[i]), append(again, a)
	}
	found, err := lookUp(ctx, read, askers, again)
	if err != nil {
		return err
	}
	for j, i := range at {
		hits[i] = found[j]
	}
	return nil
}

// knownForms returns the original value of each visit, by its index in visits: the first form that exists in the
// program. The value itself is the first of the forms, so that a suspended partner's value credits no other
// partner.
func knownForms(
	ctx context.Context, read reader, units []*work.Unit, visits []arrival, hits []db.TrackingResolveRow,
) (map[int]string, error) {
	var p db.TrackingValuesExistParams
	var of []int // the visit of each value of p
	for i, a := range visits {
		if hits[i].PartnerID != "" || hits[i].ProgramStatus != string(db.ProgramStatusActive) {
			continue
		}
		forms := Pasted(a.value)
		if hits[i].Reserved {
			forms = append([]string{a.exact}, forms...)
		}
		if len(forms) == 0 {
			continue
		}
		for _, form := range append([]string{a.value}, forms...) {
			of = append(of, i)
			p.ProgramIds, p.OrgIds = append(p.ProgramIds, a.programID), append(p.OrgIds, units[i].OrgID)
			p.Values = append(p.Values, strings.ToLower(form))
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	var existing []int64 // indexes of p.Values, sorted
	err := read(func(tx pgtx.DBTX) (err error) {
		existing, err = queries.TrackingValuesExist(ctx, tx, p)
		return err
	})
	values := map[int]string{}
	for _, n := range existing {
		if i := of[n-1]; values[i] == "" {
			values[i] = p.Values[n-1]
		}
	}
	maps.DeleteFunc(values, func(i int, value string) bool { return value == visits[i].value })
	return values, err
}
