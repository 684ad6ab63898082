package cli

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/outbound/webhook"
)

const (
	// listenPoll is the interval between requests for new events.
	listenPoll = time.Second
	// An event that the local program does not accept is sent again, up to listenTries times with doubled pauses:
	// about the time that a program needs to restart.
	listenTries = 6
	listenPause = 250 * time.Millisecond
)

// listen sends an organization's events to a local program as they happen, each once, signed with the same
// secret at every start. It needs no endpoint in the program, and so no public address.
func listen(fs *pflag.FlagSet) action {
	from := remoteFlags(fs)
	to := fs.String("forward-to", "", "`URL` that gets the events, such as http://localhost:3000/hooks")
	var types list
	fs.Var(&types, "events", "only these `TYPES`; repeatable, or several with commas")
	body := toggle(fs, "print-body", "print the body of each event")
	return func(ctx context.Context, env *Env, _ []string) error {
		if err := checkWeb("--forward-to", *to); err != nil {
			return err
		}
		for _, t := range types {
			if err := checkEventType(t); err != nil {
				return err
			}
		}
		c, err := from.caller(env)
		if err != nil {
			return err
		}
		f := forwarder{env: env, caller: c, to: *to, types: types, body: *body, client: localClient()}
		defer f.client.Close()
		return f.run(ctx)
	}
}

// listenHelp describes how to verify the events, and what happens to missed ones.
func listenHelp() string {
	return `It polls the server every second for new events, from any machine that can reach its API. The printed secret belongs to the
API key: it is the same at every start, on every machine. While the server is unreachable it waits, and misses no event.
An event that URL does not accept is retried for some seconds before the next one, then dropped with a message.
`
}

// eventTypes returns the types of the catalogue.
func eventTypes() []string {
	var out []string
	for _, t := range webhook.Catalogue() {
		out = append(out, t.Type)
	}
	return out
}

// checkEventType refuses an unknown event type.
func checkEventType(kind string) error {
	all := eventTypes()
	if slices.Contains(all, kind) {
		return nil
	}
	return usagef("there is no event %q%s", kind, suggestion("", kind, all))
}

// localClient returns a client for the local machine: a plain dialer in place of the guard, which refuses
// private addresses.
func localClient() *webhook.Client {
	return webhook.NewClient("Rail", (&net.Dialer{}).DialContext)
}

// secretOf derives the signing secret from an API key.
func secretOf(key string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte("rail listen"))
	return webhook.SecretOf(h.Sum(nil))
}

// forwarder sends the events of one organization to one address. Its state is in memory: a restart begins with
// new events.
type forwarder struct {
	env    *Env
	caller *caller
	client *webhook.Client
	to     string
	types  []string // empty for all
	body   bool
	cursor string
	away   bool // the server did not answer the last time
}

// run forwards new events in order, until ctx ends. It retries after transient errors of the server, and prints
// errors of the address.
func (f *forwarder) run(ctx context.Context) error {
	feed, err := f.next(ctx)
	if err != nil {
		return err
	}
	f.cursor = feed.Cursor
	fmt.Fprintf(f.env.Err, "Events at %s go to %s, signed with %s\n", f.caller.base, f.to, secretOf(f.caller.key))
	for ctx.Err() == nil {
		wait, err := f.round(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		_ = clock.Wait(ctx, wait) // the loop checks ctx
	}
	return nil
}

// round forwards the events after the cursor, and returns how long to wait for more.
func (f *forwarder) round(ctx context.Context) (wait time.Duration, err error) {
	feed, err := f.next(ctx)
	f.reportConnection(ctx, err)
	if transient(err) {
		return pauseAfter(err), nil
	}
	if err != nil {
		return 0, err
	}
	for _, e := range feed.Data {
		f.forward(ctx, e)
	}
	f.cursor = feed.Cursor
	if feed.CaughtUp {
		wait = listenPoll
	}
	return wait, nil
}

// next returns the events after the cursor.
func (f *forwarder) next(ctx context.Context) (feed api.EventFeed, err error) {
	path := "/v1/events"
	if f.cursor != "" {
		path += "?after=" + url.QueryEscape(f.cursor)
	}
	_, err = f.caller.ask(ctx, http.MethodGet, path, nil, "", &feed)
	return feed, err
}

// pauseAfter returns the wait before the next request.
func pauseAfter(err error) time.Duration {
	if r, ok := errors.AsType[*refused](err); ok {
		return max(listenPoll, r.retryAfter)
	}
	return listenPoll
}

// reportConnection prints once that the server is unreachable, as during a restart, and once that it is back. No
// event is lost, since the cursor stays.
func (f *forwarder) reportConnection(ctx context.Context, err error) {
	switch {
	case transient(err) && !f.away && ctx.Err() == nil:
		fmt.Fprintln(f.env.Err, "The server is unreachable; waiting for it:", err)
		f.away = true
	case err == nil && f.away:
		fmt.Fprintln(f.env.Err, "The server is back.")
		f.away = false
	}
}

// forwarded is the JSON of a sent event.
type forwarded struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Status   int             `json:"status"` // 0 without an answer
	Error    string          `json:"error,omitempty"`
	Attempts int             `json:"attempts"`
	TookMS   int64           `json:"took_ms"` // of the last attempt
	Body     json.RawMessage `json:"body,omitempty"`
}

// lines returns the event for people.
func (f forwarded) lines() []string {
	status := fmt.Sprint(f.Status)
	if f.Status == 0 {
		status = f.Error
	}
	text := fmt.Sprintf("%-28s %s  %s  %d ms", f.Type, f.ID, status, f.TookMS)
	if f.Attempts > 1 {
		text += fmt.Sprintf(", attempt %d", f.Attempts)
	}
	if f.Body != nil {
		text += "\n" + string(f.Body)
	}
	return strings.Split(text, "\n")
}

// forward sends one event, with retries, and prints the result.
func (f *forwarder) forward(ctx context.Context, e api.FollowedEvent) {
	if len(f.types) > 0 && !slices.Contains(f.types, string(e.Type)) {
		return
	}
	m := webhook.Message{
		URL: f.to, EventID: e.ID, DeliveryID: ident.New(ident.Delivery), Type: string(e.Type), RequestID: causeOf(e),
		Body: []byte(e.RequestBody), Secrets: []string{secretOf(f.caller.key)},
	}
	done := forwarded{Type: m.Type, ID: m.EventID}
	if f.body {
		done.Body = m.Body
	}
	for pause := listenPause; ; pause *= 2 {
		m.Attempt++
		o := f.client.Send(ctx, m, f.env.Clock.Now().Time)
		done.Status, done.Error, done.Attempts, done.TookMS = o.Code, o.Err, m.Attempt, o.Took.Milliseconds()
		if m.Attempt == 1 && o.Err != "" {
			fmt.Fprintf(f.env.Err, "%s %s: %s Trying again.\n", m.Type, m.EventID, o.Err)
		}
		if o.Err == "" || m.Attempt == listenTries || clock.Wait(ctx, pause) != nil {
			break
		}
	}
	_ = f.env.print(done, done.lines) // a closed output stops nothing
}

// causeOf returns the request that caused an event, or "".
func causeOf(e api.FollowedEvent) string {
	var b struct{ Request struct{ ID *string } }
	if err := json.Unmarshal([]byte(e.RequestBody), &b); err != nil {
		return ""
	}
	return opt.Value(b.Request.ID)
}
