package risk

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/event"
	"rail/server/postgres/pgtx"
)

// sweepBatch bounds the flags of one transaction.
const sweepBatch = 500

// attempts is how often a program is tried that others change meanwhile.
const attempts = 3

// Sweep is one passage of the risk sweep. Run is its id, which is the request id
// of the events that it causes.
type Sweep struct {
	Pool *pgxpool.Pool
	Run  string
	Now  clock.Time
}

// checks are those of the sweep, each with its own definition. None sees what
// happens after Now. A flag that was closed settles its facts: each check says
// what is new to it.
var checks = []func(context.Context, pgtx.DBTX, passage) ([]Finding, error){
	duplicatePartners, ownAddresses, refundRates, clickVelocity, conversionSpikes,
}

// passage is a program with the time at which it is looked at.
type passage struct {
	program, org string
	now          clock.Time
}

// Program checks one program. Several sweeps at once share the programs: one that
// another sweep is at is left to it. Should they meet all the same, the unique
// index of open flags lets one of them open a flag and tell of it.
func (s Sweep) Program(ctx context.Context, p db.RiskProgramsRow) error {
	for failed := 0; ; {
		again, err := s.some(ctx, passage{p.ID, p.OrgID, s.Now})
		if pgtx.Again(err) && failed < attempts { // a partner was deleted, for one
			failed++
			continue
		}
		if err != nil || !again {
			return err
		}
	}
}

// some opens a batch of flags, and tells whether there may be more.
func (s Sweep) some(ctx context.Context, p passage) (bool, error) {
	more := false
	opened, err := event.Within(ctx, s.Pool, s.Run, s.Now, func(tx *pgtx.Tx, told *event.Recorders) (opened int, err error) {
		begun, err := queries.RiskBegin(ctx, tx, p.program)
		if err != nil || !begun.Taken {
			return 0, err
		}
		found, err := look(ctx, tx, p)
		if err != nil {
			return 0, err
		}
		more = len(found) >= sweepBatch
		for _, f := range found[:min(len(found), sweepBatch)] {
			one, err := Open(ctx, tx, told.Of(p.org), f)
			if err != nil {
				return 0, err
			}
			if one {
				opened++
			}
		}
		return opened, nil
	})
	return more && opened > 0, err
}

// look runs the checks. Their findings come in one order, so that two sweeps that
// open flags at once wait for each other and never in a circle.
func look(ctx context.Context, tx pgtx.DBTX, p passage) ([]Finding, error) {
	var found []Finding
	for _, check := range checks {
		more, err := check(ctx, tx, p)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.PartnerID, b.PartnerID), cmp.Compare(customer(a), customer(b)))
	})
	return found, nil
}

func customer(f Finding) string {
	if f.CustomerID == nil {
		return ""
	}
	return *f.CustomerID
}
