package cli

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"rail/server/http/middleware"
)

// manual writes a page for each command. The pages have the contract's date, so that the same binary writes the
// same bytes.
func manual(*pflag.FlagSet) action {
	return func(_ context.Context, env *Env, args []string) error {
		date, err := time.Parse(time.DateOnly, middleware.Version)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return err
		}
		root := tree(&Env{Out: env.Out, Err: env.Err, progress: env.progress})
		root.DisableAutoGenTag = true
		header := doc.GenManHeader{Section: "1", Source: "Rail", Manual: "Rail", Date: &date}
		if err := doc.GenManTree(root, &header, args[0]); err != nil {
			return err
		}
		return env.print(map[string]string{"folder": args[0]}, line("the manual is in %s: man -l %s/rail.1", args[0], args[0]))
	}
}
