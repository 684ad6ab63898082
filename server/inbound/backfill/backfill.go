// Package backfill asks Stripe's API what has happened, and has the inbox take what it did
// not get: before a connection was made, or while nothing reached the server. What is
// missing goes the way of every event, so that it is recorded once, beside live events
// and however often it is read again.
//
// Events reach back 30 days, under their own ids. What is older is read from the objects
// that are left of it (checkouts, paid invoices, refunds, disputes), under ids that are
// made of theirs.
package backfill

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/connection"
	"rail/server/inbound/inbox"
	"rail/server/inbound/stripe/client"
)

var queries = db.New()

// Backfill reads what has happened.
type Backfill struct {
	Box    inbox.Box
	Worker inbox.Worker
	Stripe string // where Stripe's API is asked; "" for its own address
	// Say is told how far it is; nil for nobody.
	Say func(format string, args ...any)
}

// Report is what was found about one connection.
type Report struct {
	ConnectionID string     `json:"connection_id"`
	ProgramID    string     `json:"program_id"`
	Skipped      string     `json:"skipped,omitempty"` // why nothing was read
	Since        clock.Time `json:"since"`
	Until        clock.Time `json:"until"` // all before it was read
	Seen         int64      `json:"seen"`
	Known        int64      `json:"known"`
	Missing      int64      `json:"missing"` // what became of them:
	Recorded     int64      `json:"recorded"`
	Ignored      int64      `json:"ignored"`
	Waiting      int64      `json:"waiting"`
	Failed       int64      `json:"failed"`
	Different    int64      `json:"different"` // recorded before, with another amount
	// Differences are what was missing and is of use, and what is different.
	Differences []Difference `json:"differences"`
	LeftOut     int64        `json:"differences_left_out"`
}

// Difference is one event that was missing, or whose amount is another here.
type Difference struct {
	Kind            string  `json:"kind"` // missing, amount or refunded
	ExternalEventID string  `json:"external_event_id"`
	Type            string  `json:"type"`
	Charge          string  `json:"external_charge_id,omitempty"`
	SaleID          *string `json:"sale_id"`
	Status          string  `json:"status,omitempty"`
	ReasonCode      *string `json:"reason_code"`
	ThereMinor      *int64  `json:"there_minor"`
	HereMinor       *int64  `json:"here_minor"`
}

// maxDifferences bounds the list of a report.
const maxDifferences = 1000

func (r *Report) add(d Difference) {
	if len(r.Differences) == maxDifferences {
		r.LeftOut++
		return
	}
	r.Differences = append(r.Differences, d)
}

const (
	// eventDays is how long Stripe lists events, less one for what moves meanwhile.
	eventDays = 29
	// window is how many days are read at a time, the oldest first: a run that was ended
	// goes on where a window began.
	window = 7
)

// run is the reading of one connection.
type run struct {
	Backfill
	c      db.ProcessorConnection
	api    *client.Client
	report Report
}

// Run reads what happened at a connection's processor from since to until. With an error,
// the report says until when all was read.
func (b Backfill) Run(ctx context.Context, c db.ProcessorConnection, since, until clock.Time) (Report, error) {
	r := &run{Backfill: b, c: c, report: Report{
		ConnectionID: c.ID, ProgramID: c.ProgramID, Since: since, Until: since, Differences: []Difference{},
	}}
	switch {
	case c.Processor != connection.Stripe:
		r.report.Skipped = "only Stripe is asked"
	case c.Status != db.ConnectionStatusActive:
		r.report.Skipped = "the connection has ended"
	case len(c.APIKey) == 0:
		r.report.Skipped = "the connection has no API key"
	default:
		return r.read(ctx, until)
	}
	return r.report, nil
}

