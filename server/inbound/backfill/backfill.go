// Package backfill reads past events from Stripe's API and stores the missing ones in the inbox: from before
// a connection was made, or while the server was unreachable. The inbox handles missing events like live ones,
// so each is recorded once, however often a backfill runs.
//
// Stripe lists events for 30 days, under their own ids. Older ones are reconstructed from remaining objects
// (checkouts, paid invoices, refunds, disputes), with ids derived from the objects' ids.
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

// Backfill reads past events.
type Backfill struct {
	Box    inbox.Box
	Worker inbox.Worker
	Stripe string // address of Stripe's API; "" for the default
	// Say, if not nil, reports progress.
	Say func(format string, args ...any)
}

// Report is the result for one connection.
type Report struct {
	ConnectionID string     `json:"connection_id"`
	ProgramID    string     `json:"program_id"`
	Skipped      string     `json:"skipped,omitempty"` // why nothing was read
	Since        clock.Time `json:"since"`
	Until        clock.Time `json:"until"` // everything before this was read
	Seen         int64      `json:"seen"`
	Known        int64      `json:"known"`
	Missing      int64      `json:"missing"` // results of the missing events:
	Recorded     int64      `json:"recorded"`
	Ignored      int64      `json:"ignored"`
	Waiting      int64      `json:"waiting"`
	Failed       int64      `json:"failed"`
	Different    int64      `json:"different"` // recorded before, with another amount
	// Differences lists missing events that matter, and events with another amount.
	Differences []Difference `json:"differences"`
	LeftOut     int64        `json:"differences_left_out"`
}

// Difference is a missing event, or one with another amount.
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

// maxDifferences bounds the differences of a report.
const maxDifferences = 1000

func (r *Report) add(d Difference) {
	if len(r.Differences) == maxDifferences {
		r.LeftOut++
		return
	}
	r.Differences = append(r.Differences, d)
}

const (
	// eventDays is how long Stripe lists events, less a day for the duration of the run.
	eventDays = 29
	// window is the number of days read at a time, oldest first: an interrupted run resumes at the start of a window.
	window = 7
)

// run is the backfill of one connection.
type run struct {
	Backfill
	c      db.ProcessorConnection
	api    *client.Client
	report Report
}

// Run reads events of a connection's processor from since to until. With an error, the report tells until when
// everything was read.
func (b Backfill) Run(ctx context.Context, c db.ProcessorConnection, since, until clock.Time) (Report, error) {
	r := &run{Backfill: b, c: c, report: Report{
		ConnectionID: c.ID, ProgramID: c.ProgramID, Since: since, Until: since, Differences: []Difference{},
	}}
	switch {
	case c.Processor != connection.Stripe:
		r.report.Skipped = "only Stripe is supported"
	case c.Status != db.ConnectionStatusActive:
		r.report.Skipped = "the connection has ended"
	case len(c.APIKey) == 0:
		r.report.Skipped = "the connection has no API key"
	default:
		return r.read(ctx, until)
	}
	return r.report, nil
}

// read reads window by window: for times more than 30 days ago from objects, then from events.
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

// each reads the pages of one source.
func (r *run) each(ctx context.Context, s source, from, to clock.Time) error {
	return r.api.Each(ctx, s.path, s.filter(from, to), func(page []json.RawMessage) error {
		var all []pastEvent
		for _, object := range page {
			if h, ok := s.event(object, r.c.Livemode); ok && h.counts(r.c.OutsideCheckout) {
				all = append(all, h)
			}
		}
		err := r.store(ctx, all)
		if r.Say != nil {
			r.Say("%s from %s: %d seen, %d missing", r.c.ID, from.Format(time.DateOnly), r.report.Seen, r.report.Missing)
		}
		return err
	})
}

// store stores the missing events of a page in the inbox, oldest first, and notes their outcomes.
func (r *run) store(ctx context.Context, page []pastEvent) error {
	slices.Reverse(page)
	r.report.Seen += int64(len(page))
	outcomes, err := r.outcomes(ctx, page)
	if err != nil {
		return err
	}
	var missing []pastEvent
	for _, h := range page {
		_, stored := outcomes[h.ID]
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
	// maxPolls is the number of polls for another server's outcome.
	maxPolls = 100
	pause    = 100 * time.Millisecond
)

// work processes missing events, or waits for another server that was faster.
func (r *run) work(ctx context.Context, missing []pastEvent) error {
	for n := 0; ; n++ {
		if err := r.Worker.Run(ctx, r.Worker.Clock.Now()); err != nil {
			return err
		}
		became, err := r.outcomes(ctx, missing)
		if err != nil {
			return err
		}
		pending := slices.ContainsFunc(missing, func(h pastEvent) bool {
			return became[h.ID].Status == db.InboxStatusPending
		})
		if !pending || n == maxPolls {
			r.note(missing, became)
			return nil
		}
		if err := clock.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

// note counts the outcomes of missing events.
func (r *run) note(missing []pastEvent, became map[string]db.InboxOutcomesRow) {
	for _, h := range missing {
		o := became[h.ID]
		switch o.Status {
		case db.InboxStatusRecorded:
			r.report.Recorded++
		case db.InboxStatusIgnored:
			r.report.Ignored++
			if o.ReasonCode == nil || *o.ReasonCode != "no_partner" {
				continue // it adds nothing
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

// outcomes returns the outcomes of a page's events that the inbox has.
func (r *run) outcomes(ctx context.Context, page []pastEvent) (map[string]db.InboxOutcomesRow, error) {
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
