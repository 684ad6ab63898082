package slug

import (
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Top 10":         "top-10",
		"--a__b--":       "a-b",
		"ünï":            "n",
		"日本":             "",
		"abcdefgh ij":    "abcdefgh",
		"Abcdefghijklmn": "abcdefghi",
	} {
		if got := Of(text, 9); got != want {
			t.Errorf("Of(%q, 9) = %q, want %q", text, got, want)
		}
	}
}

func TestUnused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 29) + "-yz"
	for _, test := range []struct {
		stem  string
		taken []string
		want  string
	}{
		{"ada", nil, "ada"},
		{"ada", []string{"ada-2"}, "ada"},
		{"ada", []string{"ada"}, "ada-2"},
		{"ada", []string{"ada", "ada-2", "ada-4"}, "ada-3"},
		{long, []string{long}, strings.Repeat("x", 29) + "-2"},
		{strings.Repeat("x", 32), []string{strings.Repeat("x", 32)}, strings.Repeat("x", 30) + "-2"},
	} {
		if got := Unused(test.stem, 32, test.taken); got != test.want {
			t.Errorf("Unused(%q, %q) = %q, want %q", test.stem, test.taken, got, test.want)
		}
	}
}
