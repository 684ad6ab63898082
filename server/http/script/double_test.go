package script_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"rail/server/http/script"
)

// key is a publishable key.
const key = "rail_pub_4fT9xQ2mZ7kLw8Rb1Vn6Yc3Hd5Jg0PsA"

// double answers the script as Rail's browser endpoints do: for a partner ada and a
// partner bob, and pages of shop.test, what is below it, and other.test.
type double struct {
	scripts http.Handler
	mu      sync.Mutex
	made    int
	visits  map[string]map[string]any // what is known of a visitor
	clicks  map[string]map[string]any
}

func newDouble(t *testing.T) http.Handler {
	t.Helper()
	e := echo.New()
	script.Register(e, func(string, echo.HandlerFunc) {})
	return &double{scripts: e, visits: map[string]map[string]any{}, clicks: map[string]map[string]any{}}
}

func (d *double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/t/") {
		d.scripts.ServeHTTP(w, r)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !strings.HasSuffix("."+u.Hostname(), ".shop.test") && u.Hostname() != "other.test" {
			http.Error(w, `{"error":{"code":"origin_not_allowed"}}`, http.StatusForbidden)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		w.Header().Set("Access-Control-Allow-Headers", "content-type")
	}
	body := map[string]string{}
	if r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(&body) != nil {
		http.Error(w, `{"error":{"code":"invalid_request"}}`, http.StatusBadRequest)
		return
	}
	switch {
	case r.Method == http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
	case r.URL.Path == "/t/lead":
		fmt.Fprint(w, "{}")
	default:
		d.visit(w, r, body)
	}
}

// visit answers /t/c and /t/me.
func (d *double) visit(w http.ResponseWriter, r *http.Request, body map[string]string) {
	visitor := body["visitor"]
	if c, err := r.Cookie("rail_v"); err == nil {
		visitor = c.Value
	}
	if visitor == "" {
		d.made++
		visitor = fmt.Sprintf("visitor%015d", d.made)
	}
	known, status := d.visits[visitor], http.StatusNoContent
	switch value := body["value"]; {
	case body["click_id"] != "":
		known, status = d.clicks[body["click_id"]], http.StatusNotFound
	case value == "ada", value == "bob":
		known = d.click(value)
	case value != "":
		known, status = nil, http.StatusNotFound
	}
	if known == nil {
		w.WriteHeader(status)
		fmt.Fprint(w, `{"error":{"code":"tracking_value_not_found"}}`)
		return
	}
	known["visitor"], d.visits[visitor] = visitor, known
	http.SetCookie(w, &http.Cookie{Name: "rail_v", Value: visitor, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, text(known))
}

// click makes a click of a partner.
func (d *double) click(partner string) map[string]any {
	d.made++
	made := map[string]any{
		"click_id": fmt.Sprintf("clk_%026d", d.made), "referral_id": "ref_1", "discount": map[string]any{"code": "X20", "label": "X20"},
		"expires_at": time.Now().Add(24 * time.Hour).Format(time.RFC3339),
		"partner":    map[string]any{"name": partner, "handle": partner},
	}
	d.clicks[made["click_id"].(string)] = made
	return made
}

func text(v any) string {
	out, _ := json.Marshal(v) //nolint:errchkjson // of strings
	return string(out)
}
