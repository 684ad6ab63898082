package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/pflag"

	"rail/server/ident"
	"rail/server/locale/plain"
)

// runDemo performs the main job against a running server: from creating a program to a partner's earnings, and a
// sign-in link to the portal. Each call has an Idempotency-Key, so that pasting a printed call returns the same
// answer.
func runDemo(fs *pflag.FlagSet) action {
	from := remoteFlags(fs)
	return func(ctx context.Context, env *Env, _ []string) error {
		c, err := from.caller(env)
		if err != nil {
			return err
		}
		d := demo{env: env, caller: c, run: strings.TrimPrefix(ident.New(ident.Request), string(ident.Request)), ids: map[string]string{}}
		d.tell(d.preamble())
		for i, s := range demoSteps {
			if err := d.step(ctx, i+1, s); err != nil {
				return fmt.Errorf("%s: %w", s.about, err)
			}
		}
		d.tell("\n# The partner's earnings: %s. Portal: %s", d.ids["earned"], d.ids["url"])
		if !env.json {
			return nil
		}
		return env.print(d.done, nil)
	}
}

// demoHelp describes what the demo creates.
func demoHelp() string {
	return `The key needs the scope write. The program, its partner, customer and sale are real and stay: on a server with
other programs, use a key of another organization. You can paste the printed lines; for a day their Idempotency-Keys return
the same answers without repeating the calls. The link to the portal works once, within 15 minutes.
`
}

// demoStep is a call of the main job. In path and body, {name} is a value from an earlier answer.
type demoStep struct {
	about, method, path, body string
	keeps                     string // the name of the answer's id in later steps
}

// demoSteps is the main job.
var demoSteps = []demoStep{
	{
		"A program, here without a holding period", "POST", "/v1/programs",
		`{"name":"Rail demo","website_url":"https://acme.example","currency":"USD","holding_period_days":0}`, "program",
	},
	{"A partner", "POST", "/v1/partners", `{"program_id":"{program}","email":"ada@example.com","handle":"ada"}`, "partner"},
	{
		"A rule: 20 % for everyone", "POST", "/v1/flows",
		`{"program_id":"{program}","name":"Everyone","rate_type":"percent","rate_value":2000}`, "flow",
	},
	{
		"A visitor arrives with ?ref=ada", "POST", "/v1/clicks",
		`{"program_id":"{program}","value":"ada","visitor_token":"visitor-{run}","landing_url":"https://acme.example/?ref=ada"}`,
		"click",
	},
	{
		"signs up", "POST", "/v1/customers",
		`{"program_id":"{program}","click_id":"{click}","email":"buyer@example.org"}`, "customer",
	},
	{
		"and pays 49.99", "POST", "/v1/sales", `{"program_id":"{program}","customer_id":"{customer}",` +
			`"external_charge_id":"ch_{run}","amount_minor":4999,"currency":"USD"}`, "sale",
	},
	{"The partner's earnings", "GET", "/v1/balances?program_id={program}", "", ""},
	{"A link into the partner's portal", "POST", "/v1/partners/{partner}/sso", "", ""},
}

// demo is one run.
type demo struct {
	env    *Env
	caller *caller
	run    string            // identifies the run
	ids    map[string]string // values from answers
	done   []demoCall
}

// demoCall is the JSON of a call.
type demoCall struct {
	About  string          `json:"about"`
	Curl   string          `json:"curl"`
	Status int             `json:"status"`
	Answer json.RawMessage `json:"answer"`
}

// tell prints a line for people.
func (d *demo) tell(format string, args ...any) {
	if !d.env.json {
		fmt.Fprintf(d.env.Out, format+"\n", args...)
	}
}

// preamble sets the variable used in the printed lines. A given key is not shown.
func (d *demo) preamble() string {
	if d.caller.keyFile != "" {
		return keyVariable + "=$(cat '" + d.caller.keyFile + "')"
	}
	return "# " + keyVariable + " must contain the API key."
}

// step makes a call, prints it, and stores values for later ones.
func (d *demo) step(ctx context.Context, n int, s demoStep) error {
	path, body := d.fill(s.path), d.fill(s.body)
	key := ""
	if s.method == http.MethodPost {
		key = fmt.Sprintf("demo-%s-%d", d.run, n)
	}
	var answer json.RawMessage
	status, err := d.caller.ask(ctx, s.method, path, []byte(body), key, &answer)
	if err != nil {
		return err
	}
	line := d.curl(s.method, path, body, key)
	d.done = append(d.done, demoCall{s.about, line, status, answer})
	d.tell("\n# %d. %s\n%s\n# %d %s", n, s.about, line, status, plain.Short(string(answer), maxShown))
	return d.store(s, answer)
}

// fill inserts values from earlier answers.
func (d *demo) fill(text string) string {
	text = strings.ReplaceAll(text, "{run}", d.run)
	for name, id := range d.ids {
		text = strings.ReplaceAll(text, "{"+name+"}", id)
	}
	return text
}

// curl returns the call as a shell command.
func (d *demo) curl(method, path, body, key string) string {
	line := fmt.Sprintf(`curl -sS -g -X %s -H "Authorization: Bearer $%s"`, method, keyVariable)
	if key != "" {
		line += " -H 'Idempotency-Key: " + key + "'"
	}
	if body != "" {
		line += " -H 'Content-Type: application/json' -d '" + body + "'"
	}
	return line + " '" + d.caller.base + path + "'"
}

// store stores values of an answer for later steps and for the last line.
func (d *demo) store(s demoStep, answer []byte) error {
	var a struct {
		ID, URL string
		Data    []struct {
			Currency string `json:"currency"`
			DueMinor int64  `json:"due_minor"`
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if s.keeps != "" {
		d.ids[s.keeps] = a.ID
	}
	if a.URL != "" {
		d.ids["url"] = a.URL
	}
	for _, b := range a.Data {
		d.ids["earned"] = fmt.Sprintf("%d.%02d %s", b.DueMinor/100, b.DueMinor%100, b.Currency)
	}
	return nil
}

// maxShown is how many characters of an answer are shown.
const maxShown = 100
