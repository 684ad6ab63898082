package console_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
	"rail/server/harness/importtest"
	"rail/server/inbound/importer"
	"rail/server/team"
)

// rewardful serves a program of Rewardful, and the option of a server that imports from it.
func rewardful(t *testing.T, partners int) (*importtest.Fake, apitest.Option) {
	t.Helper()
	world := importtest.NewWorld(7, partners, apitest.Start, importtest.Shape{Param: "via"})
	fake := importtest.Serve(t, importtest.Rewardful(world, importtest.Oddities{}), importtest.Faults{})
	return fake, func(c *config.Config) { c.ImportURLRewardful = fake.URL }
}

// newMover starts a server that can import from a fake of Rewardful.
func newMover(t *testing.T, partners int) (*fixture, *importtest.Fake) {
	t.Helper()
	fake, option := rewardful(t, partners)
	s := apitest.New(t, option)
	return newSiteOf(s, s.Program(M{"currency": "USD"})), fake
}

// importing works on imports until none has work.
func (s *fixture) importing() {
	s.T.Helper()
	apitest.RunJob(s.T, s.Server, "run-imports")
}

// begins starts an import, and returns the path of its page.
func (p *person) begins() string {
	p.T.Helper()
	a := p.Must(303, p.send("/imports/new", "source", "rewardful", "api_key", importtest.RewardfulKey))
	return a.Header.Get("Location")
}

// TestImport moves a program in from Rewardful: the report, the run, a delta and the undo.
func TestImport(t *testing.T) {
	t.Parallel()
	s, _ := newMover(t, 40)
	p := s.person(s.Org, team.Manager)
	require.Contains(t, p.page("/imports"), "Any other program")
	require.Contains(t, p.page("/setup"), "Coming from another program?")
	require.NotContains(t, p.page("/imports/new?source=tolt"), "Only changes since")
	require.Contains(t, p.page("/imports/new?source=tolt"), "Program ID")
	p.says(400, "Fill in the API secret.", p.send("/imports/new", "source", "rewardful"))
	p.says(400, "Choose a day", p.send("/imports/new", "source", "rewardful", "api_key", "k", "since", "soon"))
	p.says(400, "Fill in the program ID.", p.send("/imports/new", "source", "tolt", "api_key", "k"))
	at := p.begins()
	page := p.page(at)
	require.Contains(t, page, `<noscript><meta http-equiv="refresh" content="5"></noscript>`)
	require.NotContains(t, page, importtest.RewardfulKey)
	require.NotContains(t, p.page(at+"/progress"), "<html")
	p.says(409, "Another import of this program is under way.",
		p.send("/imports/new", "source", "rewardful", "api_key", "k"))
	s.importing()
	require.Contains(t, p.page(at+"/progress"), `data-polled="reload"`)
	report := p.page(at)
	for _, text := range []string{
		"Report ready", "Nothing is written yet", "Balances are equal to the cent.", "Groups without a counterpart",
		"will work with the same addresses", "No emails are sent. No events are sent.",
	} {
		require.Contains(t, report, text)
	}
	require.Less(t, len(report), 60<<10)
	require.Empty(t, s.Get("/v1/partners?program_id="+s.program).Data())
	p.Must(303, p.send(at+"/run"))
	p.says(409, "only a ready import can be written", p.send(at+"/run"))
	s.halfway(at)
	s.importing()
	done := p.page(at)
	require.Contains(t, done, "What was written")
	require.Contains(t, done, "Connect your payment processor")
	require.NotEmpty(t, s.Get("/v1/partners?program_id="+s.program).Data())

	link := s.Must(200, s.Get("/v1/links?program_id="+s.program)).Data()[0]
	s.Click(s.program, link["value"].(string), M{"visitor_token": apitest.Unique("visitor"), "param": "via", "landing_url": "https://shop.example/"})
	require.Contains(t, p.page(at+"/undo"), "1 link with visits.")
	p.Must(303, p.send(at+"/undo"))
	require.Contains(t, p.page(at), "Undoing")
	s.importing()
	undone := p.page(at)
	require.Contains(t, undone, "The import is undone")
	require.Contains(t, undone, "Not undone")
	require.Contains(t, p.page("/imports"), "Undone")
	require.Equal(t, at, p.ask("GET", p.full(at+"/undo"), nil).Header.Get("Location"), "nothing is left to undo")
	log := p.page("/log")
	for _, text := range []string{"Import started", "Import run", "Import undone", at} {
		require.Contains(t, log, text)
	}
}

