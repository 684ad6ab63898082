package site

import (
	"bytes"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"rail/server/list"
	"rail/server/locale"
	"rail/server/problem"
)

func TestWords(t *testing.T) {
	t.Parallel()
	sizes := []string{Size(locale.English, 999), Size(locale.English, 1999), Size(locale.English, 1_234_567_890)}
	require.Equal(t, []string{"999 bytes", "1 kB", "1,234 MB"}, sizes)
	require.Equal(t, "Not eligible", Words("not_eligible", nil))
	require.Equal(t, "Taken back", Words("clawback", map[string]string{"clawback": "Taken back"}))
	require.Empty(t, Words("", nil))
}

// of are figures of one column by month.
func of(values ...int64) Figures {
	f := Figures{Head: "Month", Columns: []Column{{Name: "Commissions", Text: locale.English.Count, Drawn: true}}}
	for _, v := range values {
		f.Rows = append(f.Rows, Row{Name: "January 2026", Short: "Jan", Values: []int64{v}})
	}
	return f
}

func TestBarChart(t *testing.T) {
	t.Parallel()
	c := BarChart(of(0, 500, 1000))
	require.Equal(t, []Mark{{0, false, "1,000"}, {50, false, "500"}, {100, true, "0"}}, c.Marks)
	require.Equal(t, []float64{100, 50, 0}, []float64{c.Bars[0].Y, c.Bars[1].Y, c.Bars[2].Y})
	require.Equal(t, []float64{0, 50, 100}, []float64{c.Bars[0].Height, c.Bars[1].Height, c.Bars[2].Height})
	require.Equal(t, "January 2026: 500", c.Bars[1].Text)
	require.Equal(t, Tag{50, "J", "an"}, c.Tags[1])

	c = BarChart(of(1000, -1000))
	require.Equal(t, []float64{0, 50, 50, 50}, []float64{c.Bars[0].Y, c.Bars[0].Height, c.Bars[1].Y, c.Bars[1].Height})
	require.Equal(t, []bool{false, true}, []bool{c.Bars[0].Down, c.Bars[1].Down})
	for _, values := range [][]int64{{19_80, 180_00, -160_20}, {10_000, -1}, {1, -10_000}, {-500}, {1 << 60, -3}} {
		c = BarChart(of(values...))
		require.True(t, slices.ContainsFunc(c.Marks, func(m Mark) bool { return m.Zero }), values)
		for i, m := range c.Marks[1:] {
			require.GreaterOrEqual(t, m.Y-c.Marks[i].Y, float64(apart), values)
		}
	}
	require.True(t, BarChart(of(0, 0)).Empty)
	require.True(t, BarChart(of()).Empty)
	require.False(t, BarChart(of(1)).Empty)
	for figure, want := range map[int64]int64{-5: 0, 0: 0, 1: 1, 3: 4, 5: 6, 9: 10, 11: 20, 350: 400, 1001: 2000} {
		require.Equal(t, want, round(figure), figure)
	}
	require.Positive(t, round(1<<62))
}

func TestAreaChart(t *testing.T) {
	t.Parallel()
	f := of(0, 500, 1000)
	count := locale.English.Count
	f.Columns = append(f.Columns, Column{Name: "Hidden", Text: count}, Column{Name: "Customers", Text: count, Drawn: true, Style: LineOther})
	for i := range f.Rows {
		f.Rows[i].Values = append(f.Rows[i].Values, 9_999, 250)
	}
	c := AreaChart(f)
	require.Equal(t, []Line{
		{Name: "Commissions", Points: "20,100 60,50 100,0", Area: "20,100 20,100 60,50 100,0 100,100"},
		{Name: "Customers", Points: "20,75 60,75 100,75", Style: LineOther},
	}, c.Lines)
	require.Equal(t, Bar{X: 40, Width: 40, Height: 100, Text: "January 2026 · Commissions: 500 · Customers: 250"}, c.Bars[1])
	many := AreaChart(of(make([]int64, 90)...))
	require.LessOrEqual(t, len(many.Tags), names)
	require.Empty(t, many.Tags[0].Rest, "a name of many is whole on every screen")
	require.True(t, many.Empty)
}

