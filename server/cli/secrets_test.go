package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/auth"
	"rail/server/config"
	"rail/server/payout"
	"rail/server/postgres"
	"rail/server/secret"
	"rail/server/webhook"
)

// TestSecretsRotate: under a new secret key everything opens, and API keys move
// with their use, until the old one is dropped; then too.
func TestSecretsRotate(t *testing.T) {
	t.Parallel()
	r := newRail(t).running()
	made := struct{ Key string }{}
	org := r.object("org", "create", "--name", "Acme")["id"].(string)
	require.NoError(t, json.Unmarshal([]byte(r.must("key", "create", "--org", org, "--scope", "read", "--json")), &made))
	cfg, err := config.Load(r.environ)
	require.NoError(t, err)
	old, err := secret.New(cfg.SecretKey)
	require.NoError(t, err)
	at, err := locate(t.Context(), cfg, nil)
	require.NoError(t, err)
	pool, err := postgres.Open(t.Context(), at.dsn, postgres.Options{MaxConns: 4})
	require.NoError(t, err)
	defer pool.Close()
	sealed, err := old.Seal([]byte("whsec_x"), webhook.SecretPlace("whe_1", false))
	require.NoError(t, err)
	detail := []byte(`{"iban":"DE02120300000000202051"}`)
	details, err := old.Seal(detail, payout.DetailsPlace("part_1"))
	require.NoError(t, err)
	for _, sql := range []string{
		`INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, cookie_days, url_params, commission_on_net_revenue, holding_period_days,
			min_payout_minor, payout_term, payout_methods, block_self_referrals, blocked_countries, require_tax_forms, auto_payouts_enabled, created_at, updated_at)
			SELECT 'prg_1', id, 'P', 'P', 'https://p.example', 'USD', 'active', 'p', 30, '{ref}', false, 30, 0, 'net_30', '{}', true, '{}', false, false, now(), now() FROM organizations`,
		`INSERT INTO webhook_endpoints (id, org_id, program_id, url, event_types, enabled, secret, counted_since, created_at, updated_at) SELECT 'whe_1', org_id, id, 'https://x.example', '{}', true, $1, now(), now(), now() FROM programs`,
		`INSERT INTO partners (id, org_id, program_id, email, handle, status, payout_method, payout_details, payout_details_hash, created_at, updated_at)
			SELECT 'part_1', org_id, id, 'a@example.com', 'ada', 'active', 'wise', $2, '', now(), now() FROM programs WHERE $1::bytea IS NOT NULL`,
	} {
		var args []any
		if strings.Contains(sql, "$1") {
			args = []any{sealed}
		}
		if strings.Contains(sql, "$2") {
			args = append(args, details)
		}
		_, err := pool.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}

	former, err := os.ReadFile(filepath.Join(r.environ["RAIL_DATA_DIR"], "secret.key"))
	require.NoError(t, err)
	fresh := strings.Repeat("ab", 32)
	r.environ["RAIL_SECRET_KEY"], r.environ["RAIL_SECRET_KEY_PREVIOUS"] = fresh, strings.TrimSpace(string(former))
	require.Equal(t, "2 values sealed with the current key\n", r.must("secrets", "rotate"))
	require.Equal(t, "0 values sealed with the current key\n", r.must("secrets", "rotate"))
	cfg, err = config.Load(r.environ)
	require.NoError(t, err)
	both, err := secret.New(cfg.SecretKey, cfg.FormerKeys()...)
	require.NoError(t, err)
	_, err = auth.NewStore(pool, both, r.now).Find(t.Context(), made.Key)
	require.NoError(t, err, "a key moves with its use")
	alone, err := secret.New(cfg.SecretKey)
	require.NoError(t, err)
	_, err = auth.NewStore(pool, alone, r.now).Find(t.Context(), made.Key)
	require.NoError(t, err)
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT secret FROM webhook_endpoints").Scan(&sealed))
	plain, err := alone.Open(sealed, webhook.SecretPlace("whe_1", false))
	require.NoError(t, err)
	require.Equal(t, "whsec_x", string(plain))
	var hash []byte
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT payout_details, payout_details_hash FROM partners").Scan(&details, &hash))
	plain, err = alone.Open(details, payout.DetailsPlace("part_1"))
	require.NoError(t, err)
	require.Equal(t, string(detail), string(plain))
	method := "wise"
	want, err := payout.DetailsHash(alone, "prg_1", &method, detail)
	require.NoError(t, err)
	require.Equal(t, want, hash, "details are compared by hashes of one key")
}
