package main

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// table is what the migrations leave of a table: its constraints and unique
// indexes by name, a CHECK with its condition.
type table map[string]string

var (
	comment     = regexp.MustCompile(`(?m)--.*$`)
	body        = regexp.MustCompile(`(?s)(\$\w*\$).*?\$\w*\$`)
	space       = regexp.MustCompile(`\s+`)
	createTable = regexp.MustCompile(`^CREATE (?:UNLOGGED )?TABLE (\w+) \((.*)\)$`)
	alterTable  = regexp.MustCompile(`^ALTER TABLE (\w+) (.*)$`)
	uniqueIndex = regexp.MustCompile(`^CREATE UNIQUE INDEX (\w+) ON (\w+)`)
	dropIndex   = regexp.MustCompile(`^DROP INDEX (\w+)$`)
	dropTable   = regexp.MustCompile(`^DROP TABLE (\w+)$`)
	addition    = regexp.MustCompile(`^(?:ADD )?CONSTRAINT (\w+) (.*)$`)
	removal     = regexp.MustCompile(`^DROP CONSTRAINT (\w+)$`)
)

// readSchema follows the migrations to the tables that they leave. It knows the
// SQL that migrations are written in, and no more: what makes tables or
// constraints in another way must be added here.
func readSchema(migrations fs.FS) (map[string]table, error) {
	names, err := fs.Glob(migrations, "*.up.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	tables := map[string]table{}
	for _, name := range names {
		source, err := fs.ReadFile(migrations, name)
		if err != nil {
			return nil, err
		}
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

// apply makes the change of one statement.
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
	if m := dropIndex.FindStringSubmatch(statement); m != nil {
		for _, t := range tables {
			delete(t, m[1])
		}
	}
	if m := dropTable.FindStringSubmatch(statement); m != nil {
		delete(tables, m[1])
	}
	return nil
}

// change adds and removes the constraints of a list of definitions.
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

// split cuts at the commas that stand outside of parentheses.
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
	// orNull is the list of a column that may be null, which further conditions
	// can follow.
	orNull = regexp.MustCompile(`(\w+) IS NULL OR (\w+) IN \(([^()]*)\)`)
	quoted = regexp.MustCompile(`'([^']*)'`)
)

// values are what a column takes, in the order of its CHECK, or nil where no
// CHECK lists them.
func (t table) values(column string) []string {
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
