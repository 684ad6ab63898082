package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A publishable key is created, listed in full, and revoked once.
func TestPubkey(t *testing.T) {
	t.Parallel()
	w := newSealing(t)
	key := w.object(strings.Fields("pubkey create --program prg_1 --host Shop.example --host *.shop.example --allow-leads")...)
	require.Equal(t, []any{"publishable_key", "prg_1", []any{"shop.example", "*.shop.example"}, true, nil},
		[]any{key["object"], key["program_id"], key["allowed_hosts"], key["allow_leads"], key["revoked_at"]})
	require.Contains(t, key["tag"], key["key"])
	require.Contains(t, w.must("pubkey", "list", "--program", "prg_1"), key["key"].(string))
	id := key["id"].(string)
	require.NotNil(t, w.object("pubkey", "revoke", id)["revoked_at"])
	require.Contains(t, w.must("pubkey", "list", "--program", "prg_1"), "revoked")
	for args, says := range map[string]string{
		"create --host shop.example":                 "--program is needed",
		"create --program prg_1":                     "--host is needed",
		"create --program prg_1 --host https://x":    "allowed_hosts[0] must be a host",
		"create --program prg_2 --host shop.example": `no program "prg_2"`,
		"list":            "--program is needed",
		"revoke pub_none": `no publishable key "pub_none"`,
		"revoke " + id:    "revoked already",
	} {
		status, _, errs := w.run(strings.Fields("pubkey " + args)...)
		require.NotZero(t, status, args)
		require.Contains(t, errs, says, args)
	}
}
