// Package oidc signs people in by the operator's OpenID Connect provider: it sends the
// browser there, and reads what it brings back. Who that is in Rail is for package team.
package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"rail/server/clock"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/team"
)

// ErrRefused means that the provider refused the sign-in, or that its response does not match the request. It is a
// sentence for people; the errors that wrap it have the details.
var ErrRefused = errors.New("you were not signed in by your provider: try again")

// ErrUnverified means that the provider does not vouch for the person's address.
var ErrUnverified = errors.New("your provider has not verified your email address")

const (
	// Life is how long a person may take at the provider.
	Life = 10 * time.Minute
	// patience bounds each request to the provider.
	patience = 10 * time.Second
	// place is the purpose with which the cookie is sealed.
	place = "console/oidc"
)

// Config holds the settings of a provider.
type Config struct {
	Issuer, ClientID, ClientSecret string
	RedirectURL                    string // of the page that calls Finish
	Keeper                         *secret.Keeper
	Clock                          clock.Clock
	Client                         *http.Client // nil for a default client
}

// Provider is an OpenID Connect provider. Its metadata is loaded at the first sign-in, so that a server starts
// without it. Safe for concurrent use.
type Provider struct {
	Config

	mu       sync.Mutex
	offering *oidc.Provider
}

// New returns a provider, which is not asked anything yet.
func New(c Config) *Provider {
	if c.Client == nil {
		c.Client = &http.Client{Timeout: patience}
	}
	return &Provider{Config: c}
}

// Name returns the provider's name for a button: its host.
func (p *Provider) Name() string {
	u, err := url.Parse(p.Issuer)
	if err != nil {
		return p.Issuer
	}
	return u.Hostname()
}

// trip has the values that the provider must return unchanged, and their expiry.
type trip struct {
	State, Nonce, Verifier string
	Until                  int64 // microseconds
}

// Start returns the address to send a browser to, and the value of a cookie that it has to
// bring back.
func (p *Provider) Start(ctx context.Context) (address, cookie string, err error) {
	flow, _, err := p.flow(ctx)
	if err != nil {
		return "", "", err
	}
	t := trip{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		Until: p.Clock.Now().Plus(Life).UnixMicro(),
	}
	text, err := json.Marshal(t)
	if err != nil {
		return "", "", err
	}
	sealed, err := p.Keeper.Seal(text, place)
	return flow.AuthCodeURL(t.State, oidc.Nonce(t.Nonce), oauth2.S256ChallengeOption(t.Verifier)),
		base64.RawURLEncoding.EncodeToString(sealed), err
}

// Finish returns whom the provider signed in, of the query that it sent the browser back
// with, and the cookie.
func (p *Provider) Finish(ctx context.Context, cookie string, query url.Values) (team.Identity, error) {
	t, err := p.returned(cookie, query)
	if err != nil {
		return team.Identity{}, err
	}
	flow, offering, err := p.flow(ctx)
	if err != nil {
		return team.Identity{}, err
	}
	ctx = oidc.ClientContext(ctx, p.Client)
	tokens, err := flow.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(t.Verifier))
	if err != nil {
		return team.Identity{}, failed(err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	verifier := offering.VerifierContext(ctx, &oidc.Config{
		ClientID: p.ClientID, Now: func() time.Time { return clock.Wall(p.Clock).Now().Time },
	})
	token, err := verifier.Verify(ctx, raw)
	if err != nil {
		return team.Identity{}, refused(err)
	}
	if !same(token.Nonce, t.Nonce) {
		return team.Identity{}, refused(errors.New("another nonce"))
	}
	return identity(ctx, offering, token, oauth2.StaticTokenSource(tokens))
}

// returned returns the trip that a browser comes back from.
func (p *Provider) returned(cookie string, query url.Values) (t trip, err error) {
	sealed, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil {
		return t, refused(err)
	}
	text, err := p.Keeper.Open(sealed, place)
	if err != nil {
		return t, refused(err)
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return t, err
	}
	switch {
	case p.Clock.Now().UnixMicro() >= t.Until:
		return t, refused(errors.New("too late"))
	case !same(query.Get("state"), t.State):
		return t, refused(errors.New("another state"))
	case query.Has("error"):
		return t, refused(fmt.Errorf("the provider says %.100q", query.Get("error")))
	}
	return t, nil
}

// flow returns the OAuth configuration and the provider's metadata. If the provider is unreachable, the next call
// tries again.
func (p *Provider) flow(ctx context.Context) (*oauth2.Config, *oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.offering == nil {
		// The result is used by later requests, after this one has ended.
		offering, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.Client), p.Issuer)
		if err != nil {
			return nil, nil, away(err)
		}
		p.offering = offering
	}
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, RedirectURL: p.RedirectURL, Endpoint: p.offering.Endpoint(),
		Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}, p.offering, nil
}

// claims are the claims of an ID token. Some providers send email_verified as text.
type claims struct {
	Email    string `json:"email"`
	Verified any    `json:"email_verified"`
	Name     string `json:"name"`
}

// identity returns whom a token is about. Where the token has no address, the provider is
// asked for it.
func identity(
	ctx context.Context, offering *oidc.Provider, token *oidc.IDToken, tokens oauth2.TokenSource,
) (team.Identity, error) {
	var c claims
	if err := token.Claims(&c); err != nil {
		return team.Identity{}, refused(err)
	}
	if c.Email == "" && offering.UserInfoEndpoint() != "" {
		info, err := offering.UserInfo(ctx, tokens)
		if err != nil {
			return team.Identity{}, away(err)
		}
		if info.Subject != token.Subject {
			return team.Identity{}, refused(errors.New("another subject"))
		}
		if err := info.Claims(&c); err != nil {
			return team.Identity{}, refused(err)
		}
	}
	if c.Verified != true && c.Verified != "true" {
		return team.Identity{}, ErrUnverified
	}
	return team.Identity{Issuer: token.Issuer, Subject: token.Subject, Email: c.Email, Name: c.Name}, nil
}

// failed returns the error of a code that was not traded: refused where the provider said
// so.
func failed(err error) error {
	if _, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return refused(err)
	}
	return away(err)
}

func refused(cause error) error { return fmt.Errorf("%w (%w)", ErrRefused, cause) }

// away returns the error of a provider that does not answer.
func away(cause error) error {
	p := problem.Away(cause)
	p.Message = "Your sign-in provider does not answer. Try again, or sign in with your password."
	return p
}

// same compares without telling by its time how much is right.
func same(got, want string) bool {
	return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}
