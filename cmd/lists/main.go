// Command lists writes what queries/lists.yaml declares: the statements of every
// list of the API, for sqlc, and the types that fill their parameters.
//
//	lists gen/db
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"rail/queries"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: lists gen/db")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "lists:", err)
		os.Exit(1)
	}
}

// run writes lists.sql and lists.gen.go into the folder dir.
func run(dir string) error {
	lists, err := queries.Lists()
	if err != nil {
		return err
	}
	code, err := types(lists)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "lists.sql"), []byte(statements(lists)), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "lists.gen.go"), code, 0o644)
}
