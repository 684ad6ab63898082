package bench

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

//go:embed data.sql
var dataSQL string

// bulk lists the tables whose secondary indexes are created after the load.
const bulk = "'sales', 'commissions', 'ledger_entries', 'customers'"

// fill loads the data. Foreign keys are off meanwhile, for speed: the data is valid by
// construction. The large indexes are created at the end, which is faster than to update them
// row by row, and leaves them packed.
func fill(ctx context.Context, dsn string, sz size) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // all statements are done
	// Dropped first and created last, around all inserts.
	indexes, err := dropIndexes(ctx, conn)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "SET session_replication_role = replica"); err != nil {
		return err
	}
	// Block by block, so that an error can name what failed.
	for block := range strings.SplitSeq(sz.numbers().Replace(dataSQL), "\n;;\n") {
		if _, err := conn.Exec(ctx, block); err != nil {
			return fmt.Errorf("%w in %.200s", err, block)
		}
	}
	if err := build(ctx, dsn, indexes); err != nil {
		return err
	}
	// Otherwise autovacuum and the first checkpoint would fall into some run.
	for _, end := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		if _, err := conn.Exec(ctx, end); err != nil {
			return err
		}
	}
	return nil
}

// numbers returns what puts the numbers of rows and ids in place of their names in data.sql.
func (sz size) numbers() *strings.Replacer {
	var pairs []string
	for _, p := range []struct {
		name  string
		value int
	}{ // a longer name before its own prefix
		{"$programs", programs}, {"$program", programBase}, {"$partners", partners}, {"$partner", partnerBase},
		{"$customers", sz.Customers},
		{"$customer", customerBase}, {"$hots", hotCustomers}, {"$hot", hotBase}, {"$sale", saleBase}, {"$rows", sz.Sales},
	} {
		pairs = append(pairs, p.name, strconv.Itoa(p.value))
	}
	return strings.NewReplacer(pairs...)
}

// dropIndexes drops the indexes that no constraint owns and returns the statements that
// create them.
func dropIndexes(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	rows, err := conn.Query(ctx, `SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i
WHERE i.indrelid::regclass::text IN (`+bulk+
		`) AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid)`)
	if err != nil {
		return nil, err
	}
	var names, definitions []string
	var name, definition string
	_, err = pgx.ForEachRow(rows, []any{&name, &definition}, func() error {
		names, definitions = append(names, name), append(definitions, definition)
		return nil
	})
	if err == nil {
		_, err = conn.Exec(ctx, "DROP INDEX "+strings.Join(names, ", "))
	}
	return definitions, err
}

// build creates indexes, two at a time: each needs 256 MB, and the machine may be small.
func build(ctx context.Context, dsn string, definitions []string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for _, d := range definitions {
		g.Go(func() error {
			conn, err := pgx.Connect(ctx, dsn+"&maintenance_work_mem=256MB")
			if err != nil {
				return err
			}
			defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // all statements are done
			_, err = conn.Exec(ctx, d)
			return err
		})
	}
	return g.Wait()
}
