package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rail/server/app/config"
)

// Variables of commands that use a server's API.
const (
	urlVariable = "RAIL_API_URL"
	keyVariable = "RAIL_API_KEY"
)

// hiddenAPIKey is the API key for a server.
var hiddenAPIKey = hidden{"--key", keyVariable}

// remote is a server that a command uses over its API, possibly on another machine.
type remote struct{ url, key *string }

// remoteFlags declares the flags of the server.
func remoteFlags(fs *pflag.FlagSet) remote {
	return remote{
		url: fs.String("url", "", "`URL` of the server; without it "+urlVariable+", or RAIL_ADDR on this machine"),
		key: fs.String("key", "", "API `KEY`, or - to read it; without it "+keyVariable+", or the one that a first run has left in RAIL_DATA_DIR"),
	}
}

// caller calls a server's API.
type caller struct {
	base, key string
	keyFile   string // file of the first run's key, if the key is from there
	http      http.Client
}

// Limits of a call's time, of its answer's size, and of the wait before a retry.
const (
	callTime  = 30 * time.Second
	maxAnswer = 4 << 20
	maxRest   = time.Minute
)

// caller returns a caller of the server, with the given or found key.
func (r remote) caller(env *Env) (c *caller, err error) {
	c = &caller{http: http.Client{Timeout: callTime}}
	if c.base, err = r.base(env); err != nil {
		return nil, err
	}
	c.key, c.keyFile, err = r.apiKey(env)
	return c, err
}

// base returns the address of the server, without a trailing slash.
func (r remote) base(env *Env) (string, error) {
	base := cmp.Or(*r.url, env.variable(urlVariable))
	if base == "" {
		addr, name := config.Address(env.Environ)
		if name != "" {
			return "https://" + name, nil // the name in its certificate
		}
		return localAddress(addr, false)
	}
	return strings.TrimSuffix(base, "/"), checkWeb("--url", base)
}

// apiKey returns the key, or that of a first run with its file if none was given: the latter belongs to this
// machine's server, and is sent to no other.
func (r remote) apiKey(env *Env) (key, file string, err error) {
	if key, err = hiddenAPIKey.read(env, env.input(), *r.key); err != nil || key != "" {
		return key, "", err
	}
	cfg, err := config.Read(env.Environ)
	if err != nil {
		return "", "", err
	}
	if *r.url != "" || env.variable(urlVariable) != "" {
		return "", "", usagef("a remote server needs its own API key: give --key, or set %s", keyVariable)
	}
	file = demoKey(cfg)
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", usagef("there is no API key: give --key, or set %s", keyVariable)
	}
	return strings.TrimSpace(string(raw)), file, err
}

// refused is an unsuccessful answer of the API.
type refused struct {
	status     int
	retryAfter time.Duration
	message    string
}

func (r *refused) Error() string {
	return fmt.Sprintf("the server answers %d: %s", r.status, r.message)
}

// ask makes a call and decodes its answer into out. body may be nil; key is its Idempotency-Key, or "".
func (c *caller) ask(ctx context.Context, method, path string, body []byte, key string, out any) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.base, errors.Unwrap(err)) // package http repeats the whole call
	}
	defer res.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return res.StatusCode, err
	}
	if res.StatusCode >= http.StatusBadRequest {
		return res.StatusCode, refusal(res, text)
	}
	return res.StatusCode, json.Unmarshal(text, out)
}

// refusal returns the error in an answer, or the beginning of an answer that is not Rail's.
func refusal(res *http.Response, text []byte) error {
	var body struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(text, &body) != nil || body.Error.Message == "" {
		body.Error.Message = strings.TrimSpace(string(text[:min(200, len(text))]))
	}
	seconds, err := time.ParseDuration(res.Header.Get("Retry-After") + "s")
	if err != nil {
		seconds = 0
	}
	return &refused{status: res.StatusCode, retryAfter: min(seconds, maxRest), message: body.Error.Message}
}

// transient reports whether a call may succeed later, as during a restart.
func transient(err error) bool {
	if r, ok := errors.AsType[*refused](err); ok {
		return r.status >= http.StatusInternalServerError || r.status == http.StatusTooManyRequests
	}
	return err != nil
}
