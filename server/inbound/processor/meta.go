package processor

import (
	"maps"
	"slices"
	"strings"

	"rail/server/ident"
	"rail/server/inbound/lenient"
)

// Keys of a merchant's metadata that Rail reads, at every processor.
const (
	metaClick    = "rail_click"    // a click or referral, set by the browser script
	metaCustomer = "rail_customer" // the merchant's id of the customer
	metaSwitch   = "rail"          // "skip" opts out
)

// Skips reports whether the merchant opted out in one of these.
func Skips(of ...lenient.Meta) bool {
	return slices.ContainsFunc(of, func(m lenient.Meta) bool { return m.Text(metaSwitch) == "skip" })
}

// Visit sets the click or referral of an id, and reports whether it is one. A value that is set stays.
func (b *Binding) Visit(id string) bool {
	switch {
	case ident.Has(id, ident.Click):
		fill(&b.Click, id)
	case ident.Has(id, ident.Referral):
		fill(&b.Referral, id)
	default:
		return false
	}
	return true
}

// Describe adds values from metadata, the closest to the payment first.
func (b *Binding) Describe(of ...lenient.Meta) {
	for _, m := range of {
		b.Visit(m.Text(metaClick))
		fill(&b.Identifier, m.Text(metaCustomer))
	}
}

func fill(s *string, with string) {
	if *s == "" {
		*s = with
	}
}

// Bounds of a sale's metadata, with room for additions.
const (
	maxMetaKeys  = 45
	maxMetaBytes = 10 << 10
)

// Merged joins metadata; the first object with a key wins. It leaves out Rail's own keys and keys that Rail
// would refuse.
func Merged(of ...lenient.Meta) map[string]any {
	out, size := map[string]any{}, 0
	for _, m := range of {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			name, value := lenient.Clean(key), m.Text(key)
			_, taken := out[name]
			if taken || name == "" || value == "" || name == metaSwitch || strings.HasPrefix(name, "rail_") {
				continue
			}
			if size += len(name) + len(value); size > maxMetaBytes || len(out) == maxMetaKeys {
				return out
			}
			out[name] = value
		}
	}
	return out
}
