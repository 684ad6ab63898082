package rules

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFieldsAreDescribed compares the fields of conditions with their table in the OpenAPI document.
func TestFieldsAreDescribed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../openapi/schemas/flows.yaml")
	require.NoError(t, err)
	var described []string
	for _, row := range regexp.MustCompile(`(?m)^ +\| (`+"`"+`[^|]+) \|`).FindAllStringSubmatch(string(text), -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			if strings.Contains(name[1], ".") {
				described = append(described, name[1])
			}
		}
	}
	names := []string{saleMetadata + "<key>", customerMetadata + "<key>"}
	for _, f := range fields {
		names = append(names, f.name)
	}
	require.ElementsMatch(t, names, described)
}
