package golang

import (
	"fmt"
	"strings"

	"rail/cmd/clients/model"
)

// doc returns the comment of a method: its summary, description, example, and the errors that it lists.
func (w writer) doc(m model.Method) string {
	text := m.Summary + ".\n\n" + m.Description
	if m.Page != nil {
		text += "\n\nThe iterator walks all pages, and ends at the first error."
	}
	if m.Answer.Optional {
		text += "\n\nThe answer is nil if the server has none."
	}
	out := comment("", text) + "//\n" + code(Sample(w.model, m))
	if codes := w.specific(m); len(codes) > 0 {
		out += "//\n" + comment("", "Specific errors: "+strings.Join(codes, ", ")+".")
	}
	return out + "//\n" + comment("", fmt.Sprintf("%s %s", m.HTTP, m.Path))
}

// specific returns the constants of the codes that a method lists and most methods do not.
func (w writer) specific(m model.Method) []string {
	var out []string
	for _, code := range m.Codes {
		if w.listed[code] <= 10 {
			out = append(out, "ErrorCode"+model.Pascal(code))
		}
	}
	return out
}
