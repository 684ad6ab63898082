package share_test

import (
	"context"
	"fmt"
	"sync"

	"rail/server/harness/pgtest"
	"rail/server/postgres/pgtx"
	"rail/server/postgres/pgtx/share"
)

// Concurrent requests share a transaction: each reads with Together, writes with Later,
// and is answered after the common commit.
func ExampleGroupCommit() {
	ctx := context.Background()
	pool, done := pgtest.Scratch(ctx)
	defer done()

	commits := share.NewGroupCommit(pool, 1, 1)
	create := func(id string) error {
		tx := commits.Begin("tenant")
		defer tx.Rollback()
		if err := tx.Claim("organization " + id); err != nil { // another request creates it
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
			if err := create(fmt.Sprint("org_", i)); pgtx.Again(err) {
				fmt.Println("retry with pgtx.Begin")
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

// Concurrent reads share a round trip: each gets its row or its own error, as if it were alone.
func ExampleReads() {
	ctx := context.Background()
	pool, done := pgtest.Scratch(ctx)
	defer done()

	reads := share.NewReads(pool, 1, 1)
	answers := make([]string, 20)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			row := reads.For("tenant").QueryRow(ctx, "SELECT 'organization ' || 10 / ($1::int - 7)", i)
			if err := row.Scan(&answers[i]); err != nil {
				answers[i] = "division by zero"
			}
		})
	}
	all.Wait()
	for _, i := range []int{6, 7, 8} {
		fmt.Println(answers[i])
	}
	// Output:
	// organization -10
	// division by zero
	// organization 10
}
