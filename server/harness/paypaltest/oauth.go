package paypaltest

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
)

// appID is the id of PayPal's test application.
const appID = "APP-80W284485P519543T"

// scopes are granted to each token.
const scopes = "https://uri.paypal.com/payments/payouts https://uri.paypal.com/services/applications/webhooks"

// SetCredentials changes the client id and the secret. Tokens stay valid.
func (s *Server) SetCredentials(clientID, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config.ClientID, s.config.Secret = clientID, secret
}

// RevokeTokens ends every access token before its time.
func (s *Server) RevokeTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// token issues an access token for the client's credentials.
func (s *Server) token(r *http.Request, body []byte) answer {
	id, secret, _ := r.BasicAuth()
	if !equal(id, s.config.ClientID) || !equal(secret, s.config.Secret) {
		return oauthError(http.StatusUnauthorized, "invalid_client", "Client Authentication failed")
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("grant_type") != "client_credentials" {
		return oauthError(http.StatusBadRequest, "unsupported_grant_type", "Grant Type is NULL or unsupported")
	}
	for token, until := range s.tokens {
		if !s.now().Before(until) {
			delete(s.tokens, token)
		}
	}
	token := "A21AA" + s.next(40, "token")
	s.tokens[token] = s.now().Add(s.config.TokenTTL)
	return answer{status: http.StatusOK, body: map[string]any{
		"scope":        scopes,
		"access_token": token,
		"token_type":   "Bearer",
		"app_id":       appID,
		"expires_in":   int(s.config.TokenTTL.Seconds()),
		"nonce":        stamp(s.now()) + s.next(20, "nonce"),
	}}
}

// authorized reports whether a request has a valid token.
func (s *Server) authorized(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	until, issued := s.tokens[token]
	return ok && issued && s.now().Before(until)
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
