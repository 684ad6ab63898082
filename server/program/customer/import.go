package customer

import (
	"context"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/work"
)

// Import writes a customer of another product under its external ids, which must be free. Events about customers start
// with a sale, so there is none.
func Import(ctx context.Context, u *work.Unit, k db.Customer, externalIDs []string) error {
	if len(externalIDs) > 0 {
		k.ExternalCustomerID = &externalIDs[0]
	}
	k.Attribution = Rule{Rule: api.AttributionRuleImport}.At(k.CreatedAt)
	if err := queries.CustomerInsert(ctx, u.Later(), db.CustomerInsertParams(k)); err != nil {
		return err
	}
	return ImportIDs(ctx, u, k, k.CreatedAt, externalIDs)
}

// ImportIDs adds external ids to a customer, and makes payments that wait for one of them due.
func ImportIDs(ctx context.Context, u *work.Unit, k db.Customer, at clock.Time, externalIDs []string) error {
	for i, id := range externalIDs {
		if _, err := queries.ExternalIDAdd(ctx, u.Later(), db.ExternalIDAddParams{
			ProgramID: k.ProgramID, OrgID: k.OrgID, ExternalCustomerID: id, CustomerID: k.ID, Processor: k.Processor,
			CreatedAt: at.Plus(time.Duration(i) * time.Microsecond), // keeps their order
		}); err != nil {
			return err
		}
	}
	return nil
}
