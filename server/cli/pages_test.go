package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// verb matches a verb of a format.
var verb = regexp.MustCompile(`%[-+# 0]*\d*(?:\.\d+)?[a-zA-Z]`)

// TestTroubleshooting checks that the source has each message of cmd/rail/troubleshooting.md: a row begins with the
// messages, where … replaces the variable parts.
func TestTroubleshooting(t *testing.T) {
	t.Parallel()
	text := sourceTexts(t)
	rows := 0
	for line := range strings.Lines(operatorPage(t, "troubleshooting.md")) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		messages := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[0], -1)
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		rows++
		require.Len(t, cells, 3, "a message, its cause and a remedy: %s", line)
		for _, m := range messages {
			if !begins(text, m[1]) {
				t.Errorf("no source has the message %q", m[1])
			}
		}
	}
	require.Greater(t, rows, 60)
}

// begins reports whether one of the texts begins with a message, or has it after another sentence or part.
func begins(texts, message string) bool {
	for _, before := range []string{"\n", "…", "… ", ": ", ". ", "'"} {
		if strings.Contains(texts, before+message) {
			return true
		}
	}
	return false
}

// sourceTexts returns the texts of the binary's source, a line each, with … for the verbs of formats.
func sourceTexts(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	out.WriteByte('\n')
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "harness":
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, ok := literal(e)
			if ok {
				out.WriteString(verb.ReplaceAllString(text, "…") + "\n")
			}
			return !ok
		})
		return nil
	})
	require.NoError(t, err)
	return out.String()
}

// literal returns the text of a string, or of a sum that has one; … replaces its other parts.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, isLeft := literal(e.X)
		right, isRight := literal(e.Y)
		if e.Op != token.ADD || !isLeft && !isRight {
			return "", false
		}
		if !isLeft {
			left = "…"
		}
		if !isRight {
			right = "…"
		}
		return left + right, true
	}
	return "", false
}

// operatorPage returns the text of a page beside the operator's.
func operatorPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "cmd", "rail", name))
	require.NoError(t, err)
	return string(text)
}

var (
	// called matches a call of rail in a page: its words, and the rest of the line with its flags.
	called = regexp.MustCompile(`(?:^\s*|(\S+) /?)rail(?:ctl)?((?: [a-z][a-z-]*)+)([^|&;#]*)`)
	// named matches the word before another rail: a namespace, a package, a server, a role, a user or a payout rail.
	named = regexp.MustCompile(`^(-n|-u|--package|http|ROLE|generic|user|of|the)$`)
	// flagged matches a flag.
	flagged = regexp.MustCompile(`\s--([a-z][a-z-]*)`)
)

// TestCommandsInPages checks that the commands and flags in pages exist.
func TestCommandsInPages(t *testing.T) {
	t.Parallel()
	root := tree(&Env{Out: os.Stdout, Err: os.Stderr})
	found := 0
	for _, folder := range []string{".", "cmd", "server"} {
		for name, text := range pagesIn(t, filepath.Join("..", "..", folder), folder != ".") {
			for _, line := range codeOf(text) {
				for _, m := range called.FindAllStringSubmatch(line, -1) {
					if words := strings.Fields(m[2]); !named.MatchString(m[1]) && words[0] != "help" {
						found++
						checkCall(t, root, name, words, m[3])
					}
				}
			}
		}
	}
	require.Greater(t, found, 200)
}

// pagesIn returns the Markdown files of a folder, and of the folders in it if deep, by their names.
func pagesIn(t *testing.T, folder string, deep bool) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			if err == nil && d.IsDir() && path != folder && !deep {
				return fs.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	})
	require.NoError(t, err)
	return out
}

// codeOf returns the lines of code of a page: indented, fenced or quoted.
func codeOf(page string) (out []string) {
	page = fenced.ReplaceAllStringFunc(page, func(block string) string {
		out = append(out, strings.Split(block, "\n")...)
		return ""
	})
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "    ") {
			out = append(out, line)
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
			out = append(out, m[1])
		}
	}
	return out
}

// checkCall checks the command that words begin with, and its flags.
func checkCall(t *testing.T, root *cobra.Command, page string, words []string, flags string) {
	t.Helper()
	cmd, _, err := root.Find(words[:1])
	if err != nil || cmd == root {
		assert.Fail(t, "no such command", "%s: rail %s", page, words[0])
		return
	}
	if len(words) > 1 && cmd.HasSubCommands() {
		if sub, _, err := cmd.Find(words[1:2]); err == nil && sub != cmd {
			cmd = sub
		} else {
			valid := cmd.Name() == "restore" // which also has a command without a second word
			assert.True(t, valid, "%s: rail %s %s: no such command", page, words[0], words[1])
		}
	}
	for _, flag := range flagged.FindAllStringSubmatch(flags, -1) {
		valid := flag[1] == "help" || cmd.Flags().Lookup(flag[1]) != nil || root.PersistentFlags().Lookup(flag[1]) != nil
		assert.True(t, valid, "%s: %s has no flag --%s", page, cmd.CommandPath(), flag[1])
	}
}
