package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"rail/server/postgres/migrate"
	"rail/server/telemetry/disk"
	"rail/server/work/backlog"
)

// state is the JSON of rail status. Ages are in seconds, and -1 for never.
type state struct {
	Version           string    `json:"version"`
	Schema            uint      `json:"schema"`
	Latest            uint      `json:"latest"`
	Server            string    `json:"server"` // "ok", or the reason for no answer
	Database          string    `json:"database"`
	DatabaseBytes     int64     `json:"database_bytes"`
	DiskFreeBytes     *uint64   `json:"disk_free_bytes"` // null for an external database
	Webhooks          queue     `json:"webhooks"`
	Mails             queue     `json:"mails"`
	ProcessorEvents   queue     `json:"processor_events"`
	FailedEvents      int64     `json:"failed_processor_events"`
	EndpointsOff      int64     `json:"endpoints_off"`
	EndpointsFailing  int64     `json:"endpoints_failing"`
	MailServerFailing int64     `json:"mail_server_failing"`
	Rails             railState `json:"payout_rails"`
	BackupAge         int64     `json:"backup_age"`
	AuditAge          int64     `json:"audit_age"`

	disk string
}

// queue is a queue's length, counted up to backlog.Most, and the age of its oldest due entry.
type queue struct {
	Waits int64 `json:"waits"`
	Due   int64 `json:"due_for"`
}

// railState is the state of the payout rails. Oldest is the age of the oldest payout that a rail has without an end, and
// Attention the number of payouts that a person should look at.
type railState struct {
	Oldest       int64 `json:"oldest"`
	Attention    int64 `json:"payouts_to_check"`
	Failing      int64 `json:"failing"`
	WithoutFunds int64 `json:"without_funds"`
}

// showStatus prints the state of the service on one screen. It reads the database and asks the local server.
func showStatus(*pflag.FlagSet) action {
	return func(ctx context.Context, env *Env, _ []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			s, err := d.state(ctx, env)
			if err != nil {
				return err
			}
			return env.print(s, s.lines)
		})
	}
}

func (d *database) state(ctx context.Context, env *Env) (s state, err error) {
	b, err := backlog.NewReader(d.pool, env.Clock).Read(ctx)
	if err != nil {
		return s, err
	}
	s = state{
		Version: build(), Server: "ok", Database: "at RAIL_DATABASE_URL", DatabaseBytes: b.Bytes,
		Webhooks:        queue{b.Deliveries, int64(b.DeliveriesDue)},
		Mails:           queue{b.Mails, int64(b.MailsDue)},
		ProcessorEvents: queue{b.Inbox + b.InboxWaiting, int64(b.InboxDue)}, FailedEvents: b.InboxFailed,
		EndpointsOff: b.EndpointsOff, EndpointsFailing: b.EndpointsFailing, MailServerFailing: int64(b.MailFailing),
		Rails: railState{
			Oldest: int64(b.Rails.Oldest), Failing: b.Rails.Failing, WithoutFunds: b.Rails.Poor,
		},
		BackupAge: ageOf(env, b.BackupAt), AuditAge: ageOf(env, b.AuditAt),
	}
	for _, n := range b.Attention {
		s.Rails.Attention += n
	}
	if s.Latest, err = migrate.Latest(); err != nil {
		return s, err
	}
	if s.Schema, _, err = migrate.At(ctx, d.pool); err != nil {
		return s, err
	}
	if d.private() {
		s.Database = "private, in " + d.config.DataDir
		if room, err := disk.Of(d.config.DataDir); err == nil {
			s.DiskFreeBytes, s.disk = &room.Free, fmt.Sprintf("; its disk has %s free", room)
		}
	}
	if at, name, err := ownServer(env); err != nil {
		s.Server = err.Error()
	} else if err := probe(ctx, at+"/readyz", name); err != nil {
		s.Server = err.Error()
	}
	return s, nil
}

// ageOf returns the age of a time, -1 for 0, which means never.
func ageOf(env *Env, at float64) int64 {
	if at == 0 {
		return -1
	}
	return max(0, int64(env.Clock.Now().Sub(time.UnixMilli(int64(at*1000))).Seconds()))
}

// lines returns the state for people.
func (s state) lines() []string {
	due := func(q queue) string {
		out := fmt.Sprintf("%d wait", q.Waits)
		if q.Waits == backlog.Most {
			out = fmt.Sprintf("%d or more wait", q.Waits)
		}
		if q.Due > 0 {
			out += ", the oldest has been due for " + span(q.Due)
		}
		return out
	}
	webhooks, mails, events := due(s.Webhooks), due(s.Mails), due(s.ProcessorEvents)
	if s.EndpointsFailing > 0 || s.EndpointsOff > 0 {
		webhooks += fmt.Sprintf("; endpoints: %d failing, %d off", s.EndpointsFailing, s.EndpointsOff)
	}
	if s.MailServerFailing > 0 {
		mails += "; the mail server has accepted none for " + span(s.MailServerFailing)
	}
	if s.FailedEvents > 0 {
		events += fmt.Sprintf("; %d failed", s.FailedEvents)
	}
	return []string{
		"Version\t" + s.Version,
		"Server\t" + s.Server,
		fmt.Sprintf("Database\t%s, schema %d of %d, %d MB%s", s.Database, s.Schema, s.Latest, s.DatabaseBytes>>20, s.disk),
		"Webhooks\t" + webhooks, "Mails\t" + mails, "Processors\t" + events,
		"Payout rails\t" + s.Rails.line(),
		"Last backup\t" + ago(s.BackupAge), "Last clean audit\t" + ago(s.AuditAge),
	}
}

// line returns the state of the payout rails for people.
func (r railState) line() string {
	out := fmt.Sprintf("%d payouts to check", r.Attention)
	if r.Oldest > 0 {
		out += ", the oldest without an end was sent " + ago(r.Oldest)
	}
	if r.Failing+r.WithoutFunds > 0 {
		out += fmt.Sprintf("; rails: %d failing, %d without funds", r.Failing, r.WithoutFunds)
	}
	return out
}

// span formats seconds for people.
func span(seconds int64) string {
	age := time.Duration(seconds) * time.Second
	if age >= 48*time.Hour {
		return fmt.Sprintf("%d days", int(age.Hours()/24))
	}
	return age.String()
}

func ago(seconds int64) string {
	if seconds < 0 {
		return "never"
	}
	return span(seconds) + " ago"
}
