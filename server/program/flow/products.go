package flow

import (
	"bytes"
	"context"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
)

// Products returns the name of a product by its id, "" if it is unknown, for words about the branches of a flow. It
// reads the program's recent sales if the branches have conditions on products.
func Products(ctx context.Context, tx pgtx.DBTX, f db.Flow) (func(id string) string, error) {
	names := map[string]string{}
	if bytes.Contains(f.Branches, []byte(`"sale.product_id"`)) {
		rows, err := queries.ProductNames(ctx, tx, db.ProductNamesParams{ProgramID: f.ProgramID, OrgID: f.OrgID})
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			names[r.ID] = r.Name
		}
	}
	return func(id string) string { return names[id] }, nil
}
