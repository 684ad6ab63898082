package golang

import (
	"fmt"
	"slices"
	"strings"

	"rail/cmd/clients/model"
)

// clientHead begins the file with the client. Its arguments are the version of the contract and the fields.
const clientHead = notice + `// Package client calls the API of Rail. It needs only the standard library.
//
//	rail, err := client.New("https://rail.example.com", os.Getenv("RAIL_API_KEY"))
//	if err != nil {
//		return err
//	}
//	partner, err := rail.Partners.Create(ctx, client.PartnerCreate{ProgramID: program, Email: "ada@example.com"})
//	if errors.Is(err, client.ErrorCodePartnerEmailTaken) {
//		…
//	}
//	for partner, err := range rail.Partners.List(ctx, client.ListPartnersParams{ProgramID: program}) {
//		…
//	}
//
// A request whose answer is lost, or is a 429, 500, 502, 503 or 504, is sent again, with the same Idempotency-Key. The
// server does the work once.
//
// Members of a request that can be left out are Optional: client.Set("Ada") gives a value, client.Null[string]() clears
// one. A list is left out if it is nil. In parameters of a query, the zero value leaves a parameter out.
package client

// Version is the version of the contract that this client speaks.
const Version = %q

// Client calls the API of one server with one key. It is safe for concurrent use.
type Client struct {
%s}

// New returns a client for the address of a server, such as https://rail.example.com, and an API key. The options apply
// to every call.
func New(server, key string, opts ...Option) (*Client, error) {
	t, err := newTransport(server, key, Version, opts)
	if err != nil {
		return nil, err
	}
	return &Client{
%s	}, nil
}
`

// writeClient returns the client with its resources.
func writeClient(m *model.Model) string {
	var fields, values strings.Builder
	for _, r := range m.Resources {
		name := model.Pascal(r.Name)
		first, _, _ := strings.Cut(r.Description, "\n\n")
		fields.WriteString(comment("\t", first))
		fmt.Fprintf(&fields, "\t%s *%sService\n", name, name)
		fmt.Fprintf(&values, "\t\t%s: &%sService{t},\n", name, name)
	}
	return fmt.Sprintf(clientHead, m.Version, fields.String(), values.String())
}

// resourcesHead begins the file of methods.
const resourcesHead = notice + `package client

import (
	"context"
	"iter"
	"net/url"
	"strings"
)

// segment writes an id as a part of a path. No object has an empty id or one of dots. They would make the path that of
// another operation, so they get a character before them that the server refuses.
func segment(id string) string {
	if strings.Trim(id, ".") == "" {
		id = "?" + id
	}
	return url.PathEscape(id)
}
`

// writeResources returns the methods, with the types of their parameters.
func writeResources(m *model.Model) string {
	w := newWriter(m)
	var b strings.Builder
	b.WriteString(resourcesHead)
	for _, r := range m.Resources {
		name := model.Pascal(r.Name) + "Service"
		fmt.Fprintf(&b, "\n// %s has the methods of one resource.\ntype %s struct{ transport *transport }\n", name, name)
		for _, method := range r.Methods {
			w.params(&b, method)
			w.method(&b, method)
		}
	}
	return b.String()
}

// required reports whether one of the parameters is required.
func required(params []model.Param) bool {
	for _, p := range params {
		if p.Required {
			return true
		}
	}
	return false
}

// paramsName is the name of the type of a method's parameters.
func paramsName(m model.Method) string { return model.Pascal(m.OperationID) + "Params" }

// params writes the type of a method's parameters.
func (w writer) params(b *strings.Builder, m model.Method) {
	if len(m.Query) == 0 {
		return
	}
	name := model.Pascal(m.Resource) + "." + model.Pascal(m.Name)
	fmt.Fprintf(b, "\n// %s has the parameters of %s.\ntype %s struct {\n", paramsName(m), name, paramsName(m))
	for _, p := range m.Query {
		plain, tag := w.plain(p.Shape), p.Name
		if !p.Required {
			tag += ",omitzero"
			if w.flag(p) {
				plain = "Optional[bool]"
			}
		}
		fmt.Fprintf(b, "%s\t%s %s `json:%q`\n", comment("\t", p.Description), model.Pascal(p.Ident), plain, tag)
	}
	b.WriteString("}\n")
}

// flag reports whether a parameter is a boolean, whose zero value is a value.
func (w writer) flag(p model.Param) bool {
	s := w.model.Follow(p.Shape)
	return s.Kind == model.Boolean || s.Kind == model.Enum && s.Format == "boolean"
}

// arguments returns the parameters of a Go method after the context, and the values that a page passes on.
func (w writer) arguments(m model.Method) (params, values string) {
	for _, p := range m.PathParams {
		params += ", " + model.Camel(p.Ident) + " string"
		values += ", " + model.Camel(p.Ident)
	}
	if m.Body != nil {
		params += ", body " + w.plain(m.Body.Shape)
		values += ", body"
	}
	if len(m.Query) > 0 {
		pointer := "*"
		if required(m.Query) {
			pointer = ""
		}
		params += ", params " + pointer + paramsName(m)
		values += ", params"
	}
	return params + ", opts ...Option", values + ", opts..."
}

