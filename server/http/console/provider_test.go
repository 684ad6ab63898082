package console_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/stretchr/testify/require"

	"rail/server/config"
	"rail/server/harness/apitest"
	"rail/server/team"
)

// provider is a small OpenID provider, which signs in as says whoever comes.
type provider struct {
	key  *rsa.PrivateKey
	keys *oidctest.Server
	says map[string]any
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/token" {
		p.keys.ServeHTTP(w, r)
		return
	}
	claims, _ := json.Marshal(p.says)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"access_token": "access", "token_type": "Bearer", "id_token": oidctest.SignIDToken(p.key, "one", "RS256", string(claims)),
	})
}

// TestProvider: whom the provider knows and somebody has made a user signs in, a stranger does not.
func TestProvider(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	p := &provider{key: key, keys: &oidctest.Server{
		PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "one", Algorithm: "RS256"}},
	}}
	web := httptest.NewServer(p)
	t.Cleanup(web.Close)
	p.keys.SetIssuer(web.URL)
	api := apitest.New(t, func(c *config.Config) {
		c.OIDCIssuer, c.OIDCClientID, c.OIDCClientSecret = web.URL, "rail", "hush"
	})
	s := newSiteOf(api, api.Program())
	nobody := &person{s, team.User{}, ""}
	come := func(email string) apitest.Answer {
		sent := s.Must(302, s.Do("GET", "/console/oidc/start", "", nil))
		to, err := url.Parse(sent.Header.Get("Location"))
		require.NoError(t, err)
		now := s.Clock.Now()
		p.says = map[string]any{
			"iss": web.URL, "aud": "rail", "sub": "sub " + email, "email": email, "email_verified": true, "name": "Ada",
			"nonce": to.Query().Get("nonce"), "iat": now.Unix(), "exp": now.Unix() + 60,
		}
		back := "/console/oidc?" + url.Values{"code": {"code"}, "state": {to.Query().Get("state")}}.Encode()
		cookie := (&http.Response{Header: sent.Header}).Cookies()[0]
		return s.Do("GET", back, "", nil, "Cookie", cookie.Name+"="+cookie.Value)
	}
	require.Contains(t, string(s.Must(200, s.Do("GET", "/console/sign-in", "", nil)).Raw), "/console/oidc/start")
	nobody.says(400, "invitation", come("stranger@shop.example"))
	require.Equal(t, "/console", s.Must(303, come(s.owner.Email)).Header.Get("Location"))
	nobody.says(400, "try again", s.Do("GET", "/console/oidc?code=code&state=forged", "", nil))
}
