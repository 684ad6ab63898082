package cli

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/inbound/connection"
)

// A program has one active connection for a processor and mode; a second one is refused with the first one's id,
// and replaces it on request.
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
	require.Contains(t, errs, "accepts no events")
	require.Equal(t, "active", w.object("processor", "check", second["id"].(string))["status"])
	require.Equal(t, "disconnected", w.object("processor", "disconnect", second["id"].(string))["status"])
	for processor, form := range map[string]string{"lemon_squeezy": `^\w{26}$`, "chargebee": `^rail:\w{26}$`} {
		shown := w.object("processor", "connect", processor, "--program", "prg_1")
		require.Regexp(t, form, shown["secret"])
		require.True(t, strings.HasSuffix(shown["url"].(string), "/hooks/"+processor+"/"+shown["id"].(string)))
	}
	for args, says := range map[string]string{
		"connect polar --program prg_1":                                   "the processor's signing secret is required",
		"connect chargebee --program prg_1 --secret rail:short --replace": "16 characters",
		"connect nothing --program prg_1":                                 `no processor "nothing"`,
		"connect generic":                                                 "--program is needed",
		"connect generic --program prg_2":                                 `no program "prg_2"`,
		"connect generic --program prg_1 --secret x":                      "whsec_ and base64",
		"disconnect pco_none":                                             `no connection "pco_none"`,
	} {
		status, _, errs := w.run(strings.Fields("processor " + args)...)
		require.NotZero(t, status, args)
		require.Contains(t, errs, says, args)
	}
}

// The secrets of a connection come from standard input and the environment, too, so that the list of processes
// does not show them.
func TestProcessorSecretsHidden(t *testing.T) {
	t.Parallel()
	w := newSealing(t)
	connect := func(in string, environ map[string]string, args ...string) (status int, errs string) {
		var out, failed bytes.Buffer
		all := maps.Clone(w.environ)
		maps.Copy(all, environ)
		env := &Env{Out: &out, Err: &failed, In: strings.NewReader(in), Clock: w.now, Environ: all}
		args = append(strings.Fields("processor connect stripe --program prg_1 --test --replace"), args...)
		return Run(t.Context(), env, args), failed.String()
	}
	secrets := func() (string, string) {
		var id string
		require.NoError(t, w.pool.QueryRow(t.Context(),
			`SELECT id FROM processor_connections WHERE status = 'active'`).Scan(&id))
		c, err := queries.ConnectionAcrossOrgs(t.Context(), w.pool, id)
		require.NoError(t, err)
		service := connection.Service{Keeper: w.keeper(w.config().SecretKey)}
		signing, err := service.Secret(c)
		require.NoError(t, err)
		key, err := service.Key(c)
		if len(c.APIKey) > 0 {
			require.NoError(t, err)
		}
		return signing, key
	}
	for _, c := range []struct {
		in, args string
		environ  map[string]string
		want     [2]string
	}{
		{"whsec_in\n", "--secret -", nil, [2]string{"whsec_in", ""}},
		{"whsec_two\nodd_key", "--api-key - --secret -", nil, [2]string{"whsec_two", "odd_key"}},
		{"", "", map[string]string{hiddenSecret.variable: "whsec_env", hiddenKey.variable: "env_key"},
			[2]string{"whsec_env", "env_key"}},
		{"", "--secret whsec_flag", map[string]string{hiddenSecret.variable: "whsec_env"}, [2]string{"whsec_flag", ""}},
	} {
		status, errs := connect(c.in, c.environ, strings.Fields(c.args)...)
		require.Zero(t, status, errs)
		signing, key := secrets()
		require.Equal(t, c.want, [2]string{signing, key})
	}
	for _, in := range []string{"", "\n", "whsec_one\n"} {
		status, errs := connect(in, nil, "--secret", "-", "--api-key", "-")
		require.Equal(t, 1, status)
		require.Contains(t, errs, "standard input has no line for it")
	}
}
