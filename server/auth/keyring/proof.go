package keyring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"rail/server/postgres/pgtx"
	"rail/server/secret"
)

// Sealed is one stored value of a kind and key, and whether it opens.
type Sealed struct {
	Kind  string // such as payout details
	Place string // the row for which it was sealed
	N     int64  // number of such values
	// By is the fingerprint of the sealing key, "" if unknown.
	By    string
	Opens bool
}

// Open opens one sealed value of each kind and key.
func Open(ctx context.Context, q pgtx.DBTX, keeper *secret.Keeper) ([]Sealed, error) {
	rows, err := queries.SealedValues(ctx, q)
	if err != nil {
		return nil, err
	}
	out := make([]Sealed, len(rows))
	for i, r := range rows {
		_, err := keeper.Open(r.Value, r.Place)
		out[i] = Sealed{Kind: r.Kind, Place: r.Place, N: r.N, By: secret.SealedBy(r.Value), Opens: err == nil}
	}
	return out, nil
}

// prove returns the keys that a database without fingerprints depends on, including the current one. It fails
// unless the given keys open everything.
func (key SecretKey) prove(ctx context.Context, tx pgx.Tx) ([]string, error) {
	sealed, err := Open(ctx, tx, key.Keeper)
	if err != nil {
		return nil, err
	}
	if len(sealed) == 0 {
		return key.proveByAPIKeys(ctx, tx)
	}
	use := []string{key.Keeper.Fingerprint()}
	var wanted []string
	for _, s := range sealed {
		switch {
		case s.Opens && s.By != "":
			use = append(use, s.By)
		case !s.Opens:
			wanted = append(wanted, cmp.Or(s.By, "unknown"))
		}
	}
	if len(wanted) > 0 {
		slices.Sort(wanted)
		return nil, key.wrong(slices.Compact(wanted))
	}
	return use, nil
}

// proveByAPIKeys is prove for a database without sealed values. The stored hashes of API keys depend on the
// secret key too: a matching hash proves it.
func (key SecretKey) proveByAPIKeys(ctx context.Context, tx pgx.Tx) ([]string, error) {
	exist, err := queries.APIKeysExist(ctx, tx)
	if err != nil {
		return nil, err
	}
	own := []string{key.Keeper.Fingerprint()}
	if !exist && key.Claim {
		return own, nil
	}
	if !exist {
		return nil, fmt.Errorf("%w: start rail serve, or run rail migrate up, with the key to use", ErrUnproven)
	}
	for _, token := range key.APIKeys {
		_, err := queries.APIKeyByHash(ctx, tx, key.Keeper.HashAPIKey(token))
		if !errors.Is(err, pgx.ErrNoRows) {
			return own, err
		}
	}
	return nil, fmt.Errorf("%w, and has no sealed value that could prove %s with the fingerprint %s: "+
		"run rail secrets adopt once, with a valid API key", ErrUnproven, key.From, own[0])
}
