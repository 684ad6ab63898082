package console

import (
	"bytes"
	"encoding/json"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/opt"
)

var inboxRoutes = map[string]route{
	"GET /console/p/{program}/integrations/events":               {Do: inbox},
	"GET /console/p/{program}/integrations/events.csv":           {Do: inboxTable},
	"GET /console/p/{program}/integrations/events/{id}":          {Do: inboxEvent},
	"POST /console/p/{program}/integrations/events/{id}/replay":  {Do: replayInboxEvent},
	"POST /console/p/{program}/integrations/events/{id}/resolve": {Do: resolveInboxEvent},
	"POST /console/p/{program}/integrations/events/{id}/payer":   {Do: namePayer},
}

// inboxFilters are the filters of the event log.
var inboxFilters = []string{"status", "reason_code", "connection_id", "type", "external_event_id"}

// statuses are the statuses of events, for the filter.
var statuses = []site.Option{
	{Label: "All"}, {Value: "recorded", Label: "Recorded"}, {Value: "ignored", Label: "Ignored"},
	{Value: "waiting", Label: "Waiting"}, {Value: "failed", Label: "Failed"}, {Value: "pending", Label: "Not worked yet"},
}

// reasons are those of events that came to nothing which people look for.
var reasons = []string{
	"no_partner", "unknown_customer", "unknown_sale", "already_recorded", "recorded_twice", "outside_checkout", "opted_out",
	"test_event", "live_event", "not_used", "no_money_moved", "not_final", "refund_failed", "nothing_taken", "malformed", "error",
}

// inboxData holds the data of the event log.
type inboxData struct {
	site.Listing

	Tabs        site.Tabs
	Statuses    []site.Option
	Reasons     []site.Option
	Connections []site.Option
	Waiting     api.ProgramWaiting
}

// inbox shows what processors sent, and what became of it.
func inbox(v *visit) error {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	params := &api.ListInboxEventsParams{
		ProgramID: v.program.ID, StartingAfter: turn.After, EndingBefore: turn.Before,
		ConnectionID: v.param("connection_id"), Type: v.param("type"), ExternalEventID: v.param("external_event_id"),
		ReasonCode: v.param("reason_code"),
	}
	if status := v.param("status"); status != nil {
		params.Status = []api.InboxEventStatus{api.InboxEventStatus(*status)}
	}
	reply, err := v.console.api.ListInboxEventsWithResponse(v.Ctx(), params)
	if err != nil {
		return err
	}
	connections, err := v.connections()
	if err != nil {
		return err
	}
	status, err := v.console.api.RetrieveProgramStatusWithResponse(v.Ctx(), v.program.ID, nil)
	if err != nil {
		return err
	}
	list := reply.JSON200
	found := pageOf(list.Data, list.HasMore, list.TotalCount)
	return v.show(sheet{"inbox", "/integrations", "Event log", inboxData{
		Listing: site.Listed(v.Request().URL, turn, found, func(e api.InboxEvent) string { return e.ID }, list.Data),
		Tabs:    v.integrationTabs(true), Statuses: statuses, Reasons: listed(reasons...),
		Connections: v.connectionChoices(connections), Waiting: status.JSON200.Waiting,
	}})
}

// param is a parameter of the page's address; nil where it says nothing.
func (v *visit) param(name string) *string { return opt.OrNil(cleaned(v.QueryParam(name))) }

// connectionChoices are connections to choose from, the first of them all.
func (v *visit) connectionChoices(connections []api.ProcessorConnection) []site.Option {
	out := []site.Option{{Label: "All"}}
	for _, c := range connections {
		label := site.Words(string(c.Processor), vocabulary) + " since " + v.Locale.Day(c.CreatedAt.Time)
		if !c.Livemode {
			label += ", test"
		}
		out = append(out, site.Option{Value: c.ID, Label: label})
	}
	return out
}

func inboxTable(v *visit) error {
	query := v.query(inboxFilters...)
	query.Set("program_id", v.program.ID)
	return v.fileOf("listInboxEvents", "processor-events", query, []field{
		timeField("Received", "received_at"),
		wordField("Processor", "processor"),
		plainField("Event", "type"),
		wordField("Result", "status"),
		plainField("Why", "reason"),
		yesField("Live", "livemode"),
		plainField("Customer at the processor", "external_customer_id"),
		plainField("ID at the processor", "external_event_id"),
		plainField("Customer ID", "customer_id"),
		plainField("Sale ID", "sale_id"),
		rowID,
	})
}

