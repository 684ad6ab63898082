package portal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
)

// TestShortName: other partners see a first name and an initial, and never an address or a last name.
func TestShortName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, last, display, want string }{
		{"Ada", "Lovelace", "ada@example.com", "Ada L."},
		{"Ada Maria", "King Lovelace", "", "Ada L."},
		{"Ada", "", "Countess", "Ada"},
		{"", "Lovelace", "", ""},
		{"", "Lovelace", "lovelace ", ""},
		{"", "Lovelace", "Ada Lovelace", "Ada L."},
		{"", "", "Ada", "Ada"},
		{"", "", "Ada Ωmega", "Ada Ω."},
		{"", "", "Lovelace, Ada", "Ada L."},
		{"", "", "ada@example.com", ""},
		{"", "", "Ada ada@example.com", ""},
		{"", "", "ada＠example.com", ""},
		{"ada@example.com", "", "Ada Lovelace", "Ada L."},
		{"Ada", "ada@example.com", "", ""},
		{"", "", " ", ""},
	} {
		got := shortName(db.PortalLeadersRow{FirstName: c.first, LastName: c.last, DisplayName: c.display})
		require.Equal(t, c.want, got, "%+v", c)
	}
}
