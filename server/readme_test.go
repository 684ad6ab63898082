package server_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the module's folder, seen from this one.
const root = ".."

// A page is a Markdown file of the tree.
type page struct {
	name string // from the module's folder
	text string
}

// pages returns every Markdown file.
func pages(t *testing.T) []page {
	t.Helper()
	var out []page
	for _, name := range files(t) {
		if path.Ext(name) != ".md" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		out = append(out, page{name, string(text)})
	}
	require.NotEmpty(t, out)
	return out
}

// files returns the files of the tree from the module's folder, without those
// that are installed, built or made while the server runs.
func files(t *testing.T) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && slices.Contains([]string{".git", ".rail", "bin", "node_modules"}, d.Name()) {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() {
			out = append(out, name)
		}
		return err
	})
	require.NoError(t, err)
	return out
}

// TestReadmeIsShort: the first page is read whole, or not at all.
func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	readme, err := os.Stat(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	require.LessOrEqual(t, readme.Size(), int64(7000), "README.md: move details beside the code")
}

var (
	// link finds the target of a Markdown link or picture, or of an HTML one.
	link = regexp.MustCompile(`\]\(([^)\s]+)\)|\b(?:src|href)="([^"]+)"`)
	// quoted finds code in a line.
	quoted = regexp.MustCompile("`([^`\n]+)`")
	// block finds a block of code between fences.
	block = regexp.MustCompile("(?ms)^```.*?^```$")
	// heading finds the words of a heading.
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	// notInAnchors are the characters that an anchor leaves out.
	notInAnchors = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks follows every link to a file, and to a heading of one.
func TestLinks(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for _, p := range all {
		for _, found := range link.FindAllStringSubmatch(block.ReplaceAllString(p.text, ""), -1) {
			target := found[1] + found[2]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			name := p.name
			if file != "" {
				name = path.Join(path.Dir(p.name), file)
			}
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("%s links to %s, which is not there", p.name, target)
				continue
			}
			if anchor != "" && !hasHeading(all, name, anchor) {
				t.Errorf("%s links to %s: there is no such heading", p.name, target)
			}
		}
	}
}

// TestPackagesAreShown checks that a page links every folder of the server and
// describes it.
func TestPackagesAreShown(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{}
	for _, p := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(p.text, -1) {
			name := path.Join(path.Dir(p.name), found[1])
			shown[name], shown[path.Dir(name)] = true, true
		}
	}
	for _, pattern := range []string{"*", "http/*", "money/*", "outbound/*", "postgres/*", "program/*", "harness/*"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range found {
			if folder, err := os.Stat(name); err != nil || !folder.IsDir() {
				continue
			}
			if !shown["server/"+filepath.ToSlash(name)] {
				t.Errorf("no page links to %s: say what it is for, in server/README.md or in its layer's", name)
			}
		}
	}
}

// hasHeading reports whether a page has a heading of that anchor.
func hasHeading(all []page, name, anchor string) bool {
	for _, p := range all {
		if p.name != name {
			continue
		}
		for _, h := range heading.FindAllStringSubmatch(block.ReplaceAllString(p.text, ""), -1) {
			if strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == anchor {
				return true
			}
		}
	}
	return false
}

// TestNamesInPages checks that paths, tests and variables in pages exist. The
// changelog may name former ones.
func TestNamesInPages(t *testing.T) {
	t.Parallel()
	source := sourceText(t)
	variable := regexp.MustCompile(`^RAIL_[A-Z_]+`)
	test := regexp.MustCompile(`^Test[A-Z]\w+$`)
	folders := regexp.MustCompile(`^(\.ci|cmd|gen|openapi|queries|schema|server)/[\w./-]*$`)
	for _, p := range pages(t) {
		if p.name == "CHANGELOG.md" {
			continue
		}
		for _, found := range quoted.FindAllStringSubmatch(block.ReplaceAllString(p.text, ""), -1) {
			name := found[1]
			exists := true
			switch {
			case folders.MatchString(name):
				_, err := os.Stat(filepath.Join(root, name))
				exists = err == nil
			case test.MatchString(name):
				exists = strings.Contains(source, "func "+name+"(")
			case variable.MatchString(name):
				exists = strings.Contains(source, variable.FindString(name))
			}
			if !exists {
				t.Errorf("%s names `%s`, which is not there", p.name, name)
			}
		}
	}
}

// chapter returns the text below a heading of the second level.
func chapter(t *testing.T, file, heading string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	_, below, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	require.True(t, ok)
	below, _, _ = strings.Cut(below, "\n## ")
	return below
}

// TestFilesOfRules: the files that server/README.md sends readers to are there.
func TestFilesOfRules(t *testing.T) {
	t.Parallel()
	for _, found := range quoted.FindAllStringSubmatch(chapter(t, "README.md", "Where a rule is"), -1) {
		name := found[1]
		if !strings.Contains(name, "/") {
			continue
		}
		_, here := os.Stat(name)
		_, above := os.Stat(filepath.Join(root, name))
		if here != nil && above != nil {
			t.Errorf("README.md names `%s`, which is not there", name)
		}
	}
}

// TestGuaranteesHaveTests: each row of the guarantees names a test, a stage of the bar, or a package of tests.
func TestGuaranteesHaveTests(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`Test[A-Z]\\w+`|\\[G\\d+\\]\\(#the-bar\\)|`server/[\\w/]+`")
	rows := 0
	for line := range strings.Lines(chapter(t, "harness/README.md", "Guarantees and their tests")) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
		if !strings.HasPrefix(line, "| ") || line == "| Guarantee | Test |\n" {
			continue
		}
		rows++
		if len(cells) != 2 || !named.MatchString(cells[1]) {
			t.Errorf("no test is named: %s", line)
		}
	}
	require.Greater(t, rows, 100)
}

// sourceText is the text of all Go files and of what runs them.
func sourceText(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, name := range files(t) {
		if strings.HasPrefix(name, "gen/") || path.Ext(name) != ".go" && !strings.HasPrefix(name, ".ci/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		out.Write(text)
	}
	return out.String()
}