// inboxEvent shows one event with its body.
func inboxEvent(v *visit) error {
	e, err := v.inboxEvent()
	if err != nil {
		return err
	}
	return v.show(sheet{"inbox-event", "/integrations", "An event", struct {
		api.InboxEvent

		Sent         string
		RefundFailed bool
	}{e, indented(e.Payload), opt.Value(e.ReasonCode) == "refund_failed"}})
}

// inboxEvent is that of the page's address, which must be of the page's program.
func (v *visit) inboxEvent() (api.InboxEvent, error) {
	reply, err := v.console.api.RetrieveInboxEventWithResponse(v.Ctx(), v.PathValue("id"), &api.RetrieveInboxEventParams{
		Include: api.InboxEventIncludeParam{api.InboxEventIncludePayload}, ProgramID: &v.program.ID,
	})
	if err != nil {
		return api.InboxEvent{}, err
	}
	return *reply.JSON200, nil
}

// namePayer says whose payment an event is: of a customer who gets the processor's id, or of
// a new customer of a partner. The event is then worked again.
func namePayer(v *visit) error {
	e, err := v.inboxEvent()
	if err != nil {
		return err
	}
	if e.ExternalCustomerID == nil {
		return v.done(v.at("/integrations/events/"+e.ID), "The event names no customer.")
	}
	body := map[string]any{"external_customer_id": *e.ExternalCustomerID}
	if text := v.value("customer"); text != "" {
		k, err := v.whichCustomer(text)
		if err == nil {
			err = v.send("attachExternalID", body, nil, k.ID)
		}
		if err != nil {
			return v.again(err, inboxEvent)
		}
		return v.done(v.at("/customers/"+k.ID), "The payment counts for this customer within a moment.")
	}
	p, err := v.whichPartner(v.value("partner"))
	if err != nil {
		return v.again(err, inboxEvent)
	}
	body["program_id"], body["partner_id"] = v.program.ID, p.ID
	if err := v.send("createCustomer", body, nil); err != nil {
		return v.again(err, inboxEvent)
	}
	return v.done(v.at("/integrations/events/"+e.ID), "The payment counts for "+nameOf(p)+" within a moment.")
}

// maxSent is the number of shown bytes of an event, which keeps a page below 40 kB.
const maxSent = 16_000

// indented is JSON for people, as far as it is shown; "" for none.
func indented(raw []byte) string {
	var b bytes.Buffer
	if len(raw) == 0 || string(raw) == "null" || json.Indent(&b, raw, "", "  ") != nil {
		return ""
	}
	if b.Len() > maxSent {
		b.Truncate(maxSent)
		b.WriteString("\n… The rest is in the API’s answer.")
	}
	return b.String()
}

// replayInboxEvent has an event worked again.
func replayInboxEvent(v *visit) error {
	e, err := v.inboxEvent()
	if err != nil {
		return err
	}
	if err := v.send("replayInboxEvent", nil, nil, e.ID); err != nil {
		return v.again(err, inboxEvent)
	}
	return v.done(v.at("/integrations/events/"+e.ID), "The event is worked again. Load this page to see what became of it.")
}

// resolveInboxEvent restores what a failed refund took.
func resolveInboxEvent(v *visit) error {
	e, err := v.inboxEvent()
	if err != nil {
		return err
	}
	if err := v.send("resolveInboxEvent", nil, nil, e.ID); err != nil {
		return v.again(err, inboxEvent)
	}
	return v.done(v.at("/integrations/events/"+e.ID), "The sale counts again, and the partner has the commission back.")
}

// eventSubject has the pages of the customer and the sale of an event; "" for none.
type eventSubject struct{ Customer, Sale string }

// EventSubject returns the customer and sale of an event.
func (f frame) EventSubject(e api.InboxEvent) eventSubject {
	var subject eventSubject
	if e.CustomerID != nil {
		subject.Customer = f.at("/customers/" + *e.CustomerID)
	}
	if e.SaleID != nil {
		subject.Sale = f.at("/sales/" + *e.SaleID)
	}
	return subject
}

// Filtered reports whether the page's address asks for a part of a list.
func (f frame) Filtered() bool { return f.Request().URL.RawQuery != "" }
