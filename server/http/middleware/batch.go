package middleware

import (
	"context"
	"encoding/json"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"
)

// itemsPerRequest is the number of a batch's items that count as one request.
const itemsPerRequest = 10

// leaveItems removes the schema of the items from that of a batch and returns it: a fault in one
// item must not refuse the others.
func leaveItems(batch *openapi3.Schema) *openapi3.Schema {
	list := batch.Properties["items"].Value
	item := list.Items.Value
	list.Items = openapi3.NewSchemaRef("", openapi3.NewSchema().WithNullable())
	return item
}

// faultsKey is the context key of a batch's faults.
type faultsKey struct{}

// ItemFault returns the validation error of an item of ctx's batch, or nil.
func ItemFault(ctx context.Context, i int) error {
	faults, ok := ctx.Value(faultsKey{}).([]error)
	if !ok || i >= len(faults) {
		panic("middleware: the context carries no such item")
	}
	return faults[i]
}

// checkItems validates each item of a batch for ItemFault, and charges the key for their number.
func (f *Front) checkItems(c echo.Context, s *state) {
	var in struct {
		Items []json.RawMessage `json:"items"`
	}
	_ = json.Unmarshal(s.body, &in) // the batch is valid except for its items
	faults := make([]error, len(in.Items))
	for i, item := range in.Items {
		if faults[i] = f.Document.validateBody(s.route.item, item); faults[i] == nil && f.Document.lenient {
			faults[i] = checkNames(s.route.item, item)
		}
	}
	ctx := c.Request().Context()
	if more := (len(in.Items)+itemsPerRequest-1)/itemsPerRequest - 1; more > 0 {
		f.owe(ctx, s, more)
	}
	c.SetRequest(c.Request().WithContext(context.WithValue(ctx, faultsKey{}, faults)))
}
