package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/spf13/pflag"

	"rail/gen/api"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/outbound/webhook"
)

// trigger sends the example of an event type: to a local address, signed as listen signs, or by the server to an
// endpoint of a program.
func trigger(fs *pflag.FlagSet) action {
	from := remoteFlags(fs)
	to := fs.String("forward-to", "", "`URL` on your own machine, such as http://localhost:3000/hooks")
	endpoint := fs.String("endpoint", "", "`ENDPOINT_ID` of a webhook endpoint to which the server sends it")
	return func(ctx context.Context, env *Env, args []string) error {
		if err := known(args[0]); err != nil {
			return err
		}
		if (*to == "") == (*endpoint == "") {
			return usagef("give --forward-to or --endpoint")
		}
		if *to != "" {
			if err := checkWeb("--forward-to", *to); err != nil {
				return err
			}
		}
		send := from.example
		if *endpoint != "" {
			send = from.ping
		}
		sent, err := send(ctx, env, args[0], *to+*endpoint)
		if err != nil {
			return err
		}
		return errors.Join(env.print(sent, sent.lines), sent.failure())
	}
}

// triggerHelp describes the sent request.
func triggerHelp() string {
	return `It sends the type's example from the API description, whose objects do not exist; its id begins with evt_test_, and it is not
recorded. With --forward-to this command sends it, once, signed with the secret that rail listen prints for the same API key.
With --endpoint the server sends it, signed with the endpoint's secret. rail demo creates events of real objects.
`
}

// example sends the example to an address.
func (r remote) example(ctx context.Context, env *Env, kind, to string) (forwarded, error) {
	key, _, err := r.apiKey(env)
	if err != nil {
		return forwarded{}, err
	}
	now := env.Clock.Now()
	m := webhook.Message{
		URL: to, EventID: ident.New(ident.TestEvent), DeliveryID: ident.New(ident.Delivery), Type: kind, Attempt: 1,
		Secrets: []string{secretOf(key)},
	}
	if m.Body, err = webhook.TestEvent(kind, m.EventID, now, false); err != nil {
		return forwarded{}, err
	}
	client := localClient()
	defer client.Close()
	o := client.Send(ctx, m, now.Time)
	return forwarded{
		Type: kind, ID: m.EventID, Status: o.Code, Error: o.Err, Attempts: 1, TookMS: o.Took.Milliseconds(), Body: m.Body,
	}, nil
}

// ping makes the server send the example to an endpoint.
func (r remote) ping(ctx context.Context, env *Env, kind, endpoint string) (forwarded, error) {
	c, err := r.caller(env)
	if err != nil {
		return forwarded{}, err
	}
	body, err := json.Marshal(api.WebhookPing{EventType: new(api.EventName(kind))})
	if err != nil {
		return forwarded{}, err
	}
	var d api.WebhookDelivery
	_, err = c.ask(ctx, http.MethodPost, "/v1/webhook_endpoints/"+url.PathEscape(endpoint)+"/ping", body, "", &d)
	return forwarded{
		Type: kind, ID: d.EventID, Status: int(opt.Value(d.ResponseCode)), Error: opt.Value(d.Error), Attempts: 1,
		TookMS: opt.Value(d.DurationMs), Body: json.RawMessage(d.RequestBody),
	}, err
}

// failure is the error of an event that was not accepted.
func (f forwarded) failure() error {
	if f.Error == "" {
		return nil
	}
	return errors.New(f.Error)
}
