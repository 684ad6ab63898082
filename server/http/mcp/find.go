package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rail/server/http/agent"
	"rail/server/http/docs/guides"
	"rail/server/http/middleware"
	"rail/server/locale/plain"
	"rail/server/problem"
)

const (
	// maxQuery bounds a query, in bytes.
	maxQuery = 200
	// maxOperations, maxObjects and maxGuides bound the results of each kind.
	maxOperations = 3
	maxObjects    = 5
	maxGuides     = 3
	// maxText bounds the description of an argument, in characters.
	maxText = 160
)

const findText = "Finds operations by a task in words (record a sale), with all their arguments; partners, customers " +
	"and sales by a name, email or id, without program_id in the three newest programs; and sections of the guides. " +
	"In the other tools, arguments before the semicolon are required. Lists also take limit, starting_after and " +
	"ending_before, most take created_after and created_before; reads take expand and include."

const findSchema = `{"type":"object","required":["query"],"properties":{"query":{"type":"string","maxLength":200},` +
	`"program_id":{"type":"string"}}}`

// addFind adds the tool find.
func (s *Server) addFind(server *sdk.Server, write bool) {
	index := newIndex(s.catalogue, write)
	server.AddTool(&sdk.Tool{
		Name: "find", Description: findText, InputSchema: json.RawMessage(findSchema), Annotations: readsOnly("Find"),
	}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return answered(ctx, func(ctx context.Context) (any, error) {
			var in struct {
				Query   string `json:"query"`
				Program string `json:"program_id"`
			}
			if err := decode(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			in.Query = strings.TrimSpace(in.Query)
			switch {
			case in.Query == "":
				return nil, problem.Missing("query")
			case len(in.Query) > maxQuery:
				return nil, problem.Invalid("query", "query may have %d bytes.", maxQuery)
			}
			by := of(ctx, r.ClientInfo())
			return s.find(middleware.For(ctx, by.client), by, index, in.Query, in.Program)
		})
	})
}

// readsOnly are the hints of a tool that changes nothing.
func readsOnly(title string) *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{
		Title: title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(false),
	}
}

// found has the results of a search.
type found struct {
	Notice     string           `json:"notice"`
	Operations []foundOperation `json:"operations"`
	Objects    []foundObject    `json:"objects"`
	Guides     []guides.Found   `json:"guides"`
}

// foundOperation is an operation with its arguments.
type foundOperation struct {
	Tool      string     `json:"tool"`
	Operation string     `json:"operation"`
	About     string     `json:"about"`
	Confirmed bool       `json:"a_person_confirms,omitempty"`
	Arguments []argument `json:"arguments"`
}

// argument is an argument of an operation.
type argument struct {
	Name     string   `json:"name"`
	Required bool     `json:"required,omitempty"`
	Type     string   `json:"type"`
	Values   []string `json:"values,omitempty"`
	About    string   `json:"about,omitempty"`
}

// foundObject is an object of the API. Name is a text from outside.
type foundObject struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	Name      string `json:"name"`
	ProgramID string `json:"program_id"`
	With      string `json:"operation"` // which retrieves it
}

// find searches operations, objects and guides.
func (s *Server) find(ctx context.Context, by session, index *index, query, program string) (any, error) {
	out := found{Notice: untrusted, Operations: []foundOperation{}, Objects: []foundObject{}}
	for _, o := range index.search(query, maxOperations) {
		out.Operations = append(out.Operations, argued(o))
	}
	out.Guides = guides.Find(meaningful(query), maxGuides)
	programs := []string{program}
	if program == "" {
		var err error
		if programs, err = s.programs(ctx, by); err != nil {
			return nil, err
		}
	}
	for _, id := range programs {
		some, err := s.objects(ctx, by, id, query)
		if err != nil {
			return nil, err
		}
		out.Objects = append(out.Objects, some...)
	}
	out.Objects = out.Objects[:min(len(out.Objects), maxObjects)]
	return out, nil
}

// searched are the lists in which objects are searched, with the filter that takes the query.
var searched = []struct {
	operation, filter string
	fits              func(query string) bool
}{
	{"listPartners", "search", func(string) bool { return true }},
	{"listCustomers", "email", func(q string) bool { return strings.Contains(q, "@") && oneWord(q) }},
	{"listCustomers", "external_customer_id", oneWord},
	{"listCustomers", "identifier", oneWord},
	{"listSales", "external_charge_id", oneWord},
}

func oneWord(query string) bool { return !strings.ContainsAny(query, " \t\n") }

// objects returns the objects of a program that a query names.
func (s *Server) objects(ctx context.Context, by session, program, query string) (out []foundObject, _ error) {
	for _, in := range searched {
		if !in.fits(query) {
			continue
		}
		var list struct{ Data []named }
		args := agent.Of("program_id", program, in.filter, query)
		args["limit"] = json.RawMessage("5")
		if err := by.api.Read(ctx, in.operation, args, &list); err != nil {
			return nil, err
		}
		for _, n := range list.Data {
			with := "retrieve" + strings.TrimSuffix(in.operation[len("list"):], "s")
			one := foundObject{n.ID, n.Object, n.name(), program, with}
			if !slices.ContainsFunc(out, func(o foundObject) bool { return o.ID == one.ID }) {
				out = append(out, one)
			}
		}
	}
	return out, nil
}

// named has the members of objects that name them.
type named struct {
	ID               string  `json:"id"`
	Object           string  `json:"object"`
	Email            *string `json:"email"`
	Name             *string `json:"name"`
	DisplayName      *string `json:"display_name"`
	FirstName        *string `json:"first_name"`
	LastName         *string `json:"last_name"`
	ExternalChargeID *string `json:"external_charge_id"`
}

// name joins the names of an object.
func (n named) name() string {
	var all []string
	for _, part := range []*string{n.DisplayName, n.FirstName, n.LastName, n.Name, n.Email, n.ExternalChargeID} {
		if part != nil && *part != "" {
			all = append(all, *part)
		}
	}
	return strings.Join(all, " ")
}

// argued returns an operation with its arguments.
func argued(o agent.Operation) foundOperation {
	out := foundOperation{
		Tool: toolOf(o.Tag()), Operation: o.ID, About: o.Description(), Confirmed: agent.Confirmed(o.Operation, nil),
		Arguments: []argument{},
	}
	for i, name := range slices.Concat(o.Required, o.Optional) {
		a := argument{Name: name, Required: i < len(o.Required), Type: "string"}
		if schema := o.Schema(name); schema != nil {
			a.Type, a.Values, a.About = typeOf(schema)
		}
		out.Arguments = append(out.Arguments, a)
	}
	return out
}

// typeOf returns the type, the values and the description of a schema.
func typeOf(s *openapi3.Schema) (kind string, values []string, about string) {
	about = s.Description
	inner := s
	for _, of := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
		if of.Value != nil && !of.Value.Type.Is("null") {
			inner = of.Value
			break
		}
	}
	kinds := slices.DeleteFunc(slices.Clone(inner.Type.Slice()), func(k string) bool { return k == "null" })
	kind = strings.Join(kinds, " or ")
	if inner.Items != nil {
		item, these, _ := typeOf(inner.Items.Value)
		kind, values = "list of "+item, these
	}
	for _, v := range inner.Enum {
		if text, ok := v.(string); ok {
			values = append(values, text)
		}
	}
	if about == "" {
		about = inner.Description
	}
	return kind, values, plain.Short(about, maxText)
}
