// Package client asks Stripe's API what Rail needs of it, with a key that the
// merchant has restricted to that.
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

// Address is where Stripe answers.
const Address = "https://api.stripe.com"

// version is that of the shapes which Rail asks for, and which the endpoints that it
// makes are sent.
const version = "2025-09-30.clover"

const (
	timeout  = 20 * time.Second
	attempts = 4
	// maxWait bounds what a Retry-After can ask for.
	maxWait   = 30 * time.Second
	maxAnswer = 4 << 20
)

// Client asks with one key. It is safe for concurrent use.
type Client struct {
	key, address string
	tries        int
	http         *http.Client
	wait         func(context.Context, time.Duration) error
}

// New returns a client that asks at address, or at Stripe's own for an empty one.
func New(key, address string) *Client {
	if address == "" {
		address = Address
	}
	return &Client{
		key: key, address: strings.TrimSuffix(address, "/"), tries: attempts, wait: clock.Wait,
		http: &http.Client{
			Timeout: timeout,
			// The key must not follow a redirect to somebody else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Once returns a client that asks one time only, for who comes back by itself.
func (c *Client) Once() *Client {
	one := *c
	one.tries = 1
	return &one
}

// Live reports whether a key opens live data, by how it begins.
func Live(key string) (live, known bool) {
	_, mode, _ := strings.Cut(key, "_")
	mode, _, _ = strings.Cut(mode, "_")
	return mode == "live", mode == "live" || mode == "test"
}

// Error is what Stripe refuses.
type Error struct {
	Status        int
	Code, Message string
	After         time.Duration // when to ask again, if it says so
}

// Error says it in Stripe's words, which name the permission that a key lacks.
func (e *Error) Error() string {
	return fmt.Sprintf("Stripe answered %d: %s", e.Status, first(e.Message, http.StatusText(e.Status)))
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// ask sends a form and reads the answer. It asks again, later each time, what was
// too much, in the way of something else, or not answered: a POST has a key of its
// own by which Stripe does it once.
func (c *Client) ask(ctx context.Context, method, path string, form url.Values, answer any) error {
	once := ident.New("rail_")
	for n := 1; ; n++ {
		after, err := c.once(ctx, method, path, form, once, answer)
		if err == nil || after < 0 || n == c.tries {
			return err
		}
		if after == 0 {
			after = time.Second << (n - 1) / 2
		}
		after = min(after, maxWait)
		// Who cannot wait so long learns it now.
		if end, ok := ctx.Deadline(); ok && end.Sub(clock.Real()) < after || c.wait(ctx, after) != nil {
			return err
		}
	}
}

// once asks one time. With an error it says when to ask again: below zero for
// never, zero for when the caller likes.
func (c *Client) once(
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
			return -1, fmt.Errorf("an answer of Stripe's was not understood: %w", err)
		}
		return 0, nil
	}
	refused := refusal(res.StatusCode, body)
	if !again(res.StatusCode) {
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

// refusal reads an error of Stripe's, of which nothing need be there.
func refusal(status int, body []byte) *Error {
	var answer struct {
		Error struct{ Code, Message string }
	}
	_ = json.Unmarshal(body, &answer) // a proxy's page says nothing more than its status
	return &Error{Status: status, Code: answer.Error.Code, Message: answer.Error.Message}
}

// retryAfter is the wait that an answer asks for, in seconds; Stripe sends no dates.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, int(maxWait/time.Second))) * time.Second
}
