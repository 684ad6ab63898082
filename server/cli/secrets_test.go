package cli

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/app"
	"rail/server/app/config"
	"rail/server/auth"
	"rail/server/inbound/connection"
	"rail/server/inbound/importer"
	"rail/server/money/payout"
	"rail/server/money/proof/keys"
	"rail/server/outbound/webhook"
	"rail/server/postgres"
	"rail/server/secret"
	"rail/server/team"
)

const (
	signingSecret = "whsec_x"
	payoutDetails = `{"iban":"DE02120300000000202051"}`
	factorSecret  = "JBSWY3DPEHPK3PXP"
)

// sealing is a rail with an API key and sealed values.
type sealing struct {
	rail
	pool *pgxpool.Pool
	key  string
}

func newSealing(t *testing.T) sealing {
	t.Helper()
	r := newRail(t).running()
	org := r.object("org", "create", "--name", "Acme")["id"].(string)
	key := r.object("key", "create", "--org", org, "--scope", "read")["key"].(string)
	cfg := r.config()
	at, err := locate(t.Context(), cfg, nil)
	require.NoError(t, err)
	pool, err := postgres.Open(t.Context(), at.dsn, postgres.Options{MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	w := sealing{r, pool, key}
	w.seal(w.keeper(cfg.SecretKey))
	return w
}

func (r rail) config() config.Config {
	r.Helper()
	cfg, err := config.Load(r.environ)
	require.NoError(r, err)
	return cfg
}

func (r rail) keeper(key [32]byte, former ...[32]byte) *secret.Keeper {
	r.Helper()
	keeper, err := secret.New(key, former...)
	require.NoError(r, err)
	return keeper
}

// seal stores a webhook's secret and a partner's payout details.
func (w sealing) seal(keeper *secret.Keeper) {
	w.Helper()
	signing, err := keeper.Seal([]byte(signingSecret), webhook.SecretPlace("whe_1", false))
	require.NoError(w, err)
	details, err := keeper.Seal([]byte(payoutDetails), payout.DetailsPlace("part_1"))
	require.NoError(w, err)
	w.exec(`INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, cookie_days, url_params, commission_on_net_revenue, holding_period_days,
			min_payout_minor, payout_term, payout_methods, block_self_referrals, blocked_countries, require_tax_forms, auto_payouts_enabled, created_at, updated_at)
		SELECT 'prg_1', id, 'P', 'P', 'https://p.example', 'USD', 'active', 'p', 30, '{ref}', false, 30, 0, 'net_30', '{}', true, '{}', false, false, now(), now() FROM organizations`)
	w.exec(`INSERT INTO webhook_endpoints (id, org_id, program_id, url, event_types, enabled, secret, counted_since, created_at, updated_at)
		SELECT 'whe_1', org_id, id, 'https://x.example', '{}', true, $1, now(), now(), now() FROM programs`, signing)
	w.exec(`INSERT INTO partners (id, org_id, program_id, email, handle, status, payout_method, payout_details, payout_details_hash, created_at, updated_at)
		SELECT 'part_1', org_id, id, 'a@example.com', 'ada', 'active', 'wise', $1, '', now(), now() FROM programs`, details)
	factor, err := keeper.Seal([]byte(factorSecret), team.FactorPlace("usr_1"))
	require.NoError(w, err)
	w.exec(`INSERT INTO users (id, org_id, email, name, role, totp_secret, created_at, updated_at)
		SELECT 'usr_1', id, 'ada@example.com', 'Ada', 'owner', $1, now(), now() FROM organizations`, factor)
	certificate, err := keeper.Seal([]byte("PRIVATE KEY"), app.CertificatePlace("rail.example"))
	require.NoError(w, err)
	w.exec("INSERT INTO certificates (name, content, updated_at) VALUES ('rail.example', $1, now())", certificate)
	importKey, err := keeper.Seal([]byte("rf_key"), importer.Place("imp_1"))
	require.NoError(w, err)
	w.exec(`INSERT INTO imports (id, org_id, program_id, source, api_key, dry_run, emit_events, status, place, counts, balances, groups, created_at, updated_at)
		SELECT 'imp_1', org_id, id, 'rewardful', $1, true, false, 'reading', '{}', '{}', '[]', '[]', now(), now() FROM programs`, importKey)
	seed, err := keeper.Seal(make([]byte, ed25519.SeedSize), keys.Place("stk_1"))
	require.NoError(w, err)
	w.exec(`INSERT INTO statement_keys (id, org_id, public_key, private_key, created_at)
		SELECT 'stk_1', id, decode(repeat('00', 32), 'hex'), $1, '2026-01-01' FROM organizations`, seed)
	stripeKey, err := keeper.Seal([]byte("rk_live_1"), connection.KeyPlace("pco_1"))
	require.NoError(w, err)
	w.exec(`INSERT INTO processor_connections (id, org_id, program_id, processor, livemode, status, record_direct, outside_checkout, api_key, created_at, updated_at)
		SELECT 'pco_1', org_id, id, 'stripe', true, 'pending', false, false, $1, now(), now() FROM programs`, stripeKey)
}

func (w sealing) exec(sql string, args ...any) {
	w.Helper()
	_, err := w.pool.Exec(w.Context(), sql, args...)
	require.NoError(w, err)
}

// replaceKey gives the servers a new secret key, beside the old one.
func (w sealing) replaceKey() {
	w.Helper()
	former, err := os.ReadFile(filepath.Join(w.environ["RAIL_DATA_DIR"], "secret.key"))
	require.NoError(w, err)
	fresh := strings.Repeat("ab", 32)
	w.environ["RAIL_SECRET_KEY"], w.environ["RAIL_SECRET_KEY_PREVIOUS"] = fresh, strings.TrimSpace(string(former))
}

// always allows every look-up.
func always() bool { return true }

// TestSecretsRotate: under a new secret key everything opens, and API keys are rehashed when they are used,
// until the old key is dropped, and afterwards too.
func TestSecretsRotate(t *testing.T) {
	t.Parallel()
	w := newSealing(t)
	w.replaceKey()
	require.Equal(t, "7 values sealed with the current key\n", w.must("secrets", "rotate"))
	require.Equal(t, "0 values sealed with the current key\n", w.must("secrets", "rotate"))
	cfg := w.config()
	_, err := auth.NewStore(w.pool, w.keeper(cfg.SecretKey, cfg.FormerKeys()...), w.now).Find(t.Context(), w.key, always)
	require.NoError(t, err, "a key moves with its use")
	alone := w.keeper(cfg.SecretKey)
	_, err = auth.NewStore(w.pool, alone, w.now).Find(t.Context(), w.key, always)
	require.NoError(t, err)
	w.opens(alone)
	former := w.environ["RAIL_SECRET_KEY_PREVIOUS"]
	delete(w.environ, "RAIL_SECRET_KEY_PREVIOUS")
	w.must("org", "list")
	w.environ["RAIL_SECRET_KEY"] = former
	status, _, errs := w.run("org", "list")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "was replaced on 2026-09-01")
}

// TestSecretsAdopt: a database from before fingerprints existed, without sealed values, accepts its secret key
// by one of its API keys.
func TestSecretsAdopt(t *testing.T) {
	t.Parallel()
	w := newSealing(t)
	w.exec("DELETE FROM key_fingerprints")
	w.exec("UPDATE webhook_endpoints SET secret = ''")
	w.exec("UPDATE users SET totp_secret = NULL")
	w.exec("DELETE FROM certificates")
	w.exec("DELETE FROM statement_keys")
	w.exec("DELETE FROM processor_connections")
	w.exec("DELETE FROM imports")
	w.exec("UPDATE partners SET payout_method = NULL, payout_details = NULL, payout_details_hash = NULL")
	status, _, errs := w.run("org", "list")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "run rail secrets adopt once, with a valid API key")
	for _, args := range []string{"", "--api-key x --yes"} {
		status, _, errs = w.run(strings.Fields("secrets adopt " + args)...)
		require.Equal(t, 2, status)
		require.Contains(t, errs, "give --api-key or --yes")
	}
	status, _, _ = w.run("secrets", "adopt", "--api-key", "rail_live_unknown")
	require.Equal(t, 1, status)
	require.Contains(t, w.must("secrets", "adopt", "--api-key", w.key), "has the fingerprint ")
	w.must("org", "list")
}

