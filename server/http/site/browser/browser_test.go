package browser

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/program/publishable"
)

// read returns the caller of a page of origin, on a server without TLS or with it.
func read(t *testing.T, origin, cookie string, plain bool) (*Caller, http.Header) {
	t.Helper()
	o, ok := publishable.ParseOrigin(origin)
	require.True(t, ok)
	r, answer := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/t/c", nil), http.Header{}
	if cookie != "" {
		r.AddCookie(&http.Cookie{Name: "rail_v", Value: cookie})
	}
	return Read(r, answer, publishable.Key{CookieDays: 30}, o, "203.0.113.9", plain), answer
}

// TestCookieIsSecure unless nothing has TLS, where a browser would not take it.
func TestCookieIsSecure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		origin        string
		plain, secure bool
	}{
		{"http://localhost:3000", true, false}, {"https://shop.example", true, true},
		{"http://localhost:3000", false, true}, {"https://shop.example", false, true},
	} {
		by, answer := read(t, c.origin, "", c.plain)
		by.Recognize(nil)
		by.Keep()
		got, err := http.ParseSetCookie(answer.Get("Set-Cookie"))
		require.NoError(t, err)
		require.Equal(t, []any{c.secure, true, by.Visitor}, []any{got.Secure, got.HttpOnly, got.Value}, "%v", c)
	}
}

// TestCookieIsRead checks that cookies not written by this server are ignored.
func TestCookieIsRead(t *testing.T) {
	t.Parallel()
	const token = "v8c1f0a52e6Kq3Zt7WmBx0"
	for cookie, want := range map[string][2]string{
		token: {token, ""}, token + ".clk_01x": {token, "clk_01x"}, token + ".prg_01x": {token, ""}, "short": {},
		"short.clk_01x": {}, token + ".clk_;": {token, ""},
	} {
		by, _ := read(t, "https://shop.example", cookie, false)
		require.Equal(t, want, [2]string{by.Visitor, by.Handed}, cookie)
	}
}
