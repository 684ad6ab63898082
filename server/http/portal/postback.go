package portal

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/outbound/webhook"
	"rail/server/problem"
	"rail/server/program/partner"
	"rail/server/work"
)

// betweenTests is the least time between two tests of a postback: each may occupy
// one of the few places for tests for as long as the receiver takes.
const betweenTests = 10 * time.Second

// eventChoice is a type that a postback may take.
type eventChoice struct {
	Type, About string
	Chosen      bool
}

// postbackPage holds the data of the postback's page.
type postbackPage struct {
	Endpoints  []db.WebhookEndpoint
	Current    *db.WebhookEndpoint // nil where there is none yet
	Types      []eventChoice
	Form       site.Form
	Enabled    bool
	Secret     string // shown once
	Deliveries []db.WebhookLogRow
}

// postback shows one endpoint of the partner with its form and its last deliveries.
// The API can give a partner several; a partner makes one here.
func postback(v *visit) error {
	page, err := v.postbackPage(v.QueryParam("id"))
	if err != nil {
		return err
	}
	return v.showPostback(http.StatusOK, page)
}

// showPostback writes the page with a status.
func (v *visit) showPostback(status int, page postbackPage) error {
	return v.show(status, "postback", "/portal/settings", "Postback", page)
}

// postbackPage loads an endpoint, by default the first. Another partner's endpoint is a 404.
func (v *visit) postbackPage(id string) (postbackPage, error) {
	found, err := queries.PortalEndpoints(v.Ctx(), v.portal.Pool, db.PortalEndpointsParams{
		ProgramID: v.program.ID, OrgID: v.partner.OrgID, PartnerID: v.partner.ID,
	})
	if err != nil {
		return postbackPage{}, err
	}
	page := postbackPage{Endpoints: found, Enabled: true}
	at := slices.IndexFunc(found, func(e db.WebhookEndpoint) bool { return id == "" || e.ID == id })
	if at < 0 {
		if id != "" {
			return page, problem.NotFound("")
		}
		page.choose(nil)
		return page, nil
	}
	e := &found[at]
	page.Current, page.Enabled = e, e.Enabled
	page.Form.Values = map[string]string{"url": e.URL}
	page.choose(e.EventTypes)
	page.Deliveries, err = webhook.Log(v.Ctx(), v.unit(), e.ID)
	return page, err
}

// meanings are the types in words for partners, where the description's are
// about the API.
var meanings = map[string]string{
	"referral.created":    "a visitor clicked your link",
	"referral.lead":       "a referred visitor signed up",
	"referral.converted":  "a referral paid for the first time",
	"referral.deleted":    "a referral was removed",
	"commission.created":  "you earned a commission, or one was taken back",
	"commission.updated":  "a commission’s status or amount changed",
	"commission.paid":     "a commission was paid",
	"commission.voided":   "an unpaid commission was canceled",
	"commission.deleted":  "a commission was removed",
	"payout.created":      "a payout was created",
	"payout.updated":      "a payout’s status changed",
	"payout.due":          "a payout is due",
	"payout.paid":         "a payout was sent",
	"payout.failed":       "a payout failed",
	"payout.not_eligible": "a payout is not possible yet",
	"payout.deleted":      "a payout was canceled; its commissions are due again",
}

// choose lists the types that a postback may take; none chosen means all.
func (p *postbackPage) choose(names []string) {
	p.Types = nil
	for _, t := range webhook.Catalogue() {
		if t.PartnerEligible {
			about := cmp.Or(meanings[t.Type], t.Description)
			p.Types = append(p.Types, eventChoice{t.Type, about, slices.Contains(names, t.Type)})
		}
	}
}

// savePostback adds the partner's postback, or changes the postback in the form.
func savePostback(v *visit) error {
	page, err := v.postbackPage(v.Form.Value("id"))
	if err != nil {
		return err
	}
	// An old page's form for a new postback.
	if page.Current != nil && v.Form.Value("id") == "" {
		page.Form.Errors = site.Faults{"": v.Locale.T("You already have a postback.")}
		return v.showPostback(http.StatusUnprocessableEntity, page)
	}
	types, secret := v.Form.Values("event_types"), ""
	if page.Current == nil {
		secret, err = v.addPostback(v.Form.Value("url"), types)
	} else {
		err = v.updatePostback(page.Current, v.Form.Value("url"), types, v.Form.Has("enabled"))
	}
	if wrong := v.faults(err, "url", "event_types"); wrong != nil {
		// The page shows the typed values, not the stored ones.
		page.Form = site.Form{Values: v.Form.Typed("url"), Errors: wrong}
		page.choose(v.Form.Values("event_types"))
		page.Enabled = v.Form.Has("enabled")
		return v.showPostback(http.StatusUnprocessableEntity, page)
	}
	if err != nil {
		return err
	}
	if secret != "" {
		// Not a redirect: the secret is stored sealed and can be shown only in
		// the answer that made it.
		return v.showSecret("", secret)
	}
	return v.Redirect(http.StatusSeeOther, "/portal/postback?done=postback&id="+page.Current.ID)
}

// showSecret shows a new secret, this once.
func (v *visit) showSecret(id, secret string) error {
	page, err := v.postbackPage(id)
	if err != nil {
		return err
	}
	page.Secret = secret
	return v.showPostback(http.StatusOK, page)
}

