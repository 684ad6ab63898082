package typescript

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"rail/cmd/clients/model"
)

// head begins the declarations.
const head = `import { Client, type ClientOptions, constructEvent, List, type RequestOptions } from './runtime.js'
import type * as types from './types.js'

export type * from './types.js'
export type { Call, ClientOptions, EventOptions, Existing, RequestOptions } from './runtime.js'
export { Client, List }
` + errors + `

/** Verifies webhooks. */
export const webhooks: { constructEvent: typeof constructEvent }
`

// declarations returns what index.js has for the compiler: an interface for each resource and each query, and Rail.
func declarations(m *model.Model) ([]byte, error) {
	w := bytes.NewBufferString(notice + head)
	for _, r := range m.Resources {
		if m.Type(group(r)) != nil {
			return nil, fmt.Errorf("%s is a type", group(r))
		}
		for _, method := range r.Methods {
			writeQuery(w, method)
		}
		fmt.Fprintf(w, "\n%sexport interface %s {\n", doc("", r.Description), group(r))
		for i, method := range r.Methods {
			if i > 0 {
				w.WriteString("\n")
			}
			w.WriteString(comment(m, method))
			fmt.Fprintf(w, "  %s\n", signature(method))
		}
		w.WriteString("}\n")
	}
	w.WriteString("\n/** The client, with a property for each resource. */\nexport class Rail extends Client {\n")
	w.WriteString("  constructor(options: ClientOptions)\n")
	for _, r := range m.Resources {
		fmt.Fprintf(w, "  readonly %s: %s\n", model.Camel(r.Name), group(r))
	}
	w.WriteString("}\n")
	return w.Bytes(), nil
}

// group returns the name of the interface of a resource. Some resources have the name of a type.
func group(r model.Resource) string { return model.Pascal(r.Name) + "API" }

// queryName returns the name of the interface of a method's query.
func queryName(m model.Method) string { return model.Pascal(m.OperationID) + "Query" }

// writeQuery writes the interface of a method's query.
func writeQuery(w *bytes.Buffer, m model.Method) {
	if len(m.Query) == 0 {
		return
	}
	fmt.Fprintf(w, "\n/** The query of `rail.%s`. */\nexport interface %s {\n", call(m), queryName(m))
	for _, p := range m.Query {
		w.WriteString(doc("  ", p.Description))
		fmt.Fprintf(w, "  %s\n", qualified(member(p.Ident, p.Shape, p.Required, true), p.Shape))
	}
	w.WriteString("}\n")
}

// call returns how a method is called: partners.list.
func call(m model.Method) string { return model.Camel(m.Resource) + "." + model.Camel(m.Name) }

// qualified adds the module to the name of a type in the text of a shape.
func qualified(text string, s model.Shape) string {
	for s.Kind == model.List {
		s = *s.Item
	}
	if s.Kind != model.Named {
		return text
	}
	return strings.Replace(text, s.Name, "types."+s.Name, 1)
}

// signature writes the declaration of a method.
func signature(m model.Method) string {
	var args []string
	for _, p := range m.PathParams {
		args = append(args, model.Camel(p.Ident)+": string")
	}
	switch {
	case m.Body != nil:
		mark := "?"
		if m.Body.Required {
			mark = ""
		}
		args = append(args, "body"+mark+": types."+m.Body.Shape.Name)
	case len(m.Query) > 0:
		mark := "?"
		for _, p := range m.Query {
			if p.Required {
				mark = ""
			}
		}
		args = append(args, "query"+mark+": "+queryName(m))
	}
	args = append(args, "options?: RequestOptions")
	answer := "types." + m.Answer.Shape.Name
	if m.Answer.Optional {
		answer += " | null"
	}
	if m.Page != nil {
		answer = "List<types." + m.Page.Item.Name + ", " + answer + ">"
	} else {
		answer = "Promise<" + answer + ">"
	}
	return model.Camel(m.Name) + "(" + strings.Join(args, ", ") + "): " + answer
}

// comment writes the comment of a method, with an example.
func comment(all *model.Model, m model.Method) string {
	text := m.Summary + ".\n\n" + m.Description
	if m.Answer.Optional {
		text += "\n\nThe answer may be null."
	}
	if codes := own(all, m); len(codes) > 0 {
		text += "\n\n@throws {APIError} `" + strings.Join(codes, "`, `") + "`"
	}
	text += "\n\n@example\n```ts\n" + Sample(all, m) + "```"
	return doc("  ", text)
}

// own returns the codes that are about the objects of a method, and not about the form of its request.
func own(all *model.Model, m model.Method) []string {
	var out []string
	for _, code := range all.Codes {
		about := code.Type == "conflict_error" || code.Type == "plan_error" || code.Type == "not_implemented_error"
		if about && code.Name != "idempotency_in_progress" && slices.Contains(m.Codes, code.Name) {
			out = append(out, code.Name)
		}
	}
	return out
}
