package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// Endpoint is a webhook endpoint at Stripe.
type Endpoint struct {
	ID     string `json:"id"`
	URL    string `json:"url"`
	Secret string `json:"secret"` // shown once, at creation
	Status string `json:"status"`
	Live   bool   `json:"livemode"`
}

// CreateEndpoint creates an endpoint for events of these types.
func (c *Client) CreateEndpoint(ctx context.Context, to string, types []string) (Endpoint, error) {
	form := url.Values{
		"url": {to}, "enabled_events[]": types, "api_version": {version}, "description": {"Rail"},
	}
	var endpoint Endpoint
	err := c.send(ctx, http.MethodPost, "/v1/webhook_endpoints", form, &endpoint)
	if err == nil && (endpoint.ID == "" || endpoint.Secret == "") {
		err = errors.New("the new endpoint at Stripe has no id or no secret")
	}
	return endpoint, err
}

// DeleteEndpoint deletes an endpoint. A missing one counts as deleted.
func (c *Client) DeleteEndpoint(ctx context.Context, id string) error {
	err := c.send(ctx, http.MethodDelete, "/v1/webhook_endpoints/"+url.PathEscape(id), nil, &struct{}{})
	if refused := (*Error)(nil); errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// maxPages bounds the pages read of a list. An account has at most 16 endpoints a mode.
const maxPages = 5

// FindEndpoint returns the endpoint with a URL, and whether it exists.
func (c *Client) FindEndpoint(ctx context.Context, to string) (Endpoint, bool, error) {
	form := url.Values{"limit": {"100"}}
	for range maxPages {
		var page struct {
			Data    []Endpoint `json:"data"`
			HasMore bool       `json:"has_more"`
		}
		if err := c.send(ctx, http.MethodGet, "/v1/webhook_endpoints", form, &page); err != nil {
			return Endpoint{}, false, err
		}
		for _, e := range page.Data {
			if e.URL == to {
				return e, true, nil
			}
		}
		if !page.HasMore || len(page.Data) == 0 {
			break
		}
		form.Set("starting_after", page.Data[len(page.Data)-1].ID)
	}
	return Endpoint{}, false, nil
}
