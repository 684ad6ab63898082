package mail

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rail/gen/db"
	"rail/server/locale/plain"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
)

// Placeholder is a word in double braces in a campaign or sequence, such as {{first_name}}. Each recipient's mail has
// the recipient's value in its place, or the text after a bar if there is none: {{first_name|there}}.
type Placeholder struct{ Name, About string }

// Braced returns the placeholder as it is written in a text.
func (p Placeholder) Braced() string { return "{{" + p.Name + "}}" }

// Placeholders are all placeholders.
var Placeholders = []Placeholder{
	{"first_name", "the first name"},
	{"last_name", "the last name"},
	{"name", "the name as in the console: the display name, else first and last name, company or handle"},
	{"company", "the company"},
	{"email", "the email address"},
	{"handle", "the handle"},
	{"link", "the partner’s own link"},
	{"coupon", "the oldest active coupon code"},
	{"program", "the program’s name"},
	{"portal_link", "the address of the partner portal"},
}

// maxPlaceholders bounds the work for one mail.
const maxPlaceholders = 100

var (
	// braced matches placeholders, and other text in double braces.
	braced = regexp.MustCompile(`\{\{([^{}|\r\n]*)(?:\|([^{}\r\n]*))?\}\}`)
	// marks strips markOpen and markShut from texts.
	marks = strings.NewReplacer(markOpen, "", markShut, "")
)

// Values are the values of placeholders, by their names.
type Values map[string]string

// part is a placeholder in a text, with the text that replaces it.
type part struct{ name, value string }

// CheckPlaceholders refuses a text of the parameter with an unknown placeholder, or with too many.
func CheckPlaceholders(param, text string) error {
	found := braced.FindAllStringSubmatch(text, maxPlaceholders+1)
	for _, f := range found {
		if name := strings.TrimSpace(f[1]); !known(name) {
			return problem.Invalid(param, "%s contains the unknown placeholder {{%s}}; the placeholders are %s.",
				param, name, strings.Join(names(), ", "))
		}
	}
	if len(found) > maxPlaceholders {
		return problem.Invalid(param, "%s contains more than %d placeholders.", param, maxPlaceholders)
	}
	return nil
}

// known reports whether there is a placeholder of a name.
func known(name string) bool {
	return slices.ContainsFunc(Placeholders, func(p Placeholder) bool { return p.Name == name })
}

// names returns the names of all placeholders, in braces.
func names() []string {
	out := make([]string, len(Placeholders))
	for i, p := range Placeholders {
		out[i] = p.Braced()
	}
	return out
}

// replace replaces the known placeholders of a text. Without values, and for unknown placeholders, which older texts
// may contain, the text stays as it is.
func (v Values) replace(text string, with func(part) string) string {
	if v == nil {
		return text
	}
	return braced.ReplaceAllStringFunc(text, func(found string) string {
		f := braced.FindStringSubmatch(found)
		name := strings.TrimSpace(f[1])
		if !known(name) {
			return found
		}
		return with(part{name, cmp.Or(v[name], strings.TrimSpace(f[2]))})
	})
}

// Subject returns a subject with the values.
func (v Values) Subject(subject string) string {
	filled := v.replace(subject, func(p part) string { return p.value })
	return strings.Join(strings.Fields(filled), " ")
}

// ValuesOf reads the values of a partner.
func (y Layout) ValuesOf(ctx context.Context, tx pgtx.DBTX, org, partner string) (Values, error) {
	p, err := queries.MailValues(ctx, tx, db.MailValuesParams{PartnerID: partner, OrgID: org})
	if err != nil {
		return nil, fmt.Errorf("the placeholders of %s: %w", partner, err)
	}
	out := Values{
		"first_name": p.FirstName, "last_name": p.LastName, "name": p.Name, "company": p.Company, "email": p.Email,
		"handle": p.Handle, "coupon": p.Coupon, "program": p.Program,
	}
	for name, value := range out {
		out[name] = strings.Join(strings.Fields(marks.Replace(plain.Name(value))), " ")
	}
	if y.Link != nil {
		out["link"] = y.Link(p.Landing, p.Param, p.Handle)
	}
	out["portal_link"] = y.BaseURL + "/portal?program=" + p.ProgramID
	return out, nil
}

// isAddress reports whether the placeholder's value is a link.
func (p part) isAddress() bool {
	return (p.name == "link" || p.name == "portal_link") &&
		(strings.HasPrefix(p.value, "https://") || strings.HasPrefix(p.value, "http://"))
}
