package pgtx

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// unnest turns each INSERT … VALUES of several rows into one INSERT … SELECT with an array for each
// parameter: one text, prepared once, for any number of rows.
func unnest(ctx context.Context, conn *pgx.Conn, waiting []statement) ([]statement, error) {
	if !slices.ContainsFunc(waiting, func(s statement) bool { return s.rows != nil }) {
		return waiting, nil
	}
	var out []statement
	for _, s := range waiting {
		if s.rows == nil {
			out = append(out, s)
			continue
		}
		text, err := ofMany(ctx, conn, s.sql)
		if err != nil {
			return waiting, err
		}
		if text != "" {
			out = append(out, statement{sql: text, args: columns(s.rows)})
			continue
		}
		for _, args := range s.rows {
			out = append(out, statement{sql: s.sql, args: args})
		}
	}
	return out, nil
}

// columns returns one array for each parameter.
func columns(rows [][]any) []any {
	out := make([]any, len(rows[0]))
	for i := range out {
		column := make(pgtype.FlatArray[any], len(rows))
		for n, row := range rows {
			column[n] = row[i]
		}
		out[i] = column
	}
	return out
}

// texts caches the results of ofMany.
var texts sync.Map

// ofMany returns the INSERT of many rows for that of one row, or "" if a parameter's type has no
// array type, such as an array or a type that the database defines. It asks the database for the
// parameters' types once for each text.
func ofMany(ctx context.Context, conn *pgx.Conn, sql string) (string, error) {
	if cached, ok := texts.Load(sql); ok {
		return cached.(string), nil //nolint:forcetypeassert // nothing else is stored
	}
	described, err := conn.Prepare(ctx, "", sql)
	if err != nil {
		return "", err
	}
	var types []string
	for _, oid := range described.ParamOIDs {
		if typ, ok := conn.TypeMap().TypeForOID(oid); ok {
			if _, ok := conn.TypeMap().TypeForName("_" + typ.Name); ok {
				types = append(types, typ.Name)
			}
		}
	}
	text := ""
	if len(types) == len(described.ParamOIDs) {
		text = shapeOf(sql).of(types)
	}
	texts.Store(sql, text)
	return text, nil
}

// of returns the INSERT that selects its rows from one array for each parameter.
func (s shape) of(types []string) string {
	arrays := make([]string, len(types))
	for i, name := range types {
		arrays[i] = fmt.Sprintf("unnest($%d::%s[]) AS p%d", i+1, name, i+1)
	}
	return s.head + "SELECT " + parameter.ReplaceAllString(s.row, "given.p$1") +
		" FROM (SELECT " + strings.Join(arrays, ", ") + ") given" + s.tail
}
