package console_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/team"
)

// provider is a small OpenID provider that signs in every request with the given claims.
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

var choiceField = regexp.MustCompile(`name="choice" value="([^"]+)"`)

// TestProvider: whom the provider knows signs in once their address is theirs, and chooses where several
// organizations have invited it; a stranger does not.
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
	come := func(email string, session ...string) apitest.Answer {
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
		cookies := cookie.Name + "=" + cookie.Value
		for _, token := range session {
			cookies += "; " + cookieName + "=" + token
		}
		return s.Do("GET", back, "", nil, "Cookie", cookies)
	}
	require.Contains(t, string(s.Must(200, s.Do("GET", "/console/sign-in", "", nil)).Raw), "/console/oidc/start")
	nobody.says(400, "invitation", come("stranger@shop.example"))
	nobody.says(400, "not confirmed", come(s.owner.Email))
	require.Contains(t, s.owner.page("/console/account"), "Connect 127.0.0.1")
	s.owner.says(400, "another address", come("else@shop.example", s.owner.token))
	require.Equal(t, "/console/account", s.Must(303, come(s.owner.Email, s.owner.token)).Header.Get("Location"))
	require.Contains(t, s.owner.page("/console/account"), "Connected. You can sign in with it.")
	require.Equal(t, "/console", s.Must(303, come(s.owner.Email)).Header.Get("Location"))

	other := s.NewOrg("Evil Ltd")
	mallory := s.person(other, team.Owner)
	mallory.send("/console/team/invite", "email", "new@shop.example", "role", "owner")
	s.owner.send("/console/team/invite", "email", "new@shop.example", "role", "viewer")
	page := string(s.Must(200, come("new@shop.example")).Raw)
	require.Contains(t, page, "Join Evil Ltd as")
	require.Contains(t, page, "Join Test as")
	token := choiceField.FindStringSubmatch(page)[1]
	nobody.says(400, "no account here", nobody.before("/console/oidc/choose", "choice", token, "organization", "org_none"))
	s.Must(303, nobody.before("/console/oidc/choose", "choice", token, "organization", s.Org))
	require.Contains(t, s.owner.page("/console/team"), "new@shop.example")
	require.NotContains(t, mallory.page("/console/team"), "Change<span class=\"hidden\"> Ada")
	nobody.says(400, "try again", s.Do("GET", "/console/oidc?code=code&state=forged", "", nil))
}
