package event

import (
	"encoding/json"
	"slices"

	"rail/gen/events"
)

// What partners may see of events: the types, and the members of the data that
// are hidden from them, such as who a customer is. The description says both.
var (
	partnerTypes []string
	hidden       = map[string][]string{}
)

func init() {
	for _, t := range events.Catalogue {
		if t.PartnerVisible {
			partnerTypes = append(partnerTypes, string(t.Type))
		}
		if len(t.HiddenFromPartners) > 0 {
			hidden[string(t.Type)] = t.HiddenFromPartners
		}
	}
}

// PartnerVisible reports whether partners may receive events of a type.
func PartnerVisible(kind string) bool { return slices.Contains(partnerTypes, kind) }

// hides reports whether partners see less of a type than others do.
func hides(kind string) bool { return len(hidden[kind]) > 0 }

// ForPartner returns the data of an event without what is hidden from partners.
// Data that hides nothing is returned as it is.
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
