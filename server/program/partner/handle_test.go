package partner

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"rail/server/ident/slug"
)

var handleForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$`)

func TestHandleStem(t *testing.T) {
	t.Parallel()
	for email, want := range map[string]string{
		"ada@example.com":                    "ada",
		"Ada.Lovelace@Example.com":           "ada-lovelace",
		"ada+news@example.com":               "ada",
		"ada+a+b@example.com":                "ada",
		"a..__b@example.com":                 "a-b",
		"-ada-@example.com":                  "ada",
		"a@example.com":                      "partner",
		"+tag@example.com":                   "partner",
		"ünï@example.com":                    "partner",
		"zoë.k@example.com":                  "zo-k",
		`"a@b"@example.com`:                  "a-b",
		"42@example.com":                     "42",
		strings.Repeat("x", 40) + "@e.com":   strings.Repeat("x", 32),
		strings.Repeat("x", 31) + ".y@e.com": strings.Repeat("x", 31),
	} {
		got := handleStem(email)
		if got != want {
			t.Errorf("handleStem(%q) = %q, want %q", email, got, want)
		}
		if !handleForm.MatchString(got) {
			t.Errorf("handleStem(%q) = %q is no handle", email, got)
		}
	}
}

// For any stem, hundreds of handles are distinct and valid, and match the pattern used to find taken ones.
func TestUnusedOften(t *testing.T) {
	t.Parallel()
	for n := 2; n <= handleMax; n++ {
		stem := strings.Repeat("a", n)
		var taken []string
		for range 300 {
			name := slug.Unused(stem, handleMax, taken)
			prefix := strings.TrimSuffix(handlePattern(stem), "%")
			if !handleForm.MatchString(name) || name != stem && !strings.HasPrefix(name, prefix) {
				t.Fatalf("%q after %d: %q, looked for as %q", stem, len(taken), name, prefix)
			}
			taken = append(taken, name)
		}
		slices.Sort(taken)
		if distinct := len(slices.Compact(taken)); distinct != 300 {
			t.Fatalf("%q: %d distinct handles", stem, distinct)
		}
	}
}
