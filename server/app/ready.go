package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"rail/server/http/docs/pages"
	"rail/server/postgres/migrate"
	"rail/server/postgres/shortage"
)

// ready reports whether requests can be answered: the database is reachable, and its version serves this binary.
// Anyone can read the reasons, so they contain nothing about the connection.
//
// Concurrent callers share one query, since probes are not rate limited.
func ready(pool *pgxpool.Pool) pages.Ready {
	var asking singleflight.Group
	return func(ctx context.Context) error {
		_, err, _ := asking.Do("", func() (any, error) { return nil, migrate.Serves(ctx, pool) })
		if err == nil || schemaOf(err) {
			return err
		}
		return errors.New("the database is unreachable or has no tables")
	}
}

// schemaOf reports whether an error means that the database is reachable, at a version that does not serve this
// binary.
func schemaOf(err error) bool {
	return errors.Is(err, migrate.ErrUnreleased) || errors.Is(err, migrate.ErrOlder) ||
		errors.Is(err, migrate.ErrNewer) || errors.Is(err, migrate.ErrDirty)
}

// Work that has waited for longer is a failure, as in the alerts.
const (
	lateWebhook = 5 * time.Minute
	lateMail    = 15 * time.Minute
	lateInbox   = 2 * time.Minute
)

// checks returns the check of all parts of the server. It is public, so it exposes neither errors nor people,
// and only reads cached values.
func (a *App) checks(ready pages.Ready) pages.Checks {
	return func(ctx context.Context) []pages.Check {
		away, schema := ready(ctx), ""
		if schemaOf(away) {
			schema, away = away.Error(), nil
		}
		out := []pages.Check{{Name: "database", Problem: problemOf(away)}, {Name: "schema", Problem: schema}}
		for _, kind := range []shortage.Kind{shortage.Disk, shortage.Memory} {
			out = append(out, pages.Check{Name: string(kind), Problem: a.shortage.Problem(kind)})
		}
		if away == nil {
			out = append(out, a.queues(ctx)...)
		}
		for _, j := range a.jobs {
			late := ""
			if age := a.runner.Late(j); age > 0 {
				late = fmt.Sprintf("no success for %s, every %s", age.Round(time.Second), j.Every)
			}
			out = append(out, pages.Check{Name: "job " + j.Name, Problem: late})
		}
		return out
	}
}

// queues checks the queues.
func (a *App) queues(ctx context.Context) []pages.Check {
	s, err := a.backlog.Read(ctx)
	var out []pages.Check
	for _, q := range []struct {
		name string
		due  float64 // seconds
		most time.Duration
	}{
		{"webhooks", s.DeliveriesDue, lateWebhook}, {"mail", s.MailsDue, lateMail}, {"inbox", s.InboxDue, lateInbox},
	} {
		c := pages.Check{Name: q.name}
		if age := time.Duration(q.due * float64(time.Second)); age > q.most {
			c.Problem = fmt.Sprintf("the oldest due entry has waited for %s", age.Round(time.Second))
		}
		if err != nil {
			c.Problem = "the queues could not be read"
		}
		out = append(out, c)
	}
	server := pages.Check{Name: "mail server"}
	if age := seconds(s.MailFailing); err == nil && age > lateFailing {
		server.Problem = fmt.Sprintf("it has accepted no mail for %s", age.Round(time.Second))
	}
	return append(out, server)
}

// problemOf returns the text of an error, or "".
func problemOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
