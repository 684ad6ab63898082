package guides_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"rail/server/http/docs/guides"
)

// served returns the pages.
func served() *echo.Echo {
	e := echo.New()
	guides.Register(e)
	return e
}

// get asks for a page, which must have this status.
func get(t *testing.T, e *echo.Echo, path string, status int) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	require.Equal(t, status, w.Code, path)
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
	require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"))
	return w
}

// TestPages asks for the list, for every guide in both forms, and for the targets of their links.
func TestPages(t *testing.T) {
	t.Parallel()
	e := served()
	list := get(t, e, "/docs/guides", 200).Body.String()
	for _, g := range guides.All() {
		require.NotEmpty(t, g.About)
		require.Contains(t, html.UnescapeString(list), g.About)
		markdown := get(t, e, "/docs/guides/"+g.Name+".md", 200).Body.String()
		require.Equal(t, string(g.Text), markdown)
		require.NotRegexp(t, "(?m)^```(api|setup|rail)$", markdown)
		page := get(t, e, "/docs/guides/"+g.Name, 200).Body.String()
		require.Contains(t, page, `aria-current="page">`+g.Title)
		require.Equal(t, 1, strings.Count(page, "<h1"))
		for _, link := range regexp.MustCompile(`(?:href|src)="(/docs/guides[^"#]*)`).FindAllStringSubmatch(page, -1) {
			get(t, e, link[1], 200)
		}
		for _, link := range regexp.MustCompile(`href="([a-z]+)?#([^"]+)`).FindAllStringSubmatch(page, -1) {
			target := page
			if link[1] != "" {
				target = get(t, e, "/docs/guides/"+link[1], 200).Body.String()
			}
			require.Contains(t, target, `id="`+link[2]+`"`, g.Name)
		}
	}
}

// TestLinksFromTheConsole finds the heading of each link to a guide.
func TestLinksFromTheConsole(t *testing.T) {
	t.Parallel()
	e, found := served(), 0
	files, err := filepath.Glob("../../console/templates/*.html")
	require.NoError(t, err)
	for _, file := range append(files, "../../console/processors.go") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, link := range regexp.MustCompile(`"(/docs/guides/\w+)#([\w-]+)"`).FindAllStringSubmatch(string(text), -1) {
			found++
			require.Contains(t, get(t, e, link[1], 200).Body.String(), `id="`+link[2]+`"`, file)
		}
	}
	require.GreaterOrEqual(t, found, 3)
}

// TestTabs reads one call in the four languages, and a command for both places.
func TestTabs(t *testing.T) {
	t.Parallel()
	e := served()
	page := html.UnescapeString(get(t, e, "/docs/guides/attribution", 200).Body.String())
	for _, code := range []string{
		`post "customers/$one/merge" '{"customer_id": "'$two'"}'`,
		"await post(`customers/${one}/merge`, { customer_id: two })",
		`post(f"customers/{one}/merge", {"customer_id": two})`,
		`post("customers/"+one+"/merge", object{"customer_id": two})`,
	} {
		require.Contains(t, page, code)
	}
	page = html.UnescapeString(get(t, e, "/docs/guides/tag", 200).Body.String())
	require.Contains(t, page, "\nexport KEY=$(docker compose exec -T rail /rail key create"[1:])
	for _, command := range []string{"", "docker compose exec -T rail /"} {
		require.Contains(t, page, "<code>"+command+"rail processor connect generic --program $program")
	}
	ids := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		require.False(t, ids[id[1]], id[1])
		ids[id[1]] = true
	}
}

// TestCommands holds the guides to one way of writing a command.
func TestCommands(t *testing.T) {
	t.Parallel()
	for _, g := range guides.All() {
		// Without the table that explains them.
		text := strings.NewReplacer("| `bin/rail …` |", "", "| `./rail …` |", "").Replace(string(g.Text))
		require.NotRegexp(t, "(?m)(`|^)(bin/|/|\\./)rail ", text, g.Name)
	}
}

// TestEventsTable finds each event of the contract in the guide on webhooks, and no other.
func TestEventsTable(t *testing.T) {
	t.Parallel()
	contract, err := os.ReadFile("../../../../openapi/webhooks.yaml")
	require.NoError(t, err)
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z_]+\.[a-z_]+):$`).FindAllStringSubmatch(string(contract), -1) {
		want = append(want, m[1])
	}
	for _, g := range guides.All() {
		if g.Name == "webhooks" {
			_, table, _ := strings.Cut(string(g.Text), "| Events | Object in the API |")
			table, _, _ = strings.Cut(table, "\n## ")
			for _, m := range regexp.MustCompile("`([a-z_]+\\.[a-z_]+)`").FindAllStringSubmatch(table, -1) {
				got = append(got, m[1])
			}
		}
	}
	require.NotEmpty(t, want)
	require.ElementsMatch(t, want, got)
}

// TestProblemsTable finds each code of an import's problems in the guide on imports, and no other.
func TestProblemsTable(t *testing.T) {
	t.Parallel()
	contract, err := os.ReadFile("../../../../openapi/schemas/imports.yaml")
	require.NoError(t, err)
	_, codes, _ := strings.Cut(string(contract), "\nImportProblemCode:")
	want := regexp.MustCompile(`\w+`).FindAllString(regexp.MustCompile(`(?s)enum: \[(.*?)\]`).FindStringSubmatch(codes)[1], -1)
	var got []string
	for _, g := range guides.All() {
		if g.Name == "move-in" {
			_, table, _ := strings.Cut(string(g.Text), "\n## Problems and what to do\n")
			table, _, _ = strings.Cut(table, "\n## ")
			for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
				got = append(got, m[1])
			}
		}
	}
	require.ElementsMatch(t, want, got)
}

// TestSearch asks for words in prose, headings and code.
func TestSearch(t *testing.T) {
	t.Parallel()
	e := served()
	for query, link := range map[string]string{
		"clawback":              "money#refund-a-sale",
		"Retry+REQUEST":         "errors#retry-a-request",
		"ch_1002":               "server#send-many-in-one-call",
		"data-params":           "tag#find-out-why-a-visit-was-not-counted",
		"openapi-fetch":         "clients#openapi-typescript",
		"commissions+integers+": "money",
	} {
		page := get(t, e, "/docs/guides/search?q="+query, 200).Body.String()
		first := regexp.MustCompile(`<dt><a href="/docs/guides/([^"]*)"`).FindStringSubmatch(page)
		require.NotNil(t, first, query)
		require.Equal(t, link, first[1], query)
	}
	require.Contains(t, get(t, e, "/docs/guides/search?q=clawback", 200).Body.String(), "<mark>clawback</mark>")
	require.Contains(t, get(t, e, "/docs/guides/search?q=openapi-fetch", 200).Body.String(), "1 section contains")
	for _, query := range []string{
		"", "?q=", "?q=%20", "?q=%ff%fe", "?q=xyzzy", "?q=%3Cscript%3Ealert(1)%3C/script%3E", "?q=%E2%80%A6",
	} {
		page := get(t, e, "/docs/guides/search"+query, 200).Body.String()
		require.Equal(t, 1, strings.Count(page, "<script"), query)
	}
	page := get(t, e, "/docs/guides/search?q="+strings.Repeat("a", 201), 400).Body.String()
	require.Contains(t, page, "The search q has more than 200 bytes")
}
