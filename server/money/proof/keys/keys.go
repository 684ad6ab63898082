// Package keys stores the keys that sign an organization's statements. An organization gets its first key with its
// first statement. Private keys are sealed with the server's key; public keys are never deleted.
package keys

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/money/proof"
	"rail/server/secret"
	"rail/server/work"
)

var queries = db.New()

// ErrRotated means that another rotation came first.
var ErrRotated = errors.New("the key was rotated a moment ago")

// margin is the time between a rotation and its effect, and how much a first key is older than the unit of work that
// creates it. Within it, the clocks of servers may differ and units of work may overlap: all of them choose a key by
// their own time, and so the key that was valid when the statement was issued.
const margin = time.Minute

// Place returns the place for sealing a private key.
func Place(id string) string { return "statement_keys.private_key/" + id }

// Service finds and makes keys.
type Service struct{ Keeper *secret.Keeper }

// Signer signs the statements of one organization.
type Signer struct {
	// KeyID is the key_id of the signed documents.
	KeyID   string
	Since   clock.Time // the key is valid from then on
	private ed25519.PrivateKey
}

// Sign returns the signature of a statement's canonical bytes.
func (s Signer) Sign(canonical []byte) string { return proof.Sign(s.private, canonical) }

// Signer returns the signer of the unit's organization for statements of a time. It creates the organization's first
// key in the unit's transaction. One signer can sign all statements of a unit.
func (s Service) Signer(ctx context.Context, u *work.Unit, at clock.Time) (Signer, error) {
	key, err := find(ctx, u, at)
	if errors.Is(err, pgx.ErrNoRows) {
		if _, err := s.add(ctx, u, clock.At(u.Now.Add(-margin))); err != nil {
			return Signer{}, err
		}
		key, err = find(ctx, u, at) // the one of another unit of work, if it was first
	}
	if err != nil {
		return Signer{}, err
	}
	seed, err := s.Keeper.Open(key.PrivateKey, Place(key.ID))
	if err != nil {
		return Signer{}, fmt.Errorf("the statement key %s cannot be decrypted: %w", key.ID, err)
	}
	return Signer{key.ID, key.CreatedAt, ed25519.NewKeyFromSeed(seed)}, nil
}

func find(ctx context.Context, u *work.Unit, at clock.Time) (db.StatementKey, error) {
	return queries.StatementKeyAt(ctx, u.DB(), db.StatementKeyAtParams{OrgID: u.OrgID, Now: at})
}

// add makes the organization's current key, valid from a time. It reports false if there is a current key already.
func (s Service) add(ctx context.Context, u *work.Unit, from clock.Time) (bool, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return false, err
	}
	k := db.StatementKeyInsertParams{
		ID: ident.New(ident.StatementKey), OrgID: u.OrgID, PublicKey: public, CreatedAt: from,
	}
	if k.PrivateKey, err = s.Keeper.Seal(private.Seed(), Place(k.ID)); err != nil {
		return false, err
	}
	n, err := queries.StatementKeyInsert(ctx, u.DB(), k)
	return n > 0, err
}

// Rotate replaces the key of the unit's organization, in a minute. The old key's statements can still be verified. An
// organization without a key gets its first one.
func (s Service) Rotate(ctx context.Context, u *work.Unit) error {
	at := clock.At(u.Now.Add(margin))
	_, err := queries.StatementKeyRetire(ctx, u.DB(), db.StatementKeyRetireParams{OrgID: u.OrgID, RetiredAt: &at})
	if errors.Is(err, pgx.ErrNoRows) {
		at = clock.At(u.Now.Add(-margin))
	} else if err != nil {
		return err
	}
	added, err := s.add(ctx, u, at)
	if err == nil && !added {
		return ErrRotated
	}
	return err
}

// Public returns the published form of a key.
func Public(id string, publicKey []byte, createdAt clock.Time, retiredAt *clock.Time) proof.Key {
	k := proof.Key{ID: id, PublicKey: base64.StdEncoding.EncodeToString(publicKey), CreatedAt: createdAt.Time}
	if retiredAt != nil {
		k.RetiredAt = &retiredAt.Time
	}
	return k
}
