package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
)

// TestDoctor checks status and text of an examination; findings are tested in package doctor.
func TestDoctor(t *testing.T) {
	page := ""
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(page))
	}))
	t.Cleanup(web.Close)
	r := newRail(t)
	status, printed, errs := r.run("doctor", web.URL)
	require.Equal(t, 1, status)
	require.Empty(t, errs)
	require.Contains(t, printed, "wrong  The page has no tag of rail.js.")
	status, printed, _ = r.run("doctor", web.URL, "--json")
	require.Equal(t, 1, status)
	var report struct {
		Data struct {
			URL      string
			OK       bool
			Findings []struct{ Check, State, Text, Fix string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(printed), &report))
	require.Equal(t, web.URL, report.Data.URL)
	require.False(t, report.Data.OK)
	require.Equal(t, "tag", report.Data.Findings[1].Check)
	require.NotEmpty(t, report.Data.Findings[1].Fix)
	status, _, errs = r.run("doctor", "shop.example")
	require.Equal(t, 2, status)
	require.Contains(t, errs, "http:// or https://")
	_, err := os.Stat(r.environ["RAIL_DATA_DIR"])
	require.ErrorIs(t, err, os.ErrNotExist, "it needs no database")
}

// TestDoctorOfAProgram: a page must have the key of the given program.
func TestDoctorOfAProgram(t *testing.T) {
	t.Parallel()
	w := newSealing(t)
	key := w.object("pubkey", "create", "--program", "prg_1", "--host", "127.0.0.1")
	tag := key["tag"].(string)
	web := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		_, _ = out.Write([]byte(tag))
	}))
	t.Cleanup(web.Close)
	_, printed, _ := w.run("doctor", web.URL, "--program", "prg_1")
	require.Contains(t, printed, "The key belongs to prg_1.")
	w.must("pubkey", "revoke", key["id"].(string))
	_, printed, _ = w.run("doctor", web.URL, "--program", "prg_1")
	require.Contains(t, printed, "The key does not belong to prg_1, or is revoked.")
	status, _, errs := w.run("doctor", web.URL, "--program", "prg_2")
	require.Equal(t, 1, status)
	require.Contains(t, errs, `no program "prg_2"`)
}

// TestDoctorOfImportedLinks: old links of every program with a done import are followed, with or without a page.
func TestDoctorOfImportedLinks(t *testing.T) {
	t.Parallel()
	s := apitest.On(t, pgtest.DurableDSN(t), clock.NewManual(apitest.Start))
	program := s.Program(apitest.M{"website_url": "https://p.example"})
	w := at(t, s.DSN, s.Config.SecretKey)
	w.must("secrets", "adopt", "--yes")
	exec := func(sql string) {
		_, err := s.Pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	require.Contains(t, w.must("doctor"), "No links were imported.")
	files := t.TempDir()
	table := []byte("email,token,param\nada@example.com,Ada L,via\n")
	require.NoError(t, os.WriteFile(filepath.Join(files, "partners.csv"), table, 0o600))
	require.NotContains(t, w.must("import", "csv", "--program", program, "--files", files), "done")
	require.Contains(t, w.must("doctor"), "No links were imported.", "nothing is written yet")
	w.must("import", "csv", "--program", program, "--files", files, "--run")
	const old = "https://p.example?via=Ada+L"
	lost := old + " does not credit ada@example.com in " + program + ". "
	require.Contains(t, w.must("doctor"), "ok     "+old+" credits ada@example.com.")
	require.Contains(t, w.must("doctor", "--program", program), "ok     "+old)

	exec("UPDATE partners SET status = 'suspended' WHERE email = 'ada@example.com'")
	require.Contains(t, w.must("doctor"), "advice  "+lost+"Its partner is suspended")
	exec("UPDATE partners SET status = 'active' WHERE email = 'ada@example.com'")

	exec("UPDATE programs SET url_params = '{ref}'")
	status, printed, errs := w.run("doctor")
	require.Equal(t, 1, status)
	require.Empty(t, errs)
	require.Contains(t, printed, "wrong  "+lost+"The parameter via is not one of")
	status, printed, _ = w.run("doctor", "http://127.0.0.1:1", "--program", program, "--json")
	require.Equal(t, 1, status)
	var report struct {
		Data struct {
			OK       bool
			Findings []struct{ Check, State, Text string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(printed), &report))
	require.False(t, report.Data.OK)
	require.Equal(t, []string{"page", "link"}, []string{report.Data.Findings[0].Check, report.Data.Findings[1].Check})
	status, _, errs = w.run("doctor", "--program", "prg_2")
	require.Equal(t, 1, status)
	require.Contains(t, errs, `no program "prg_2"`)
}
