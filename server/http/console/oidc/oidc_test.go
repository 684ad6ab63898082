package oidc

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"rail/server/clock"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/team"
)

// house is a small provider. It signs in every request with the given claims.
type house struct {
	testing.TB
	*Provider
	clock  *clock.Manual
	issuer string
	key    *rsa.PrivateKey
	keys   *oidctest.Server
	claims map[string]any // of the token
	info   map[string]any // of the user, where the token has no address
	off    bool
	// The last request, which the token must match.
	asked url.Values
	used  bool
}

func newHouse(t *testing.T) *house {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	h := &house{TB: t, key: key, clock: clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}
	h.keys = &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "one", Algorithm: "RS256"}}}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.issuer = server.URL
	h.claims = map[string]any{
		"iss": h.issuer, "aud": "rail", "sub": "sub-1", "email": "ada@acme.example", "email_verified": true, "name": "Ada",
		"exp": h.clock.Now().Add(time.Hour).Unix(), "iat": h.clock.Now().Unix(),
	}
	keeper, err := secret.New([32]byte{1})
	require.NoError(t, err)
	h.Provider = New(Config{
		Issuer: h.issuer, ClientID: "rail", ClientSecret: "hush", RedirectURL: "https://rail.example/console/oidc",
		Keeper: keeper, Clock: h.clock,
	})
	return h
}

