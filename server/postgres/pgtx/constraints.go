package pgtx

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Constraint says what a violation of a named constraint means.
type Constraint int

const (
	// Bug is a violation that no request can cause while the code is right:
	// it answers 500 and is logged with the name of the constraint.
	Bug Constraint = iota
	// Raced is a violation that another request has just caused: the work is
	// undone and done again, and then sees what the other one wrote.
	Raced
)

// ConstraintMeaning maps a constraint or unique index by its name. Unique
// values and references can be taken, or go, between a look and a write;
// checks cannot fail unless code is wrong.
func ConstraintMeaning(name string) Constraint {
	switch {
	case strings.HasSuffix(name, "_key"), strings.HasSuffix(name, "_fkey"):
		return Raced
	default: // _check, _pkey, _append_only
		if name == "tracking_values_pkey" || name == "idempotency_keys_pkey" || name == "partner_tags_pkey" ||
			name == "report_sums_pkey" || name == "report_spans_pkey" || name == "webhook_leases_pkey" ||
			name == "partner_addresses_pkey" || name == "campaign_recipients_pkey" || name == "sequence_steps_pkey" ||
			name == "sequence_enrolments_pkey" || name == "mail_unsubscribes_pkey" ||
			name == "tallies_pkey" || name == "tally_entries_pkey" || name == "key_fingerprints_pkey" {
			return Raced
		}
		return Bug
	}
}

// Again reports whether the whole work should run once more: it lost a race, a
// deadlock or a serialization conflict, and nothing of it was kept.
func Again(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case "40001", "40P01":
		return true
	case "23505", "23503":
		return ConstraintMeaning(pg.ConstraintName) == Raced
	}
	return false
}
