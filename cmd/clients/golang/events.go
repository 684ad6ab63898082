package golang

import (
	"fmt"
	"strings"

	"rail/cmd/clients/model"
)

// eventsHead begins the file of events.
const eventsHead = notice + `package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Event is the body of a webhook.
type Event struct {
	// ID is the same on every retry and replay. Drop events whose id you have seen.
	ID        string        ` + "`json:\"id\"`" + `
	Type      EventName     ` + "`json:\"type\"`" + `
	CreatedAt time.Time     ` + "`json:\"created_at\"`" + `
	Request   *EventRequest ` + "`json:\"request\"`" + ` // the cause; nil on test events
	// Data is a pointer to the type of the event's data, such as *SaleCreatedData for sale.created. For a type that this
	// release does not know, it is a json.RawMessage.
	Data any ` + "`json:\"-\"`" + `
}

// ConstructEvent verifies the signature of a webhook and returns its event. Body is the raw body, header the request's
// header, and secret the secret of the endpoint. Answer a 400 if it fails.
//
//	event, err := client.ConstructEvent(body, r.Header, secret)
//	if err != nil {
//		http.Error(w, "bad signature", http.StatusBadRequest)
//		return
//	}
//	switch data := event.Data.(type) {
//	case *client.SaleCreatedData:
//		fmt.Println(data.SaleID, data.AmountMinor)
//	}
func ConstructEvent(body []byte, header http.Header, secret string) (*Event, error) {
	if err := Signature(header, body, secret, time.Now()); err != nil {
		return nil, err
	}
	return ParseEvent(body)
}

// ParseEvent returns the event of a body without a signature, such as RequestBody of Events.Follow.
func ParseEvent(body []byte) (*Event, error) {
	e := new(Event)
	var rest struct{ Data json.RawMessage }
	if err := json.Unmarshal(body, e); err != nil {
		return nil, fmt.Errorf("client: an event: %w", err)
	}
	if err := json.Unmarshal(body, &rest); err != nil {
		return nil, fmt.Errorf("client: an event: %w", err)
	}
	known, ok := eventData[e.Type]
	if !ok {
		e.Data = rest.Data
		return e, nil
	}
	e.Data = known()
	return e, decode(rest.Data, e.Data)
}

// eventData makes the data of each type of event.
var eventData = map[EventName]func() any{
`

// writeEvents returns the events.
func writeEvents(m *model.Model) string {
	var b strings.Builder
	b.WriteString(eventsHead)
	for _, e := range m.Events {
		fmt.Fprintf(&b, "\tEventName%s: func() any { return new(%s) },\n", model.Pascal(e.Name), e.Data)
	}
	b.WriteString("}\n")
	return b.String()
}
