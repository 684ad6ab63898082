package bench

import (
	"context"

	"github.com/jackc/pgx/v5"

	"rail/server/clock"
	"rail/server/harness/dataset"
)

// fill loads the data.
func fill(ctx context.Context, dsn string, sz size) error {
	err := dataset.Fill(ctx, dsn, dataset.Options{
		Size: dataset.Size{Partners: partners, Customers: sz.Customers + hotCustomers, Sales: sz.Sales},
		Even: true, Hot: hotCustomers, Org: org, Until: clock.System{}.Now(),
	})
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // all statements are done
	_, err = conn.Exec(ctx, "CHECKPOINT")        // otherwise the first one would fall into some run
	return err
}
