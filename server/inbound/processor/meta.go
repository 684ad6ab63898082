package processor

import (
	"maps"
	"slices"
	"strings"

	"rail/server/ident"
	"rail/server/inbound/loose"
)

// The keys of a merchant's metadata that Rail reads, at every processor.
const (
	metaClick    = "rail_click"    // a click or referral, as the browser script puts it there
	metaCustomer = "rail_customer" // the merchant's own id of the customer
	metaSwitch   = "rail"          // "skip": not Rail's
)

// Skips reports whether the merchant opted out in one of these.
func Skips(of ...loose.Meta) bool {
	return slices.ContainsFunc(of, func(m loose.Meta) bool { return m.Text(metaSwitch) == "skip" })
}

// Visit takes what names a click or a referral, and reports whether it does. What
// was taken first stays.
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

// Describe adds what metadata says, the nearest to the payment first.
func (b *Binding) Describe(of ...loose.Meta) {
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

// The bounds of a sale's metadata, with room for what is added to it.
const (
	maxMetaKeys  = 45
	maxMetaBytes = 10 << 10
)

// Merged joins metadata, of which the first that has a key counts. What is Rail's
// own is left out, and what Rail would refuse.
func Merged(of ...loose.Meta) map[string]any {
	out, size := map[string]any{}, 0
	for _, m := range of {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			name, value := loose.Clean(key), m.Text(key)
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
