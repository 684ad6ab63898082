package console

import (
	"slices"
	"strings"
	"time"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/outbound/webhook"
	"rail/server/problem"
)

var deliveryRoutes = map[string]route{
	"GET /console/p/{program}/webhooks/{id}/deliveries.csv":                {Do: deliveryTable},
	"GET /console/p/{program}/webhooks/{id}/deliveries/{delivery}":         {Do: delivery},
	"POST /console/p/{program}/webhooks/{id}/deliveries/{delivery}/replay": {Do: replayDelivery},
	"POST /console/p/{program}/webhooks/{id}/ping":                         {Do: pingEndpoint},
	"POST /console/p/{program}/webhooks/{id}/replay":                       {Do: replayDeliveries},
}

// maxDeliveries is how many deliveries the API's log has.
const maxDeliveries = 50

// deliveries is a page of an endpoint's deliveries.
func (v *visit) deliveries(endpoint string) (site.Listing, error) {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return site.Listing{}, err
	}
	reply, err := v.console.api.ListWebhookDeliveriesWithResponse(v.Ctx(), endpoint, &api.ListWebhookDeliveriesParams{
		Limit: new(int64(maxListed)), StartingAfter: turn.After, EndingBefore: turn.Before, ProgramID: &v.program.ID,
	})
	if err != nil {
		return site.Listing{}, err
	}
	list := reply.JSON200
	return site.Listed(v.Request().URL, turn, pageOf(list.Data, list.HasMore, list.TotalCount),
		func(d api.WebhookDelivery) string { return d.ID }, list.Data), nil
}

func deliveryTable(v *visit) error {
	query := v.query()
	query.Set("program_id", v.program.ID)
	return v.fileOf("listWebhookDeliveries", "deliveries", query, []field{
		timeField("Created", "created_at"),
		plainField("Event", "event_type"),
		wordField("State", "status"),
		plainField("Attempts", "attempts"),
		plainField("Response", "response_code"),
		plainField("Error", "error"),
		plainField("Milliseconds", "duration_ms"),
		timeField("Last attempt", "last_attempt_at"),
		timeField("Next attempt", "next_attempt_at"),
		plainField("Event ID", "event_id"),
		rowID,
	}, v.PathValue("id"))
}

// delivery shows one delivery with its body.
func delivery(v *visit) error {
	d, err := v.delivery()
	if err != nil {
		return err
	}
	return v.show(sheet{"delivery", "/webhooks", "A delivery", struct {
		api.WebhookDelivery

		Sent   string
		Advice string // for a failure
	}{d, indented([]byte(d.RequestBody)), adviceOn(d)}})
}

// adviceOn returns advice about a delivery that did not arrive; "" for any other.
func adviceOn(d api.WebhookDelivery) string {
	if d.Status == api.WebhookDeliveryStatusDelivered || d.LastAttemptAt == nil {
		return ""
	}
	return webhook.Advice(d.ResponseCode, d.Error)
}

// delivery is that of the page's address, while the log has it.
func (v *visit) delivery() (api.WebhookDelivery, error) {
	reply, err := v.console.api.ListWebhookDeliveriesWithResponse(v.Ctx(), v.PathValue("id"),
		&api.ListWebhookDeliveriesParams{Limit: new(int64(maxDeliveries)), ProgramID: &v.program.ID})
	if err != nil {
		return api.WebhookDelivery{}, err
	}
	all := reply.JSON200.Data
	at := slices.IndexFunc(all, func(d api.WebhookDelivery) bool { return d.ID == v.PathValue("delivery") })
	if at < 0 {
		return api.WebhookDelivery{}, problem.NotFound("")
	}
	return all[at], nil
}

// replayDelivery sends a delivery again.
func replayDelivery(v *visit) error {
	d, err := v.delivery()
	if err != nil {
		return err
	}
	if err := v.send("replayWebhookDelivery", nil, nil, d.ID); err != nil {
		return v.again(err, delivery)
	}
	return v.done(v.at("/webhooks/"+d.WebhookEndpointID), "The delivery is sent again. Reload this page to see the result.")
}

// pingEndpoint sends an example event and shows the response.
func pingEndpoint(v *visit) error {
	e, err := v.endpoint()
	if err != nil {
		return err
	}
	var tested api.WebhookDelivery
	if err := v.send("pingWebhookEndpoint", v.body("pingWebhookEndpoint"), &tested, e.ID); err != nil {
		return v.again(err, endpoint)
	}
	return v.showEndpoint(&tested)
}

// replayDeliveries sends again what failed since a day, or everything of some days.
func replayDeliveries(v *visit) error {
	e, err := v.endpoint()
	if err != nil {
		return err
	}
	span, err := v.replaySpan()
	if err != nil {
		return v.again(err, endpoint)
	}
	var queued api.WebhookReplay
	if err := v.send("replayWebhookEndpoint", span, &queued, e.ID); err != nil {
		return v.again(sinceFault(err), endpoint)
	}
	notice := "No deliveries to send again."
	switch {
	case queued.Queued == 1:
		notice = "One delivery is sent again."
	case queued.Queued > 1:
		notice = v.Locale.Count(queued.Queued) + " deliveries are sent again."
	}
	return v.done(v.at("/webhooks/"+e.ID), notice)
}

// replaySpan is the form's span as the API takes it: whole days in UTC, the last one too.
func (v *visit) replaySpan() (map[string]any, error) {
	from, err := v.date("from")
	if err != nil {
		return nil, err
	}
	if v.value("what") != "all" {
		return map[string]any{"failed_since": from.Format(time.RFC3339)}, nil
	}
	to, err := v.date("to")
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"from": from.Format(time.RFC3339), "to": to.AddDate(0, 0, 1).Format(time.RFC3339),
	}, nil
}

// date is a day of the form.
func (v *visit) date(name string) (time.Time, error) {
	at, err := time.Parse(time.DateOnly, v.value(name))
	if err != nil {
		return at, problem.Invalid(name, "%s must be a day, such as 2026-08-21.", name)
	}
	return at, nil
}

// sinceFault puts a fault of failed_since to the field that has its day.
func sinceFault(err error) error {
	if p, ok := refused(err); ok && p.Param == "failed_since" {
		return problem.On("from", p.Code, "%s", "from"+strings.TrimPrefix(p.Message, p.Param))
	}
	return err
}

// ReplayKinds are the kinds of deliveries that can be replayed together.
func (frame) ReplayKinds() []site.Option {
	return []site.Option{{Value: "failed", Label: "What failed since then"}, {Value: "all", Label: "Total of the period"}}
}
