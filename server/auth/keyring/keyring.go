// Package keyring knows which secret keys of the server a database depends on. The
// database keeps their fingerprints, so that a program with another key is refused
// before it writes anything. With the wrong key nothing else would look wrong: every
// API key would be unknown and no secret readable, and what is sealed meanwhile would
// need that key for ever.
package keyring

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/secret"
)

// ErrWrongKey means that the database depends on a key that was not given.
var ErrWrongKey = errors.New("the secret key is not the one of this database")

// ErrUnproven means that the database does not say yet which key it depends on, and
// has nothing that could prove the given one.
var ErrUnproven = errors.New("the database does not know its secret key yet")

var queries = db.New()

// Given is the secret key that a program was given.
type Given struct {
	Keeper *secret.Keeper
	// From says where the key came from: a variable or a file.
	From string
	Now  clock.Time
	// Claim makes the key the database's own where nothing depends on any yet.
	Claim bool
	// APIKeys are tokens that prove the key where the database has their hashes.
	APIKeys []string
}

// Admit returns nil where the given keys are all that the database depends on, and
// notes the current one. A database that has no note of its keys, as one of an
// earlier release, takes those that open what is sealed in it. Otherwise Admit fails
// with ErrWrongKey or ErrUnproven, and has changed nothing.
func Admit(ctx context.Context, pool *pgxpool.Pool, g Given) error {
	// The usual case needs no lock.
	known, err := queries.KeyFingerprints(ctx, pool)
	if err != nil || g.noted(known) {
		return err
	}
	return locked(ctx, pool, func(tx pgx.Tx) error {
		known, err := queries.KeyFingerprints(ctx, tx)
		if err != nil || g.noted(known) {
			return err
		}
		use := []string{g.Keeper.Fingerprint()}
		if len(known) > 0 {
			err = g.refusal(known)
		} else {
			use, err = g.prove(ctx, tx)
		}
		if err != nil {
			return err
		}
		return note(ctx, tx, g.Now, use)
	})
}

// Adopt makes the current key the database's own, whatever sealed what is in it:
// that needs the keys that sealed it, and is lost without them.
func Adopt(ctx context.Context, pool *pgxpool.Pool, g Given) error {
	return locked(ctx, pool, func(tx pgx.Tx) error {
		if err := note(ctx, tx, g.Now, []string{g.Keeper.Fingerprint()}); err != nil {
			return err
		}
		return g.only(ctx, tx)
	})
}

// Rotated records that everything is sealed with the current key. It fails if a
// server that still has a former key alone has sealed something meanwhile.
func Rotated(ctx context.Context, pool *pgxpool.Pool, g Given) error {
	return locked(ctx, pool, func(tx pgx.Tx) error {
		sealed, err := Open(ctx, tx, g.Keeper)
		if err != nil {
			return err
		}
		for _, s := range sealed {
			if s.By != g.Keeper.Fingerprint() {
				return fmt.Errorf("%s was sealed with %s meanwhile: start every server with the new key, and run this again",
					s.Place, s.By)
			}
		}
		return g.only(ctx, tx)
	})
}

// only records that the database depends on the current key alone.
func (g Given) only(ctx context.Context, tx pgx.Tx) error {
	return queries.KeyFingerprintsReplace(ctx, tx, db.KeyFingerprintsReplaceParams{
		Now: &g.Now, Current: g.Keeper.Fingerprint(),
	})
}

// unhurried is what looking for sealed values needs, which may read whole tables: more
// time than is allowed to a request, and plans for it.
const unhurried = "SET LOCAL statement_timeout = '10min'; SET LOCAL lock_timeout = '10min'; SET LOCAL enable_seqscan = on; " +
	"SET LOCAL idle_in_transaction_session_timeout = '10min'"

// locked runs work in a transaction, one program at a time.
func locked(ctx context.Context, pool *pgxpool.Pool, work func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, unhurried); err != nil {
			return err
		}
		if err := queries.KeyFingerprintsLock(ctx, tx); err != nil {
			return err
		}
		return work(tx)
	})
}

// note records that the database depends on these keys.
func note(ctx context.Context, tx pgx.Tx, now clock.Time, fingerprints []string) error {
	for _, f := range fingerprints {
		if err := queries.KeyFingerprintUse(ctx, tx, db.KeyFingerprintUseParams{Fingerprint: f, Now: now}); err != nil {
			return err
		}
	}
	return nil
}

// inUse returns the keys that the database depends on.
func inUse(known []db.KeyFingerprint) []string {
	var out []string
	for _, k := range known {
		if k.ReplacedAt == nil {
			out = append(out, k.Fingerprint)
		}
	}
	return out
}

// noted reports whether there is nothing to record: the current key is in use, and
// every other key in use was given as a former one.
func (g Given) noted(known []db.KeyFingerprint) bool {
	used := inUse(known)
	return slices.Contains(used, g.Keeper.Fingerprint()) && len(g.missing(used)) == 0
}

// missing returns those of wanted that were not given.
func (g Given) missing(wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted),
		func(f string) bool { return slices.Contains(g.Keeper.Fingerprints(), f) })
}

// refusal returns an error that names the missing key and the given one; nil if
// all keys are at hand.
func (g Given) refusal(known []db.KeyFingerprint) error {
	missing := g.missing(inUse(known))
	if len(missing) == 0 {
		return nil
	}
	for _, k := range known {
		if k.ReplacedAt != nil && k.Fingerprint == g.Keeper.Fingerprint() {
			return fmt.Errorf("%w: that one was replaced on %s", g.wrong(missing), k.ReplacedAt.Format("2006-01-02"))
		}
	}
	if len(missing) < len(inUse(known)) {
		return fmt.Errorf("%w: one is replacing the other: give both, one as RAIL_SECRET_KEY_PREVIOUS, until rail secrets rotate has run",
			g.wrong(missing))
	}
	return g.wrong(missing)
}

// wrong returns ErrWrongKey with the fingerprints that are wanted and given.
func (g Given) wrong(wanted []string) error {
	given := g.Keeper.Fingerprints()
	former := ""
	if len(given) > 1 {
		former = " (and RAIL_SECRET_KEY_PREVIOUS " + strings.Join(given[1:], ", ") + ")"
	}
	return fmt.Errorf("%w: the database needs the key with the fingerprint %s, %s has %s%s",
		ErrWrongKey, strings.Join(wanted, " and "), g.From, given[0], former)
}
