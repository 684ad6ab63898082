// Package event writes events: one row each, with the exact bytes to sign and send, in the transaction of the
// change.
package event

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
)

// Recorder collects the events of one transaction, in order.
type Recorder struct {
	RequestID string // req_ of the API call or run_ of the job, or ""
	Now       clock.Time
	rows      db.EventsInsertParams
	err       error
}

// Subject is the object of an event.
type Subject struct {
	ProgramID string
	PartnerID string // "" for an event of no partner
	ID        string // the changed object
}

// envelope is the body of an event. Its members are in the order of the contract.
type envelope struct {
	ID        string     `json:"id"`
	Type      string     `json:"type"`
	CreatedAt clock.Time `json:"created_at"`
	Data      any        `json:"data"`
	Request   request    `json:"request"`
}

// request names the API call or job run that caused the event.
type request struct {
	ID *string `json:"id"`
}

// Record collects an event of an organization until Flush, and also keeps an error until then. It drops events
// about sample rows.
func (r *Recorder) Record(orgID string, about Subject, e events.Event) {
	if r.err != nil || ident.IsSample(about.ProgramID) {
		return
	}
	id, kind := ident.New(ident.Event), string(e.Type())
	body, partnerBody, err := r.bodies(id, kind, e.Data())
	if err != nil {
		r.err = fmt.Errorf("event %s: %w", kind, err)
		return
	}
	r.rows.Ids = append(r.rows.Ids, id)
	r.rows.OrgIds = append(r.rows.OrgIds, orgID)
	r.rows.ProgramIds = append(r.rows.ProgramIds, about.ProgramID)
	r.rows.Types = append(r.rows.Types, kind)
	r.rows.PartnerIds = append(r.rows.PartnerIds, about.PartnerID)
	r.rows.SubjectIds = append(r.rows.SubjectIds, about.ID)
	r.rows.Bodies = append(r.rows.Bodies, body)
	r.rows.PartnerBodies = append(r.rows.PartnerBodies, partnerBody)
	r.rows.RequestIds = append(r.rows.RequestIds, r.RequestID)
	r.rows.CreatedAts = append(r.rows.CreatedAts, r.Now)
	if PartnerVisible(kind) {
		r.rows.PartnerTypes = append(r.rows.PartnerTypes, kind)
	}
}

// bodies returns the body of an event, and the body for partners if that differs, else "".
func (r *Recorder) bodies(id, kind string, data any) (body, partnerBody string, err error) {
	e := envelope{ID: id, Type: kind, CreatedAt: r.Now, Data: data, Request: request{ID: opt.OrNil(r.RequestID)}}
	if body, err = e.encode(); err != nil || !hides(kind) {
		return body, "", err
	}
	whole, err := plain(data)
	if err != nil {
		return "", "", err
	}
	if e.Data, err = ForPartner(kind, whole); err != nil {
		return "", "", err
	}
	partnerBody, err = e.encode()
	return body, partnerBody, err
}

// Flush writes the collected events with one statement.
func (r *Recorder) Flush(ctx context.Context, tx pgtx.DBTX) error {
	if r.err != nil || len(r.rows.Ids) == 0 {
		return r.err
	}
	return db.New().EventsInsert(ctx, tx, r.rows)
}

// IDs returns the ids of the collected events, in order.
func (r *Recorder) IDs() []string { return r.rows.Ids }

// Types returns the types of the collected events, in order.
func (r *Recorder) Types() []string { return r.rows.Types }

// Len returns the number of collected events.
func (r *Recorder) Len() int { return len(r.rows.Ids) }

// encode returns the exact bytes to sign and send.
func (e envelope) encode() (string, error) {
	b, err := plain(e)
	return string(b), err
}

// plain encodes JSON without HTML escapes and without a trailing newline.
func plain(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
