package console

import (
	"errors"
	"slices"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/inbound/connection"
	"rail/server/inbound/hookup"
	"rail/server/problem"
)

var processorRoutes = map[string]route{
	"GET /console/p/{program}/integrations/connect":                      {Do: processors},
	"GET /console/p/{program}/integrations/connect/{processor}":          {Do: processor},
	"POST /console/p/{program}/integrations/connect/{processor}":         {Do: connectProcessor},
	"POST /console/p/{program}/integrations/connections/{id}/check":      {Do: checkProcessor},
	"POST /console/p/{program}/integrations/connections/{id}/disconnect": {Do: disconnectProcessor},
}

// guide is the path of the guides to processors.
const guide = "/docs/guides/tag#connect-a-payment-processor"

// processorKinds lists the processors and their requirements.
var processorKinds = []processorKind{
	{
		Processor: connection.Stripe, About: "Paste a restricted key and Rail sets up the webhook for you.",
		Key: true, SecretHint: "The endpoint’s signing secret (whsec_…). Leave it empty if you give a key.",
	},
	{
		Processor: connection.Paddle, About: "Paddle Billing. Connect the sandbox for test events.",
		SecretHint: "The secret of a notification destination (pdl_ntfset_…).",
	},
	{
		Processor: connection.Chargebee, About: "Connect live and test sites separately.", Makes: true,
		SecretHint: "A user, a colon and a password of 16 characters or more. Leave empty to let Rail create one.",
	},
	{
		Processor: connection.LemonSqueezy, About: "Test mode has separate webhooks.", Makes: true,
		SecretHint: "The webhook’s signing secret. Leave empty to let Rail create one.",
	},
	{Processor: connection.Polar, About: "By a webhook of your organization.", SecretHint: "The secret of the webhook."},
	{
		Processor: connection.Generic, About: "Your own code or another processor that can sign requests.",
		Makes: true, SecretHint: "whsec_ and base64, as Standard Webhooks has it. Leave empty to let Rail create one.",
	},
}

// processorKind is a processor that can be connected.
type processorKind struct {
	Processor, About, SecretHint string
	Key                          bool // takes a key of the processor's own API
	Makes                        bool // Rail can make the secret
}

// Needs reports whether the secret must be given.
func (k processorKind) Needs() bool { return !k.Makes && !k.Key }

// processors shows the processors that can be connected.
func processors(v *visit) error {
	if err := v.ownersOnly(); err != nil {
		return err
	}
	return v.show(sheet{"processors", "/integrations", "Connect a payment processor", processorKinds})
}

// connectData holds the data of the form of a new connection.
type connectData struct {
	processorKind

	Guide string
}

// processor shows the form that connects one.
func processor(v *visit) error {
	if err := v.ownersOnly(); err != nil {
		return err
	}
	kind, err := v.processor()
	if err != nil {
		return err
	}
	title := "Connect " + site.Words(kind.Processor, vocabulary)
	return v.show(sheet{"connect", "/integrations", title, connectData{kind, guide}})
}

// processor is that of the page's address.
func (v *visit) processor() (processorKind, error) {
	at := slices.IndexFunc(processorKinds, func(k processorKind) bool { return k.Processor == v.PathValue("processor") })
	if at < 0 {
		return processorKind{}, problem.NotFound("")
	}
	return processorKinds[at], nil
}

// connectedData holds the data of the page after connecting, with the secret, which is shown once.
type connectedData struct {
	Processor, URL, Secret, Guide string
	Events                        []string
	Ready                         bool // nothing is left to do at the processor
	Left                          bool // an endpoint of the connection before stays at Stripe
}

// connectProcessor creates a connection and shows the remaining steps at the processor.
func connectProcessor(v *visit) error {
	if err := v.ownersOnly(); err != nil {
		return err
	}
	kind, err := v.processor()
	if err != nil {
		return err
	}
	in := connection.Input{
		ProgramID: v.program.ID, Processor: kind.Processor, Live: v.value("test") == "", Secret: v.value("secret"),
		RecordDirect: v.value("record_direct") != "", OutsideCheckout: v.value("outside_checkout") != "",
		Replace: v.value("replace") != "",
	}
	if kind.Key {
		in.APIKey = v.value("api_key")
	}
	made, err := v.console.Processors.Connect(v.Ctx(), v.unit(), in)
	if err != nil {
		return v.again(unconnected(err), processor)
	}
	data := connectedData{
		Processor: kind.Processor, URL: v.console.Processors.URL(made.ProcessorConnection), Guide: guide,
		Events: hookup.Events(kind.Processor), Ready: in.Secret == "" && in.APIKey != "", Left: made.EndpointErr != nil,
	}
	if in.Secret == "" && in.APIKey == "" {
		data.Secret = made.Secret
	}
	return v.show(sheet{"connected", "/integrations", "Connected", data})
}

// unconnected is why a connection was not made, as a fault of the form where it is one.
func unconnected(err error) error {
	if r, ok := errors.AsType[*connection.InputError](err); ok {
		return problem.Invalid(r.Field, "%s", sentence(r))
	}
	if errors.Is(err, connection.ErrConnected) {
		return problem.Invalid("replace", "This program is already connected. Check this box to replace the current connection.")
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

// checkProcessor looks whether a connection can record payments.
func checkProcessor(v *visit) error {
	c, err := v.connected()
	if err != nil {
		return err
	}
	name := site.Words(c.Processor, vocabulary)
	if err := v.console.Processors.Check(v.Ctx(), c); err != nil {
		return v.again(problem.New(problem.ParameterInvalid, "%s: %s.", name, err), integrations)
	}
	notice := name + " can send. Its last event is below."
	if c.LastEventAt == nil {
		notice = name + " can send, but nothing came yet."
	}
	return v.done(v.at("/integrations"), notice)
}

// disconnectProcessor ends a connection.
func disconnectProcessor(v *visit) error {
	c, err := v.connected()
	if err != nil {
		return err
	}
	left, err := v.console.Processors.Disconnect(v.Ctx(), v.unit(), c)
	if err != nil {
		return err
	}
	notice := site.Words(c.Processor, vocabulary) + " is disconnected. What came before is worked all the same."
	if left != nil {
		notice += " Its endpoint stays at Stripe: take it away there."
	}
	return v.done(v.at("/integrations"), notice)
}
