package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// output is the --json flag with the two ways to print.
type output struct{ json *bool }

func outputFlag(fs *flag.FlagSet) output {
	return output{fs.Bool("json", false, "print JSON")}
}

// print writes v as JSON where that is asked for, else as the table that rows
// makes: a line of tab-separated cells each, the first one the heading.
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

// list is a flag that may be repeated and takes commas.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

// Set adds the values of one flag.
func (l *list) Set(v string) error {
	for _, s := range strings.Split(v, ",") {
		if s = strings.TrimSpace(s); s != "" {
			*l = append(*l, s)
		}
	}
	return nil
}

// given tells which flags were set, whatever their values.
func given(fs *flag.FlagSet) map[string]bool {
	set := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { set[f.Name] = true })
	return set
}
