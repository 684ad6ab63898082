package console

import (
	"strings"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/inbound/connection"
	"rail/server/inbound/stripesetup"
	"rail/server/problem"
)

var connectionRoutes = map[string]route{
	"GET /console/p/{program}/integrations/connections/{id}":             {Do: guidedConnection},
	"POST /console/p/{program}/integrations/connections/{id}":            {Do: completeConnection},
	"GET /console/p/{program}/integrations/connections/{id}/state":       {Do: connectionState},
	"POST /console/p/{program}/integrations/connections/{id}/check":      {Do: checkProcessor},
	"POST /console/p/{program}/integrations/connections/{id}/disconnect": {Do: disconnectProcessor},
}

// connectionData holds the data of the page that leads through a connection.
type connectionData struct {
	processorKind
	progress

	URL, Guide string
	Types      []string // of the events to select
	Test       bool
	Pending    bool // the connection can still be changed
	KeyGiven   bool // Rail has created the endpoint itself
	// Signing is the secret that Rail made, until the first event; User is its part before the password.
	Signing, User                 string
	RecordDirect, OutsideCheckout bool
	Replaces                      *clock.Time // since when the connection to replace exists; nil for none
}

// progress is the state of a connection's setup.
type progress struct {
	ID        string
	HasSecret bool
	Connected bool // an event of the connection's mode has arrived
	Ended     bool
	Last      *api.InboxEvent
	First     bool   // Last is the only event
	Ago       string // since the last event
	WrongMode bool   // Last is a test event of a live connection, or the reverse
	Log       string // the address of the event log
}

// guidedConnection leads through a connection: the address, the secret, and the first event.
func guidedConnection(v *visit) error {
	c, err := v.connected()
	if err != nil {
		return err
	}
	return v.guide(c)
}

// guide shows the page of a connection.
func (v *visit) guide(c db.ProcessorConnection) error {
	kind, err := kindOf(c.Processor)
	if err != nil {
		return err
	}
	data := connectionData{
		processorKind: kind, URL: v.console.Processors.URL(c), Guide: guide, Types: stripesetup.Events(c.Processor),
		Test: !c.Livemode, Pending: c.Status == db.ConnectionStatusPending, KeyGiven: c.APIKey != nil,
		RecordDirect: c.RecordDirect, OutsideCheckout: c.OutsideCheckout,
	}
	if data.Test && kind.TestSite != "" {
		data.Site = kind.TestSite
	}
	if data.progress, err = v.progressOf(c); err != nil {
		return err
	}
	if data.Pending {
		if err := v.fillPending(&data, c); err != nil {
			return err
		}
	}
	title := "Connect " + site.Words(kind.Processor, vocabulary)
	if data.Connected {
		title = site.Words(kind.Processor, vocabulary)
	}
	return v.show(sheet{"connect", "/integrations", title, data})
}

// fillPending adds the secret of a pending connection, if Rail made it, and the connection to replace.
func (v *visit) fillPending(data *connectionData, c db.ProcessorConnection) error {
	if data.Makes {
		signing, err := connection.Service{Keeper: v.console.Keeper}.Secret(c)
		if err != nil {
			return err
		}
		data.Signing = signing
		if data.Login {
			data.User, data.Signing, _ = strings.Cut(signing, ":")
		}
	}
	connections, err := v.connections()
	for _, other := range connections {
		if string(other.Processor) == c.Processor && other.Livemode == c.Livemode &&
			other.Status == api.ProcessorConnectionStatusActive {
			data.Replaces = &other.CreatedAt
		}
	}
	return err
}

