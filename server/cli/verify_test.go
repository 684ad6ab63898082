package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/prooftest"
)

// TestVerify checks files offline, without a database.
func TestVerify(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	folder := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		return path
	}
	issuer := prooftest.New(t, "part_1")
	keys := write("keys.json", issuer.KeysFile())
	first, text, third := write("1.json", issuer.Issue()), issuer.Issue(), write("3.json", issuer.Issue())
	second := write("2.json", text)
	out := r.must("verify", third, first, second, "--keys", keys, "--order", "order-1")
	require.Equal(t, []string{
		third + "  ok  R-2026-000003, 2 lines, follows R-2026-000002, the order is on line 1",
		first + "  ok  R-2026-000001, 2 lines, the order is on line 1",
		second + "  ok  R-2026-000002, 2 lines, follows R-2026-000001, the order is on line 1",
	}, strings.Split(strings.TrimSpace(out), "\n"))
	bad := write("bad.json", []byte(strings.Replace(string(text), `"amount_minor": 500`, `"amount_minor": 501`, 1)))
	status, out, errs := r.run("verify", bad, third, folder+"/none.json", "--keys", keys, "--order", "order-2")
	require.Equal(t, 1, status)
	require.Empty(t, errs)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 3, "a line for each fault")
	require.Regexp(t, `bad\.json +wrong +statement R-2026-000002: wrong signature: the statement was changed`, lines[0])
	require.Regexp(t, `3\.json +wrong +statement R-2026-000003: broken chain: it does not follow R-2026-000002`, lines[1])
	require.Regexp(t, `none\.json +wrong +open .*no such file`, lines[2])
	var shown struct{ Data []verified }
	require.NoError(t, json.Unmarshal([]byte(r.must("verify", first, "--keys", keys, "--json", "--order", "order-2")), &shown))
	require.Equal(t, []verified{{
		File: first, Number: "R-2026-000001", PartnerID: "part_1", Lines: new(2), OrderLine: new(0), Faults: []string{},
	}}, shown.Data)
	_, err := os.Stat(r.environ["RAIL_DATA_DIR"])
	require.ErrorIs(t, err, os.ErrNotExist, "it needs no database")
}

// TestVerifyByServer: the keys come from a server, by its address.
func TestVerifyByServer(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	issuer := prooftest.New(t, "part_1")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/.well-known/rail-keys.json" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(issuer.KeysFile())
	}))
	t.Cleanup(web.Close)
	file := filepath.Join(t.TempDir(), "1.json")
	require.NoError(t, os.WriteFile(file, issuer.Issue(), 0o600))
	require.Contains(t, r.must("verify", file, "--keys", web.URL), "ok")
	require.Contains(t, r.must("verify", file, "--keys", web.URL+"/.well-known/rail-keys.json"), "ok")
	r.environ["RAIL_API_URL"] = web.URL
	require.Contains(t, r.must("verify", file), "ok")
	status, _, errs := r.run("verify", file, "--keys", web.URL+"/other.json")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "other.json answers 404")
	status, _, errs = r.run("verify", "--keys", web.URL)
	require.Equal(t, 2, status)
	require.Contains(t, errs, "FILE is missing")
}

// TestVerifyWithoutKeys: without the keys no statement is wrong, and the status is 1.
func TestVerifyWithoutKeys(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	issuer := prooftest.New(t, "part_1")
	answer, one := `{"keys": [{"id": "stk_0"}], "has_more": true}`, ""
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch {
		case q.URL.Query().Get("id") == "":
			_, _ = w.Write([]byte(answer))
		case one == "":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			_, _ = w.Write([]byte(one))
		}
	}))
	t.Cleanup(web.Close)
	folder := t.TempDir()
	file, keys := filepath.Join(folder, "1.json"), filepath.Join(folder, "keys.json")
	require.NoError(t, os.WriteFile(file, issuer.Issue(), 0o600))
	require.NoError(t, os.WriteFile(keys, []byte(answer), 0o600))

	status, out, _ := r.run("verify", file, "--keys", keys)
	require.Equal(t, 1, status)
	require.Regexp(t, `1\.json +unchecked +statement R-2026-000001: could not be checked: keys unavailable: key stk_1`, out)
	require.NotContains(t, out, "wrong")
	require.NoError(t, os.WriteFile(keys, []byte(`{"keys": [{"id": "stk_1", "public_key": "?"}]}`), 0o600))
	status, out, _ = r.run("verify", file, "--keys", keys)
	require.Equal(t, 1, status)
	require.Regexp(t, `unchecked .*: could not be checked: keys unavailable: key stk_1 is damaged`, out)
	status, out, _ = r.run("verify", file, "--keys", keys, "--json")
	require.Equal(t, 1, status)
	require.Contains(t, out, `"unchecked":"statement R-2026-000001: could not be checked`)

	for _, bad := range []string{web.URL, folder + "/none.json", file} {
		status, out, errs := r.run("verify", file, "--keys", bad)
		require.Equal(t, 1, status)
		require.Empty(t, out)
		require.Contains(t, errs, "the statements could not be checked: keys unavailable: ")
	}
	one = string(issuer.KeysFile())
	require.Contains(t, r.must("verify", file, "--keys", web.URL), "ok", "the key is found by its id")
	one = `{"keys": []}`
	_, out, _ = r.run("verify", file, "--keys", web.URL)
	require.Contains(t, out, "unknown key")
}

// TestVerifyLines: an order is not looked up in a file without lines; a file that was given twice is no fault.
func TestVerifyLines(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	issuer := prooftest.New(t, "part_1")
	folder := t.TempDir()
	var files []string
	for _, name := range []string{"keys.json", "1.json", "2.json", "3.json"} {
		text := issuer.KeysFile()
		if name != "keys.json" {
			text = issuer.Issue()
		}
		files = append(files, filepath.Join(folder, name))
		require.NoError(t, os.WriteFile(files[len(files)-1], text, 0o600))
	}
	out := r.must("verify", "--keys", files[0], files[3], files[1], files[2], files[2], files[1])
	require.Equal(t, 5, strings.Count(out, "  ok  "), out)
	require.Equal(t, 2, strings.Count(out, "follows R-2026-000001"), out)

	var d map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(issuer.Issue(), &d))
	d["lines"] = json.RawMessage("null")
	text, err := json.Marshal(d)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files[1], text, 0o600))
	require.Contains(t, r.must("verify", "--keys", files[0], files[1], "--order", "order-1"),
		"R-2026-000004, without lines, so the order was not looked up")
	require.Contains(t, r.must("verify", "--keys", files[0], files[1], "--order", "order-1", "--json"), `"order_line":null`)
}

// TestStatementKey: a rotation retires the current key, and keeps it in the list.
func TestStatementKey(t *testing.T) {
	t.Parallel()
	w := newSealing(t)
	require.Contains(t, w.must("statement-key", "list"), "stk_1")
	listed := w.must("statement-key", "rotate")
	require.Contains(t, listed, "stk_1")
	require.Len(t, strings.Split(strings.TrimSpace(listed), "\n"), 3)
	require.Regexp(t, `stk_1 .*Z +\S+Z`, listed)
	status, _, errs := w.run("statement-key", "rotate", "--org", "org_2")
	require.Equal(t, 1, status)
	require.Contains(t, errs, `there is no organization "org_2"`)
}