func TestRankChart(t *testing.T) {
	t.Parallel()
	require.Equal(t, []Bar{{Width: 100}, {Width: 50}, {Width: 25, Down: true}, {}}, RankChart(of(4, 2, -1, 0)).Bars)
	require.Equal(t, []Bar{{}}, RankChart(of(0)).Bars)
}

func TestNewTile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		now, before int64
		want        Change
	}{
		{0, 0, Change{Words: "no change"}}, {7, 0, Change{Up: true, Words: "new"}},
		{1120, 1000, Change{Up: true, Words: "up 12 % from 1,000"}}, {500, 1000, Change{Down: true, Words: "down 50 % from 1,000"}},
		{1_000_001, 1_000_000, Change{Up: true, Words: "up from 1,000,000"}}, {1000, 10, Change{Up: true, Words: "up from 10"}},
		{5, -10, Change{Up: true, Words: "up from −10"}}, {-1 << 63, 1<<63 - 1, Change{Down: true, Words: "down 200 % from 9,223,372,036,854,775,807"}},
	} {
		count := locale.English.Count
		require.Equal(t, Tile{Name: "Clicks", Text: count(c.now), Change: c.want}, NewTile("Clicks", c.now, c.before, count))
	}
}

func TestChooseAndWithout(t *testing.T) {
	t.Parallel()
	offered := []Option{{Value: "a"}, {Value: "b", Chosen: true}, {Value: "c"}}
	require.Equal(t, []Option{{Value: "a", Chosen: true}, {Value: "b"}, {Value: "c", Chosen: true}}, Choose(offered, "a", "c"))
	require.True(t, offered[1].Chosen, "the options of others stay")
	at := &url.URL{Path: "/list", RawQuery: "status=due&after=x&search=a+b&done=saved"}
	require.Equal(t, "/list?search=a+b", Without(at, "status"))
	require.Equal(t, "/list", Without(at, "status", "search"))
}

// upload posts a form with a file, if it has a name.
func upload(t *testing.T, token, name string, size int) (Posted, Upload, error) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	require.NoError(t, w.WriteField("form_token", token))
	require.NoError(t, w.WriteField("provider", "paypal"))
	if name != "" {
		part, err := w.CreateFormFile("file", name)
		require.NoError(t, err)
		_, err = part.Write(make([]byte, size))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	r := httptest.NewRequest(http.MethodPost, "/", &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	return Guard{"test"}.ReadUpload(httptest.NewRecorder(), r, "session", "file", 1000)
}

func TestReadUpload(t *testing.T) {
	t.Parallel()
	token := Guard{"test"}.Token("session")
	sent, file, err := upload(t, token, "result.csv", 1000)
	require.NoError(t, err)
	require.Equal(t, []any{"paypal", "result.csv", 1000}, []any{sent.Value("provider"), file.Name, len(file.Body)})
	_, none, err := upload(t, token, "", 0)
	require.NoError(t, err)
	require.Empty(t, none)
	for size, want := range map[int]error{1001: ErrLarge, 1000 + maxForm: ErrLarge} {
		_, _, err := upload(t, token, "result.csv", size)
		require.ErrorIs(t, err, want)
	}
	_, _, err = upload(t, Guard{"other"}.Token("session"), "result.csv", 1)
	require.ErrorIs(t, err, ErrForged)
	for _, kind := range []string{"multipart/form-data", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", ""} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("form_token="+token))
		r.Header.Set("Content-Type", kind)
		_, _, err := Guard{"test"}.ReadUpload(httptest.NewRecorder(), r, "session", "file", 1000)
		require.ErrorIs(t, err, ErrForm, kind)
	}
}

// send posts a form to a guard.
func send(kind, body string) (Posted, error) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	return Guard{"test"}.Read(httptest.NewRecorder(), r, "session")
}

