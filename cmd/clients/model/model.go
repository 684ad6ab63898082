// Package model reads the description of the API for the generators of clients. It answers the questions that each
// language asks: which resources there are, the name of each method, its arguments in order, its answer, how a list
// continues, and which types, error codes and events exist. Nothing in it depends on a language.
//
// A generator is a package beside this one. It writes files from a Model, and an example of a call from a Method.
package model

// Model is all that a client knows of the API. Its lists are in the order of the description.
type Model struct {
	// Version is the version of the contract, which clients send as X-Rail-Version.
	Version   string
	Resources []Resource
	// Types are the named types. A Shape refers to them by name.
	Types  []Type
	Codes  []Code
	Events []Event

	types   map[string]*Type
	methods map[string]*Method
}

// Type returns the type with a name, or nil.
func (m *Model) Type(name string) *Type { return m.types[name] }

// Method returns the method of an operation, or nil: the hooks, which payment processors call, have none.
func (m *Model) Method(operationID string) *Method { return m.methods[operationID] }

// Follow returns the shape that a shape names, through any number of names. Nullable is kept if any of them is.
func (m *Model) Follow(s Shape) Shape {
	for s.Kind == Named {
		next := m.types[s.Name].Shape
		next.Nullable = next.Nullable || s.Nullable
		s = next
	}
	return s
}

// Resource is a group of methods: rail.partners in TypeScript and Python, rail.Partners in Go.
type Resource struct {
	// Name is in snake case: payout_batches. Camel, Pascal and Snake write it for a language.
	Name string
	// Description is that of the tag.
	Description string
	Methods     []Method
}

// Security is the kind of key that a method needs.
type Security int

const (
	// Secret needs an API key, which no browser may have.
	Secret Security = iota
	// Publishable needs a publishable key, in the query or the body as key. Pages in browsers call it.
	Publishable
	// Public needs no key.
	Public
)

// Method is an operation of the API.
type Method struct {
	// OperationID is the operation's id in the description: createPartner.
	OperationID string
	// Resource is the resource's name, and Name the method's, both in snake case: partners, create.
	Resource, Name string
	// Summary is a short imperative without a full stop, Description one or more sentences of Markdown.
	Summary, Description string
	// HTTP is GET, POST or DELETE. Path has its parameters in braces: /v1/partners/{id}.
	HTTP, Path string
	Security   Security
	// Console marks an operation that serves the console's pages.
	Console bool
	// PathParams are in the order of the path, and always required.
	PathParams []Param
	// Query is empty for a method with a Body. It lacks parameters that repeat what the path or the body says.
	Query []Param
	// Body is nil for a method without one.
	Body   *Body
	Answer Answer
	// Page is nil unless the answer is a page of a list.
	Page *Page
	// Idempotent is whether the operation takes an Idempotency-Key. GET and DELETE are safe to repeat without one.
	Idempotent bool
	// Codes are the codes of the errors that the description lists for this operation itself.
	Codes []string
	// Example has the values of an example of this call.
	Example Example
}

// Param is a parameter of a path or a query.
type Param struct {
	// Name is as sent: expand[]. Ident is the name for code, in snake case: expand.
	Name, Ident string
	Description string
	Shape       Shape
	Required    bool
	// Explode is whether a list is sent as name=a&name=b; otherwise it is sent as name=a,b.
	Explode bool
}

// Body is a JSON body. Its shape names a type.
type Body struct {
	Shape    Shape
	Required bool
}

// Answer is the body of a success.
type Answer struct {
	// Shape names a type, unless Text.
	Shape Shape
	// Text is whether the answer is text and not JSON.
	Text bool
	// Optional is whether the answer may be 204 without a body.
	Optional bool
}

// Page describes how a list continues after a page.
type Page struct {
	// Item is the shape of an item; the page has them as data.
	Item Shape
	// Param is the query parameter that takes the cursor: starting_after, or after for the feed of events.
	Param string
	// Cursor is the member that has the cursor for the next page, of the page's last item, or of the page if OfPage.
	Cursor string
	OfPage bool
	// More is the boolean member of the page that announces another page, or if OfPage its end.
	More string
}

// Example has the values of a call, from the examples of the description.
type Example struct {
	// Path and Query have the values of the path's and of required query parameters, by Name.
	Path, Query map[string]Value
	// Body is the request's body, or nil.
	Body Value
	// Answer is the answer's body, or nil.
	Answer Value
}

// Code is a code of an error.
type Code struct {
	Name string // partner_email_taken
	// Type is the type of the error: conflict_error. Statuses are the HTTP statuses that it comes with, ascending. Both
	// are empty for a code that no operation lists, such as route_not_found.
	Type     string
	Statuses []int
	// Message is an example of the message.
	Message string
}

// Event is a type of webhook.
type Event struct {
	Name                 string // sale.created
	Summary, Description string
	// Type names the type of the body, and Data that of its member data: SaleCreatedEvent, SaleCreatedData.
	Type, Data string
	// Example is a body.
	Example Value
}

// Type is a named type.
type Type struct {
	Name        string // in Pascal case, as in the description: PartnerCreate
	Description string
	Shape       Shape
	// Request and Response are whether a request or an answer contains the type, also inside another type. Events count
	// as answers.
	Request, Response bool
}

// Kind is the kind of a shape.
type Kind int

// The kinds of shapes.
const (
	Any Kind = iota // any JSON value
	String
	Integer
	Number
	Boolean
	// Enum is a string, or with a boolean in Values a boolean, that takes one of Values.
	Enum
	List   // of Item
	Map    // from strings to Item
	Object // with Members
	Union  // of Variants
	Named  // the type with Name
)

// Shape is the type of a value: of a member, a parameter, an item or a body. Each kind uses some of the other fields.
type Shape struct {
	Kind     Kind
	Nullable bool
	Name     string // of Named
	// Format is date-time, date, email, uri, int32, int64, binary or another format of a String or Integer, or "".
	Format   string
	Values   []string // of Enum
	Item     *Shape   // of List and Map
	Members  []Member // of Object
	Variants []Shape  // of Union
	// Tag is the member that tells the variants of a Union apart, with the variant's name by its value; "" without one.
	Tag  string
	Tags map[string]string
	// Open is whether an Object may have members of any name and value beside Members.
	Open bool
}

// Member is a member of an object.
type Member struct {
	Name        string
	Description string
	Shape       Shape
	// Required members are always there. A member that is not required may be left out of a request, and is absent from
	// an answer that was not asked for it.
	Required bool
	// Default is the value of a member that is left out, or nil.
	Default Value
}
