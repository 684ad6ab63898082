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

// unnest makes each INSERT … VALUES of several rows into one INSERT … SELECT with an array for
// each parameter: one text, prepared once, for any number of rows, which costs once what a statement costs.
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

// columns returns an array of each parameter.
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

// texts are the INSERTs of many rows by that of one; "" where there is none.
var texts sync.Map

// ofMany returns the INSERT of many rows, "" where there is none. The database is asked for the
// types of the parameters, once a text; arrays and types of the database's own have no array here.
func ofMany(ctx context.Context, conn *pgx.Conn, sql string) (string, error) {
	if known, ok := texts.Load(sql); ok {
		return known.(string), nil //nolint:forcetypeassert // nothing else is stored
	}
	described, err := conn.Prepare(ctx, "", sql)
	if err != nil {
		return "", err
	}
	var types []string
	for _, oid := range described.ParamOIDs {
		if known, ok := conn.TypeMap().TypeForOID(oid); ok {
			if _, ok := conn.TypeMap().TypeForName("_" + known.Name); ok {
				types = append(types, known.Name)
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

// of returns the INSERT of rows from an array for each parameter, of the types.
func (s shape) of(types []string) string {
	arrays := make([]string, len(types))
	for i, name := range types {
		arrays[i] = fmt.Sprintf("unnest($%d::%s[]) AS p%d", i+1, name, i+1)
	}
	return s.head + "SELECT " + parameter.ReplaceAllString(s.row, "given.p$1") +
		" FROM (SELECT " + strings.Join(arrays, ", ") + ") given" + s.tail
}
