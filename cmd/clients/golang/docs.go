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
	if len(m.Codes) > 0 {
		names := make([]string, len(m.Codes))
		for i, c := range m.Codes {
			names[i] = "ErrorCode" + model.Pascal(c)
		}
		out += "//\n" + comment("", "Its own errors: "+strings.Join(names, ", ")+".")
	}
	return out + "//\n" + comment("", fmt.Sprintf("%s %s", m.HTTP, m.Path))
}
