package customer

import (
	"context"
	"slices"

	"rail/gen/db"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// maxExternalIDs bounds a customer's ids at payment processors.
const maxExternalIDs = 100

// Attach attaches an id at a payment processor to a customer and reports whether it is new there (decisions,
// 301). Payments that wait for the id are retried. An id of another customer is a conflict with that one.
func Attach(ctx context.Context, u *work.Unit, id, externalID string, processor *string) (db.Customer, bool, error) {
	k, err := Lock(ctx, u, id)
	if err != nil {
		return k, false, err
	}
	fresh, err := attach(ctx, u, &k, externalID, processor)
	if err != nil || !fresh {
		return k, false, err
	}
	k.UpdatedAt = u.Now
	if err := update(ctx, u.DB(), k); err != nil {
		return k, false, err
	}
	return k, true, logID(ctx, u, k, "customer.external_id_attached", externalID)
}

// attach adds the id to a locked customer and reports whether it is new there. The caller
// writes the row.
func attach(ctx context.Context, u *work.Unit, k *db.Customer, externalID string, processor *string) (bool, error) {
	if err := hasRoom(ctx, u, *k, externalID); err != nil {
		return false, err
	}
	n, err := queries.ExternalIDAdd(ctx, u.DB(), db.ExternalIDAddParams{
		ProgramID: k.ProgramID, OrgID: k.OrgID, ExternalCustomerID: externalID, CustomerID: k.ID, Processor: processor,
		CreatedAt: u.Now,
	})
	if err != nil {
		return false, err
	}
	if n == 0 {
		holder, err := ByExternalID(ctx, u, k.ProgramID, externalID)
		if err == nil && holder.ID != k.ID {
			err = externalIDConflict(holder)
		}
		return false, err
	}
	if k.ExternalCustomerID == nil {
		k.ExternalCustomerID = &externalID
		k.Processor = opt.Or(processor, k.Processor)
	}
	return true, u.Reschedule(ctx, k.ProgramID, work.CustomerKey(externalID))
}

// hasRoom refuses an id beyond maxExternalIDs.
func hasRoom(ctx context.Context, u *work.Unit, k db.Customer, externalID string) error {
	if k.ExternalCustomerID == nil {
		return nil
	}
	ids, err := queries.ExternalIDs(ctx, u.DB(), db.ExternalIDsParams{CustomerIds: []string{k.ID}, OrgID: k.OrgID})
	has := slices.ContainsFunc(ids, func(one db.CustomerExternalID) bool { return one.ExternalCustomerID == externalID })
	if err != nil || has || len(ids) < maxExternalIDs {
		return err
	}
	return problem.New(problem.CustomerExternalIDLimit, "The customer has %d external ids already.", maxExternalIDs)
}

// externalIDConflict returns the conflict with the customer that has an external id.
func externalIDConflict(holder db.Customer) error {
	return problem.Taken(problem.CustomerExternalIDTaken, "external_customer_id", holder,
		"A customer with this external_customer_id exists in the program.")
}

// Detach detaches an id from a customer. If it was the first one, the next takes its place.
func Detach(ctx context.Context, u *work.Unit, id, externalID string) (db.Customer, error) {
	k, err := Lock(ctx, u, id)
	if err != nil {
		return k, err
	}
	n, err := queries.ExternalIDRemove(ctx, u.DB(), db.ExternalIDRemoveParams{
		ProgramID: k.ProgramID, OrgID: k.OrgID, ExternalCustomerID: externalID, CustomerID: k.ID,
	})
	if err != nil {
		return k, err
	}
	if n == 0 {
		return k, problem.NotFound("external_customer_id")
	}
	if opt.Value(k.ExternalCustomerID) == externalID {
		ids, err := queries.ExternalIDs(ctx, u.DB(), db.ExternalIDsParams{CustomerIds: []string{k.ID}, OrgID: k.OrgID})
		if err != nil {
			return k, err
		}
		k.ExternalCustomerID = nil
		if len(ids) > 0 {
			k.ExternalCustomerID, k.Processor = &ids[0].ExternalCustomerID, opt.Or(ids[0].Processor, k.Processor)
		}
	}
	k.UpdatedAt = u.Now
	if err := update(ctx, u.DB(), k); err != nil {
		return k, err
	}
	return k, logID(ctx, u, k, "customer.external_id_detached", externalID)
}

func logID(ctx context.Context, u *work.Unit, k db.Customer, action, externalID string) error {
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: k.ProgramID, Action: action, TargetID: k.ID,
		After: map[string]string{"external_customer_id": externalID},
	})
}
