package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
)

// print writes a command's result v as JSON if --json is given, else as the table of rows: each a line of
// tab-separated cells, the heading first.
func (env *Env) print(v any, rows func() []string) error {
	if env.json {
		e := json.NewEncoder(env.Out)
		e.SetEscapeHTML(false)
		return e.Encode(map[string]any{"data": v})
	}
	t := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	for _, r := range rows() {
		if _, err := fmt.Fprintln(t, r); err != nil {
			return err
		}
	}
	return t.Flush()
}

// line returns the rows of a one-line result.
func line(format string, args ...any) func() []string {
	return func() []string { return []string{fmt.Sprintf(format, args...)} }
}

// counted returns a number with its noun, such as "1 sale" and "2 entries".
func counted[N int | int64](n N, one string) string { return fmt.Sprintf("%d %s", n, plural(n, one)) }

// plural returns the noun in the form for a number.
func plural[N int | int64](n N, one string) string {
	switch stem, y := strings.CutSuffix(one, "y"); {
	case n == 1:
		return one
	case y && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e"):
		return stem + "ies"
	case strings.HasSuffix(one, "details"):
		return one
	}
	return one + "s"
}

// single returns the singular of a plural.
func single(many string) string {
	if stem, ok := strings.CutSuffix(many, "ies"); ok {
		return stem + "y"
	}
	return strings.TrimSuffix(many, "s")
}
