package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"
)

// output is the --json flag with the two ways to print.
type output struct{ json *bool }

// outputFlag declares --json.
func outputFlag(fs *flag.FlagSet) output {
	return output{toggle(fs, "json", "print JSON")}
}

// print writes v as JSON where --json is given, else as the table that rows
// returns: a line of tab-separated cells each, the heading first.
func (o output) print(w io.Writer, v any, rows func() []string) error {
	if *o.json {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows() {
		if _, err := fmt.Fprintln(t, r); err != nil {
			return err
		}
	}
	return t.Flush()
}
