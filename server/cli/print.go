package cli

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
)

// print writes a command's result v as JSON where --json is given, else as the table that rows
// returns: a line of tab-separated cells each, the heading first.
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

// line returns what print takes for a result of one line.
func line(format string, args ...any) func() []string {
	return func() []string { return []string{fmt.Sprintf(format, args...)} }
}