// addPostback adds the one postback that a partner makes here.
func (v *visit) addPostback(url string, types []string) (secret string, err error) {
	// The same rules for the address and the types as the API has.
	body := map[string]any{"program_id": v.program.ID, "partner_id": v.partner.ID, "url": url, "event_types": types}
	if err := v.portal.Document.ValidateBody("WebhookEndpointCreate", body); err != nil {
		return "", err
	}
	err = v.write(func(ctx context.Context) error {
		// Create is first: it looks up the name in the address before it begins the transaction.
		e, fresh, err := v.portal.Webhooks.Create(ctx, work.From(ctx), webhook.NewEndpoint{
			ProgramID: v.program.ID, PartnerID: &v.partner.ID, URL: url, EventTypes: types,
		})
		if err != nil {
			return err
		}
		if err := v.onePostback(ctx); err != nil {
			return err
		}
		secret = fresh
		return v.audit(ctx, "webhook_endpoint.created", e.ID, nil, auditMembers(e))
	})
	return secret, err
}

// onePostback makes sure that the new postback is the only one: the form may have been sent twice. The program's lock,
// which Create holds, keeps a second form waiting.
func (v *visit) onePostback(ctx context.Context) error {
	n, err := queries.WebhookEndpointsCount(ctx, work.From(ctx).DB(), db.WebhookEndpointsCountParams{
		ProgramID: v.program.ID, OrgID: v.partner.OrgID, PartnerID: &v.partner.ID,
	})
	if err == nil && n > 1 {
		err = problem.New(problem.WebhookEndpointLimit, "You already have a postback.")
	}
	return err
}

// updatePostback changes what the form shows of an endpoint.
func (v *visit) updatePostback(e *db.WebhookEndpoint, url string, types []string, enabled bool) error {
	to := webhook.EndpointChange{URL: &url, EventTypes: types}
	// The form always carries the box, and to enable what is enabled would
	// forget the failures counted so far.
	if enabled != e.Enabled { // turned on again, its failures count anew
		to.Enabled = &enabled
	}
	body := map[string]any{"url": url, "event_types": types}
	if err := v.portal.Document.ValidateBody("WebhookEndpointUpdate", body); err != nil {
		return err
	}
	return v.write(func(ctx context.Context) error {
		now, err := v.portal.Webhooks.Update(ctx, work.From(ctx), e.ID, to)
		if err != nil {
			return err
		}
		return v.audit(ctx, "webhook_endpoint.updated", e.ID, auditMembers(*e), auditMembers(now))
	})
}

// auditMembers returns the members of an endpoint that the audit log has: all except secrets.
func auditMembers(e db.WebhookEndpoint) map[string]any {
	return map[string]any{"url": e.URL, "event_types": e.EventTypes, "enabled": e.Enabled}
}

// audit notes what the partner did.
func (v *visit) audit(ctx context.Context, action, target string, before, after any) error {
	return partner.AuditSelf(ctx, work.From(ctx), v.partner, action, target, before, after)
}

// current is the endpoint that a form names, with its page.
func (v *visit) current() (postbackPage, error) {
	id := v.Form.Value("id")
	if id == "" {
		return postbackPage{}, problem.NotFound("")
	}
	return v.postbackPage(id)
}

// rotatePostback makes a new secret and shows it; the old one signs too for a day.
func rotatePostback(v *visit) error {
	page, err := v.current()
	if err != nil {
		return err
	}
	secret := ""
	err = v.write(func(ctx context.Context) error {
		_, fresh, err := v.portal.Webhooks.Rotate(ctx, work.From(ctx), page.Current.ID)
		if err != nil {
			return err
		}
		secret = fresh
		return v.audit(ctx, "webhook_endpoint.secret_rotated", page.Current.ID, nil, nil)
	})
	if err != nil {
		return err
	}
	return v.showSecret(page.Current.ID, secret)
}

// pingPostback sends a test event and waits for the receiver's answer, at most
// webhook.Deadline.
func pingPostback(v *visit) error {
	page, err := v.current()
	if err != nil {
		return err
	}
	for _, row := range page.Deliveries {
		d := row.WebhookDelivery
		if left := betweenTests - v.Now.Sub(d.CreatedAt.Time); d.IsTest && left > 0 {
			return v.tooMany(page)
		}
	}
	err = v.write(func(ctx context.Context) error {
		_, err := v.portal.Webhooks.Ping(ctx, work.From(ctx), page.Current.ID, "")
		return err
	})
	if problem.Is(err, problem.RateLimitExceeded) {
		return v.tooMany(page)
	}
	if err != nil {
		return err
	}
	return v.Redirect(http.StatusSeeOther, "/portal/postback?done=tested&id="+page.Current.ID+"#deliveries")
}

// tooMany refuses a test that came too early, on the page it was asked for.
func (v *visit) tooMany(page postbackPage) error {
	v.Response().Header().Set("Retry-After", strconv.Itoa(int(betweenTests/time.Second)))
	page.Form.Errors = site.Faults{"": v.Locale.T("A test was just sent. Wait ten seconds before the next one.")}
	return v.showPostback(http.StatusTooManyRequests, page)
}

// deletePostback removes the endpoint with its log.
func deletePostback(v *visit) error {
	page, err := v.current()
	if err != nil {
		return err
	}
	e := page.Current
	err = v.write(func(ctx context.Context) error {
		if err := webhook.Delete(ctx, work.From(ctx), e.ID); err != nil {
			return err
		}
		return v.audit(ctx, "webhook_endpoint.deleted", e.ID, auditMembers(*e), nil)
	})
	if err != nil {
		return err
	}
	return v.done("/portal/postback", "deleted")
}
