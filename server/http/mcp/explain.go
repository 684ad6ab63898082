package mcp

import (
	"context"
	"encoding/json"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"rail/server/http/agent"
	"rail/server/http/middleware"
	"rail/server/ident"
	"rail/server/outbound/webhook"
	"rail/server/problem"
)

const explainText = "Explains one object, by its id: why a commission is as much as it is (com_…), why a customer " +
	"belongs to its partner (cus_…), and what is wrong with a webhook (whe_…) or a delivery (whd_…)."

const explainSchema = `{"type":"object","required":["id"],"properties":{"id":{"type":"string","maxLength":64}}}`

// maxDeliveries is the number of deliveries that an explanation of a webhook has.
const maxDeliveries = 10

// addExplain adds the tool explain.
func (s *Server) addExplain(server *sdk.Server) {
	server.AddTool(&sdk.Tool{
		Name: "explain", Description: explainText, InputSchema: json.RawMessage(explainSchema),
		Annotations: readsOnly("Explain"),
	}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return answered(ctx, func(ctx context.Context) (any, error) {
			var in struct {
				ID string `json:"id"`
			}
			if err := decode(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			by := of(ctx, r.ClientInfo())
			return explain(middleware.For(ctx, by.client), by.api, in.ID)
		})
	})
}

// explained is the explanation of an object. Summary is the server's text, but may quote names.
type explained struct {
	Notice  string         `json:"notice"`
	Summary []string       `json:"summary"`
	Data    map[string]any `json:"data"`
}

// explain explains the object of an id.
func explain(ctx context.Context, api agent.API, id string) (any, error) {
	for prefix, answer := range map[ident.Prefix]func(context.Context, agent.API, string) (explained, error){
		ident.Commission: whyAmount, ident.Customer: whyPartner, ident.Endpoint: whyWebhook, ident.Delivery: whyDelivery,
	} {
		if ident.Has(id, prefix) {
			out, err := answer(ctx, api, id)
			out.Notice = untrusted
			return out, err
		}
	}
	return nil, problem.Invalid("id", "id must be that of a commission, a customer, a webhook endpoint or a delivery.")
}

// whyAmount explains the amount of a commission: its rule, branch, rate and sale.
func whyAmount(ctx context.Context, api agent.API, id string) (out explained, err error) {
	var k map[string]any
	args := agent.Of("id", id)
	args["include"] = json.RawMessage(`["explanation"]`)
	args["expand"] = json.RawMessage(`["sale","flow"]`)
	if err = api.Read(ctx, "retrieveCommission", args, &k); err != nil {
		return out, err
	}
	out.Data = map[string]any{"commission": k}
	out.Summary = sentences(k)
	return out, nil
}

// sentences are those of the explanation of a commission.
func sentences(commission map[string]any) (out []string) {
	why, _ := commission["explanation"].(map[string]any)
	for _, name := range []string{"amount", "partner"} {
		if text, ok := why[name].(string); ok && text != "" {
			out = append(out, text)
		}
	}
	return out
}

// byRule explains the rules of attribution.
var byRule = map[string]string{
	"known_customer": "A payment named an id of the customer that was stored before.",
	"click":          "The customer came with a click on the partner's link.",
	"referral":       "The customer came with a visit through the partner's link.",
	"identifier":     "A payment named the customer's identifier in your product.",
	"promotion_code": "The customer paid with the partner's coupon.",
	"agent":          "An AI assistant named the partner when it bought.",
	"email":          "A payment named the email with which the customer had signed up.",
	"api":            "The API created the customer with this partner.",
	"manual":         "A person set the partner.",
	"import":         "The customer was imported with this partner.",
}