// ServeHTTP answers as the provider.
func (h *house) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer map[string]any
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		answer = map[string]any{
			"issuer": h.issuer, "authorization_endpoint": h.issuer + "/auth", "token_endpoint": h.issuer + "/token",
			"jwks_uri": h.issuer + "/keys", "userinfo_endpoint": h.issuer + "/info",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		}
	case "/token":
		if !h.trades(r) {
			w.WriteHeader(http.StatusBadRequest)
			answer = map[string]any{"error": "invalid_grant"}
			break
		}
		text, _ := json.Marshal(h.claims)
		answer = map[string]any{
			"access_token": "access", "token_type": "Bearer", "id_token": oidctest.SignIDToken(h.key, "one", "RS256", string(text)),
		}
	case "/info":
		answer = h.info
	default:
		h.keys.ServeHTTP(w, r)
		return
	}
	if h.off {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// trades reports whether a code may be traded: once, by who asked for it.
func (h *house) trades(r *http.Request) bool {
	id, password, _ := r.BasicAuth()
	ok := !h.used && r.FormValue("code") == "code" && id == "rail" && password == "hush" &&
		oauth2.S256ChallengeFromVerifier(r.FormValue("code_verifier")) == h.asked.Get("code_challenge")
	h.used = h.used || ok
	return ok
}

// begin sends a browser to the provider, and returns its cookie and the query of the redirect back.
func (h *house) begin() (cookie string, back url.Values) {
	h.Helper()
	address, cookie, err := h.Start(h.Context())
	require.NoError(h, err)
	at, err := url.Parse(address)
	require.NoError(h, err)
	h.asked, h.used = at.Query(), false
	h.claims["nonce"] = h.asked.Get("nonce")
	return cookie, url.Values{"code": {"code"}, "state": {h.asked.Get("state")}}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	cookie, back := h.begin()
	require.Equal(t, []string{"rail", "code", "S256", "https://rail.example/console/oidc", "openid email profile"}, []string{
		h.asked.Get("client_id"), h.asked.Get("response_type"), h.asked.Get("code_challenge_method"),
		h.asked.Get("redirect_uri"), h.asked.Get("scope"),
	})
	ada := team.Identity{Issuer: h.issuer, Subject: "sub-1", Email: "ada@acme.example", Name: "Ada"}
	got, err := h.Finish(t.Context(), cookie, back)
	require.NoError(t, err)
	require.Equal(t, ada, got)
	_, err = h.Finish(t.Context(), cookie, back)
	require.ErrorIs(t, err, ErrRefused, "a code is traded once")

	maps.DeleteFunc(h.claims, func(name string, _ any) bool { return name == "email" || name == "email_verified" })
	h.info = map[string]any{"sub": "sub-1", "email": "ada@acme.example", "email_verified": "true"}
	cookie, back = h.begin()
	got, err = h.Finish(t.Context(), cookie, back)
	require.NoError(t, err, "the provider is asked for what the token lacks")
	require.Equal(t, ada, got)
	h.info["sub"] = "sub-2"
	cookie, back = h.begin()
	_, err = h.Finish(t.Context(), cookie, back)
	require.ErrorIs(t, err, ErrRefused)
	require.Equal(t, "127.0.0.1", h.Provider.Name())
}

// The response must match the request.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(h *house, back url.Values, cookie *string)
		want  error
	}{
		"no cookie":         {func(_ *house, _ url.Values, cookie *string) { *cookie = "" }, ErrRefused},
		"a damaged cookie":  {func(_ *house, _ url.Values, cookie *string) { *cookie = (*cookie)[:40] + "AAAA" + (*cookie)[44:] }, ErrRefused},
		"no base64":         {func(_ *house, _ url.Values, cookie *string) { *cookie = "\x00" }, ErrRefused},
		"another's cookie":  {func(h *house, _ url.Values, cookie *string) { *cookie, _ = h.begin() }, ErrRefused},
		"no state":          {func(_ *house, back url.Values, _ *string) { back.Del("state") }, ErrRefused},
		"too late":          {func(h *house, _ url.Values, _ *string) { h.clock.Advance(Life) }, ErrRefused},
		"an error":          {func(_ *house, back url.Values, _ *string) { back.Set("error", "access_denied") }, ErrRefused},
		"another code":      {func(_ *house, back url.Values, _ *string) { back.Set("code", "x") }, ErrRefused},
		"another challenge": {func(h *house, _ url.Values, _ *string) { h.asked.Set("code_challenge", "x") }, ErrRefused},
		"another nonce":     {func(h *house, _ url.Values, _ *string) { h.claims["nonce"] = "x" }, ErrRefused},
		"another issuer":    {func(h *house, _ url.Values, _ *string) { h.claims["iss"] = "https://x.example" }, ErrRefused},
		"another audience":  {func(h *house, _ url.Values, _ *string) { h.claims["aud"] = "x" }, ErrRefused},
		"expired":           {func(h *house, _ url.Values, _ *string) { h.claims["exp"] = h.clock.Now().Unix() - 1 }, ErrRefused},
		"another key": {func(h *house, _ url.Values, _ *string) {
			h.key, _ = rsa.GenerateKey(rand.Reader, 2048)
		}, ErrRefused},
		"claims of another form": {func(h *house, _ url.Values, _ *string) { h.claims["email"] = 5 }, ErrRefused},
		"unverified":             {func(h *house, _ url.Values, _ *string) { h.claims["email_verified"] = false }, ErrUnverified},
		"not said":               {func(h *house, _ url.Values, _ *string) { delete(h.claims, "email_verified") }, ErrUnverified},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			cookie, back := h.begin()
			c.spoil(h, back, &cookie)
			_, err := h.Finish(t.Context(), cookie, back)
			require.ErrorIs(t, err, c.want)
		})
	}
}

// An unreachable provider blocks only its own sign-ins, and only while it is unreachable.
func TestAway(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.off = true
	_, _, err := h.Start(t.Context())
	var p *problem.Error
	require.ErrorAs(t, err, &p)
	require.Equal(t, problem.Unavailable, p.Code)
	h.off = false
	cookie, back := h.begin()
	h.Client.Transport = closed{}
	_, err = h.Finish(t.Context(), cookie, back)
	require.ErrorAs(t, err, &p)
	require.Equal(t, problem.Unavailable, p.Code)
}

// closed is a network that is down.
type closed struct{}

func (closed) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrHandlerTimeout }
