package pgtx_test

import (
	"context"
	"fmt"
	"sync"

	"rail/server/harness/pgtest"
	"rail/server/postgres/pgtx"
)

// A transaction of two round trips: BEGIN travels with the two reads, and the
// write, which nothing waits for, with COMMIT.
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

// Requests that come at the same moment share a transaction: each reads with
// Together, writes with Later, and is answered after the commit of all.
func ExampleBus() {
	ctx := context.Background()
	pool, done := pgtest.Scratch(ctx)
	defer done()

	bus := pgtx.NewBus(pool, 1, 1)
	open := func(id string) error {
		tx := bus.Begin("tenant")
		defer tx.Rollback()
		if err := tx.Claim("organization " + id); err != nil { // another one opens it just now
			return err
		}
		_, err := tx.Later().Exec(ctx, "INSERT INTO organizations (id, name, created_at) VALUES ($1, 'Acme', now())", id)
		if err != nil {
			return err
		}
		return tx.Commit(ctx)
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := open(fmt.Sprint("org_", i)); pgtx.Again(err) {
				fmt.Println("to be done again, with pgtx.Begin")
			}
		})
	}
	all.Wait()
	var organizations int
	err := pool.QueryRow(ctx, "SELECT count(*) FROM organizations").Scan(&organizations)
	fmt.Println(organizations, err)
	// Output:
	// 20 <nil>
}

// Requests that read at the same moment travel together: each asks for a row and
// gets it, or its own error, as if it were alone.
func ExampleReads() {
	ctx := context.Background()
	pool, done := pgtest.Scratch(ctx)
	defer done()

	reads := pgtx.NewReads(pool, 1, 1)
	answers := make([]string, 20)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			row := reads.For("tenant").QueryRow(ctx, "SELECT 'organization ' || 10 / ($1::int - 7)", i)
			if err := row.Scan(&answers[i]); err != nil {
				answers[i] = "an error of its own"
			}
		})
	}
	all.Wait()
	for _, i := range []int{6, 7, 8} {
		fmt.Println(answers[i])
	}
	// Output:
	// organization -10
	// an error of its own
	// organization 10
}
