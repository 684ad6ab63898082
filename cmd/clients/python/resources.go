package python

import (
	"fmt"
	"strings"

	"rail/cmd/clients/model"
)

// resourcesHead begins the file of methods.
const resourcesHead = `"""The methods of the API, one class per resource."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Literal, Optional

from ._runtime import OMIT, Options, Transport

if TYPE_CHECKING:
    from . import types


class _Resource:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport
`

// argument is a keyword argument of a method.
type argument struct {
	name, sent string // in Python and on the wire
	typ        string
	text       string
	required   bool
}

// resourcesFile returns the methods.
func (w writer) resourcesFile() (string, error) {
	var b strings.Builder
	b.WriteString(resourcesHead)
	for _, r := range w.model.Resources {
		fmt.Fprintf(&b, "\n\nclass %s(_Resource):\n%s", model.Pascal(r.Name), described("    ", text("    ", r.Description)))
		for _, m := range r.Methods {
			if err := w.method(&b, m); err != nil {
				return "", fmt.Errorf("%s: %w", m.OperationID, err)
			}
		}
	}
	return b.String(), nil
}

// arguments returns the keyword arguments of a method: the members of its body, or the parameters of its query.
func (w writer) arguments(m model.Method) ([]argument, error) {
	var out []argument
	if m.Body != nil {
		for _, one := range w.model.Follow(m.Body.Shape).Members {
			out = append(out, argument{
				identifier(one.Name), one.Name, w.input(one.Shape), one.Description, one.Required,
			})
		}
		if len(out) == 0 {
			return nil, fmt.Errorf("the body has no members")
		}
	}
	for _, p := range m.Query {
		out = append(out, argument{identifier(p.Ident), p.Name, w.input(p.Shape), p.Description, p.Required})
	}
	seen := map[string]bool{"self": true, "options": true}
	for _, p := range m.PathParams {
		seen[identifier(p.Ident)] = true
	}
	for _, a := range out {
		if seen[a.name] {
			return nil, fmt.Errorf("two arguments are %s", a.name)
		}
		seen[a.name] = true
	}
	return out, nil
}

// input returns the annotation of an argument. A time may also be a `datetime`.
func (w writer) input(s model.Shape) string {
	out := w.typ(s, "types.")
	if of := w.model.Follow(s); of.Kind == model.String && of.Format == "date-time" {
		return strings.Replace(out, "str", "str | datetime.datetime", 1)
	}
	return out
}

// method writes a method. A list has two: list walks all pages, and list_page returns one.
func (w writer) method(b *strings.Builder, m model.Method) error {
	arguments, err := w.arguments(m)
	if err != nil {
		return err
	}
	doc := described("        ", w.doc(m, arguments))
	name := identifier(model.Snake(m.Name))
	signature := signature(m, arguments)
	answer := w.typ(m.Answer.Shape, "types.")
	if m.Answer.Optional {
		answer += " | None"
	}
	if m.Page != nil {
		fmt.Fprintf(b, "\n    def %s(%s) -> Iterator[%s]:\n%s        return %s\n",
			name, signature, w.typ(m.Page.Item, "types."), doc, walk(m, arguments))
		doc = described("        ", fmt.Sprintf("Returns one page of %s.", name))
		name += "_page"
	}
	fmt.Fprintf(b, "\n    def %s(%s) -> %s:\n%s", name, signature, answer, doc)
	fmt.Fprintf(b, "        return self._transport.call(\n            %q, %q%s,\n        )\n", m.HTTP, path(m), passed(m, arguments))
	return nil
}

// signature returns the parameters of a method in Python.
func signature(m model.Method, arguments []argument) string {
	lines := []string{"self"}
	for _, p := range m.PathParams {
		lines[0] += ", " + identifier(p.Ident) + ": str"
	}
	lines[0] += ", *"
	for _, required := range []bool{true, false} {
		for _, a := range arguments {
			if a.required != required {
				continue
			}
			line := a.name + ": " + a.typ
			if !required {
				line += " = OMIT"
			}
			lines = append(lines, line)
		}
	}
	lines = append(lines, "options: Optional[Options] = None")
	return "\n        " + strings.Join(lines, ",\n        ") + ",\n    "
}

// path returns a path with a place for each parameter.
func path(m model.Method) string {
	out := m.Path
	for _, p := range m.PathParams {
		out = strings.Replace(out, "{"+p.Name+"}", "{}", 1)
	}
	return out
}

