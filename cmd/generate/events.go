package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// webhook is an event in the description.
type webhook struct {
	Type    string
	Data    string   // the schema of its data
	Visible bool     // partners may receive it
	Hidden  []string // members of the data that partners do not see
}

// reference is a $ref to a schema.
type reference struct {
	Ref string `json:"$ref"`
}

// name returns the name of the schema.
func (r reference) name() string { return strings.TrimPrefix(r.Ref, "#/components/schemas/") }

// described is the form of an event in the description's JSON: what is read of it here.
type described struct {
	Post struct {
		Visible     bool     `json:"x-partner-visible"`
		Hidden      []string `json:"x-hidden-from-partners"`
		RequestBody struct {
			Content map[string]struct {
				Schema reference `json:"schema"`
			} `json:"content"`
		} `json:"requestBody"`
	} `json:"post"`
}

// readWebhooks returns the events of a bundled description, in its order. They are decoded one by one, since a Go map
// would lose the order.
func readWebhooks(path string) ([]webhook, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Webhooks   json.RawMessage `json:"webhooks"`
		Components struct {
			Schemas map[string]struct {
				Properties map[string]reference `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(source, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	// Token by token through the object: its opening brace, then each name with its value.
	items := json.NewDecoder(bytes.NewReader(doc.Webhooks))
	if _, err := items.Token(); err != nil {
		return nil, err
	}
	var out []webhook
	for items.More() {
		name, err := items.Token()
		if err != nil {
			return nil, err
		}
		var item described
		if err := items.Decode(&item); err != nil {
			return nil, fmt.Errorf("%v: %w", name, err)
		}
		body := doc.Components.Schemas[item.Post.RequestBody.Content["application/json"].Schema.name()]
		w := webhook{
			Type: fmt.Sprint(name), Data: body.Properties["data"].name(),
			Visible: item.Post.Visible, Hidden: item.Post.Hidden,
		}
		// Hidden members of an event that partners never receive are a mistake in the description.
		if w.Data == "" || len(w.Hidden) > 0 && !w.Visible {
			return nil, fmt.Errorf("%s: its data has no schema, or it hides members of an event that partners do not see", w.Type)
		}
		out = append(out, w)
	}
	return out, nil
}

// eventsHead begins the file. The fields of Event are unexported, so that type and data cannot disagree.
const eventsHead = notice + `// Package events is the catalogue of events: a function for each type, which takes
// the data of that type and no other, and what partners may see of it.
package events

import "rail/gen/api"

// Event is a type of event with its data. Only the functions below make one.
type Event struct {
	kind api.EventName
	data any
}

// Type returns the type of the event.
func (e Event) Type() api.EventName { return e.kind }

// Data returns the data of the event, one of the types of package api.
func (e Event) Data() any { return e.data }

// Type is an entry of the catalogue.
type Type struct {
	Type               api.EventName
	PartnerVisible     bool     // postbacks of partners may receive it,
	HiddenFromPartners []string // without these members of its data
}

`

// writeEvents returns Go source with a function for each event, and the catalogue.
func writeEvents(hooks []webhook) []byte {
	var w bytes.Buffer
	w.WriteString(eventsHead)
	w.WriteString("// Catalogue is every type of event, in the order of the description.\nvar Catalogue = []Type{\n")
	for _, h := range hooks {
		// Members with zero values are left out; gofmt lays out the rest.
		fmt.Fprintf(&w, "{Type: %q", h.Type)
		if h.Visible {
			w.WriteString(", PartnerVisible: true")
		}
		if len(h.Hidden) > 0 {
			fmt.Fprintf(&w, ", HiddenFromPartners: %#v", h.Hidden)
		}
		w.WriteString("},\n")
	}
	w.WriteString("}\n")
	for _, h := range hooks {
		// sale.created becomes SaleCreated, the name that oapi-codegen gives the data's type, less Data.
		name := camel(strings.ReplaceAll(h.Type, ".", "_"))
		fmt.Fprintf(&w, "\n// %s is the event %s.\n", name, h.Type)
		fmt.Fprintf(&w, "func %s(d api.%s) Event { return Event{%q, d} }\n", name, h.Data, h.Type)
	}
	return w.Bytes()
}
