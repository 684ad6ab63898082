package console

import (
	"rail/gen/api"
	"rail/server/http/site"
)

var webhookRoutes = map[string]route{
	"GET /console/p/{program}/webhooks":              {Do: webhooks},
	"POST /console/p/{program}/webhooks":             {Do: createEndpoint},
	"GET /console/p/{program}/webhooks/{id}":         {Do: endpoint},
	"POST /console/p/{program}/webhooks/{id}":        {Do: saveEndpoint},
	"POST /console/p/{program}/webhooks/{id}/switch": {Do: switchEndpoint},
	"POST /console/p/{program}/webhooks/{id}/rotate": {Do: rotateEndpoint},
	"POST /console/p/{program}/webhooks/{id}/delete": {Do: deleteEndpoint},
}

// webhooksData holds the data of the list of endpoints.
type webhooksData struct {
	site.Listing

	Types []site.Option
}

// webhooks shows the webhook endpoints.
func webhooks(v *visit) error {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	reply, err := v.console.api.ListWebhookEndpointsWithResponse(v.Ctx(), &api.ListWebhookEndpointsParams{
		ProgramID: v.program.ID, StartingAfter: turn.After, EndingBefore: turn.Before,
	})
	if err != nil {
		return err
	}
	types, err := v.eventTypes(false)
	if err != nil {
		return err
	}
	list := reply.JSON200
	found := pageOf(list.Data, list.HasMore, list.TotalCount)
	return v.show(sheet{"webhooks", "/webhooks", "Webhooks", webhooksData{
		site.Listed(v.Request().URL, turn, found, func(e api.WebhookEndpoint) string { return e.ID }, list.Data), types,
	}})
}

// eventTypes are the types of events to select; a partner's postback has fewer.
func (v *visit) eventTypes(postback bool) ([]site.Option, error) {
	reply, err := v.console.api.ListWebhookEventsWithResponse(v.Ctx(),
		&api.ListWebhookEventsParams{Limit: new(int64(maxChoices))})
	if err != nil {
		return nil, err
	}
	var out []site.Option
	for _, t := range reply.JSON200.Data {
		if t.PartnerEligible || !postback {
			out = append(out, site.Option{Value: string(t.Type), Label: string(t.Type)})
		}
	}
	return out, nil
}

// createEndpoint adds an endpoint, whose secret the answer alone shows.
func createEndpoint(v *visit) error {
	var endpoint api.WebhookEndpoint
	if err := v.send("createWebhookEndpoint", v.body("createWebhookEndpoint"), &endpoint); err != nil {
		return v.again(err, webhooks)
	}
	return v.showSecret(endpoint)
}

// showSecret shows the secret of an endpoint, once.
func (v *visit) showSecret(e api.WebhookEndpoint) error {
	return v.show(sheet{"secret", "/webhooks", "Signing secret", e})
}

// endpointData holds the data of an endpoint's page.
type endpointData struct {
	api.WebhookEndpoint
	site.Listing

	Types  []site.Option
	Chosen []string
	Ping   string // the type that a test sends unless another one is chosen
	Tested *api.WebhookDelivery
}

// endpoint shows an endpoint and its deliveries.
func endpoint(v *visit) error { return v.showEndpoint(nil) }

// showEndpoint shows an endpoint, and the result after a test.
func (v *visit) showEndpoint(tested *api.WebhookDelivery) error {
	e, err := v.endpoint()
	if err != nil {
		return err
	}
	types, err := v.eventTypes(e.PartnerID != nil)
	if err != nil {
		return err
	}
	sent, err := v.deliveries(e.ID)
	if err != nil {
		return err
	}
	data := endpointData{WebhookEndpoint: e, Listing: sent, Types: types, Tested: tested, Ping: "affiliate.created"}
	for _, t := range e.EventTypes {
		data.Chosen = append(data.Chosen, string(t))
	}
	if len(data.Chosen) > 0 {
		data.Ping = data.Chosen[0]
	}
	return v.show(sheet{"webhook", "/webhooks", "A webhook", data})
}

// endpoint is that of the page's address, which must be of the page's program.
func (v *visit) endpoint() (api.WebhookEndpoint, error) {
	reply, err := v.console.api.RetrieveWebhookEndpointWithResponse(v.Ctx(), v.PathValue("id"),
		&api.RetrieveWebhookEndpointParams{ProgramID: &v.program.ID})
	if err != nil {
		return api.WebhookEndpoint{}, err
	}
	return *reply.JSON200, nil
}

func saveEndpoint(v *visit) error {
	return v.endpointForm("updateWebhookEndpoint", v.body("updateWebhookEndpoint"), "The webhook is saved.")
}

// switchEndpoint turns an endpoint on or off.
func switchEndpoint(v *visit) error {
	on := v.value("enabled") == "true"
	notice := "The webhook is off. It misses events until it is on again."
	if on {
		notice = "The webhook is on again."
	}
	return v.endpointForm("updateWebhookEndpoint", map[string]any{"enabled": on}, notice)
}

// endpointForm sends a form of the page of an endpoint and shows the page again.
func (v *visit) endpointForm(operation string, body any, notice string) error {
	e, err := v.endpoint()
	if err != nil {
		return err
	}
	if err := v.send(operation, body, nil, e.ID); err != nil {
		return v.again(err, endpoint)
	}
	return v.done(v.at("/webhooks/"+e.ID), notice)
}

// rotateEndpoint makes a new secret, which the answer alone shows.
func rotateEndpoint(v *visit) error {
	e, err := v.endpoint()
	if err != nil {
		return err
	}
	if err := v.send("rotateWebhookEndpointSecret", nil, &e, e.ID); err != nil {
		return v.again(err, endpoint)
	}
	return v.showSecret(e)
}

func deleteEndpoint(v *visit) error {
	e, err := v.endpoint()
	if err != nil {
		return err
	}
	if err := v.send("deleteWebhookEndpoint", nil, nil, e.ID); err != nil {
		return v.again(err, endpoint)
	}
	return v.done(v.at("/webhooks"), "The webhook is deleted. Nothing more is sent to "+e.URL+".")
}
