package keyring_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/server/app"
	"rail/server/auth/keyring"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/http/middleware"
	"rail/server/inbound/importer"
	"rail/server/money/payout"
	"rail/server/money/proof/keys"
	"rail/server/outbound/webhook"
	"rail/server/secret"
	"rail/server/team"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var now = clock.System{}.Now()

// keyOf returns a secret key with every byte n, and similar former ones.
func keyOf(t *testing.T, n byte, former ...byte) keyring.SecretKey {
	t.Helper()
	key := func(n byte) (out [32]byte) {
		for i := range out {
			out[i] = n
		}
		return out
	}
	var olds [][32]byte
	for _, f := range former {
		olds = append(olds, key(f))
	}
	k, err := secret.New(key(n), olds...)
	require.NoError(t, err)
	return keyring.SecretKey{Keeper: k, From: "RAIL_SECRET_KEY", Now: now, Claim: true}
}

func print(t *testing.T, n byte) string { return keyOf(t, n).Keeper.Fingerprint() }

func exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// places are the places of sealed values of each kind, with statements that store one.
var places = map[string]struct{ place, sql string }{
	"payout details": {
		payout.DetailsPlace("part_1"),
		"UPDATE partners SET payout_method = 'wise', payout_details = $1, payout_details_hash = ''",
	},
	"webhook secret": {webhook.SecretPlace("whe_1", false), "UPDATE webhook_endpoints SET secret = $1"},
	"previous webhook secret": {
		webhook.SecretPlace("whe_1", true), "UPDATE webhook_endpoints SET previous_secret = $1, previous_expires_at = now()",
	},
	"statement key": {
		keys.Place("stk_1"),
		"INSERT INTO statement_keys (id, org_id, public_key, private_key, created_at) " +
			"VALUES ('stk_1', 'org_1', decode(repeat('00', 32), 'hex'), $1, now())",
	},
	"import key": {
		importer.Place("imp_1"),
		"INSERT INTO imports (id, org_id, program_id, source, api_key, dry_run, emit_events, status, place, counts, balances, " +
			"groups, created_at, updated_at) VALUES ('imp_1', 'org_1', 'prg_1', 'rewardful', $1, true, false, 'reading', " +
			"'{}', '{}', '[]', '[]', now(), now())",
	},
	"second factor":         {team.FactorPlace("usr_1"), "UPDATE users SET totp_secret = $1"},
	"pending second factor": {team.FactorPlace("usr_1"), "UPDATE users SET totp_pending = $1"},
	"certificate": {
		app.CertificatePlace("rail.example"),
		"INSERT INTO certificates (name, content, updated_at) VALUES ('rail.example', $1, now())",
	},
	"stored answer": {
		middleware.IdempotencyPlace("org_1", "k/1"),
		"INSERT INTO idempotency_keys (org_id, key, fingerprint, status, body, created_at) VALUES ('org_1', 'k/1', '', 200, $1, now())",
	},
}

// database has a row of each kind, and no sealed values.
func database(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.New(t)
	exec(t, pool, `INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'A', now())`)
	exec(t, pool,
		`INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, cookie_days, url_params, commission_on_net_revenue, holding_period_days,
			min_payout_minor, payout_term, payout_methods, block_self_referrals, blocked_countries, require_tax_forms, auto_payouts_enabled, created_at, updated_at)
		VALUES ('prg_1', 'org_1', 'P', 'P', 'https://p.example', 'USD', 'active', 'p', 30, '{ref}', false, 30, 0, 'net_30', '{}', true, '{}', false, false, now(), now())`)
	exec(t, pool,
		`INSERT INTO partners (id, org_id, program_id, email, handle, status, created_at, updated_at) VALUES ('part_1', 'org_1', 'prg_1', 'a@example.com', 'ada', 'active', now(), now())`)
	exec(t, pool,
		`INSERT INTO webhook_endpoints (id, org_id, program_id, url, event_types, enabled, secret, counted_since, created_at, updated_at)
		VALUES ('whe_1', 'org_1', 'prg_1', 'https://x.example', '{}', true, '', now(), now(), now())`)
	exec(t, pool,
		`INSERT INTO users (id, org_id, email, name, role, created_at, updated_at) VALUES ('usr_1', 'org_1', 'ada@example.com', 'Ada', 'owner', now(), now())`)
	return pool
}

