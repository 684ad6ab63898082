package console

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/inbound/connection"
	"rail/server/problem"
)

var processorRoutes = map[string]route{
	"GET /console/p/{program}/integrations/connect":              {Do: processors},
	"GET /console/p/{program}/integrations/connect/{processor}":  {Do: chooseProcessor},
	"POST /console/p/{program}/integrations/connect/{processor}": {Do: reserveConnection},
}

// guide is the path of the guides to processors.
const guide = "/docs/guides/tag#connect-a-payment-processor"

// processorKind is a processor that can be connected, with the texts of its pages.
type processorKind struct {
	Processor string
	About     string // on its card
	// Where leads to the form for the address, Secret to the signing secret, and Try to a first event.
	Where, Secret, Try string
	Site               string // the page with the form for the address; "" if it depends on the account
	TestSite           string // the same in test mode; "" if it is the same
	Events             string // how events are chosen
	Key                bool   // takes a key of the processor's own API
	Login              bool   // the secret is a user name and a password
	Makes              bool   // Rail makes the secret
}

// Mark returns the name of the processor's mark.
func (k processorKind) Mark() string { return strings.ReplaceAll(k.Processor, "_", "") }

// processorKinds lists the processors.
var processorKinds = []processorKind{
	{
		Processor: connection.Stripe, About: "Paste one key, and Rail does the rest.", Key: true,
		Where:  "In Stripe, add a webhook destination, and paste this address as its endpoint URL.",
		Events: "Select these events for the endpoint.",
		Secret: "Stripe shows it after you create the endpoint. It begins with whsec_.",
		Try:    "Stripe sends the first event with the next payment.",
		Site:   "https://dashboard.stripe.com/webhooks", TestSite: "https://dashboard.stripe.com/test/webhooks",
	},
	{
		Processor: connection.Paddle, About: "Paddle Billing, with a notification destination.",
		Where:  "In Paddle, open Developer tools, Notifications, New destination, and paste this address as its URL.",
		Events: "Select these events for the destination.",
		Secret: "Paddle shows it when you edit the saved destination. It begins with pdl_ntfset_.",
		Try:    "Under Developer tools, Simulations, Paddle sends a sample event at once.",
		Site:   "https://vendors.paddle.com/notifications", TestSite: "https://sandbox-vendors.paddle.com/notifications",
	},
	{
		Processor: connection.Chargebee, About: "One site, live or test, with a webhook.", Makes: true, Login: true,
		Where:  "In your Chargebee site, open Settings, Configure Chargebee, Webhooks, Add Webhook, and paste this address as its URL.",
		Events: "Select these events for the webhook.",
		Secret: "In the same form, protect the webhook by basic authentication with this user name and password.",
		Try:    "“Test Webhook” beside the saved webhook sends a sample event at once.",
	},
	{
		Processor: connection.LemonSqueezy, About: "One store, with a webhook.", Makes: true,
		Where:  "In Lemon Squeezy, open Settings, Webhooks, the plus sign, and paste this address as the callback URL.",
		Events: "Tick these events. Payments are missing without one of them.",
		Secret: "Paste it in the same form as the signing secret.",
		Try:    "In test mode, Lemon Squeezy can simulate an event of a test order.",
		Site:   "https://app.lemonsqueezy.com/settings/webhooks",
	},
	{
		Processor: connection.Polar, About: "One organization, with a webhook.",
		Where:  "In Polar, open your organization’s Settings, Webhooks, Add Endpoint, and paste this address as its URL. The format is Raw.",
		Events: "Tick these events for the endpoint.",
		Secret: "Polar shows it after you create the endpoint.",
		Try:    "Polar sends the first event with the next order.",
		Site:   "https://polar.sh/dashboard", TestSite: "https://sandbox.polar.sh/dashboard",
	},
	{
		Processor: connection.Generic, About: "Your own code, or a processor that signs requests.", Makes: true,
		Where:  "Have your code send each payment and each refund to this address.",
		Secret: "Your code signs each request with it, as Standard Webhooks describes.",
		Try:    "The guide has a program that sends a sale.",
	},
}

// kindOf returns the processor of a name.
func kindOf(name string) (processorKind, error) {
	at := slices.IndexFunc(processorKinds, func(k processorKind) bool { return k.Processor == name })
	if at < 0 {
		return processorKind{}, problem.NotFound("")
	}
	return processorKinds[at], nil
}

// processorCards are the processors to choose from, for live or for test payments.
type processorCards struct {
	Page  frame
	Test  bool
	Kinds []processorKind
}

// Processors returns the cards of a page.
func (f frame) Processors(test bool) processorCards { return processorCards{f, test, processorKinds} }

// keyForm is the form that connects Stripe by a key.
type keyForm struct {
	Page   frame
	Action string
	Test   bool
}

// StripeKey returns the form that connects Stripe by a key. path is its address within the program's pages.
func (f frame) StripeKey(path string, test bool) keyForm { return keyForm{f, f.At(path), test} }

// processors shows the processors that can be connected.
func processors(v *visit) error {
	if err := v.ownersOnly(); err != nil {
		return err
	}
	test := v.QueryParam("test") != ""
	return v.show(sheet{"processors", "/integrations", "Connect a payment processor", struct {
		Modes site.Tabs
		Test  bool
	}{
		site.Tabs{Label: "Payments", Links: []site.Link{
			{Path: v.at("/integrations/connect"), Name: "Live payments", Current: !test},
			{Path: v.at("/integrations/connect?test=on"), Name: "Test payments", Current: test},
		}},
		test,
	}})
}

// chooseProcessor leads to the page with all processors: only a form reserves a connection.
func chooseProcessor(v *visit) error {
	if err := v.ownersOnly(); err != nil {
		return err
	}
	if _, err := kindOf(v.PathValue("processor")); err != nil {
		return err
	}
	return v.Redirect(http.StatusSeeOther, v.at("/integrations/connect"))
}

// reserveConnection reserves a connection, and leads to its page. With a key in the form, it completes the connection.
func reserveConnection(v *visit) error {
	if err := v.ownersOnly(); err != nil {
		return err
	}
	kind, err := kindOf(v.PathValue("processor"))
	if err != nil {
		return err
	}
	c, err := v.console.Processors.Reserve(v.Ctx(), v.unit(), connection.Input{
		ProgramID: v.program.ID, Processor: kind.Processor, Live: v.value("test") == "", RecordDirect: true,
	})
	if err != nil {
		return err
	}
	if v.value("api_key") != "" {
		return v.complete(c)
	}
	return v.Redirect(http.StatusSeeOther, v.at("/integrations/connections/"+c.ID))
}

// unconnected returns the reason of a failed connection, as a fault of the form if it is one.
func unconnected(err error) error {
	if r, ok := errors.AsType[*connection.InputError](err); ok {
		return problem.Invalid(r.Field, "%s", sentence(r))
	}
	return err
}

// connected is a connection of the page's program.
func (v *visit) connected() (db.ProcessorConnection, error) {
	if err := v.ownersOnly(); err != nil {
		return db.ProcessorConnection{}, err
	}
	return v.console.Processors.Find(v.Ctx(), v.unit(), v.program.ID, v.PathValue("id"))
}