// whyPartner explains the partner of a customer: the rule, the referral and its clicks.
func whyPartner(ctx context.Context, api agent.API, id string) (out explained, err error) {
	var c struct {
		PartnerID   *string `json:"partner_id"`
		ReferralID  *string `json:"referral_id"`
		ProgramID   string  `json:"program_id"`
		Attribution *struct {
			Rule string `json:"rule"`
			At   string `json:"at"`
		} `json:"attribution"`
	}
	args := agent.Of("id", id)
	args["expand"] = json.RawMessage(`["partner","referral","link"]`)
	var all json.RawMessage
	if err = api.Read(ctx, "retrieveCustomer", args, &all); err == nil {
		err = json.Unmarshal(all, &c)
	}
	if err != nil {
		return out, err
	}
	out.Data = map[string]any{"customer": all}
	switch {
	case c.PartnerID == nil:
		out.Summary = []string{"The customer belongs to no partner."}
	case c.Attribution != nil && byRule[c.Attribution.Rule] != "":
		out.Summary = []string{byRule[c.Attribution.Rule] + " It was decided at " + c.Attribution.At + "."}
	default:
		out.Summary = []string{"No rule was recorded; tracked_by says how the customer was tracked."}
	}
	if c.ReferralID == nil {
		return out, nil
	}
	var clicks struct {
		Data []any `json:"data"`
	}
	args = agent.Of("program_id", c.ProgramID, "referral_id", *c.ReferralID)
	args["limit"] = json.RawMessage("5")
	err = api.Read(ctx, "listClicks", args, &clicks)
	out.Data["clicks"] = clicks.Data
	return out, err
}

// attempt is a delivery of the API.
type attempt struct {
	ID            string  `json:"id"`
	EndpointID    string  `json:"webhook_endpoint_id"`
	EventType     string  `json:"event_type"`
	Status        string  `json:"status"`
	Attempts      int     `json:"attempts"`
	ResponseCode  *int64  `json:"response_code"`
	Error         *string `json:"error"`
	LastAttemptAt *string `json:"last_attempt_at"`
	NextAttemptAt *string `json:"next_attempt_at"`
	IsTest        bool    `json:"is_test"`
	CreatedAt     string  `json:"created_at"`
}

// whyWebhook explains the state of an endpoint by its latest deliveries.
func whyWebhook(ctx context.Context, api agent.API, id string) (out explained, err error) {
	var endpoint struct {
		ID      string `json:"id"`
		URL     string `json:"url"`
		Enabled bool   `json:"enabled"`
	}
	var list struct {
		Data []attempt `json:"data"`
	}
	if err = api.Read(ctx, "retrieveWebhookEndpoint", agent.Of("id", id), &endpoint); err != nil {
		return out, err
	}
	args := agent.Of("id", id)
	args["limit"], _ = json.Marshal(maxDeliveries)
	if err = api.Read(ctx, "listWebhookDeliveries", args, &list); err != nil {
		return out, err
	}
	out.Data = map[string]any{"endpoint": endpoint, "deliveries": list.Data}
	if !endpoint.Enabled {
		out.Summary = append(out.Summary,
			"The endpoint is off, so it gets no events. A person can turn it on in the console.")
	}
	for _, a := range list.Data {
		if a.Status != "delivered" {
			out.Summary = append(out.Summary, a.summary()...)
			return out, nil
		}
	}
	switch {
	case len(list.Data) == 0:
		out.Summary = append(out.Summary, "Nothing was sent to it yet.")
	default:
		out.Summary = append(out.Summary, "Its latest deliveries all arrived.")
	}
	return out, nil
}

// whyDelivery explains one delivery.
func whyDelivery(ctx context.Context, api agent.API, id string) (out explained, err error) {
	var one attempt
	if err = api.Read(ctx, "retrieveWebhookDelivery", agent.Of("id", id), &one); err != nil {
		return out, err
	}
	out.Data, out.Summary = map[string]any{"delivery": one}, one.summary()
	return out, nil
}

// summary explains a delivery, with advice.
func (a attempt) summary() []string {
	var out []string
	switch a.Status {
	case "delivered":
		return []string{a.EventType + " was delivered."}
	case "pending":
		return []string{a.EventType + " waits for its first attempt."}
	case "retrying":
		out = append(out, a.EventType+" failed and is sent again at "+next(a)+".")
	default:
		out = append(out, a.EventType+" failed and is not sent again; replay it once the receiver works.")
	}
	return append(out, strings.TrimSpace(webhook.Advice(a.ResponseCode, a.Error)))
}

// next returns the time of the next attempt.
func next(a attempt) string {
	if a.NextAttemptAt == nil {
		return "the next turn"
	}
	return *a.NextAttemptAt
}