// places returns the values of the parameters of a path, as a tuple.
func places(m model.Method) string {
	if len(m.PathParams) == 0 {
		return ""
	}
	names := make([]string, len(m.PathParams))
	for i, p := range m.PathParams {
		names[i] = identifier(p.Ident)
	}
	return ", path_params=(" + strings.Join(names, ", ") + ",)"
}

// values returns the arguments as a dict.
func values(arguments []argument) string {
	const indent = "            "
	var b strings.Builder
	b.WriteString("{\n")
	for _, a := range arguments {
		fmt.Fprintf(&b, "%s    %q: %s,\n", indent, a.sent, a.name)
	}
	return b.String() + indent + "}"
}

// passed returns what a method passes to its call after the path.
func passed(m model.Method, arguments []argument) string {
	out := places(m)
	if m.Body != nil {
		out += ", body=" + values(arguments)
	} else if len(arguments) > 0 {
		out += ", query=" + values(arguments)
	}
	if m.Idempotent {
		out += ", keyed=True"
	}
	if m.Answer.Text {
		out += ", text=True"
	}
	return out + ", options=options"
}

// walk returns the call that walks all pages of a list.
func walk(m model.Method, arguments []argument) string {
	if m.Page.OfPage {
		return fmt.Sprintf("self._transport.feed(\n            %q, %s, options,\n        )", path(m), values(arguments))
	}
	return fmt.Sprintf("self._transport.pages(\n            %q, %q, %s, options%s,\n        )",
		path(m), m.Page.Cursor, values(arguments), places(m))
}

// doc returns the text of a method.
func (w writer) doc(m model.Method, arguments []argument) string {
	const indent = "        "
	about := m.Summary + ".\n\n" + m.Description
	if m.Page != nil {
		about += "\n\nThe iterator walks all pages."
	}
	if m.Answer.Optional {
		about += "\n\nThe answer is None if the server has none."
	}
	var b strings.Builder
	b.WriteString(text(indent, about))
	if len(arguments) > 0 {
		b.WriteString("\n" + indent + "Args:\n")
	}
	for _, a := range arguments {
		b.WriteString(wrap(indent+"    ", indent+"        ", a.name+": "+a.text))
	}
	var specific []string
	for _, code := range m.Codes {
		if w.listed[code] <= 10 {
			specific = append(specific, code)
		}
	}
	if len(specific) > 0 {
		b.WriteString("\n" + wrap(indent, indent, "Specific errors: "+strings.Join(specific, ", ")+"."))
	}
	b.WriteString("\n" + indent + m.HTTP + " " + m.Path + "\n\n" + indent + "Example::\n\n")
	for line := range strings.SplitSeq(Sample(w.model, m), "\n") {
		b.WriteString(indent + "    " + line + "\n")
	}
	return b.String()
}

// clientHead begins the file with the client. Its argument is the version of the contract.
const clientHead = `"""The client."""

from __future__ import annotations

from typing import Mapping, Optional

from . import resources, webhooks
from ._runtime import Transport

API_VERSION = %q
"""The version of the contract that this client speaks."""


class Rail:
    """Calls the API of one server with one key. Threads can share it.

        rail = Rail("https://rail.example.com", os.environ["RAIL_API_KEY"])
        partner = rail.partners.create(program_id="prg_…", email="ada@example.com")

    timeout is the seconds that one try waits for the server, max_retries how often a request is sent again after a lost
    answer, a 429 or a failure, and headers are sent with every request.
    """

    def __init__(
        self, base_url: str, api_key: str, *, timeout: float = 30, max_retries: int = 3,
        headers: Optional[Mapping[str, str]] = None,
    ) -> None:
        transport = Transport(
            base_url, api_key, API_VERSION, timeout=timeout, max_retries=max_retries, headers=headers,
        )
        self.webhooks = webhooks
`

// clientFile returns the client with its resources.
func (w writer) clientFile() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, clientHead, w.model.Version)
	for _, r := range w.model.Resources {
		first, _, _ := strings.Cut(r.Description, "\n\n")
		fmt.Fprintf(&b, "        self.%s = resources.%s(transport)\n%s", identifier(r.Name), model.Pascal(r.Name), described("        ", text("        ", first)))
	}
	return b.String(), nil
}
