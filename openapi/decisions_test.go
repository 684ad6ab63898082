package openapi_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// decided matches the number of a decision in DECISIONS.md.
	decided = regexp.MustCompile(`(?m)^- \*\*(\d+(?:\.\d)?)\.\*\* `)
	// cited matches the numbers behind the word, such as "97 to 100 and 202".
	cited = regexp.MustCompile(`\bdecisions?,? (\d+(?:\.\d)?(?:(?:, ?| and | to |-)\d+(?:\.\d)?)*)`)
	// step matches one of these numbers and, in a range, the separator before it.
	step = regexp.MustCompile(`( to |-)?(\d+(?:\.\d)?)`)
	// elsewhere matches a reference to a document outside the tree.
	elsewhere = regexp.MustCompile(`[(;] ?(?:specification|reliability|performance|findings|engineering|house)(?:, |\))`)
	// fold matches the line break of a comment, or of a text.
	fold = regexp.MustCompile(`\n[ \t]*(?://|--|#)?[ \t]*`)
)

// TestCitedDecisions checks that DECISIONS.md has every cited number, once, and that no file cites a document outside
// the tree.
func TestCitedDecisions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("DECISIONS.md")
	require.NoError(t, err)
	numbers := map[string]int{}
	for _, m := range decided.FindAllStringSubmatch(string(text), -1) {
		numbers[m[1]]++
	}
	for n, times := range numbers {
		assert.Equal(t, 1, times, "openapi/DECISIONS.md has %s more than once: give the newer one a number of its own", n)
	}
	eachText(t, func(name, text string) {
		assert.Empty(t, elsewhere.FindAllString(text, -1),
			"%s cites a document that is not in the tree: say the reason instead", name)
		for _, n := range citations(text) {
			assert.Positive(t, numbers[n], "%s cites decision %s, which openapi/DECISIONS.md lacks: "+
				"write there what is decided and why, or say the reason in the comment instead", name, n)
		}
	})
}

// TestCitations checks that lists and ranges are read completely, across line ends.
func TestCitations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"// (decisions, 97 to 99 and\n\t// 202)":         {"97", "98", "99", "202"},
		"-- beyond what decision 146 says, and 7 others": {"146"},
		"(decisions, 3.1 to 3.3; decisions, 12-13)":      {"3.1", "3.3", "12", "13"},
		"six decisions of 7 people":                      nil,
	} {
		assert.Equal(t, want, citations(text), text)
	}
}

func citations(text string) []string {
	var out []string
	for _, m := range cited.FindAllStringSubmatch(fold.ReplaceAllString(text, " "), -1) {
		last := ""
		for _, n := range step.FindAllStringSubmatch(m[1], -1) {
			if n[1] != "" {
				out = append(out, between(last, n[2])...)
			}
			last = n[2]
			out = append(out, last)
		}
	}
	return out
}

// between lists the whole numbers within a range, without its ends.
func between(from, to string) []string {
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil {
		return nil
	}
	var out []string
	for n := first + 1; n < last; n++ {
		out = append(out, strconv.Itoa(n))
	}
	return out
}

// eachText calls f for the texts of the repository that people write.
func eachText(t *testing.T, f func(name, text string)) {
	t.Helper()
	kinds := []string{".go", ".sql", ".yaml", ".yml", ".md", ".ts", ".html", ".js", ".sh", ""}
	root := os.DirFS("..")
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".rail", "bin", "dist", "gen", "node_modules"}, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular() || !slices.Contains(kinds, path.Ext(name)) || name == "openapi/decisions_test.go":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		f(name, string(text))
		return err
	}))
}
