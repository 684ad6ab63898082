package risk

import (
	"cmp"
	"context"
	"slices"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// sweepBatch bounds the flags of one transaction.
const sweepBatch = 500

// checks are the checks of the sweep. None sees anything after the time of the unit of work. A closed flag
// settles its facts: each check defines which facts are new.
var checks = []func(context.Context, pgtx.DBTX, snapshot) ([]Finding, error){
	duplicatePartners, ownAddresses, refundRates, clickVelocity, conversionSpikes,
}

// snapshot is a program at the time of a sweep.
type snapshot struct {
	program, org string
	now          clock.Time
}

// Sweep checks one program, in transactions of a batch of flags each. Concurrent sweeps share the programs: a
// program in another sweep is skipped. If two sweeps overlap nevertheless, the unique index of open flags lets
// only one open a flag and record it.
func Sweep(ctx context.Context, u *work.Unit, p db.RiskProgramsRow) error {
	for more := true; more; {
		err := u.For(p.OrgID).Within(ctx, func(u *work.Unit) (err error) {
			more, err = openSome(ctx, u, snapshot{p.ID, p.OrgID, u.Now})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// openSome opens a batch of flags and reports whether there may be more. A batch
// that opened nothing is the last, so that Sweep ends.
func openSome(ctx context.Context, u *work.Unit, p snapshot) (more bool, err error) {
	begun, err := queries.RiskLock(ctx, u.Tx, p.program)
	if err != nil || !begun.Taken {
		return false, err
	}
	found, err := runChecks(ctx, u.Tx, p)
	if err != nil {
		return false, err
	}
	opened := 0
	for _, f := range found[:min(len(found), sweepBatch)] {
		one, err := Open(ctx, u, f)
		if err != nil {
			return false, err
		}
		if one {
			opened++
		}
	}
	return opened > 0 && len(found) >= sweepBatch, nil
}

// runChecks runs the checks. It returns findings in a fixed order, so that two sweeps that open flags at once wait
// for each other and never deadlock.
func runChecks(ctx context.Context, tx pgtx.DBTX, p snapshot) ([]Finding, error) {
	var found []Finding
	for _, check := range checks {
		more, err := check(ctx, tx, p)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.PartnerID, b.PartnerID),
			cmp.Compare(customer(a), customer(b)))
	})
	return found, nil
}

// customer returns the customer of a finding, "" for a finding on a partner.
func customer(f Finding) string {
	if f.CustomerID == nil {
		return ""
	}
	return *f.CustomerID
}