// read reads window by window: what lies more than 30 days back in objects, then events.
func (r *run) read(ctx context.Context, until clock.Time) (Report, error) {
	key, err := connection.Service{Keeper: r.Box.Keeper}.Key(r.c)
	if err != nil {
		return r.report, err
	}
	r.api = client.New(key, r.Stripe)
	listed := r.Box.Clock.Now().Days(-eventDays)
	for r.report.Until.Before(until.Time) {
		from, to, sources := r.report.Until, r.report.Until.Days(window), objects
		switch {
		case !from.Before(listed.Time):
			sources = events
		case listed.Before(to.Time):
			to = listed
		}
		if until.Before(to.Time) {
			to = until
		}
		for _, s := range sources {
			if s.outside && !r.c.OutsideCheckout {
				continue
			}
			if err := r.each(ctx, s, from, to); err != nil {
				return r.report, err
			}
		}
		r.report.Until = to
	}
	return r.report, nil
}

// each takes the pages of one source.
func (r *run) each(ctx context.Context, s source, from, to clock.Time) error {
	return r.api.Each(ctx, s.path, s.filter(from, to), func(page []json.RawMessage) error {
		var all []happened
		for _, object := range page {
			if h, ok := s.event(object, r.c.Livemode); ok {
				all = append(all, h)
			}
		}
		err := r.take(ctx, all)
		if r.Say != nil {
			r.Say("%s from %s: %d seen, %d missing", r.c.ID, from.Format(time.DateOnly), r.report.Seen, r.report.Missing)
		}
		return err
	})
}

// take has the inbox take what of a page it has not, the oldest first, and notes what
// became of it.
func (r *run) take(ctx context.Context, page []happened) error {
	slices.Reverse(page)
	r.report.Seen += int64(len(page))
	known, err := r.outcomes(ctx, page)
	if err != nil {
		return err
	}
	var missing []happened
	for _, h := range page {
		_, stored := known[h.ID]
		is, err := r.compare(ctx, h, stored)
		if err != nil {
			return err
		}
		if is {
			r.report.Known++
			continue
		}
		if err := r.Box.Store(ctx, r.c, h.body); err != nil {
			return err
		}
		missing = append(missing, h)
	}
	if len(missing) == 0 {
		return nil
	}
	r.report.Missing += int64(len(missing))
	return r.work(ctx, missing)
}

const (
	// patience is how often it is looked whether another server has worked what it took.
	patience = 100
	pause    = 100 * time.Millisecond
)

// work has what was missing worked, by this process or a server that was faster.
func (r *run) work(ctx context.Context, missing []happened) error {
	for n := 0; ; n++ {
		if err := r.Worker.Run(ctx, r.Worker.Clock.Now()); err != nil {
			return err
		}
		became, err := r.outcomes(ctx, missing)
		if err != nil {
			return err
		}
		pending := slices.ContainsFunc(missing, func(h happened) bool { return became[h.ID].Status == db.InboxStatusPending })
		if !pending || n == patience {
			r.note(missing, became)
			return nil
		}
		if err := clock.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

// note counts what became of missing events.
func (r *run) note(missing []happened, became map[string]db.InboxOutcomesRow) {
	for _, h := range missing {
		o := became[h.ID]
		switch o.Status {
		case db.InboxStatusRecorded:
			r.report.Recorded++
		case db.InboxStatusIgnored:
			r.report.Ignored++
			if o.ReasonCode == nil || *o.ReasonCode != "no_partner" {
				continue // it says nothing new
			}
		case db.InboxStatusFailed:
			r.report.Failed++
		default:
			r.report.Waiting++
		}
		r.report.add(Difference{
			Kind: "missing", ExternalEventID: h.ID, Type: h.Type, Charge: h.link().Charge, SaleID: o.SaleID,
			Status: string(o.Status), ReasonCode: o.ReasonCode, ThereMinor: h.amount(),
		})
	}
}

// outcomes returns what became of those events of a page that the inbox has.
func (r *run) outcomes(ctx context.Context, page []happened) (map[string]db.InboxOutcomesRow, error) {
	ids := make([]string, len(page))
	for i, h := range page {
		ids[i] = h.ID
	}
	rows, err := queries.InboxOutcomes(ctx, r.Box.Pool, db.InboxOutcomesParams{
		ProgramID: r.c.ProgramID, OrgID: r.c.OrgID, ConnectionID: r.c.ID, ExternalEventIds: ids,
	})
	all := map[string]db.InboxOutcomesRow{}
	for _, row := range rows {
		all[row.ExternalEventID] = row
	}
	return all, err
}
