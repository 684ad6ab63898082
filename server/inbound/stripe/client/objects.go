package client

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"rail/server/inbound/lenient"
)

// Get returns the object at a path of the API, with these members expanded.
func (c *Client) Get(ctx context.Context, path string, expand ...string) (json.RawMessage, error) {
	var object json.RawMessage
	err := c.send(ctx, http.MethodGet, path, url.Values{"expand[]": expand}, &object)
	if err == nil && (len(object) == 0 || object[0] != '{') {
		err = errors.New("an answer from Stripe is not an object")
	}
	return object, err
}

// maxPage is the maximum page size of a list.
const maxPage = 100

// errTooLarge means that an answer exceeds the size limit.
var errTooLarge = errors.New("an answer from Stripe is too large")

// Each passes the pages of a list to fn, newest objects first, until fn returns an error. It holds one page at a
// time, with fewer objects if they are large.
func (c *Client) Each(ctx context.Context, path string, filter url.Values, fn func([]json.RawMessage) error) error {
	form, size := maps.Clone(filter), maxPage
	for {
		form.Set("limit", strconv.Itoa(size))
		objects, last, more, err := c.page(ctx, path, form)
		switch {
		case errors.Is(err, errTooLarge) && size > 1:
			size = max(1, size/10)
			continue
		case err != nil:
			return err
		}
		if len(objects) > 0 {
			if err := fn(objects); err != nil {
				return err
			}
		}
		if !more || last == "" {
			return nil
		}
		form.Set("starting_after", last)
	}
}

// page returns one page, the id of its last object, and whether another follows.
func (c *Client) page(
	ctx context.Context, path string, form url.Values,
) (objects []json.RawMessage, last string, more bool, err error) {
	var answer struct {
		Data    []json.RawMessage `json:"data"`
		HasMore bool              `json:"has_more"`
	}
	if err = c.send(ctx, http.MethodGet, path, form, &answer); err != nil || len(answer.Data) == 0 {
		return nil, "", false, err
	}
	var end struct {
		ID string `json:"id"`
	}
	err = json.Unmarshal(answer.Data[len(answer.Data)-1], &end)
	return answer.Data, end.ID, answer.HasMore, err
}

// Refused reports whether err is a permanent refusal by Stripe: the key lacks a permission, or the object does
// not exist.
func Refused(err error) bool {
	var e *Error
	return errors.As(err, &e) && !retryable(e.Status) && e.Status/100 == 4
}

// retryable reports whether a retry after this status may succeed.
func retryable(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusConflict || status >= 500
}

// InvoiceOf returns the id of the invoice paid by a payment intent; "" for none.
func (c *Client) InvoiceOf(ctx context.Context, intent string) (string, error) {
	var answer struct {
		Data []struct {
			Invoice lenient.ID `json:"invoice"`
		} `json:"data"`
	}
	err := c.send(ctx, http.MethodGet, "/v1/invoice_payments", url.Values{
		"limit": {"1"}, "payment[type]": {"payment_intent"}, "payment[payment_intent]": {intent},
	}, &answer)
	if err != nil || len(answer.Data) == 0 {
		return "", err
	}
	return string(answer.Data[0].Invoice), nil
}
