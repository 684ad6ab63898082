package guides_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/http/docs/guides"
	"rail/server/http/handlers"
	"rail/server/inbound/importer/source"
)

// TestExportColumns finds each column of an export, and each field of an import, in their table of the guide.
func TestExportColumns(t *testing.T) {
	t.Parallel()
	text := ""
	for _, g := range guides.All() {
		if g.Name == "export" {
			text = string(g.Text)
		}
	}
	columns := func(heading string) (all []string) {
		_, section, found := strings.Cut(text, "\n### "+heading+"\n")
		require.True(t, found, heading)
		section, _, _ = strings.Cut(section, "\n#")
		for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(section, -1) {
			all = append(all, m[1])
		}
		return all
	}
	exports, err := handlers.New(handlers.Options{}).Exports()
	require.NoError(t, err)
	require.Len(t, exports, 8)
	for _, e := range exports {
		require.ElementsMatch(t, e.Columns, columns(e.Name), e.Name)
	}
	for _, kind := range source.Kinds {
		require.True(t, slices.ContainsFunc(exports, func(e handlers.Export) bool { return e.Name == string(kind) }), kind)
		var fields []string
		for _, f := range source.Fields(kind) {
			fields = append(fields, f.Name)
		}
		require.ElementsMatch(t, fields, columns("Import "+string(kind)), kind)
	}
}