func TestGuard(t *testing.T) {
	t.Parallel()
	const form = "application/x-www-form-urlencoded"
	token := url.Values{"form_token": {Guard{"test"}.Token("session")}, "name": {" Ada\x00\n\xff "}, "box": {"a", "b\x7f"}}
	sent, err := send(form+"; charset=UTF-8", token.Encode())
	require.NoError(t, err)
	require.Equal(t, "Ada", sent.Value("name"))
	require.Equal(t, map[string]string{"name": "Ada", "none": ""}, sent.Typed("name", "none"))
	require.Equal(t, []string{"a", "b"}, sent.Values("box"))
	require.Equal(t, []bool{true, false}, []bool{sent.Has("box"), sent.Has("none")})
	require.NotEqual(t, Guard{"test"}.Token("session"), Guard{"test"}.Token("session"), "no two pages show the same")
	for _, other := range []string{Guard{"other"}.Token("session"), Guard{"test"}.Token("other"), "", "x", "%"} {
		_, err := send(form, url.Values{"form_token": {other}}.Encode())
		require.ErrorIs(t, err, ErrForged, other)
	}
	for kind, body := range map[string]string{
		"text/plain": token.Encode(), "": token.Encode(), form: token.Encode() + "&x=" + strings.Repeat("x", maxForm),
		form + ";": "%zz",
	} {
		_, err := send(kind, body)
		require.ErrorIs(t, err, ErrForm, kind)
	}
}

func TestFaultsOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ param, message, want string }{
		{"url", "url must be an absolute URL.", "This must be an absolute URL."},
		{"url", "url must have at most 9 characters.", "This is too long."},
		{"url", "url: no such host.", "No such host."},
		{"country_code", "country_code must match ^[A-Z]{2}$.", "This must be two letters, such as DE or US."},
	} {
		require.Equal(t, Faults{c.param: c.want}, FaultsOf(problem.Invalid(c.param, "%s", c.message), "url", "country_code"))
	}
	require.Equal(t, Faults{"url": "This must be set."}, FaultsOf(problem.Invalid("url[2]", "url[2] must be set."), "url"))
	require.Equal(t, Faults{"": "This must be set."}, FaultsOf(problem.Invalid("other", "other must be set."), "url"))
	require.Nil(t, FaultsOf(errors.New("the database is away"), "url"))
	require.Nil(t, FaultsOf(problem.NotFound("url"), "url"))
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		ErrForged: 403, ErrLarge: 413, fmt.Errorf("wrapped: %w", ErrForm): 400, problem.NotFound("id"): 404,
		problem.New(problem.MethodNotAllowed, "No."): 405, errors.New("secret"): 500,
	} {
		status, title, text := Explain(err)
		require.Equal(t, want, status, err)
		require.NotEmpty(t, title)
		require.NotContains(t, text, "secret")
	}
}

func TestListed(t *testing.T) {
	t.Parallel()
	at := &url.URL{Path: "/list", RawQuery: "status=due&after=x&done=saved"}
	id := func(s string) string { return s }
	found := list.Page[string]{Rows: []string{"b", "c"}, Total: 9}
	first := Listed(at, Turn{}, found, id, nil)
	require.Equal(t, []any{"", "", int64(9)}, []any{first.Older, first.Newer, first.Total})
	found.HasMore = true
	require.Equal(t, "/list?after=c&status=due", Listed(at, Turn{}, found, id, nil).Older)
	turn, err := TurnOf(url.Values{"before": {"x"}})
	require.NoError(t, err)
	back := Listed(at, turn, found, id, nil)
	require.Equal(t, []string{"/list?after=c&status=due", "/list?before=b&status=due"}, []string{back.Older, back.Newer})
	for _, bad := range []string{"a'b", "\x00", strings.Repeat("x", 65)} {
		_, err := TurnOf(url.Values{"after": {bad}})
		require.Error(t, err)
	}
}