// method writes a method. A list has two: List walks all pages, and ListPage returns one.
func (w writer) method(b *strings.Builder, m model.Method) {
	service, name := model.Pascal(m.Resource)+"Service", model.Pascal(m.Name)
	params, values := w.arguments(m)
	doc := w.doc(m)
	if m.Page != nil {
		w.list(b, m, doc, params, values)
		name += "Page"
		doc = fmt.Sprintf("// %s returns one page of %s.\n", name, model.Pascal(m.Name))
	}
	answer := w.plain(m.Answer.Shape)
	result := answer
	if w.named(w.model.Follow(m.Answer.Shape)) {
		result = "*" + answer
	}
	fmt.Fprintf(b, "\n%sfunc (s *%s) %s(ctx context.Context%s) (%s, error) {\n", doc, service, name, params, result)
	switch request := "request{" + w.request(m) + "}"; {
	case m.Answer.Text:
		fmt.Fprintf(b, "\tanswer, err := s.transport.send(ctx, %s, opts)\n\treturn string(answer), err\n}\n", request)
	case result == answer: // a map
		fmt.Fprintf(b, "\tanswer, err := call[%s](ctx, s.transport, %s, opts)\n\tif err != nil || answer == nil {\n"+
			"\t\treturn nil, err\n\t}\n\treturn *answer, nil\n}\n", answer, request)
	default:
		fmt.Fprintf(b, "\treturn call[%s](ctx, s.transport, %s, opts)\n}\n", answer, request)
	}
}

// request returns the members of the request of a method.
func (w writer) request(m model.Method) string {
	path := fmt.Sprintf("%q", m.Path)
	for _, p := range m.PathParams {
		path = strings.Replace(path, "{"+p.Name+"}", `" + segment(`+model.Camel(p.Ident)+`) + "`, 1)
	}
	out := fmt.Sprintf("method: %q, path: %s", m.HTTP, strings.TrimSuffix(path, ` + ""`))
	if len(m.Query) > 0 {
		out += ", query: query(params)"
	}
	if m.Body != nil {
		out += ", body: body"
	}
	if m.Idempotent {
		out += ", keyed: true"
	}
	return out
}

// walk is the body of a method that walks all pages of a list. Its arguments are the item, the member with the cursor,
// the call of a page, the type of the cursor, and the reset of an offset.
const walk = `	back := first.EndingBefore != ""
	return each(back, func(one %[1]s) string { return string(one.%[2]s) }, func(cursor string) ([]%[1]s, bool, error) {
		next := first
		if cursor != "" && back {
			next.EndingBefore = %[4]s(cursor)
		} else if cursor != "" {
			next.StartingAfter = %[4]s(cursor)%[5]s
		}
		page, err := %[3]s
		if err != nil {
			return nil, false, err
		}
		return page.Data, page.HasMore, nil
	})
`

// feed is the body of a method that walks a feed, which has the cursor in the page.
const feed = `	return func(yield func(%[1]s, error) bool) {
		for next, more := first, true; more; {
			page, err := %[3]s
			if err != nil {
				yield(*new(%[1]s), err)
				return
			}
			for _, one := range page.Data {
				if !yield(one, nil) {
					return
				}
			}
			next.After, more = page.%[2]s, !page.CaughtUp
		}
	}
`

// list writes the method that walks all pages of a list.
func (w writer) list(b *strings.Builder, m model.Method, doc, params, values string) {
	name, item := model.Pascal(m.Name), w.plain(m.Page.Item)
	fmt.Fprintf(b, "\n%sfunc (s *%sService) %s(ctx context.Context%s) iter.Seq2[%s, error] {\n",
		doc, model.Pascal(m.Resource), name, params, item)
	next := "next"
	if required(m.Query) {
		b.WriteString("\tfirst := params\n")
	} else {
		fmt.Fprintf(b, "\tvar first %s\n\tif params != nil {\n\t\tfirst = *params\n\t}\n", paramsName(m))
		next = "&next"
	}
	page := fmt.Sprintf("s.%sPage(ctx%s)", name, strings.Replace(values, "params", next, 1))
	if m.Page.OfPage {
		fmt.Fprintf(b, feed+"}\n", item, model.Pascal(m.Page.Cursor), page)
		return
	}
	reset := ""
	if slices.ContainsFunc(m.Query, func(p model.Param) bool { return p.Name == "offset" }) {
		reset = "\n\t\t\tnext.Offset = 0 // the API takes either an offset or a cursor"
	}
	fmt.Fprintf(b, walk+"}\n", item, model.Pascal(m.Page.Cursor), page, w.cursor(m), reset)
}

// cursor returns the Go type of the parameter with the cursor of a page.
func (w writer) cursor(m model.Method) string {
	for _, p := range m.Query {
		if p.Name == m.Page.Param {
			return w.plain(p.Shape)
		}
	}
	return "string"
}
