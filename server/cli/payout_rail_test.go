package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/paypaltest"
)

// A program has one rail for a kind and mode. Wrong credentials connect nothing, and the secret is never printed.
func TestPayoutRail(t *testing.T) {
	t.Parallel()
	w := newSealing(t)
	fake := paypaltest.Start(t, paypaltest.Config{Clock: clock.System{}, Secret: "s3cr3t"})
	w.environ["RAIL_PAYPAL_URL"] = fake.URL()
	file := filepath.Join(t.TempDir(), "secret.txt")
	connect := append(strings.Fields("payout-rail connect paypal --program prg_1 --client-id client --client-secret-file"), file)
	status, _, errs := w.run(connect...)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "secret.txt")
	require.NoError(t, os.WriteFile(file, []byte("wrong\n"), 0o600))
	status, _, errs = w.run(connect...)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "PayPal refused the account")
	require.NoError(t, os.WriteFile(file, []byte("s3cr3t\n"), 0o600))
	first := w.object(connect...)
	require.Equal(t, []any{"payout_rail", "prg_1", "paypal", true, "active"}, []any{
		first["object"], first["program_id"], first["kind"], first["livemode"], first["status"],
	})
	id := first["id"].(string)
	require.Equal(t, id, w.object(connect...)["id"], "the same account keeps its rail")
	require.Equal(t, false, w.object(append(connect, "--test")...)["livemode"])
	listed := w.must("payout-rail", "list", "--program", "prg_1")
	require.Contains(t, listed, id)
	require.NotContains(t, listed, "s3cr3t")
	require.Equal(t, "active", w.object("payout-rail", "check", id)["status"])
	require.Equal(t, "disconnected", w.object("payout-rail", "disconnect", id)["status"])
	status, out, errs := w.run("payout-rail", "check", id)
	require.Equal(t, 1, status)
	require.Contains(t, out, "disconnected")
	require.Contains(t, errs, id+" is disconnected")
	status, _, errs = w.run("payout-rail", "connect", "paypall", "--program", "prg_1")
	require.Equal(t, 2, status)
	require.Contains(t, errs, `did you mean`)
	bridge := w.object(strings.Fields("payout-rail connect webhook --program prg_1 --url https://pay.example/rail --methods wise,crypto")...)
	require.Equal(t, []any{"webhook", "https://pay.example/rail", []any{"wise", "crypto"}},
		[]any{bridge["kind"], bridge["url"], bridge["methods"]})
	require.Regexp(t, "^whsec_", bridge["secret"])
	limited := w.object("payout-rail", "limit", bridge["id"].(string), "--batch", "5000", "--day", "9000")
	require.Equal(t, []any{5000.0, 9000.0, nil},
		[]any{limited["automatic_batch_minor"], limited["automatic_day_minor"], limited["secret"]})
	for _, wrong := range []string{
		"payout-rail limit prl_1 --batch 5", "payout-rail connect webhook --program prg_1 --url https://pay.example/",
		"payout-rail connect paypal --program prg_1 --methods wise", "payout-rail connect webhook --program prg_1 --methods wise --test",
	} {
		status, _, _ = w.run(strings.Fields(wrong)...)
		require.Equal(t, 2, status, wrong)
	}
	status, _, errs = w.run(strings.Fields("payout-rail connect webhook --program prg_1 --url https://pay.example/ --methods cash")...)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "cash")
}
