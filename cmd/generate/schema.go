package main

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// table has the constraints and unique indexes of a table after all migrations, by name,
// with the condition of a CHECK.
type table map[string]string

// The forms of statements and definitions, with each run of spaces made one.
var (
	comment     = regexp.MustCompile(`(?m)--.*$`)
	body        = regexp.MustCompile(`(?s)(\$\w*\$).*?\$\w*\$`)
	space       = regexp.MustCompile(`\s+`)
	createTable = regexp.MustCompile(`^CREATE (?:UNLOGGED )?TABLE (\w+) \((.*)\)$`)
	alterTable  = regexp.MustCompile(`^ALTER TABLE (\w+) (.*)$`)
	uniqueIndex = regexp.MustCompile(`^CREATE UNIQUE INDEX (\w+) ON (\w+)`)
	dropIndex   = regexp.MustCompile(`^DROP INDEX (\w+)$`)
	renameIndex = regexp.MustCompile(`^ALTER INDEX (\w+) RENAME TO (\w+)$`)
	dropTable   = regexp.MustCompile(`^DROP TABLE (\w+)$`)
	addition    = regexp.MustCompile(`^(?:ADD )?CONSTRAINT (\w+) (.*)$`)
	removal     = regexp.MustCompile(`^DROP CONSTRAINT (\w+)$`)
)

// readSchema returns the tables after all migrations. It parses only the SQL that the migrations use, so a new form
// of statement must be added here. It skips other statements, such as CREATE FUNCTION.
func readSchema(migrations fs.FS) (map[string]table, error) {
	names, err := fs.Glob(migrations, "*.up.sql")
	if err != nil {
		return nil, err
	}
	// In the order of their numbers, which is that of applying them.
	slices.Sort(names)
	tables := map[string]table{}
	for _, name := range names {
		source, err := fs.ReadFile(migrations, name)
		if err != nil {
			return nil, err
		}
		// A function's body and a comment may contain semicolons.
		text := body.ReplaceAllString(comment.ReplaceAllString(string(source), ""), "''")
		for statement := range strings.SplitSeq(text, ";") {
			statement = strings.TrimSpace(space.ReplaceAllString(statement, " "))
			if err := apply(tables, statement); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return tables, nil
}

// apply applies one statement to the tables. Unknown statements change nothing.
func apply(tables map[string]table, statement string) error {
	if m := createTable.FindStringSubmatch(statement); m != nil {
		tables[m[1]] = table{}
		return change(tables, m[1], m[2])
	}
	if m := alterTable.FindStringSubmatch(statement); m != nil {
		return change(tables, m[1], m[2])
	}
	if m := uniqueIndex.FindStringSubmatch(statement); m != nil {
		tables[m[2]][m[1]] = ""
	}
	// The name of an index is unique in the schema, and DROP INDEX does not name the table.
	if m := dropIndex.FindStringSubmatch(statement); m != nil {
		for _, t := range tables {
			delete(t, m[1])
		}
	}
	if m := renameIndex.FindStringSubmatch(statement); m != nil {
		for _, t := range tables {
			if definition, ok := t[m[1]]; ok {
				delete(t, m[1])
				t[m[2]] = definition
			}
		}
	}
	if m := dropTable.FindStringSubmatch(statement); m != nil {
		delete(tables, m[1])
	}
	return nil
}

// change adds and removes constraints by a list of definitions. Columns among them are skipped, and with them
// constraints that have no name.
func change(tables map[string]table, name, definitions string) error {
	t, ok := tables[name]
	if !ok {
		return fmt.Errorf("there is no table %s", name)
	}
	for _, d := range split(definitions) {
		if m := addition.FindStringSubmatch(d); m != nil {
			t[m[1]] = m[2]
		}
		if m := removal.FindStringSubmatch(d); m != nil {
			delete(t, m[1])
		}
	}
	return nil
}

// split splits a list at the commas outside parentheses.
func split(list string) (out []string) {
	depth, start := 0, 0
	for i, r := range list {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			out, start = append(out, strings.TrimSpace(list[start:i])), i+1
		}
	}
	return append(out, strings.TrimSpace(list[start:]))
}

var (
	oneOf = regexp.MustCompile(`^CHECK \( ?(\w+) IN \(([^()]*)\)(?:\)| AND )`)
	// orNull matches the list of a nullable column; further conditions may follow.
	orNull = regexp.MustCompile(`(\w+) IS NULL OR (\w+) IN \(([^()]*)\)`)
	quoted = regexp.MustCompile(`'([^']*)'`)
)

// values returns the values of a column in the order of its CHECK, or nil where no CHECK lists them. The order is
// that of the generated constants.
func (t table) values(column string) []string {
	// Sorted, so that the output does not depend on the order of a map.
	for _, name := range slices.Sorted(maps.Keys(t)) {
		list := ""
		if m := oneOf.FindStringSubmatch(t[name]); m != nil && m[1] == column {
			list = m[2]
		}
		for _, m := range orNull.FindAllStringSubmatch(t[name], -1) {
			if m[1] == column && m[2] == column {
				list = m[3]
			}
		}
		if list != "" {
			var out []string
			for _, m := range quoted.FindAllStringSubmatch(list, -1) {
				out = append(out, m[1])
			}
			return out
		}
	}
	return nil
}
