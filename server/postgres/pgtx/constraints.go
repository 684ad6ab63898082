package pgtx

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"rail/gen/constraint"
)

// Constraint is the meaning of a constraint's violation.
type Constraint int

const (
	// Bug is a violation that no request causes while the code is right. It answers
	// 500 and is logged with the name of the constraint.
	Bug Constraint = iota
	// Raced is a violation that a concurrent request has caused. The work is rolled
	// back and repeated, and then sees the other request's writes.
	Raced
)

// ConstraintMeaning returns the meaning of a constraint or unique index by its name. A
// unique value can be taken, and a referenced row deleted, between a read and a write.
// A check fails only if the code is wrong.
func ConstraintMeaning(name string) Constraint {
	if strings.HasSuffix(name, "_key") || strings.HasSuffix(name, "_fkey") || constraint.Raced[constraint.Name(name)] {
		return Raced
	}
	return Bug // _check, _pkey, _append_only, _paid_final
}

// ErrRetryAlone is the error of work that could not share a transaction. Nothing of it was
// kept, and the caller repeats it alone. Again is true for it.
var ErrRetryAlone = errors.New("pgtx: retry in an unshared transaction")

// Again reports whether the whole work should be repeated: it lost a race, a deadlock or
// a serialization conflict, or could not share a transaction, and nothing of it was
// kept.
func Again(err error) bool {
	if errors.Is(err, ErrRetryAlone) {
		return true
	}
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
