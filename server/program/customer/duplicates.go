package customer

import (
	"context"
	"slices"

	"rail/gen/db"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// Duplicate is another customer that is probably the same person.
type Duplicate struct {
	CustomerID string
	Match      string // the shared field: identifier or email
}

// readDuplicates reads the other customers with the same identifier or email, the oldest of each.
func readDuplicates(ctx context.Context, k db.Customer, into *[]Duplicate) pgtx.Read {
	return func(tx pgtx.DBTX) error {
		rows, err := queries.CustomersWithSameIdentity(ctx, tx, db.CustomersWithSameIdentityParams{
			ProgramID: k.ProgramID, OrgID: k.OrgID, ID: k.ID, Identifier: k.Identifier, Email: opt.Lower(k.Email),
		})
		for _, r := range rows {
			*into = append(*into, Duplicate{r.ID, r.Match})
		}
		return err
	}
}

// noteDuplicates stores pairs that share a value.
func noteDuplicates(ctx context.Context, u *work.Unit, k db.Customer, found []Duplicate) error {
	for _, d := range found {
		err := queries.DuplicateAdd(ctx, u.Later(), db.DuplicateAddParams{
			CustomerID: k.ID, OtherID: d.CustomerID, Match: d.Match, OrgID: k.OrgID, ProgramID: k.ProgramID,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// compareAgain finds the duplicates of a customer after its email or identifier changed, except the customer
// with the id but, which is about to be deleted.
func compareAgain(ctx context.Context, u *work.Unit, k db.Customer, but string) error {
	of := db.DuplicatesClearParams{CustomerID: k.ID, OrgID: k.OrgID}
	if err := queries.DuplicatesClear(ctx, u.Later(), of); err != nil {
		return err
	}
	if k.Email == nil && k.Identifier == nil {
		return nil
	}
	var found []Duplicate
	if err := u.Read(ctx, readDuplicates(ctx, k, &found)); err != nil {
		return err
	}
	return noteDuplicates(ctx, u, k, slices.DeleteFunc(found, func(d Duplicate) bool { return d.CustomerID == but }))
}
