package pgtx_test

import (
	"context"
	"fmt"

	"rail/server/harness/pgtest"
	"rail/server/postgres/pgtx"
)

// A transaction of two round trips: BEGIN is sent with the two reads, and the write with
// COMMIT.
func ExampleTx() {
	ctx := context.Background()
	pool, done := pgtest.Scratch(ctx)
	defer done()

	var organizations, programs int
	err := pgtx.Within(ctx, pool, func(tx *pgtx.Tx) error {
		errs := tx.Together(ctx,
			func(q pgtx.DBTX) error {
				return q.QueryRow(ctx, "SELECT count(*) FROM organizations").Scan(&organizations)
			},
			func(q pgtx.DBTX) error {
				return q.QueryRow(ctx, "SELECT count(*) FROM programs").Scan(&programs)
			})
		if err := pgtx.First(errs); err != nil {
			return err
		}
		_, err := tx.Later().Exec(ctx, "INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'Acme', now())")
		return err
	})
	fmt.Println(organizations, programs, err)

	err = pool.QueryRow(ctx, "SELECT count(*) FROM organizations").Scan(&organizations)
	fmt.Println(organizations, err)
	// Output:
	// 0 0 <nil>
	// 1 <nil>
}
