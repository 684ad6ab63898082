package source

import (
	"bytes"
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

	"golang.org/x/time/rate"

	"rail/server/clock"
	"rail/server/locale/plain"
)

const (
	timeout  = 30 * time.Second
	attempts = 6
	// firstWait doubles with each further attempt.
	firstWait = 100 * time.Millisecond
	// shortWait is the longest wait that the client makes itself; a longer one is a BusyError.
	shortWait = 10 * time.Second
	// longestWait bounds a wait that the source requests.
	longestWait = 15 * time.Minute
	// maxAnswer bounds a page, in bytes.
	maxAnswer = 16 << 20
)

// client makes requests to a source's API.
type client struct {
	address string
	key     *strings.Replacer   // removes the key from a text
	sign    func(*http.Request) // adds the key
	rate    *rate.Limiter
	http    *http.Client
	wait    func(context.Context, time.Duration) error
}

// newClient returns a client for an account of a product, with at most perSecond requests a second. Another address
// has no such limit.
func newClient(a Account, address string, perSecond float64, sign func(*http.Request)) *client {
	limit := rate.Limit(perSecond)
	if a.Address != "" {
		address, limit = replaceHost(address, a.Address), rate.Inf
	}
	return &client{
		address: strings.TrimSuffix(address, "/"),
		key:     withoutKey(a.Key),
		sign:    sign,
		rate:    rate.NewLimiter(limit, max(int(perSecond), 1)),
		http: &http.Client{
			Timeout: timeout,
			// The key must not follow a redirect to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		wait: clock.Wait,
	}
}

// withoutKey replaces a key in texts, and each part of a key with two. Words contain very short parts, which are no
// secrets.
func withoutKey(key string) *strings.Replacer {
	const shortest = 4
	var pairs []string
	for _, part := range append([]string{key}, strings.Split(key, ":")...) {
		if len(part) >= shortest {
			pairs = append(pairs, part, "[key]")
		}
	}
	return strings.NewReplacer(pairs...)
}

// replaceHost replaces the scheme and host of address by those of other. A path of other comes first.
func replaceHost(address, other string) string {
	u, err := url.Parse(address)
	if err != nil {
		return other
	}
	return strings.TrimSuffix(other, "/") + u.Path
}

// get reads path into answer and returns the header. It retries with growing delays after rate limits, errors of the
// server and lost answers. It returns a BusyError if the source requests a long wait.
func (c *client) get(ctx context.Context, path string, query url.Values, answer any) (http.Header, error) {
	target := c.address + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return c.send(ctx, http.MethodGet, target, nil, answer)
}

// post reads the answer to a POST request with a JSON body, as get does. It is for sources that read by POST, so that
// it repeats the request likewise.
func (c *client) post(ctx context.Context, path string, body, answer any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	_, err = c.send(ctx, http.MethodPost, c.address+path, content, answer)
	return err
}

func (c *client) send(ctx context.Context, method, target string, body []byte, answer any) (http.Header, error) {
	for n := 1; ; n++ {
		if err := c.rate.Wait(ctx); err != nil {
			return nil, err
		}
		header, after, err := c.once(ctx, method, target, body, answer)
		switch {
		case err == nil || after < 0 || ctx.Err() != nil:
			return header, err
		case after > shortWait:
			return nil, &BusyError{After: min(after, longestWait), Err: err}
		case n == attempts:
			return nil, err
		case after == 0:
			after = firstWait << (n - 1)
		}
		if err := c.wait(ctx, after); err != nil {
			return nil, err
		}
	}
}

// once makes one request. With an error it returns when to retry: below zero for never, zero for the caller's choice.
func (c *client) once(
	ctx context.Context, method, target string, content []byte, answer any,
) (http.Header, time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(content))
	if err != nil {
		return nil, -1, err
	}
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "rail-import")
	c.sign(req)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, 0, err
	case len(body) > maxAnswer:
		return nil, -1, fmt.Errorf("the answer of %s is larger than %d bytes", req.URL.Path, maxAnswer)
	case res.StatusCode/100 != 2:
		after, err := c.refusal(res, body)
		return nil, after, err
	}
	// A proxy may cut an answer, or replace it by another page.
	switch err := json.Unmarshal(body, answer); {
	case errors.Is(err, errNoList):
		return nil, -1, fmt.Errorf("%w: %s answered %s", err, req.URL.Path, c.excerpt(body))
	case err != nil && !mistyped(err):
		return nil, 0, fmt.Errorf("the answer of %s is not JSON: %w", req.URL.Path, err)
	}
	return res.Header, 0, nil
}

// mistyped reports whether the error is only about a member of an unexpected type.
func mistyped(err error) bool {
	var e *json.UnmarshalTypeError
	return errors.As(err, &e)
}

// ErrRequest is wrapped by an error for a request that the source refuses: it does not exist, is invalid, leads to
// another address, or continues after a deleted object. The source would refuse the same request again.
var ErrRequest = errors.New("the source refuses the request")

// BusyError is the error of a source that requests a wait before the next request.
type BusyError struct {
	After time.Duration
	Err   error
}

// Error returns the source's answer.
func (b *BusyError) Error() string { return b.Err.Error() }

// Unwrap returns the error without the wait.
func (b *BusyError) Unwrap() error { return b.Err }

// movedError is the error for an answer that leads to another address.
type movedError struct{ from, to string }

// Error names both addresses.
func (m *movedError) Error() string { return m.from + " redirects to " + m.to }

// refusal returns when to retry after an answer without success, and the error for it.
func (c *client) refusal(res *http.Response, body []byte) (time.Duration, error) {
	err := fmt.Errorf("%s answered %d", res.Request.URL.Path, res.StatusCode)
	if text := c.excerpt(body); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	switch code := res.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return -1, fmt.Errorf("%w: %w", ErrKey, err)
	case code == http.StatusTooManyRequests:
		return retryAfter(res.Header), err
	case code == http.StatusRequestTimeout || code >= http.StatusInternalServerError:
		return retryAfter(res.Header), err
	}
	if to, none := res.Location(); none == nil && res.StatusCode/100 == 3 {
		err = &movedError{from: withoutQuery(res.Request.URL), to: withoutQuery(to)}
	}
	return -1, fmt.Errorf("%w: %w", ErrRequest, err)
}

// withoutQuery returns an address without its query.
func withoutQuery(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// excerpt returns the beginning of a body for a person, without the key. A page in HTML tells a person nothing.
func (c *client) excerpt(body []byte) string {
	const most = 200
	text := strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(string(body), "\x00", ""), "\uFFFD"))
	if strings.HasPrefix(text, "<") {
		return ""
	}
	return plain.Cut(c.key.Replace(text), most)
}

// retryAfter returns the wait that an answer requests, in seconds or as a date; 0 without one.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(min(seconds, int(longestWait/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(clock.Real()), time.Second)
	}
	return 0
}
