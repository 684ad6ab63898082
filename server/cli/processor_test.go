package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// One connection works for a program, processor and mode; a second one is refused
// with the first one's id, and replaces it where that is asked for.
func TestProcessor(t *testing.T) {
	t.Parallel()
	w := newSealing(t)
	connect := strings.Fields("processor connect generic --program prg_1")
	first := w.object(connect...)
	require.Equal(t, []any{"processor_connection", "prg_1", "generic", true, "active", false}, []any{
		first["object"], first["program_id"], first["processor"], first["livemode"], first["status"], first["record_direct"],
	})
	id := first["id"].(string)
	require.True(t, strings.HasSuffix(first["url"].(string), "/hooks/generic/"+id))
	require.Regexp(t, `^whsec_.{44}$`, first["secret"])
	status, _, errs := w.run(connect...)
	require.Equal(t, 1, status)
	require.Contains(t, errs, id)
	trial := w.object(append(connect, "--test", "--record-direct", "--secret", "whsec_MTIzNDU2Nzg5MDEyMzQ1Ng==")...)
	require.Equal(t, []any{false, true, nil}, []any{trial["livemode"], trial["record_direct"], trial["secret"]})
	second := w.object(append(connect, "--replace")...)
	require.Contains(t, w.must("processor", "list", "--program", "prg_1"), second["id"].(string))
	status, out, errs := w.run("processor", "check", id)
	require.Equal(t, 1, status)
	require.Contains(t, out, "disconnected")
	require.Contains(t, errs, "no event is taken")
	require.Equal(t, "active", w.object("processor", "check", second["id"].(string))["status"])
	require.Equal(t, "disconnected", w.object("processor", "disconnect", second["id"].(string))["status"])
	for args, says := range map[string]string{
		"connect nothing --program prg_1":            `no processor "nothing"`,
		"connect generic":                            "--program is needed",
		"connect generic --program prg_2":            `no program "prg_2"`,
		"connect generic --program prg_1 --secret x": "whsec_ and base64",
		"disconnect pco_none":                        `no connection "pco_none"`,
	} {
		status, _, errs := w.run(strings.Fields("processor " + args)...)
		require.NotZero(t, status, args)
		require.Contains(t, errs, says, args)
	}
}
