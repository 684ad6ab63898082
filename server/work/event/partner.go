package event

import (
	"encoding/json"
	"slices"

	"rail/gen/events"
)

// partnerTypes are the types that partners may receive. hidden are, by type, the members that partners do not
// get, such as the customer's identity. Both come from the OpenAPI document.
var partnerTypes, hidden = partnersView(events.Catalogue)

// partnersView returns the marks of the catalogue by type.
func partnersView(catalogue []events.Type) (visible []string, without map[string][]string) {
	without = map[string][]string{}
	for _, t := range catalogue {
		if t.PartnerVisible {
			visible = append(visible, string(t.Type))
		}
		if len(t.HiddenFromPartners) > 0 {
			without[string(t.Type)] = t.HiddenFromPartners
		}
	}
	return visible, without
}

// PartnerVisible reports whether partners may receive events of a type. EventsInsert chooses the endpoints.
func PartnerVisible(kind string) bool { return slices.Contains(partnerTypes, kind) }

// hides reports whether a type has members hidden from partners.
func hides(kind string) bool { return len(hidden[kind]) > 0 }

// ForPartner returns the data of an event without hidden members. Data without any is returned unchanged.
func ForPartner(kind string, data json.RawMessage) (json.RawMessage, error) {
	if !hides(kind) {
		return data, nil
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	for _, name := range hidden[kind] {
		delete(members, name)
	}
	return plain(members)
}
