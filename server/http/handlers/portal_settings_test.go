package handlers_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// pixel is the smallest GIF.
var pixel = "GIF89a\x01\x00\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x00;"

func TestPortalSettings(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	path := "/v1/programs/" + program + "/portal"
	want := M{
		"object": "portal_settings", "program_id": program, "join": "open", "accent_color": nil, "logo_url": nil,
		"second_color": nil, "typeface": "inter", "corners": "soft", "logo_dark_url": nil, "leaderboard": false,
		"headline": nil, "hero_url": nil, "benefits": []any{}, "faq": []any{}, "calculator": nil,
		"introduction": nil, "offer": nil, "reply_to": nil, "questions": []any{}, "auto_approve": nil, "link_hosts": []any{},
		"max_links": json.Number("20"), "embed_hosts": []any{}, "updated_at": nil,
		"join_url": "https://rail.example/join/" + s.Get("/v1/programs/"+program).String("subdomain"),
	}
	require.Equal(t, want, s.Must(200, s.Get(path)).Body)
	require.Equal(t, want, s.Must(200, s.Post(path, M{"max_links": 20, "introduction": " "})).Body, "nothing changed")
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": "Stars"})).String("id")
	set := s.Must(200, s.Post(path, M{
		"join": "closed", "accent_color": "#0A7D55", "introduction": "One.\n\nTwo.", "reply_to": "us@shop.example",
		"questions": []M{
			{"key": "audience", "label": "Who reads you?", "type": "text", "required": true},
			{"key": "size", "label": "How many?", "type": "choice", "options": []string{"few", "many"}},
		},
		"auto_approve": M{"group_ids": []string{group}, "countries": []string{"de", "DE"}},
		"link_hosts":   []string{"*.Shop.example"}, "max_links": 0, "embed_hosts": []string{"app.shop.example:8443"},
	}))
	want["join"], want["accent_color"], want["introduction"] = "closed", "#0a7d55", "One.\n\nTwo."
	want["reply_to"], want["max_links"], want["updated_at"] = "us@shop.example", json.Number("0"), "2026-09-01T12:00:00.000Z"
	want["questions"] = []any{
		M{"key": "audience", "label": "Who reads you?", "type": "text", "required": true, "options": []any{}},
		M{"key": "size", "label": "How many?", "type": "choice", "required": false, "options": []any{"few", "many"}},
	}
	want["auto_approve"] = M{"group_ids": []any{group}, "countries": []any{"DE"}, "email_domains": []any{}}
	want["link_hosts"], want["embed_hosts"] = []any{"*.shop.example"}, []any{"app.shop.example:8443"}
	require.Equal(t, want, set.Body)
	require.Equal(t, want, s.Must(200, s.Get(path)).Body)

	s.Clock.Advance(time.Minute)
	entry := s.Must(200, s.Get("/v1/audit_log_entries?program_id="+program+"&target_id="+program)).Data()[0]
	require.Equal(t, "portal_settings.updated", entry["action"])
	require.Equal(t, "open", entry["before"].(M)["join"])
	require.Equal(t, "closed", entry["after"].(M)["join"])
	require.Equal(t, want, s.Must(200, s.Post(path, M{"join": "closed"})).Body, "nothing changed, the time neither")
	cleared := s.Must(200, s.Post(path, M{"auto_approve": nil, "accent_color": nil, "questions": []M{}, "reply_to": nil}))
	require.Equal(t, []any{nil, nil, []any{}, nil, "closed"}, []any{
		cleared.Body["auto_approve"], cleared.Body["accent_color"], cleared.Body["questions"], cleared.Body["reply_to"],
		cleared.Body["join"],
	})
}