// opens fails the test unless the keeper opens the values that seal stored.
func (w sealing) opens(keeper *secret.Keeper) {
	w.Helper()
	var signing, details, hash, factor, key []byte
	require.NoError(w, w.pool.QueryRow(w.Context(), "SELECT secret FROM webhook_endpoints").Scan(&signing))
	plain, err := keeper.Open(signing, webhook.SecretPlace("whe_1", false))
	require.NoError(w, err)
	require.Equal(w, signingSecret, string(plain))
	require.NoError(w,
		w.pool.QueryRow(w.Context(), "SELECT payout_details, payout_details_hash FROM partners").Scan(&details, &hash))
	plain, err = keeper.Open(details, payout.DetailsPlace("part_1"))
	require.NoError(w, err)
	require.Equal(w, payoutDetails, string(plain))
	method := "wise"
	want, err := payout.DetailsHash(keeper, "prg_1", &method, []byte(payoutDetails))
	require.NoError(w, err)
	require.Equal(w, want, hash, "details are compared by hashes of one key")
	require.NoError(w, w.pool.QueryRow(w.Context(), "SELECT totp_secret FROM users").Scan(&factor))
	plain, err = keeper.Open(factor, team.FactorPlace("usr_1"))
	require.NoError(w, err)
	require.Equal(w, factorSecret, string(plain))
	require.NoError(w, w.pool.QueryRow(w.Context(), "SELECT api_key FROM imports").Scan(&key))
	plain, err = keeper.Open(key, importer.Place("imp_1"))
	require.NoError(w, err)
	require.Equal(w, "rf_key", string(plain))
	require.NoError(w, w.pool.QueryRow(w.Context(), "SELECT api_key FROM processor_connections").Scan(&key))
	plain, err = keeper.Open(key, connection.KeyPlace("pco_1"))
	require.NoError(w, err)
	require.Equal(w, "rk_live_1", string(plain), "a pending connection has no secret")
}

// TestResealKeepsChanges: a secret or an API key that changes while it is resealed keeps the change.
func TestResealKeepsChanges(t *testing.T) {
	t.Parallel()
	w := newSealing(t)
	for i, c := range []struct{ was, wasKey, secret, key string }{
		{"old", "changed before", "new", "key"}, {"changed before", "key", "old", "new key"},
	} {
		w.exec("UPDATE processor_connections SET secret = 'old', api_key = 'key'")
		require.NoError(t, queries.ConnectionSecretsReseal(t.Context(), w.pool, db.ConnectionSecretsResealParams{
			ID: "pco_1", Was: []byte(c.was), Secret: []byte("new"), WasKey: []byte(c.wasKey), APIKey: []byte("new key"),
		}))
		var secret, key []byte
		require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT secret, api_key FROM processor_connections").Scan(&secret, &key))
		require.Equal(t, []string{c.secret, c.key}, []string{string(secret), string(key)}, "case %d", i)
	}
}
