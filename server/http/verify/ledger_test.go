package verify_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/http/docs/guides"
	"rail/server/money/proof"
)

// M is a JSON object.
type M = apitest.M

// payer pays a program's partners month by month.
type payer struct {
	apitest.Earner
	folder string
}

// at moves the clock.
func (p payer) at(month time.Month, day, hour int) {
	p.Clock.Set(time.Date(2026, month, day, hour, 0, 0, 0, time.UTC))
}

// pay pays a commission to a partner, and returns the file of its statement.
func (p payer) pay(partner, file string) (path string, hash string) {
	p.T.Helper()
	p.Must(201, p.Post("/v1/commissions", M{
		"program_id": p.ProgramID, "partner_id": partner, "amount_minor": 7000, "currency": "USD", "reason": "Thanks – ✓",
	}))
	batch := p.Post("/v1/payout_batches", M{"program_id": p.ProgramID, "period_end": p.Clock.Now().String()})
	require.Less(p.T, batch.Status, 300, "%s", batch.Raw)
	id := p.Payouts("&status=pending")[0].String("id")
	p.Must(200, p.Post("/v1/payouts/"+id+"/mark_paid", nil))
	answer := p.Must(200, p.Get("/v1/payouts/"+id+"/statement"))
	d, _, err := proof.Parse(answer.Raw)
	require.NoError(p.T, err)
	hash, err = d.Hash()
	require.NoError(p.T, err)
	return p.write(file, answer.Raw), hash
}

func (p payer) write(file string, text []byte) string {
	p.T.Helper()
	path := filepath.Join(p.folder, file)
	require.NoError(p.T, os.WriteFile(path, text, 0o600))
	return path
}

// text asks for a public file without a key.
func (p payer) text(path string) string {
	p.T.Helper()
	a := p.Do("GET", path, "", nil)
	require.Equal(p.T, 200, a.Status, path)
	require.Equal(p.T, "public, max-age=3600", a.Header.Get("Cache-Control"))
	require.Equal(p.T, "text/plain; charset=UTF-8", a.Header.Get("Content-Type"))
	return string(a.Raw)
}

func newPayer(t *testing.T) payer {
	t.Helper()
	p := payer{apitest.NewEarner(t, M{"time_zone": "America/Los_Angeles", "subdomain": "shop"}), t.TempDir()}
	p.at(10, 20, 12)
	return p
}

// TestLedger: the published months contain the hashes of all statements, in the order of their numbers, once the month
// has ended everywhere. Later payments and another time zone do not change them.
func TestLedger(t *testing.T) {
	t.Parallel()
	p := newPayer(t)
	ada, bob, eve := p.Partner(p.ProgramID), p.Partner(p.ProgramID), p.Partner(p.ProgramID)
	_, one := p.pay(ada, "1.json")
	_, two := p.pay(bob, "2.json")
	p.at(11, 1, 3) // still October in Los Angeles
	_, three := p.pay(eve, "3.json")
	at := "/" + p.ProgramID
	for _, path := range []string{at + "/ledger.txt", at + "/ledger/2026-10.txt", "/other/ledger.txt", "/%00/ledger.txt"} {
		require.Equal(t, 404, p.Do("GET", path, "", nil).Status, path)
	}
	p.at(11, 2, 1)
	require.Equal(t, "2026-10 3 "+proof.Root([]string{one, two, three})+"\n", p.text(at+"/ledger.txt"))
	p.pay(ada, "4.json")
	october := p.text(at + "/ledger.txt")
	hashes := p.text(at + "/ledger/2026-10.txt")
	require.Equal(t, one+"\n"+two+"\n"+three+"\n", hashes)
	require.Equal(t, "2026-10 3 "+proof.Hash([]byte(hashes))+"\n", october)
	p.Must(200, p.Post("/v1/programs/"+p.ProgramID, M{"time_zone": "Pacific/Auckland"}))
	p.at(12, 3, 0)
	require.Regexp(t, `^`+regexp.QuoteMeta(october)+`2026-11 1 [0-9a-f]{64}\n$`, p.text(at+"/ledger.txt"))
	require.Equal(t, hashes, p.text(at+"/ledger/2026-10.txt"))
	for _, path := range []string{
		at + "/ledger/2026-12.txt", at + "/ledger/2026-09.txt", at + "/ledger/2026-10", at + "/ledger/x.txt",
		"/other/ledger/2026-10.txt", at + "/ledger/%ff.txt",
		"/shop/ledger.txt", "/shop/ledger/2026-10.txt", // a subdomain can be guessed
	} {
		require.Equal(t, 404, p.Do("GET", path, "", nil).Status, path)
	}
	require.NotContains(t, hashes+october, "part_")
}