func seal(t *testing.T, pool *pgxpool.Pool, kind string, g keyring.SecretKey) {
	t.Helper()
	sealed, err := g.Keeper.Seal([]byte("{}"), places[kind].place)
	require.NoError(t, err)
	exec(t, pool, places[kind].sql, sealed)
}

func apiKey(t *testing.T, pool *pgxpool.Pool, g keyring.SecretKey, token string) {
	t.Helper()
	exec(t, pool,
		`INSERT INTO api_keys (id, org_id, user_id, hash, last4, livemode, scopes, rate_limit, version, created_at)
		VALUES ($1, 'org_1', 'usr_1', $2, 'last', true, '{read}', 25, '2026-08-21', now())`, "key_"+token,
		g.Keeper.HashAPIKey(token))
}

// A new database accepts the first key that may claim it, and refuses others.
func TestNewDatabase(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	reader := keyOf(t, 1)
	reader.Claim = false
	require.ErrorIs(t, keyring.Admit(t.Context(), pool, reader), keyring.ErrUnproven, "only who serves claims it")
	require.NoError(t, keyring.Admit(t.Context(), pool, keyOf(t, 1)))
	require.NoError(t, keyring.Admit(t.Context(), pool, reader))
	err := keyring.Admit(t.Context(), pool, keyOf(t, 2, 3))
	require.ErrorIs(t, err, keyring.ErrWrongKey)
	for _, want := range []string{
		"needs the key with the fingerprint " + print(t, 1), "RAIL_SECRET_KEY has " + print(t, 2),
		"RAIL_SECRET_KEY_PREVIOUS " + print(t, 3),
	} {
		require.ErrorContains(t, err, want)
	}
}

// Of programs that start concurrently with different keys, one wins.
func TestClaimedOnce(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		g := keyOf(t, byte(i+1))
		wg.Go(func() { errs[i] = keyring.Admit(t.Context(), pool, g) })
	}
	wg.Wait()
	admitted := 0
	for _, err := range errs {
		if err == nil {
			admitted++
			continue
		}
		require.ErrorIs(t, err, keyring.ErrWrongKey)
	}
	require.Equal(t, 1, admitted, errors.Join(errs...))
}

// A database without fingerprints accepts the key that opens its sealed values, of any kind, and no other.
func TestProvedBySealed(t *testing.T) {
	t.Parallel()
	for kind := range places {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			pool := database(t)
			apiKey(t, pool, keyOf(t, 1), "x")
			seal(t, pool, kind, keyOf(t, 1))
			err := keyring.Admit(t.Context(), pool, keyOf(t, 2))
			require.ErrorIs(t, err, keyring.ErrWrongKey)
			require.ErrorContains(t, err, print(t, 1))
			require.NoError(t, keyring.Admit(t.Context(), pool, keyOf(t, 1)))
		})
	}
}

// During a rotation, both keys are needed until it is finished.
func TestProvedBySealedOfTwo(t *testing.T) {
	t.Parallel()
	pool := database(t)
	seal(t, pool, "webhook secret", keyOf(t, 1))
	seal(t, pool, "payout details", keyOf(t, 2))
	require.ErrorContains(t, keyring.Admit(t.Context(), pool, keyOf(t, 2)), print(t, 1))
	require.NoError(t, keyring.Admit(t.Context(), pool, keyOf(t, 2, 1)))
	require.ErrorContains(t, keyring.Admit(t.Context(), pool, keyOf(t, 2)), "give both")
}

// Without sealed values, only an API key proves the secret key.
func TestProvedByAPIKey(t *testing.T) {
	t.Parallel()
	pool := database(t)
	apiKey(t, pool, keyOf(t, 1), "rail_live_x")
	g, wrong := keyOf(t, 1), keyOf(t, 2)
	err := keyring.Admit(t.Context(), pool, g)
	require.ErrorIs(t, err, keyring.ErrUnproven)
	require.ErrorContains(t, err, "rail secrets adopt")
	g.APIKeys, wrong.APIKeys = []string{"rail_live_x"}, []string{"rail_live_x"}
	require.ErrorIs(t, keyring.Admit(t.Context(), pool, wrong), keyring.ErrUnproven)
	require.NoError(t, keyring.Admit(t.Context(), pool, g))
	require.ErrorIs(t, keyring.Admit(t.Context(), pool, wrong), keyring.ErrWrongKey)
}

