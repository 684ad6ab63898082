package customer

import (
	"context"
	"errors"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/report"
	"rail/server/work"
)

// Import writes a customer of another product under its external ids, which must be free. Events about customers start
// with a sale, so there is none.
func Import(ctx context.Context, u *work.Unit, k db.Customer, externalIDs []string) error {
	if len(externalIDs) > 0 {
		k.ExternalCustomerID = &externalIDs[0]
	}
	k.Attribution = Rule{Rule: api.AttributionRuleImport}.At(k.CreatedAt)
	for _, at := range []*clock.Time{&k.LeadAt, k.ConvertedAt} {
		if at == nil {
			continue
		}
		if err := report.Touch(ctx, u, k.ProgramID, *at); err != nil {
			return err
		}
	}
	if err := queries.CustomerInsert(ctx, u.Later(), db.CustomerInsertParams(k)); err != nil {
		return err
	}
	return ImportIDs(ctx, u, k, k.CreatedAt, externalIDs)
}

// ErrIDTaken means that another customer has got an external id.
var ErrIDTaken = errors.New("customer: an external id is taken")

// ImportIDs adds external ids to a customer. It returns ErrIDTaken if one is not free.
func ImportIDs(ctx context.Context, u *work.Unit, k db.Customer, at clock.Time, externalIDs []string) error {
	for i, id := range externalIDs {
		n, err := queries.ExternalIDAdd(ctx, u.Tx, db.ExternalIDAddParams{
			ProgramID: k.ProgramID, OrgID: k.OrgID, ExternalCustomerID: id, CustomerID: k.ID, Processor: k.Processor,
			CreatedAt: at.Plus(time.Duration(i) * time.Microsecond), // keeps their order
		})
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrIDTaken
		}
	}
	return nil
}