// TestLedgerOfManyStatements: a month of several pages is sent with its length, so that a reader finds a truncated one.
func TestLedgerOfManyStatements(t *testing.T) {
	t.Parallel()
	p := newPayer(t)
	p.pay(p.Partner(p.ProgramID), "1.json")
	const copies = 10_500
	_, err := p.Pool.Exec(t.Context(), `INSERT INTO statements (id, org_id, program_id, partner_id, payout_id, series, year,
			month, sequence, number, position, issued_at, document, signature, key_id, hash)
		SELECT id || n, org_id, program_id, partner_id || n, payout_id || n, series, year, month, sequence + n, number || n,
			position, issued_at, document, signature, key_id, encode(sha256(n::text::bytea), 'hex')
		FROM statements, generate_series(1, $1::int) n`, copies)
	require.NoError(t, err)
	p.at(11, 2, 1)
	a := p.Do("GET", "/"+p.ProgramID+"/ledger/2026-10.txt", "", nil, "Accept-Encoding", "identity")
	require.Equal(t, 200, a.Status)
	require.Equal(t, copies+1, strings.Count(string(a.Raw), "\n"))
	require.Equal(t, strconv.Itoa(len(a.Raw)), a.Header.Get("Content-Length"))
	require.Equal(t, "2026-10 10501 "+proof.Hash(a.Raw)+"\n", p.text("/"+p.ProgramID+"/ledger.txt"))
}

// scripts are the commands of the guide's scripts. Without site packages, Python calls openssl.
var scripts = map[string][]string{
	"verify.mjs":         {"node"},
	"verify.py":          {"python3"},
	"verify.py, openssl": {"python3", "-S"},
}

// guideFiles writes the scripts of the guide into a folder.
func guideFiles(t *testing.T, folder string) {
	t.Helper()
	found := 0
	for _, g := range guides.All() {
		if g.Name != "statements" {
			continue
		}
		block := regexp.MustCompile("(?ms)^```(?:js|python)\n(?://|#) (\\S+)\n.*?^```$")
		for _, b := range block.FindAllStringSubmatch(string(g.Text), -1) {
			code := strings.SplitN(strings.TrimSuffix(b[0], "```"), "\n", 2)[1]
			require.NoError(t, os.WriteFile(filepath.Join(folder, b[1]), []byte(code), 0o600))
			found++
		}
	}
	require.Equal(t, 2, found)
}

// TestGuidesScripts runs the scripts of the guide against the statements, keys and months of a server: they find
// everything valid, and each fault.
func TestGuidesScripts(t *testing.T) {
	t.Parallel()
	p := newPayer(t)
	guideFiles(t, p.folder)
	ada := p.Partner(p.ProgramID, M{"first_name": "Zoë 😀", "last_name": "\"<&>\u2028\\"})
	first, _ := p.pay(ada, "1.json")
	second, _ := p.pay(p.Partner(p.ProgramID), "2.json")
	p.at(11, 20, 12)
	third, _ := p.pay(ada, "3.json")
	p.at(12, 3, 12)
	fourth, _ := p.pay(ada, "4.json")
	keys := p.write("keys.json", p.Do("GET", "/.well-known/rail-keys.json", "", nil).Raw)
	ledger := []string{
		p.write("ledger.txt", []byte(p.text("/"+p.ProgramID+"/ledger.txt"))),
		p.write("2026-11.txt", []byte(p.text("/"+p.ProgramID+"/ledger/2026-11.txt"))),
	}
	changed := func(from, file, old, fresh string) string {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.Contains(t, string(text), old)
		return p.write(file, []byte(strings.Replace(string(text), old, fresh, 1)))
	}
	late := changed(keys, "late.json", `"created_at":"2026-10-20`, `"created_at":"2026-10-21`)
	short := p.write("short.json", []byte(`{"keys":[{"id":"stk_1","public_key":"AAAA"}]}`))
	faults := map[string][]string{
		"signature is wrong":    {keys, changed(first, "a.json", `"lines_count":1`, `"lines_count":2`)},
		"lines are not those":   {keys, changed(first, "b.json", `"lines":[{`, `"lines":[{"x":1,`)},
		"one before it":         {keys, fourth, first},
		"is not published":      {keys, changed(first, "c.json", `"key_id":"stk_`, `"key_id":"stk_x`)},
		"the key was not valid": {late, first},
		"not in the ledger":     append([]string{keys, fourth}, ledger...),
		"keys unavailable":      {third, first},
		"not a signed":          {keys, first, keys},
		"short.json: could not": {short, first},
		"json: could not be":    {filepath.Join(p.folder, "none.json"), first},
		"root of the month":     {keys, third, ledger[0], changed(ledger[1], "other.txt", "\n", "\n0\n")},
	}
	for name, command := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, _, _ := strings.Cut(name, ",")
			run := func(args ...string) (string, error) {
				args = append(append(command[1:len(command):len(command)], filepath.Join(p.folder, script)), args...)
				out, err := exec.CommandContext(t.Context(), command[0], args...).CombinedOutput()
				return string(out), err
			}
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skip("no " + command[0])
			}
			out, err := run(keys, third, first, second, fourth)
			require.NoError(t, err, out)
			require.Equal(t, 4, strings.Count(out, ": valid\n"), out)
			out, err = run(keys, third, first, third, first)
			require.NoError(t, err, "files that were given twice: %s", out)
			out, err = run(append([]string{keys, third}, ledger...)...)
			require.NoError(t, err, out)
			for fault, args := range faults {
				out, err := run(args...)
				require.Error(t, err, fault)
				require.Contains(t, out, fault)
			}
		})
	}
	var published struct{ Keys []proof.Key }
	text, err := os.ReadFile(keys)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &published))
	require.Len(t, published.Keys, 1)
}
