package paypal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rail/server/money/payout"
)

const (
	maxBody = 1 << 20
	// renewBefore is the time before a token's expiry from which it is not used.
	renewBefore = time.Minute
	// Bounds of Retry-After.
	leastWait, usualWait, mostWait = time.Second, time.Minute, time.Hour
)

var errTooLarge = errors.New("PayPal's answer is too large")

// call makes a request with a token and reads its answer. An answer without success is an *apiError.
func (r *Rail) call(ctx context.Context, method, path string, body, answer any) error {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return err
		}
	}
	token, err := r.bearer(ctx)
	if err != nil {
		return err
	}
	err = r.request(ctx, method, path, raw, token, answer)
	if failed := (*apiError)(nil); !errors.As(err, &failed) || failed.Status != http.StatusUnauthorized {
		return err
	}
	r.forget(token)
	if token, err = r.bearer(ctx); err != nil {
		return err
	}
	return r.request(ctx, method, path, raw, token, answer)
}

func (r *Rail) request(ctx context.Context, method, path string, body []byte, token string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, r.config.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return r.do(req, token, answer)
}

// do sends a request unless PayPal takes no calls, and reads its answer.
func (r *Rail) do(req *http.Request, token string, answer any) error {
	if err := r.open(); err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	res, err := r.http.Do(req)
	if err != nil {
		return fmt.Errorf("PayPal gave no answer: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
		return r.throttle(res.Header.Get("Retry-After"))
	case err != nil:
		return fmt.Errorf("PayPal's answer ended early: %w", err)
	case len(body) > maxBody:
		return errTooLarge
	case res.StatusCode/100 != 2:
		return readError(res.StatusCode, r.withoutSecrets(body, token))
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("PayPal's answer with status %d is not the JSON that it documents", res.StatusCode)
	}
	return nil
}

// secretLength is the least length of a text that is certainly a credential and not a word.
const secretLength = 16

// withoutSecrets removes credentials that an answer repeats.
func (r *Rail) withoutSecrets(body []byte, token string) []byte {
	for _, secret := range []string{r.config.ClientID, r.config.Secret, token} {
		if len(secret) >= secretLength {
			body = bytes.ReplaceAll(body, []byte(secret), []byte("***"))
		}
	}
	return body
}

// open returns a payout.Busy while PayPal takes no calls.
func (r *Rail) open() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := r.busyUntil.Sub(r.now()); left > 0 {
		return payout.Busy{For: left}
	}
	return nil
}

// throttle ends calls for the time that PayPal demands.
func (r *Rail) throttle(retryAfter string) error {
	wait := usualWait
	if seconds, err := strconv.ParseInt(retryAfter, 10, 64); err == nil {
		wait = time.Duration(min(max(seconds, 0), int64(mostWait/time.Second))) * time.Second
	} else if at, err := http.ParseTime(retryAfter); err == nil {
		wait = at.Sub(r.now())
	}
	wait = min(max(wait, leastWait), mostWait)
	r.mu.Lock()
	defer r.mu.Unlock()
	if until := r.now().Add(wait); until.After(r.busyUntil) {
		r.busyUntil = until
	}
	return payout.Busy{For: r.busyUntil.Sub(r.now())}
}

// bearer returns a valid token.
func (r *Rail) bearer(ctx context.Context) (string, error) {
	if token := r.cached(); token != "" {
		return token, nil
	}
	if err := r.lockFetch(ctx); err != nil {
		return "", err
	}
	defer func() { <-r.fetch }()
	if token := r.cached(); token != "" {
		return token, nil
	}
	token, _, err := r.fetchToken(ctx)
	if err != nil {
		return "", fmt.Errorf("%w: %w", payout.ErrNotSent, err)
	}
	return token, nil
}

// renew fetches a token even if there is a valid one, and returns its scopes.
func (r *Rail) renew(ctx context.Context) ([]string, error) {
	if err := r.lockFetch(ctx); err != nil {
		return nil, err
	}
	defer func() { <-r.fetch }()
	_, scopes, err := r.fetchToken(ctx)
	return scopes, err
}

func (r *Rail) lockFetch(ctx context.Context) error {
	select {
	case r.fetch <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *Rail) cached() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now().Before(r.expires) {
		return r.token
	}
	return ""
}

// forget drops a token that PayPal does not accept.
func (r *Rail) forget(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.token == token {
		r.token, r.expires = "", time.Time{}
	}
}

// fetchToken fetches a token with the credentials and stores it.
func (r *Rail) fetchToken(ctx context.Context) (token string, scopes []string, err error) {
	form := url.Values{"grant_type": {"client_credentials"}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.config.URL+"/v1/oauth2/token", strings.NewReader(form))
	if err != nil {
		return "", nil, err
	}
	req.SetBasicAuth(r.config.ClientID, r.config.Secret)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	start := r.now()
	var answer struct {
		Token   string `json:"access_token"`
		Expires int64  `json:"expires_in"`
		Scope   string `json:"scope"`
	}
	if err := r.do(req, "", &answer); err != nil {
		return "", nil, credentialError(err)
	}
	if answer.Token == "" {
		return "", nil, errors.New("PayPal's answer has no access token")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.token = answer.Token
	r.expires = start.Add(time.Duration(min(answer.Expires, int64(24*time.Hour/time.Second)))*time.Second - renewBefore)
	return answer.Token, strings.Fields(answer.Scope), nil
}

// credentialError replaces the error of credentials that PayPal does not accept.
func credentialError(err error) error {
	failed := (*apiError)(nil)
	if errors.As(err, &failed) {
		code := cmp.Or(failed.OAuth, failed.Name)
		if failed.Status == http.StatusUnauthorized || code == "invalid_client" {
			return fmt.Errorf("PayPal does not accept the client id and the secret (%s)", clip(code, 80))
		}
		// Not an *apiError: a refusal of a token says nothing about a transfer.
		return errors.New("no token: " + failed.Error())
	}
	return err
}