// A logo and a colour are public, at addresses with the hash of their content.
func TestPortalImages(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program, base := s.Program(), "https://rail.example"
	path := "/v1/programs/" + program + "/portal"
	logo := func(image string) M { return M{"logo": M{"data": base64.StdEncoding.EncodeToString([]byte(image))}} }
	first := s.Must(200, s.Post(path, logo(pixel))).String("logo_url")
	at := strings.TrimPrefix(first, base)
	require.Regexp(t, "^/look/"+program+"/[0-9a-f]{16}$", at)
	shown := s.Do(http.MethodGet, at, "", nil)
	require.Equal(t, []any{200, pixel, "image/gif"}, []any{shown.Status, string(shown.Raw), shown.Header.Get("Content-Type")})
	require.Equal(t, "default-src 'none'; sandbox", shown.Header.Get("Content-Security-Policy"))
	require.Equal(t, "nosniff", shown.Header.Get("X-Content-Type-Options"))
	require.Equal(t, "public, max-age=31536000, immutable", shown.Header.Get("Cache-Control"))
	for kind, image := range map[string]string{
		"image/png": "\x89PNG\r\n\x1a\nrest", "image/jpeg": "\xff\xd8\xff\xe0rest", "image/webp": "RIFF\x10\x00\x00\x00WEBPVP8 rest",
	} {
		url := s.Must(200, s.Post(path, logo(image))).String("logo_url")
		require.Equal(t, kind, s.Do(http.MethodGet, strings.TrimPrefix(url, base), "", nil).Header.Get("Content-Type"))
	}
	require.Equal(t, 404, s.Do(http.MethodGet, at, "", nil).Status, "another image has another address")
	for _, image := range []string{"<svg xmlns='http://www.w3.org/2000/svg'/>", "GIF89a" + strings.Repeat("x", 200_000)} {
		s.Refused(400, "parameter_invalid", "logo.data", s.Post(path, logo(image)))
	}
	s.Refused(400, "parameter_invalid", "logo.data", s.Post(path, M{"logo": M{"data": "?????"}}))
	last := s.Get(path).String("logo_url")
	require.Nil(t, s.Must(200, s.Post(path, M{"logo": nil})).Body["logo_url"])
	require.Equal(t, 404, s.Do(http.MethodGet, strings.TrimPrefix(last, base), "", nil).Status)
	require.Equal(t, 404, s.Do(http.MethodGet, "/look/"+program+"/0123456789abcdef.css", "", nil).Status)
	require.Equal(t, 404, s.Do(http.MethodGet, "/look/prg_none/0123456789abcdef", "", nil).Status)
}

// An invalid value is refused with the parameter's name, and changes nothing.
func TestPortalSettingsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program, other := s.Program(), s.Program()
	path := "/v1/programs/" + program + "/portal"
	elsewhere := s.Must(200, s.Get("/v1/groups?program_id="+other)).Data()[0]["id"].(string)
	question := func(key, kind string, options ...string) M {
		return M{"key": key, "label": "x", "type": kind, "options": append([]string{}, options...)}
	}
	for param, body := range map[string]M{
		"questions[1].key":     {"questions": []M{question("a", "text"), question("a", "number")}},
		"questions[0].options": {"questions": []M{question("a", "text", "b", "c")}},
		"questions[1].options": {"questions": []M{question("a", "text"), question("b", "choice", "b", "b")}},
		"questions[0].type":    {"questions": []M{question("a", "file")}},
		"questions[0].key":     {"questions": []M{question("A b", "text")}},
		"link_hosts[0]":        {"link_hosts": []string{"*.co.uk"}},
		"embed_hosts[1]":       {"embed_hosts": []string{"a.example", "a..example"}},
		"accent_color":         {"accent_color": "red"},
		"second_color":         {"second_color": "#12345"},
		"typeface":             {"typeface": "comic"},
		"corners":              {"corners": "oval"},
		"leaderboard":          {"leaderboard": "yes"},
		"max_links":            {"max_links": 1001},
		"reply_to":             {"reply_to": "nobody"},
		"introduction":         {"introduction": strings.Repeat("x", 2001)},
		"join":                 {"join": "half"},
	} {
		body["join"] = map[bool]any{true: body["join"], false: "closed"}[body["join"] != nil]
		s.Refused(400, "parameter_invalid", param, s.Post(path, body))
	}
	s.Refused(400, "invalid_reference", "auto_approve.group_ids[0]",
		s.Post(path, M{"auto_approve": M{"group_ids": []string{elsewhere}}}))
	s.Refused(404, "resource_not_found", "auto_approve.group_ids[0]",
		s.Post(path, M{"auto_approve": M{"group_ids": []string{"grp_none"}}}))
	require.Nil(t, s.Must(200, s.Get(path)).Body["updated_at"])
	foreign := s.NewKey(s.NewOrg("Other"), true, "write")
	for _, program := range []string{program, "prg_none"} {
		path := "/v1/programs/" + program + "/portal"
		s.Refused(404, "resource_not_found", "", s.Do(http.MethodGet, path, foreign, nil))
		s.Refused(404, "resource_not_found", "", s.Do(http.MethodPost, path, foreign, M{"join": "closed"}))
	}
	s.Refused(404, "resource_not_found", "program_id", s.Get(path+"?program_id="+other))
}

