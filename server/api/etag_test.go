package api

import (
	"slices"
	"testing"
)

func TestMatchesETag(t *testing.T) {
	const tag = `"abc"`
	for _, header := range []string{`"abc"`, `W/"abc"`, `"x", "abc"`, `*`} {
		if !matches(header, tag) {
			t.Errorf("%s does not match", header)
		}
	}
	if slices.ContainsFunc([]string{``, `"ab"`, `abc`}, func(h string) bool { return matches(h, tag) }) {
		t.Error("a foreign tag matches")
	}
}
