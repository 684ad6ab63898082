// Command generate writes the Go names that follow from the schema and the description and
// come from no other generator. It runs at the root of the repository, after cmd/bundle and before sqlc:
//
//	gen/sqlc.yaml             the configuration of sqlc: sqlc.yaml with the types of columns
//	gen/db/states.gen.go              the types of columns that take one of a few values
//	gen/constraint/constraint.gen.go  every named constraint and unique index
//	gen/events/events.gen.go          a function for each type of event, and their catalogue
//	gen/script/script.gen.go          the browser's script, which esbuild has minified, and its hashes
package main

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"

	"rail/schema"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run writes the files. It needs no database: the migrations are read as text.
func run() error {
	tables, err := readSchema(schema.FS)
	if err != nil {
		return err
	}
	types := columnTypes(tables)
	config, err := os.ReadFile("sqlc.yaml")
	if err != nil {
		return err
	}
	if err := os.WriteFile("gen/sqlc.yaml", writeConfig(config, tables, types), 0o644); err != nil {
		return err
	}
	states, err := writeStates(tables, types)
	if err != nil {
		return err
	}
	if err := save("gen/db/states.gen.go", states); err != nil {
		return err
	}
	if err := save("gen/constraint/constraint.gen.go", writeConstraints(tables)); err != nil {
		return err
	}
	// The bundle, not its parts: the data's schemas are resolved there.
	hooks, err := readWebhooks("openapi/bundle.json")
	if err != nil {
		return err
	}
	if err := save("gen/events/events.gen.go", writeEvents(hooks)); err != nil {
		return err
	}
	minified, err := os.ReadFile("gen/script/rail.js")
	if err != nil {
		return err
	}
	return save("gen/script/script.gen.go", writeScript(minified))
}

// save formats Go source and writes it to path.
func save(path string, source []byte) error {
	formatted, err := format.Source(source)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, formatted, 0o644)
}
