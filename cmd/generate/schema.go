package main

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// table is a table after all migrations: the definitions of its columns, and those of its constraints and unique
// indexes, by name. A unique index has an empty definition.
type table struct{ columns, rules map[string]string }

// newTable returns a table without columns.
func newTable() table { return table{map[string]string{}, map[string]string{}} }

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
	addColumn   = regexp.MustCompile(`^(?:ADD COLUMN )?([a-z]\w*) (.*)$`)
	dropColumn  = regexp.MustCompile(`^DROP COLUMN (\w+)$`)
	skipped     = regexp.MustCompile(`^(PRIMARY KEY|UNIQUE|CHECK|FOREIGN KEY|VALIDATE|ATTACH|DETACH|SET|RESET|OWNER|` +
		`ALTER COLUMN \w+ (SET|DROP) (DEFAULT|STATISTICS|STORAGE))\b`)
	alterColumn = regexp.MustCompile(`^ALTER COLUMN (\w+) (SET|DROP) NOT NULL$`)
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
		tables[m[1]] = newTable()
		return change(tables, m[1], m[2])
	}
	if m := alterTable.FindStringSubmatch(statement); m != nil {
		return change(tables, m[1], m[2])
	}
	if m := uniqueIndex.FindStringSubmatch(statement); m != nil {
		tables[m[2]].rules[m[1]] = ""
	}
	// The name of an index is unique in the schema, and DROP INDEX does not name the table.
	if m := dropIndex.FindStringSubmatch(statement); m != nil {
		for _, t := range tables {
			delete(t.rules, m[1])
		}
	}
	if m := renameIndex.FindStringSubmatch(statement); m != nil {
		for _, t := range tables {
			if definition, ok := t.rules[m[1]]; ok {
				delete(t.rules, m[1])
				t.rules[m[2]] = definition
			}
		}
	}
	if m := dropTable.FindStringSubmatch(statement); m != nil {
		delete(tables, m[1])
	}
	return nil
}

// change adds and removes columns and constraints by a list of definitions. Constraints without a name are skipped.
func change(tables map[string]table, name, definitions string) error {
	t, ok := tables[name]
	if !ok {
		return fmt.Errorf("there is no table %s", name)
	}
	for _, d := range split(definitions) {
		if m := addition.FindStringSubmatch(d); m != nil {
			t.rules[m[1]] = m[2]
		} else if m := removal.FindStringSubmatch(d); m != nil {
			delete(t.rules, m[1])
		} else if m := dropColumn.FindStringSubmatch(d); m != nil {
			delete(t.columns, m[1])
		} else if m := alterColumn.FindStringSubmatch(d); m != nil {
			t.columns[m[1]] = strings.ReplaceAll(t.columns[m[1]], " NOT NULL", "")
			if m[2] == "SET" {
				t.columns[m[1]] += " NOT NULL"
			}
		} else if m := addColumn.FindStringSubmatch(d); m != nil {
			t.columns[m[1]] = m[2]
		} else if !skipped.MatchString(d) {
			return fmt.Errorf("table %s: unknown definition %q", name, d)
		}
	}
	return nil
}

// required reports whether a column is NOT NULL.
func (t table) required(column string) bool {
	return strings.Contains(t.columns[column], " NOT NULL") || slices.Contains(t.primary(), column)
}

// primary returns the columns of the primary key.
func (t table) primary() []string {
	for _, definition := range t.rules {
		if m := primaryKey.FindStringSubmatch(definition); m != nil {
			return strings.Split(m[1], ", ")
		}
	}
	return nil
}

// split splits a list at the commas outside parentheses. The list ends at a parenthesis that it does not open.
func split(list string) (out []string) {
	depth, start := 0, 0
	for i, r := range list {
		switch {
		case r == '(':
			depth++
		case r == ')':
			if depth--; depth < 0 {
				return append(out, strings.TrimSpace(list[start:i]))
			}
		case r == ',' && depth == 0:
			out, start = append(out, strings.TrimSpace(list[start:i])), i+1
		}
	}
	return append(out, strings.TrimSpace(list[start:]))
}

var (
	primaryKey = regexp.MustCompile(`^PRIMARY KEY \(([^()]*)\)`)
	oneOf      = regexp.MustCompile(`^CHECK \( ?(\w+) IN \(([^()]*)\)(?:\)| AND )`)
	// orNull matches the list of a nullable column; further conditions may follow.
	orNull = regexp.MustCompile(`(\w+) IS NULL OR (\w+) IN \(([^()]*)\)`)
	quoted = regexp.MustCompile(`'([^']*)'`)
)

// values returns the values of a column in the order of its CHECK, or nil where no CHECK lists them. The order is
// that of the generated constants.
func (t table) values(column string) []string {
	// Sorted, so that the output does not depend on the order of a map.
	for _, name := range slices.Sorted(maps.Keys(t.rules)) {
		list := ""
		if m := oneOf.FindStringSubmatch(t.rules[name]); m != nil && m[1] == column {
			list = m[2]
		}
		for _, m := range orNull.FindAllStringSubmatch(t.rules[name], -1) {
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