// progressOf reads how far a connection is.
func (v *visit) progressOf(c db.ProcessorConnection) (progress, error) {
	p := progress{
		ID: c.ID, HasSecret: c.Secret != nil, Ended: c.Status == db.ConnectionStatusDisconnected,
		Connected: c.Status == db.ConnectionStatusActive && c.LastEventAt != nil, Log: v.at("/integrations/events"),
	}
	if c.LastEventAt == nil {
		return p, nil
	}
	p.Ago = v.ago(*c.LastEventAt)
	reply, err := v.console.api.ListInboxEventsWithResponse(v.Ctx(), &api.ListInboxEventsParams{
		ProgramID: v.program.ID, ConnectionID: &c.ID, Limit: new(int64(1)),
	})
	if err != nil {
		return p, err
	}
	if list := reply.JSON200; len(list.Data) > 0 {
		p.Last, p.First = &list.Data[0], list.TotalCount == 1
		p.WrongMode = p.Last.Livemode != c.Livemode
	}
	return p, nil
}

// ago returns the time since a moment in words, or its date if that is a day or more.
func (v *visit) ago(at clock.Time) string {
	switch d := v.console.Clock.Now().Sub(at.Time); {
	case d < 2*time.Second:
		return "just now"
	case d < time.Minute:
		return v.Locale.Count(int64(d/time.Second)) + " s ago"
	case d < time.Hour:
		return v.Locale.Count(int64(d/time.Minute)) + " min ago"
	case d < 24*time.Hour:
		return v.Locale.Count(int64(d/time.Hour)) + " h ago"
	default:
		return "on " + v.Locale.Day(at.Time)
	}
}

// connectionState answers the part of the page that the script asks for again and again.
func connectionState(v *visit) error {
	c, err := v.connected()
	if err != nil {
		return err
	}
	p, err := v.progressOf(c)
	if err != nil {
		return err
	}
	return v.part("connection-state", connectionData{progress: p, processorKind: processorKind{Processor: c.Processor}})
}

// completeConnection stores the secret, the key and the options of a pending connection.
func completeConnection(v *visit) error {
	c, err := v.connected()
	if err != nil {
		return err
	}
	return v.complete(c)
}

// complete stores the form of a pending connection.
func (v *visit) complete(c db.ProcessorConnection) error {
	kind, err := kindOf(c.Processor)
	if err != nil {
		return err
	}
	in := connection.Input{
		Secret: v.value("secret"), RecordDirect: v.value("record_direct") != "",
		OutsideCheckout: v.value("outside_checkout") != "",
	}
	if kind.Key {
		in.APIKey = v.value("api_key")
	}
	connected, err := v.console.Processors.Complete(v.Ctx(), v.unit(), c, in)
	if err != nil {
		return v.again(unconnected(err), func(v *visit) error { return v.guide(c) })
	}
	notice := "Saved."
	switch {
	case connected.EndpointErr != nil:
		notice = "Rail has created the endpoint. The endpoint of the connection before still exists at Stripe: delete it there."
	case in.APIKey != "" && in.Secret == "":
		notice = "Rail has created the endpoint at Stripe."
	}
	return v.done(v.at("/integrations/connections/"+c.ID), notice)
}

// checkProcessor looks whether a connection can record payments.
func checkProcessor(v *visit) error {
	c, err := v.connected()
	if err != nil {
		return err
	}
	name := site.Words(c.Processor, vocabulary)
	if err := v.console.Processors.Check(v.Ctx(), c); err != nil {
		return v.again(problem.New(problem.ParameterInvalid, "%s: %s.", name, err), guidedConnection)
	}
	notice := name + " can send, but nothing came yet."
	if c.LastEventAt != nil {
		notice = name + " can send. Its last event came " + v.ago(*c.LastEventAt) + "."
	}
	return v.done(v.at("/integrations/connections/"+c.ID), notice)
}

// disconnectProcessor ends a connection, or deletes a pending one.
func disconnectProcessor(v *visit) error {
	c, err := v.connected()
	if err != nil {
		return err
	}
	left, err := v.console.Processors.Disconnect(v.Ctx(), v.unit(), c)
	if err != nil {
		return err
	}
	name := site.Words(c.Processor, vocabulary)
	if c.Status == db.ConnectionStatusPending {
		return v.done(v.at("/integrations"), "The connection to "+name+" is deleted before its first event.")
	}
	notice := name + " is disconnected. Events received before are still processed."
	if left != nil {
		notice += " Its endpoint still exists at Stripe: delete it there."
	}
	return v.done(v.at("/integrations"), notice)
}