// TestJoinPageSettings sets the texts and the picture of the join page, within their bounds.
func TestJoinPageSettings(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	path := "/v1/programs/" + s.Program() + "/portal"
	faq := []any{M{"question": "When am I paid?", "answer": "Every month."}}
	set := s.Must(200, s.Post(path, M{
		"headline": "Earn with us", "benefits": []string{"One", "Two", "Three"}, "faq": faq,
		"calculator": M{"customers": 10, "amount_minor": 5000}, "hero": M{"data": base64.StdEncoding.EncodeToString([]byte(pixel))},
	})).Body
	require.Equal(t, []any{"Earn with us", []any{"One", "Two", "Three"}, faq}, []any{set["headline"], set["benefits"], set["faq"]})
	require.Equal(t, M{"customers": json.Number("10"), "amount_minor": json.Number("5000")}, set["calculator"])
	hero := strings.TrimPrefix(set["hero_url"].(string), "https://rail.example")
	shown := s.Must(200, s.Do("GET", hero, "", nil))
	require.Equal(t, []string{"image/gif", pixel}, []string{shown.Header.Get("Content-Type"), string(shown.Raw)})
	require.Nil(t, set["logo_url"], "the logo is another image")
	for param, body := range map[string]M{
		"headline":                {"headline": strings.Repeat("x", 121)},
		"benefits":                {"benefits": []string{"1", "2", "3", "4"}},
		"benefits[0]":             {"benefits": []string{strings.Repeat("x", 121)}},
		"faq":                     {"faq": []any{faq[0], faq[0], faq[0], faq[0], faq[0], faq[0], faq[0], faq[0], faq[0]}},
		"faq[0].answer":           {"faq": []M{{"question": "Why?", "answer": ""}}},
		"calculator.customers":    {"calculator": M{"customers": 0, "amount_minor": 1}},
		"calculator.amount_minor": {"calculator": M{"customers": 1, "amount_minor": 1_000_000_001}},
		"hero.data":               {"hero": M{"data": base64.StdEncoding.EncodeToString([]byte("<svg/>"))}},
	} {
		refused := s.Must(400, s.Post(path, body))
		require.Equal(t, param, refused.Body["error"].(M)["param"], body)
	}
	large := append([]byte(pixel), make([]byte, 500_000)...)
	s.Must(400, s.Post(path, M{"hero": M{"data": base64.StdEncoding.EncodeToString(large)}}))
	cleared := s.Must(200, s.Post(path, M{"headline": " ", "benefits": []string{}, "faq": []M{}, "calculator": nil, "hero": nil})).Body
	require.Equal(t, []any{nil, []any{}, []any{}, nil, nil}, []any{
		cleared["headline"], cleared["benefits"], cleared["faq"], cleared["calculator"], cleared["hero_url"],
	})
	s.Must(404, s.Do("GET", hero, "", nil))
}

// TestTheme serves the style sheet of a program's two colours, typeface and corners, until they change, and both logos.
func TestTheme(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	path := "/v1/programs/" + program + "/portal"
	logo := func(name, image string) string {
		body := M{name: M{"data": base64.StdEncoding.EncodeToString([]byte(image))}}
		return strings.TrimPrefix(s.Must(200, s.Post(path, body)).String(name+"_url"), "https://rail.example")
	}
	light, dark := logo("logo", pixel), logo("logo_dark", pixel+"dark")
	require.Equal(t, pixel+"dark", string(s.Must(200, s.Do(http.MethodGet, dark, "", nil)).Raw))
	s.Must(200, s.Post(path, M{
		"accent_color": "#14532D", "second_color": "#0A9D75", "typeface": "rounded", "corners": "round", "leaderboard": true,
	}))
	join := func() string {
		at := strings.TrimPrefix(s.Get(path).String("join_url"), "https://rail.example")
		return string(s.Do(http.MethodGet, at, "", nil).Raw) // it has the look, though no emails can be sent
	}
	sheetOf := func(page string) string {
		return regexp.MustCompile("/look/" + program + `/[0-9a-f]{16}\.css`).FindString(page)
	}
	page := join()
	require.Contains(t, page, `<source media="(prefers-color-scheme: dark)" srcset="`+dark+`"><img class="logo logo-both" src="`+light)
	require.Regexp(t, `rel="preload" href="/assets/nunito-latin-`, page)
	first := sheetOf(page)
	sheet := string(s.Must(200, s.Do(http.MethodGet, first, "", nil)).Raw)
	for _, part := range []string{"--main:#14532d", "--second:#0a9d75", "--font:Nunito", "--radius:20px", "/assets/nunito-latin-"} {
		require.Contains(t, sheet, part)
	}
	s.Must(200, s.Post(path, M{"typeface": "serif", "corners": "square"}))
	page = join()
	require.NotContains(t, page, `rel="preload"`, "a serif of the device")
	require.NotEqual(t, first, sheetOf(page))
	require.Equal(t, 404, s.Do(http.MethodGet, first, "", nil).Status, "another theme has another address")
	s.Must(200, s.Post(path, M{"typeface": "inter", "corners": "soft", "accent_color": nil, "second_color": nil, "logo_dark": nil}))
	page = join()
	require.Empty(t, sheetOf(page), "the defaults are those of all pages")
	require.Contains(t, page, `<img class="logo" src="`+light)
	for at, status := range map[string]int{
		"/look/theme/14532d-0a9d75-rounded-round.css": 200, "/look/theme/--system-soft.css": 200,
		"/look/theme/--inter-soft.css": 404, "/look/theme/red--inter-soft.css": 404, "/look/theme/14532d.css": 404,
		"/look/theme/--comic-soft.css": 404,
	} {
		require.Equal(t, status, s.Do(http.MethodGet, at, "", nil).Status, at)
	}
}
