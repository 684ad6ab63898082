package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"rail/openapi"
	"rail/server/clock"
	"rail/server/work/event"
)

// EventType is an entry of the catalogue. Example is a complete event body.
type EventType struct {
	Type, Description string
	PartnerEligible   bool
	Example           json.RawMessage
}

// Catalogue returns every event type in the order of the OpenAPI document, whose examples are checked against
// the emitted types.
var Catalogue = sync.OnceValue(func() []EventType {
	types, err := readCatalogue(openapi.Bundle)
	if err != nil {
		panic(err) // the document is part of the binary
	}
	return types
})

// readCatalogue reads the document's webhooks with a token decoder, which preserves their order, unlike a map.
func readCatalogue(bundle []byte) ([]EventType, error) {
	var doc struct {
		Webhooks json.RawMessage `json:"webhooks"`
	}
	if err := json.Unmarshal(bundle, &doc); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(doc.Webhooks))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var out []EventType
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var item struct {
			Post struct {
				Description string `json:"description"`
				RequestBody struct {
					Content map[string]struct {
						Examples map[string]struct {
							Value json.RawMessage `json:"value"`
						} `json:"examples"`
					} `json:"content"`
				} `json:"requestBody"`
			} `json:"post"`
		}
		if err := dec.Decode(&item); err != nil {
			return nil, fmt.Errorf("%v: %w", name, err)
		}
		out = append(out, EventType{
			Type: fmt.Sprint(name), Description: item.Post.Description, PartnerEligible: event.PartnerVisible(fmt.Sprint(name)),
			Example: item.Post.RequestBody.Content["application/json"].Examples["ok"].Value,
		})
	}
	return out, nil
}

// TestEvent returns the body of a test event: the type's example with a new id and without a request. With
// partner, it omits members hidden from partners.
func TestEvent(kind, id string, at clock.Time, partner bool) ([]byte, error) {
	for _, t := range Catalogue() {
		if t.Type != kind {
			continue
		}
		var example struct {
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(t.Example, &example); err != nil {
			return nil, err
		}
		if partner {
			var err error
			if example.Data, err = event.ForPartner(kind, example.Data); err != nil {
				return nil, err
			}
		}
		return plain(struct {
			ID        string          `json:"id"`
			Type      string          `json:"type"`
			CreatedAt clock.Time      `json:"created_at"`
			Data      json.RawMessage `json:"data"`
		}{id, kind, at, example.Data})
	}
	return nil, fmt.Errorf("no event type %q", kind)
}

// plain encodes JSON without HTML escapes, as events are stored and signed.
func plain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
