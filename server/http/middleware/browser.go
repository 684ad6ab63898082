package middleware

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"rail/server/http/site/browser"
	"rail/server/problem"
	"rail/server/program/publishable"
	"rail/server/work"
)

const (
	// maxBrowserBody is the largest body of a page's request, which needs no secret: two escaped
	// addresses of tracking.MaxURL characters, and the other members.
	maxBrowserBody = 40 << 10
	// publishableLimit is the number of requests a second that each server accepts with one
	// publishable key. The key is public, so it must not use up the server.
	publishableLimit = 1000
)

// browser finds the publishable key of a page's request and checks its origin (step 11). It runs
// before the validation of the body, so that pages may read the validation error.
func (f *Front) browser(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := stateOf(c)
		if !s.route.Browser {
			return next(c)
		}
		k, err := f.publishable(c, s)
		if err != nil {
			return err
		}
		h, r := c.Response().Header(), c.Request()
		h.Add("Vary", "Origin")
		origin, err := originOf(r, k)
		if err != nil {
			return err
		}
		if origin.Text != "" {
			browser.Share(h, origin)
		}
		b, ok := f.pages.take(k.ID, publishableLimit)
		if !ok {
			return limited(b.limit)
		}
		if err := f.Pages.Used(r.Context(), k); err != nil { // not a reason to refuse
			f.Log.Warn("cannot record the last use of a key", "key", k.ID, "error", err)
		}
		s.caller = browser.Read(r, h, k, origin, f.ClientAddress(c), f.Plain)
		return next(c)
	}
}

// publishable returns the key in the query or the body.
func (f *Front) publishable(c echo.Context, s *state) (publishable.Key, error) {
	var in struct {
		Key any `json:"key"`
	}
	if len(s.body) > 0 { // valid JSON, but perhaps not an object
		_ = json.Unmarshal(s.body, &in)
	}
	token, present := c.QueryParam("key"), in.Key != nil
	if inBody, ok := in.Key.(string); present && (!ok || token != "" && token != inBody) {
		return publishable.Key{}, problem.Invalid("key", "key must be one text, in the query or in the body.")
	} else if present {
		token = inBody
	}
	if token == "" {
		return publishable.Key{}, problem.Missing("key")
	}
	k, err := f.Pages.Find(c.Request().Context(), token)
	switch {
	case errors.Is(err, publishable.ErrUnknown):
		return k, problem.On("key", problem.APIKeyInvalid, "This publishable key does not exist.")
	case err != nil:
		return k, databaseProblem(err)
	case k.Revoked:
		return k, problem.On("key", problem.APIKeyRevoked, "This publishable key was revoked.")
	}
	return k, nil
}

// originOf returns the origin of a page's request, if the key allows it. A GET may have none,
// because browsers omit it within one origin, and pages of other origins cannot read the answer.
func originOf(r *http.Request, k publishable.Key) (publishable.Origin, error) {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 && r.Method != http.MethodPost {
		return publishable.Origin{}, nil
	}
	if len(origins) == 1 {
		if o, ok := publishable.ParseOrigin(origins[0]); ok && k.Allows(o) {
			return o, nil
		}
		return publishable.Origin{}, browser.Refused(origins[0])
	}
	return publishable.Origin{}, browser.Refused("")
}

// visitorUnit returns a page's request as a unit of work of its key's organization.
func (f *Front) visitorUnit(c echo.Context, s *state) *work.Unit {
	k := s.caller.Key
	return work.New(f.Pool, work.Unit{
		OrgID: k.OrgID, Plan: f.Plan.With(k.Plan), Actor: work.Actor{Kind: work.Visitor}, RequestID: s.id, Now: s.now,
		Programs: programs(c, s.body), Wake: f.Wake, Reads: f.Reads,
	})
}