// halfway shows a minute's progress of an import that is being written.
func (s *fixture) halfway(at string) {
	s.T.Helper()
	id := at[strings.LastIndex(at, "/")+1:]
	place := func(to string) (was string) {
		require.NoError(s.T, s.Pool.QueryRow(s.T.Context(), `UPDATE imports t SET place = $2::json FROM imports o
			WHERE t.id = o.id AND t.id = $1 RETURNING o.place::text`, id, to).Scan(&was))
		return was
	}
	was := place(`{"phase": "write", "kind": 1, "done": 2, "began": "` + s.Clock.Now().String() + `"}`)
	s.Clock.Advance(time.Minute)
	require.Regexp(s.T, `(?s)Writing links.*42 of [0-9]+ objects, about 42 objects a minute, about [0-9]+ minutes left`,
		s.owner.page(at+"/progress"))
	place(was)
}

// TestImportProblems: the report lists problems by kind and code, on pages and as a file.
func TestImportProblems(t *testing.T) {
	t.Parallel()
	s, _ := newMover(t, 5)
	p := s.owner
	at := p.begins()
	s.importing()
	id := at[strings.LastIndex(at, "/")+1:]
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO import_problems (id, org_id, program_id, import_id, kind, source_id, code,
			detail, created_at)
		SELECT 'ipr_' || lpad(n::text, 26, '0'), $1, $2, $3, CASE WHEN n < 7 THEN 'partners' ELSE 'links' END, '=s' || n,
			CASE WHEN n < 7 THEN 'balance_differs' ELSE 'value_taken' END, 'Detail ' || n, now() FROM generate_series(1, 40) n`,
		s.Org, s.program, id)
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), `UPDATE imports SET problems_count = problems_count + 40 WHERE id = $1`, id)
	require.NoError(t, err)
	page := p.page(at)
	require.Contains(t, page, "Balances differ.")
	require.NotContains(t, page, "equal to the cent")
	require.Contains(t, page, "Unpaid balance differs: 6 partners")
	require.Contains(t, page, "Older →")
	require.Less(t, len(page), 60<<10)
	one := p.page(at + "?kind=partners&code=balance_differs")
	require.Contains(t, one, "Detail 6")
	require.NotContains(t, one, "Detail 7")
	require.Contains(t, p.page(at+"?kind=coupons&code=deleted"), "No problems here.")
	p.Must(404, p.ask("GET", p.full(at+"?code=none"), nil))
	file := string(p.Must(200, p.ask("GET", p.full(at+"/problems.csv"), nil)).Raw)
	require.Contains(t, file, "links,'=s40,value_taken,Link value is taken,Detail 40\n")
	require.GreaterOrEqual(t, strings.Count(file, "\n"), 41)
	require.Contains(t, page, "/balances.csv")
	balances := string(p.Must(200, p.ask("GET", p.full(at+"/balances.csv"), nil)).Raw)
	require.Regexp(t, `(?m)^partner,email,currency,source,rail,difference$`, balances)
	require.Regexp(t, `(?m)^aff_\d+,partner\d+@example.com,USD,(\d+\.\d\d),\d+\.\d\d,-?\d+\.\d\d$`, balances)
}

// TestImportFails: a refused key is explained, and nothing stays but the way to try again.
func TestImportFails(t *testing.T) {
	t.Parallel()
	s, fake := newMover(t, 3)
	p := s.owner
	at := p.Must(303, p.send("/imports/new", "source", "rewardful", "api_key", "wrong")).Header.Get("Location")
	_ = apitest.TryJob(t, s.Server, "run-imports")
	page := p.page(at)
	require.Contains(t, page, "Rewardful refused the API key.")
	require.Contains(t, page, "/imports/new?source=rewardful")
	fake.Set(importtest.Faults{FailEvery: 1})
	at = p.begins()
	_ = apitest.TryJob(t, s.Server, "run-imports")
	require.Contains(t, p.page(at), "The last attempt failed. Rail will try again.")
}

// TestImportByCommand: an import that only the command can repeat has its product's name, and leads to the guide.
func TestImportByCommand(t *testing.T) {
	t.Parallel()
	s, _ := newMover(t, 3)
	p := s.owner
	at := p.begins()
	s.importing()
	for name, title := range map[string]string{
		"affiliatewp": "AffiliateWP", "goaffpro": "GoAffPro", "refersion": "Refersion",
	} {
		for _, status := range []string{"ready", "failed", "undone", "done"} {
			_, err := s.Pool.Exec(t.Context(), "UPDATE imports SET source = $1, status = $2, finished_at = created_at", name, status)
			require.NoError(t, err)
			page := p.page(at)
			require.Contains(t, page, "Import from "+title)
			require.Contains(t, page, `href="/docs/guides/move-from-others"`, status)
			require.NotContains(t, page, "/imports/new?source=", status)
		}
		require.Contains(t, p.page("/imports"), title)
	}
}

// TestImportRoles: only owners and managers import, and imports of others are not found.
func TestImportRoles(t *testing.T) {
	t.Parallel()
	s, _ := newMover(t, 3)
	at := s.owner.begins()
	for _, role := range []team.Role{team.Viewer, team.Finance} {
		p := s.person(s.Org, role)
		require.NotContains(t, p.page(""), s.at+"/imports")
		for _, path := range []string{"/imports", "/imports/new", at, at + "/progress", at + "/files", at + "/undo", at + "/problems.csv", at + "/balances.csv"} {
			p.says(403, "Your role cannot do this", p.ask("GET", p.full(path), nil))
		}
		for _, path := range []string{"/imports/new", at + "/run", at + "/undo", at + "/files", at + "/discard"} {
			p.says(403, "Your role cannot do this", p.send(path, "source", "rewardful", "api_key", "k"))
		}
		p.says(403, "Your role cannot do this", p.uploads("a.csv", "email\n"))
	}
	other := s.Program()
	stranger := s.person(s.NewOrg("Other"), team.Owner)
	for _, path := range []string{"", "/progress", "/files", "/undo", "/problems.csv", "/balances.csv"} {
		foreign := strings.Replace(at, s.program, other, 1)
		s.owner.Must(404, s.owner.ask("GET", s.owner.full(foreign+path), nil))
		s.owner.Must(404, s.owner.ask("GET", s.owner.full("/imports/imp_none"+path), nil))
		stranger.Must(404, stranger.ask("GET", at+path, nil))
	}
	for _, path := range []string{"/run", "/undo", "/files", "/discard"} {
		s.owner.Must(404, s.owner.send("/imports/%00"+path))
		s.owner.Must(404, s.owner.send("/imports/imp_none"+path))
		stranger.Must(404, stranger.send(at+path))
	}
}

// uploads sends files; files are pairs of a name and a text.
func (p *person) uploads(files ...string) apitest.Answer {
	p.T.Helper()
	token := tokens.FindStringSubmatch(string(p.ask("GET", "/console/account", nil).Raw))[1]
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	require.NoError(p.T, form.WriteField("form_token", token))
	require.NoError(p.T, form.WriteField("source", "csv"))
	for i := 0; i+1 < len(files); i += 2 {
		file, err := form.CreateFormFile("files", files[i])
		require.NoError(p.T, err)
		_, err = file.Write([]byte(files[i+1]))
		require.NoError(p.T, err)
	}
	require.NoError(p.T, form.Close())
	return p.ask("POST", p.full("/imports/files"), body.String(), "Content-Type", form.FormDataContentType())
}

const (
	partnerFile    = "Id,Mail address,First,Token\n1,ada@example.com,Ada,ada-l\n2,grace@example.com,Grace,grace-h\n"
	customerFile   = "id;partner_id;external_customer_id;email\nc1;1;cus_1;kay@shop.example\n"
	commissionFile = "id,partner_id,amount,currency,status,created_at\nk1,1,12.50,USD,due,2026-05-01\nk2,2,7.50,USD,paid,2026-04-01\n"
)

// TestImportFiles: uploaded files keep their columns as people choose them, and are deleted when they are read.
func TestImportFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.owner
	p.says(400, "Choose at least one file.", p.uploads())
	at := p.Must(303, p.uploads("people.csv", partnerFile, "customers.csv", customerFile, "commissions.csv", commissionFile,
		"picture.csv", "\x89PNG\xff\xfe\n")).Header.Get("Location")
	id := regexp.MustCompile(`imp_[0-9a-z]+`).FindString(at)
	page := p.page(at)
	require.Contains(t, page, "people.csv")
	require.Contains(t, page, "A column is missing", "Mail address is no header that is known")
	require.Contains(t, page, "grace@example.com")
	require.Less(t, len(page), 60<<10)
	require.Contains(t, p.page(at+"?file=3"), "This file cannot be read")
	require.Contains(t, p.done(p.send(at, "file", "0", "kind", "links", "do", "start")), "people.csv: Links.")
	require.Contains(t, p.done(p.send(at, "file", "0", "kind", "partners", "do", "start")), "people.csv: Partners.")
	p.says(400, "has no column", p.send(at, "file", "0", "kind", "partners", "column_email", "Nothing", "do", "save"))
	p.says(400, "Choose what the file has", p.send(at, "file", "0", "kind", "things"))
	p.Must(404, p.send(at, "file", "9", "kind", "partners"))
	require.Contains(t, p.done(p.send(at, "file", "0", "kind", "partners", "column_id", "Id", "column_first_name", "First",
		"do", "start")), "people.csv needs a column for the email.")
	require.Contains(t, p.done(p.send(at, "file", "0", "kind", "partners", "column_id", "Id", "column_email", "Mail address",
		"column_value", "Token", "do", "save")), "The columns of people.csv are saved.")
	require.Regexp(t, `(?s)id="column_email".*?<option selected>Mail address`, p.page(at+"?file=0"))
	p.says(409, "Another import", p.uploads("a.csv", partnerFile))
	s.importing() // it waits for its columns
	p.page(at)
	p.Must(303, p.send(at, "file", "1", "kind", "customers", "column_partner_id", "partner_id",
		"column_external_customer_id", "external_customer_id", "column_email", "email", "column_id", "id", "do", "start"))
	ended := p.page("/imports/" + id)
	require.Contains(t, ended, "Reading")
	s.importing()
	report := p.page("/imports/" + id)
	require.Contains(t, report, "Balances are equal to the cent.")
	require.Contains(t, report, "2 links of CSV files will work")
	var left int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM import_files").Scan(&left))
	require.Zero(t, left)
	p.Must(303, p.send("/imports/"+id+"/run"))
	s.importing()
	require.Len(t, s.Must(200, s.Get("/v1/partners?program_id="+s.program)).Data(), 2)
	require.Len(t, s.Must(200, s.Get("/v1/commissions?program_id="+s.program)).Data(), 2)
	late := p.Must(303, p.send("/imports/"+id+"/files", "file", "0", "kind", ""))
	require.Equal(t, s.at+"/imports/"+id, late.Header.Get("Location"), "its files are read")
}

// TestImportEqualHeaders: of two columns with one header, a person chooses the second.
func TestImportEqualHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.owner
	at := p.Must(303, p.uploads("partners.csv", "id,email\n1,ada@example.com\n", "commissions.csv",
		"id,partner_id,Amount,Currency,Status,Amount,Currency\nk1,1,100.00,USD,due,20.00,EUR\n")).Header.Get("Location")
	page := p.page(at + "?file=1")
	require.Contains(t, page, "A column is missing for the amount and for Currency.")
	require.Contains(t, page, "<option>Amount (2)</option>")
	p.Must(303, p.send(at, "file", "1", "kind", "commissions", "column_id", "id", "column_partner_id", "partner_id",
		"column_amount_minor", "Amount (2)", "column_currency", "Currency (2)", "column_status", "Status", "do", "start"))
	s.importing()
	id := regexp.MustCompile(`imp_[0-9a-z]+`).FindString(at)
	balance := s.Must(200, s.Get("/v1/imports/"+id)).Body["balances"].([]any)[0].(M)
	require.Equal(t, "2000 EUR", fmt.Sprint(balance["source_minor"], " ", balance["currency"]))
}

// TestImportLargeFile: a file of several parts is read as a whole, and files above the bound are refused.
func TestImportLargeFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.owner
	var text strings.Builder
	text.WriteString("id,email,company_name\n")
	const lines = 3000
	for i := range lines {
		fmt.Fprintf(&text, "%d,p%d@example.com,%s\n", i, i, strings.Repeat("x", 500))
	}
	require.Greater(t, text.Len(), importer.PartSize)
	at := p.Must(303, p.uploads("partners.csv", text.String())).Header.Get("Location")
	p.Must(303, p.send(at, "file", "0", "kind", "partners", "column_id", "id", "column_email", "email",
		"column_company_name", "company_name", "do", "start"))
	s.importing()
	id := regexp.MustCompile(`imp_[0-9a-z]+`).FindString(at)
	counts := s.Must(200, s.Get("/v1/imports/"+id)).Body["counts"].(M)["partners"].(M)
	require.Equal(t, fmt.Sprint(lines), fmt.Sprint(counts["new"]))
	p.says(413, "too large", p.uploads("partners.csv", strings.Repeat("x", importer.MaxUpload+(1<<20))))
	at = p.Must(303, p.uploads("partners.csv", partnerFile)).Header.Get("Location")
	require.Contains(t, p.done(p.send(strings.TrimSuffix(at, "/files")+"/discard")), "Nothing was imported.")
	require.Contains(t, p.page(strings.TrimSuffix(at, "/files")), "It was discarded before its files were read.")
}

// TestImportFileContinues: a server that continues a file skips the lines that are stored. A file that cannot be read to
// its end fails the import at once.
func TestImportFileContinues(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.owner
	columns := []string{"file", "0", "kind", "partners", "column_id", "Id", "column_email", "Mail address", "do", "start"}
	begin := func(text string) (id string) {
		at := p.Must(303, p.uploads("partners.csv", text)).Header.Get("Location")
		p.Must(303, p.send(at, columns...))
		return regexp.MustCompile(`imp_[0-9a-z]+`).FindString(at)
	}
	id := begin(partnerFile)
	_, err := s.Pool.Exec(t.Context(), `UPDATE imports SET place = '{"phase": "sort", "lines": 1}' WHERE id = $1`, id)
	require.NoError(t, err)
	s.importing()
	counts := s.Must(200, s.Get("/v1/imports/"+id)).Body["counts"].(M)["partners"].(M)
	require.Equal(t, "1", fmt.Sprint(counts["read"]))
	id = begin(partnerFile + "3,\xff@example.com,X,x\n")
	_ = apitest.TryJob(t, s.Server, "run-imports")
	page := p.page("/imports/" + id)
	require.Contains(t, page, "The file partners.csv: line 4: the file is not UTF-8")
	require.Contains(t, page, "/imports/new?source=csv")
	var left int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM import_files").Scan(&left))
	require.Zero(t, left)
}

// looks takes pictures of the page, and checks that it fits a telephone.
func (d *desk) looks(name string) {
	d.fixture.T.Helper()
	for _, scheme := range []string{"light", "dark"} {
		d.Scheme(scheme)
		for _, width := range []int64{1280, 390} {
			d.Do(chromedp.EmulateViewport(width, 900))
			require.LessOrEqual(d.fixture.T, browsertest.Eval[int64](d.Tab, "document.documentElement.scrollWidth"), width, name)
			d.Picture(fmt.Sprintf("%s-%d-%s", name, width, scheme))
		}
	}
	d.Scheme("light")
	d.Do(chromedp.EmulateViewport(1280, 900))
}

// TestImportInBrowser imports from Rewardful and from files by hand.
func TestImportInBrowser(t *testing.T) {
	t.Parallel()
	_, option := rewardful(t, 25)
	d := newTill(t, option)
	d.visit("/setup")
	d.looks("import-setup")
	d.press("Import")
	d.Reads("Any other program")
	d.looks("import-home")
	d.visit("/imports/new?source=rewardful")
	d.looks("import-source")
	d.Accessible(d.at+"/imports", d.at+"/imports/new", d.at+"/imports/new?source=rewardful", d.at+"/imports/new?source=csv")
	d.visit("/imports/new?source=rewardful")
	d.fill("api_key", importtest.RewardfulKey)
	d.press("Read from Rewardful")
	d.Reads("You can leave this page")
	at := strings.TrimPrefix(d.location(), d.at)
	d.looks("import-reading")
	d.Accessible(d.at + at)
	d.importing()
	d.Reads("Nothing is written yet") // the page notices the end
	d.looks("import-report")
	d.Accessible(d.at + at)
	d.visit(at)
	d.press("Import now")
	d.Reads("You can leave this page")
	d.importing()
	d.Reads("Next steps")
	d.looks("import-done")
	d.Accessible(d.at+at, d.at+at+"/undo")
	d.visit(at + "/undo")
	d.looks("import-undo")
	d.visit("/imports/new?source=csv")
	d.looks("import-upload")
	folder := t.TempDir()
	var paths []string
	for name, text := range map[string]string{"people.csv": partnerFile, "commissions.csv": commissionFile} {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		paths = append(paths, path)
	}
	d.Do(chromedp.SetUploadFiles(chromedp.CSS("#files"), paths))
	d.press("Upload")
	d.Reads("A column is missing")
	d.looks("import-columns")
	files := strings.TrimPrefix(d.location(), d.at)
	d.Accessible(d.at + files)
	d.visit(files)
	d.choose("kind", "Leave this file out")
	d.press("Change")
	d.Reads("This file is left out.")
	d.choose("kind", "Partners")
	d.press("Change")
	d.Reads("people.csv: Partners.")
	d.choose("column_email", "Mail address")
	d.press("Read the files")
	d.Reads("You can leave this page")
	d.importing()
	d.Reads("Nothing is written yet")
	d.visit("/imports")
	d.looks("import-list")
	d.Accessible(d.at + "/imports")
	d.Silent()
}