// A key is replaced by another that is given with it; both are needed until everything is sealed again.
func TestReplacement(t *testing.T) {
	t.Parallel()
	pool := database(t)
	require.NoError(t, keyring.Admit(t.Context(), pool, keyOf(t, 1)))
	require.NoError(t, keyring.Admit(t.Context(), pool, keyOf(t, 2, 1)))
	for _, one := range []byte{1, 2} {
		require.ErrorContains(t, keyring.Admit(t.Context(), pool, keyOf(t, one)), "give both")
	}
	require.NoError(t, keyring.Admit(t.Context(), pool, keyOf(t, 1, 2)), "in whichever order")
	seal(t, pool, "stored answer", keyOf(t, 1))
	err := keyring.Rotated(t.Context(), pool, keyOf(t, 2, 1))
	require.ErrorContains(t, err, print(t, 1)+" in the meantime")
	exec(t, pool, "DELETE FROM idempotency_keys")
	require.NoError(t, keyring.Rotated(t.Context(), pool, keyOf(t, 2, 1)))
	require.NoError(t, keyring.Admit(t.Context(), pool, keyOf(t, 2)))
	require.ErrorContains(t, keyring.Admit(t.Context(), pool, keyOf(t, 1)), "was replaced on "+now.Format("2006-01-02"))
	require.NoError(t, keyring.Adopt(t.Context(), pool, keyOf(t, 9)), "where both are lost")
	require.NoError(t, keyring.Admit(t.Context(), pool, keyOf(t, 9)))
	require.Error(t, keyring.Admit(t.Context(), pool, keyOf(t, 2)))
}

// One value of every kind is opened for each key.
func TestOpen(t *testing.T) {
	t.Parallel()
	pool := database(t)
	for kind := range places {
		seal(t, pool, kind, keyOf(t, 1))
	}
	for n, opens := range map[byte]bool{1: true, 2: false} {
		sealed, err := keyring.Open(t.Context(), pool, keyOf(t, n).Keeper)
		require.NoError(t, err)
		require.Len(t, sealed, len(places))
		for _, s := range sealed {
			require.Equal(t, keyring.Sealed{Kind: s.Kind, Place: places[s.Kind].place, N: 1, By: print(t, 1), Opens: opens}, s)
		}
	}
}

// TestOpenLarge: values compressed before sealing name their key too, so that one of each key is opened.
func TestOpenLarge(t *testing.T) {
	t.Parallel()
	pool := database(t)
	for n, key := range []string{"k/1", "k/2"} {
		by := keyOf(t, byte(n+1))
		sealed, err := by.Keeper.Seal([]byte(strings.Repeat("large", 10_000)), middleware.IdempotencyPlace("org_1", key))
		require.NoError(t, err)
		exec(t, pool,
			"INSERT INTO idempotency_keys (org_id, key, fingerprint, status, body, created_at) VALUES ('org_1', $2, '', 200, $1, now())", sealed, key)
	}
	found, err := keyring.Open(t.Context(), pool, keyOf(t, 1).Keeper)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, []bool{true, false}, []bool{found[0].Opens, found[1].Opens})
	require.Error(t, keyring.Rotated(t.Context(), pool, keyOf(t, 1)), "the other key is still needed")
}

// Every bytea column is a kind that is opened, or is not sealed.
func TestKindsAreAll(t *testing.T) {
	t.Parallel()
	rows, err := pgtest.New(t).Query(t.Context(),
		"SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = 'public' AND data_type = 'bytea'")
	require.NoError(t, err)
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	hashes := []string{"hash", "fingerprint", "visitor", "device", "subject"}
	sealed := []string{
		"partners.payout_details", "webhook_endpoints.secret", "webhook_endpoints.previous_secret", "idempotency_keys.body",
		"processor_connections.secret", "processor_connections.api_key", "inbox_events.payload",
		"imports.api_key", "payout_rails.credentials", "statement_keys.private_key",
		"users.totp_secret", "users.totp_pending", "certificates.content",
	}
	open := []string{
		"partner_note_files.content", "portal_images.image", // shown publicly, given by the program's users
		"statement_keys.public_key", "statements.document",
		"import_files.content", // its rows are stored openly, too; deleted as soon as they are
	}
	for _, column := range columns {
		_, name, _ := strings.Cut(column, ".")
		if slices.Contains(open, column) {
			continue
		}
		if !strings.HasSuffix(name, "_hash") && !strings.HasSuffix(name, "_digest") && !slices.Contains(hashes, name) {
			require.Contains(t, sealed, column, "neither a hash nor a kind of SealedValues (queries/keyring.sql)")
		}
	}
}
