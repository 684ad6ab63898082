// Package client makes the requests to Stripe's API that Rail needs, with a key that the merchant restricted to
// them.
package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rail/server/clock"
	"rail/server/ident"
)

// Address is the address of Stripe's API.
const Address = "https://api.stripe.com"

// version is the API version of Rail's requests and of the endpoints it creates.
const version = "2025-09-30.clover"

const (
	timeout  = 20 * time.Second
	attempts = 4
	// maxWait bounds the wait requested by a Retry-After header.
	maxWait   = 30 * time.Second
	maxAnswer = 4 << 20
)

// Client makes requests with one key. It is safe for concurrent use.
type Client struct {
	key, address string
	tries        int
	http         *http.Client
	wait         func(context.Context, time.Duration) error
}

// New returns a client for an address, "" for Stripe's own.
func New(key, address string) *Client {
	if address == "" {
		address = Address
	}
	return &Client{
		key: key, address: strings.TrimSuffix(address, "/"), tries: attempts, wait: clock.Wait,
		http: &http.Client{
			Timeout: timeout,
			// The key must not follow a redirect to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Once returns a client without retries, for callers that retry themselves.
func (c *Client) Once() *Client {
	one := *c
	one.tries = 1
	return &one
}

// Live reports whether a key is for live data, by its prefix.
func Live(key string) (live, ok bool) {
	_, mode, _ := strings.Cut(key, "_")
	mode, _, _ = strings.Cut(mode, "_")
	return mode == "live", mode == "live" || mode == "test"
}

// Error is a refusal by Stripe.
type Error struct {
	Status        int
	Code, Message string
	After         time.Duration // when to retry, if Stripe tells
}

// Error returns Stripe's message, which names the permission that a key lacks.
func (e *Error) Error() string {
	return fmt.Sprintf("Stripe answered %d: %s", e.Status, first(e.Message, http.StatusText(e.Status)))
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// send sends a form and reads the answer. It retries with growing delays on rate limits, conflicts and missing
// answers; an idempotency key makes Stripe perform a POST once.
func (c *Client) send(ctx context.Context, method, path string, form url.Values, answer any) error {
	once := ident.New("rail_")
	for n := 1; ; n++ {
		after, err := c.requestOnce(ctx, method, path, form, once, answer)
		if err == nil || after < 0 || n == c.tries {
			return err
		}
		if after == 0 {
			after = time.Second << (n - 1) / 2
		}
		after = min(after, maxWait)
		// If the caller cannot wait that long, return the error now.
		if end, ok := ctx.Deadline(); ok && end.Sub(clock.Real()) < after || c.wait(ctx, after) != nil {
			return err
		}
	}
}

// requestOnce makes one request. With an error it returns when to retry: below zero for never, zero for the caller's
// choice.
func (c *Client) requestOnce(
	ctx context.Context, method, path string, form url.Values, idempotency string, answer any,
) (time.Duration, error) {
	req, err := c.request(ctx, method, path, form, idempotency)
	if err != nil {
		return -1, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return -1, err
		}
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case err != nil:
		return 0, err
	case len(body) == maxAnswer:
		return -1, errTooLarge
	case res.StatusCode/100 == 2:
		if err := json.Unmarshal(body, answer); err != nil {
			return -1, fmt.Errorf("invalid answer from Stripe: %w", err)
		}
		return 0, nil
	}
	refused := refusal(res.StatusCode, body)
	if !retryable(res.StatusCode) {
		return -1, refused
	}
	refused.After = retryAfter(res.Header)
	return refused.After, refused
}

func (c *Client) request(
	ctx context.Context, method, path string, form url.Values, idempotency string,
) (*http.Request, error) {
	target, body := c.address+path, io.Reader(http.NoBody)
	if method == http.MethodPost {
		body = strings.NewReader(form.Encode())
	} else if len(form) > 0 {
		target += "?" + form.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Stripe-Version", version)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Idempotency-Key", idempotency)
	}
	return req, nil
}

// refusal reads Stripe's error, of which any part may be missing.
func refusal(status int, body []byte) *Error {
	var answer struct {
		Error struct{ Code, Message string }
	}
	_ = json.Unmarshal(body, &answer) // a proxy's page has only its status
	return &Error{Status: status, Code: answer.Error.Code, Message: answer.Error.Message}
}

// retryAfter returns the wait that an answer requests, in seconds; Stripe sends no dates.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, int(maxWait/time.Second))) * time.Second
}
