package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/outbound/webhook"
)

const (
	// listenPoll is how often new events are looked for.
	listenPoll = 200 * time.Millisecond
	// listenRetry is how long a database that did not answer is left alone.
	listenRetry = time.Second
)

// listen sends an organization's events to a developer's own machine as they happen, each once,
// signed with the same secret at every start. It needs no endpoint in the database, and so no
// address that a server would have to reach.
func listen(fs *pflag.FlagSet) action {
	to := fs.String("forward-to", "", "`URL` that gets the events, such as http://localhost:3000/hooks")
	org := fs.String("org", "", "`ID` of the organization; needed where there are several")
	return func(ctx context.Context, env *Env, _ []string) error {
		u, err := url.Parse(*to)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return usagef("--forward-to must be an http:// or https:// address")
		}
		return withDatabase(ctx, env, func(d *database) error {
			id, err := theOrg(ctx, d, *org)
			if err != nil {
				return err
			}
			f := forwarder{env: env, d: d, org: id, to: *to, secret: webhook.SecretOf(d.keeper.ListenKey(id))}
			return f.run(ctx)
		})
	}
}

// theOrg returns the organization with the given id, or the only one where none is given.
func theOrg(ctx context.Context, d *database, given string) (string, error) {
	all, err := queries.OrganizationList(ctx, d.pool)
	if err != nil {
		return "", err
	}
	for _, o := range all {
		if o.ID == given || given == "" && len(all) == 1 {
			return o.ID, nil
		}
	}
	if given == "" {
		return "", usagef("there are %d organizations: choose one with --org", len(all))
	}
	return "", fmt.Errorf("there is no organization %q", given)
}

// forwarder sends the events of one organization to one address. Its state is in memory: a new
// start begins with what happens then.
type forwarder struct {
	env             *Env
	d               *database
	org, to, secret string
	seq             int64 // of the last event that was sent
	away            bool  // the database did not answer the last time
}

// run forwards the events from now on, in their order, until ctx ends. Errors of the database
// are waited out, those of the address are printed.
func (f *forwarder) run(ctx context.Context) error {
	now, err := event.ReadHorizon(ctx, f.d.pool)
	if err != nil {
		return err
	}
	// What happened before the start is not forwarded.
	f.seq = now.Lowest() - 1
	fmt.Fprintf(f.env.Out, "Events of %s go to %s, signed with %s\n", f.org, f.to, f.secret)
	// A plain dialer in place of the guard: the developer's own machine is a private address.
	client := webhook.NewClient(f.d.config.ServiceName, (&net.Dialer{}).DialContext)
	defer client.Close()
	for {
		wait := listenPoll
		rows, err := f.next(ctx)
		if f.heard(err); err != nil {
			wait = listenRetry
		}
		for _, e := range rows {
			f.forward(ctx, client, e)
			f.seq = e.Seq
		}
		// There may be more than one page; a wait is for when there is none.
		if len(rows) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// heard prints once that the database has gone, as it does while its server restarts, and once
// that it is back. No event is lost meanwhile: the number of the last one is remembered.
func (f *forwarder) heard(err error) {
	switch {
	case err != nil && !f.away && !errors.Is(err, context.Canceled):
		fmt.Fprintln(f.env.Err, "The database is away; waiting for it:", err)
		f.away = true
	case err == nil && f.away:
		fmt.Fprintln(f.env.Err, "The database is back.")
		f.away = false
	}
}

// next returns the events after the last one, up to the first number that an open
// transaction may still fill: an event that commits late must not be skipped.
func (f *forwarder) next(ctx context.Context) ([]db.EventsSinceRow, error) {
	now, err := event.ReadHorizon(ctx, f.d.pool)
	if err != nil {
		return nil, err
	}
	return queries.EventsSince(ctx, f.d.pool, db.EventsSinceParams{
		OrgID: f.org, AfterSeq: f.seq, BeforeSeq: now.Lowest(), Lim: 100,
	})
}

// forward sends one event and prints its type, id, status and time. It does not
// retry: the developer sees the failure.
func (f *forwarder) forward(ctx context.Context, client *webhook.Client, e db.EventsSinceRow) {
	o := client.Send(ctx, webhook.Message{
		URL: f.to, EventID: e.ID, DeliveryID: ident.New(ident.Delivery), Type: e.Type, RequestID: e.RequestID, Attempt: 1,
		Body: []byte(e.Body), Secrets: []string{f.secret},
	}, f.env.Clock.Now().Time)
	status := fmt.Sprint(o.Code)
	if o.Code == 0 {
		status = o.Err
	}
	fmt.Fprintf(f.env.Out, "%-28s %s  %s  %d ms\n", e.Type, e.ID, status, o.Took.Milliseconds())
}
