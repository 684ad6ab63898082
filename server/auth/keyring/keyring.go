// Package keyring tracks which secret keys of the server a database depends on. The database stores their
// fingerprints, so that a program with another key is refused before it writes. With the wrong key, every API
// key would be unknown and no secret readable, and values sealed with it would need that key permanently.
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

// ErrWrongKey means that the database depends on another key.
var ErrWrongKey = errors.New("the secret key does not belong to this database")

// ErrUnproven means that the database has no fingerprint of its key yet, and no sealed value that could prove
// the given one.
var ErrUnproven = errors.New("the database has no secret key recorded yet")

var queries = db.New()

// SecretKey is the secret key of a running server or command.
type SecretKey struct {
	Keeper *secret.Keeper
	// From is the variable or the file of the key.
	From string
	Now  clock.Time
	// Claim assigns the key to a database that depends on no key yet.
	Claim bool
	// APIKeys are tokens whose stored hashes prove the key.
	APIKeys []string
}

// Admit returns nil if the given keys are all that the database depends on, and stores the current one's
// fingerprint. A database without fingerprints, as of an earlier release, accepts keys that open its sealed
// values. Otherwise Admit fails with ErrWrongKey or ErrUnproven, and changes nothing.
func Admit(ctx context.Context, pool *pgxpool.Pool, key SecretKey) error {
	// The usual case needs no lock.
	fingerprints, err := queries.KeyFingerprints(ctx, pool)
	if err != nil || key.recorded(fingerprints) {
		return err
	}
	return locked(ctx, pool, func(tx pgx.Tx) error {
		fingerprints, err := queries.KeyFingerprints(ctx, tx)
		if err != nil || key.recorded(fingerprints) {
			return err
		}
		use := []string{key.Keeper.Fingerprint()}
		if len(fingerprints) > 0 {
			err = key.refusal(fingerprints)
		} else {
			use, err = key.prove(ctx, tx)
		}
		if err != nil {
			return err
		}
		return note(ctx, tx, key.Now, use)
	})
}

// Adopt makes the current key the database's key, whatever sealed its values: these need the keys that sealed
// them, and are lost without.
func Adopt(ctx context.Context, pool *pgxpool.Pool, key SecretKey) error {
	return locked(ctx, pool, func(tx pgx.Tx) error {
		if err := note(ctx, tx, key.Now, []string{key.Keeper.Fingerprint()}); err != nil {
			return err
		}
		return key.only(ctx, tx)
	})
}

// Rotated records that every value is sealed with the current key. It fails if a server that still has only a
// former key has sealed something in the meantime.
func Rotated(ctx context.Context, pool *pgxpool.Pool, key SecretKey) error {
	return locked(ctx, pool, func(tx pgx.Tx) error {
		sealed, err := Open(ctx, tx, key.Keeper)
		if err != nil {
			return err
		}
		for _, s := range sealed {
			if s.By != key.Keeper.Fingerprint() {
				return fmt.Errorf("%s was sealed with %s in the meantime: start every server with the new key, and run this again",
					s.Place, s.By)
			}
		}
		return key.only(ctx, tx)
	})
}

// only records that the database depends on the current key alone.
func (key SecretKey) only(ctx context.Context, tx pgx.Tx) error {
	return queries.KeyFingerprintsReplace(ctx, tx, db.KeyFingerprintsReplaceParams{
		Now: &key.Now, Current: key.Keeper.Fingerprint(),
	})
}

// longTimeouts gives the search for sealed values, which may read whole tables, more time than a request gets,
// and suitable plans.
const longTimeouts = "SET LOCAL statement_timeout = '10min'; SET LOCAL lock_timeout = '10min'; SET LOCAL enable_seqscan = on; " +
	"SET LOCAL idle_in_transaction_session_timeout = '10min'"

// locked runs work in a transaction, one program at a time.
func locked(ctx context.Context, pool *pgxpool.Pool, work func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, longTimeouts); err != nil {
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
func inUse(rows []db.KeyFingerprint) []string {
	var out []string
	for _, k := range rows {
		if k.ReplacedAt == nil {
			out = append(out, k.Fingerprint)
		}
	}
	return out
}

// recorded reports whether there is nothing to record: the current key is in use, and every other key in use is
// among the former ones.
func (key SecretKey) recorded(rows []db.KeyFingerprint) bool {
	used := inUse(rows)
	return slices.Contains(used, key.Keeper.Fingerprint()) && len(key.missing(used)) == 0
}

// missing returns the wanted keys that were not given.
func (key SecretKey) missing(wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted),
		func(f string) bool { return slices.Contains(key.Keeper.Fingerprints(), f) })
}

// refusal returns an error that names the missing key and the given one; nil if none is missing.
func (key SecretKey) refusal(rows []db.KeyFingerprint) error {
	missing := key.missing(inUse(rows))
	if len(missing) == 0 {
		return nil
	}
	for _, k := range rows {
		if k.ReplacedAt != nil && k.Fingerprint == key.Keeper.Fingerprint() {
			return fmt.Errorf("%w: that one was replaced on %s", key.wrong(missing), k.ReplacedAt.Format("2006-01-02"))
		}
	}
	if len(missing) < len(inUse(rows)) {
		return fmt.Errorf("%w: a rotation is in progress: give both keys, one as RAIL_SECRET_KEY_PREVIOUS, until rail secrets rotate has run",
			key.wrong(missing))
	}
	return key.wrong(missing)
}

// wrong returns ErrWrongKey with the fingerprints of the wanted and the given key.
func (key SecretKey) wrong(wanted []string) error {
	prints := key.Keeper.Fingerprints()
	former := ""
	if len(prints) > 1 {
		former = " (and RAIL_SECRET_KEY_PREVIOUS " + strings.Join(prints[1:], ", ") + ")"
	}
	return fmt.Errorf("%w: the database needs the key with the fingerprint %s, %s has %s%s",
		ErrWrongKey, strings.Join(wanted, " and "), key.From, prints[0], former)
}