// TestAssets: the names of this release are kept for good; a page of another release
// gets what there is, and nothing else has a name here.
// TestTemplatesAreDefinedOnce: all pages of a site are one set, in which the last definition of a name would win.
func TestTemplatesAreDefinedOnce(t *testing.T) {
	t.Parallel()
	define := regexp.MustCompile(`{{-? *(?:define|block) ("[^"]+")`)
	for _, site := range []string{"console", "join", "portal"} {
		own, err := filepath.Glob("templates/*.html")
		require.NoError(t, err)
		files, err := filepath.Glob("../" + site + "/templates/*.html")
		require.NoError(t, err)
		require.NotEmpty(t, files)
		by := map[string]string{}
		for _, file := range append(own, files...) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range define.FindAllStringSubmatch(string(text), -1) {
				require.Empty(t, by[m[1]], "%s defines %s, too", file, m[1])
				by[m[1]] = file
			}
		}
	}
}

func TestAssets(t *testing.T) {
	t.Parallel()
	e := echo.New()
	Register(e)
	ask := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	kinds := map[string]string{
		StylePath: style, ScriptPath: script, ConsolePath: script, IconsPath: image, fonts["inter-latin.woff2"]: font,
	}
	for path, kind := range kinds {
		own := ask(path)
		require.Equal(t, 200, own.Code)
		require.Equal(t, []string{kind, forever}, []string{own.Header().Get("Content-Type"), own.Header().Get("Cache-Control")})
		other := ask(regexp.MustCompile("-[0-9a-f]{12}").ReplaceAllString(path, "-0123456789ab"))
		require.Equal(t, own.Body.String(), other.Body.String())
		require.Equal(t, once, other.Header().Get("Cache-Control"))
	}
	for _, path := range []string{"/assets/", "/assets/design.css", "/assets/other.css", "/assets/design-1.html", "/assets/../design.go"} {
		require.NotEqual(t, 200, ask(path).Code, path)
	}
}

// TestSizes bounds the size of the assets.
func TestSizes(t *testing.T) {
	t.Parallel()
	sizes := map[string]int{"design.css": len(sheet)}
	for _, name := range []string{"design.js", "console.js", "icons.svg"} {
		sizes[name] = len(read("assets/" + name))
	}
	most := map[string]int{"design.js": 10 << 10, "console.js": 50 << 10, "design.css": 76 << 10, "icons.svg": 40 << 10}
	for name, size := range sizes {
		require.LessOrEqual(t, size, most[name], name)
	}
}

// TestIcons: the templates of every site name icons that exist; a name without an icon is an error.
func TestIcons(t *testing.T) {
	t.Parallel()
	_, err := icon("no-such-icon")
	require.Error(t, err)
	used := regexp.MustCompile(`\{\{-? *icon "([^"]+)"`)
	pages, err := filepath.Glob("../*/templates/*.html")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, name := range append(pages, "templates/parts.html") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range used.FindAllStringSubmatch(string(text), -1) {
			require.True(t, symbols[m[1]], "%s: %s", name, m[1])
		}
	}
}

// TestMarks: initials of names, and a line of figures.
func TestMarks(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Ada Lovelace": "AL", "ada": "A", "": "?", "  ": "?", "Zoë van der Berg": "ZB", "a@b.example": "A", "<x> 山田": "X山",
	} {
		require.Equal(t, want, initials(name), name)
	}
	require.Contains(t, string(avatar("<b>")), `>B</span>`)
	require.Equal(t, "0,22 100,2", NewSpark([]int64{0, 9}).Line)
	require.Equal(t, "0,2 50,22 100,12", NewSpark([]int64{10, -10, 0}).Line)
	require.Zero(t, NewSpark([]int64{5, 5}))
	require.Zero(t, NewSpark(nil))
}
