package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"rail/gen/db"
	"rail/server/auth"
	"rail/server/http/agent"
	"rail/server/http/middleware"
	"rail/server/http/site"
	"rail/server/problem"
)

var confirmRoutes = map[string]route{
	"GET /console/confirm/{sealed}":  {Do: showConfirmation},
	"POST /console/confirm/{sealed}": {Do: confirm},
}

// confirmation is a request of an MCP client that waits for a person.
type confirmation struct {
	agent.Order

	About   agent.Subject
	Does    agent.Operation
	From    db.APIKey // the client's key
	Input   []fact
	Path    string // of the object's page; "" for none
	Allowed bool   // the person's role may do it
}

// What returns the summary of the request.
func (c confirmation) What() string { return c.Does.Summary() }

// Amount is the amount on the page, in minor units; "" for none. The form returns it, so that a person confirms the
// amount that the page showed.
func (c confirmation) Amount() string {
	if c.About.AmountMinor == nil {
		return ""
	}
	return strconv.FormatInt(*c.About.AmountMinor, 10) + " " + c.About.Currency
}

// Says explains the request in the words of the API's description.
func (c confirmation) Says() string { return strings.ReplaceAll(c.Does.Description(), "`", "") }

// showConfirmation shows the request of an MCP client, or its outcome.
func showConfirmation(v *visit) error {
	c, end, err := v.confirmation()
	if end != nil || err != nil {
		return orEnd(v, end, err)
	}
	return v.show(sheet{"confirm", "", c.What(), c})
}

// ending is a page instead of a confirmation.
type ending struct {
	status      int
	title, text string
}

func orEnd(v *visit, end *ending, err error) error {
	if err != nil {
		return err
	}
	return v.note(end.status, end.title, end.text)
}

var (
	badLink = &ending{
		http.StatusNotFound, "This link does not work",
		"It is damaged, or belongs to another organization. Nothing was done. Ask for a new link.",
	}
	lateLink = &ending{http.StatusGone, "This link has expired", "Nothing was done. Ask for a new link."}
	keyGone  = &ending{
		http.StatusGone, "The API key was revoked", "The key that asked for this no longer works. Nothing was done.",
	}
	changed = &ending{
		http.StatusConflict, "The amount has changed",
		"It differs from the prepared amount. Nothing was done. Ask for a new link.",
	}
	gone = &ending{
		http.StatusGone, "The object is gone",
		"It was deleted since, perhaps by this confirmation. Nothing more can be done.",
	}
)

// confirmation opens the request of the page's address. It returns the page instead if there is nothing to confirm.
func (v *visit) confirmation() (c confirmation, end *ending, err error) {
	order, err := agent.Open(v.console.Keeper, v.PathValue("sealed"))
	operation, exists := v.console.agents[order.Operation]
	if err != nil || !exists || order.OrgID != v.session.User.OrgID {
		return c, badLink, nil //nolint:nilerr // the page explains it
	}
	if end, err := v.outcome(order); end != nil || err != nil {
		return c, end, err
	}
	if order.Expired(v.Now) {
		return c, lateLink, nil
	}
	c = confirmation{Order: order, Does: operation, Allowed: v.actor.Allows(operation.Scopes)}
	if c.From, err = v.keyOf(order.KeyID); err != nil {
		return c, nil, err
	}
	if c.From.ID == "" || c.From.RevokedAt != nil {
		return c, keyGone, nil
	}
	if err := v.enterProgram(order.ProgramID); err != nil {
		return c, nil, err
	}
	c.About, err = v.ownAPI().Describe(v.Ctx(), operation, order.Arguments)
	if problem.Is(err, problem.ResourceNotFound) {
		return c, gone, nil
	}
	if p, ok := refused(err); ok && c.Allowed {
		return c, &ending{p.Status(), "This is not possible now", p.Message + " Nothing was done."}, nil
	}
	if _, ok := refused(err); err != nil && !ok {
		return c, nil, err
	}
	if differs(order.AmountMinor, c.About.AmountMinor) {
		return c, changed, nil
	}
	c.Input, c.Path = v.argumentFacts(order.Arguments, c.About.Currency), v.targetOf(c.About.ID, nil).Path
	return c, nil, nil
}

// differs reports whether two known amounts are not the same.
func differs(before, now *int64) bool { return before != nil && now != nil && *before != *now }

// ownAPI returns the API as the person.
func (v *visit) ownAPI() agent.API {
	header := http.Header{}
	v.showPosition(header)
	return agent.API{Handler: v.console.Handler, Catalogue: v.console.agents, Header: header}
}

// keyOf returns an API key of the organization; an empty one if there is none.
func (v *visit) keyOf(id string) (db.APIKey, error) {
	list, err := auth.List(v.Ctx(), v.unit())
	if at := slices.IndexFunc(list, func(k db.APIKey) bool { return k.ID == id }); at >= 0 {
		return list[at], nil
	}
	return db.APIKey{}, err
}

// outcome returns the page about a request that was confirmed; nil if it was not.
func (v *visit) outcome(o agent.Order) (*ending, error) {
	status, body, err := middleware.Outcome(v.Ctx(), v.unit(), v.console.Keeper, o.Key())
	switch {
	case err != nil || status == 0:
		return nil, err
	case status < http.StatusBadRequest:
		return &ending{http.StatusOK, "This is done", "It was confirmed before, and happened once."}, nil
	}
	var answer struct{ Error struct{ Message string } }
	_ = json.Unmarshal(body, &answer) // a page without a message is enough
	return &ending{http.StatusOK, "This was refused", strings.TrimSpace(answer.Error.Message + " Nothing was changed.")}, nil
}

// argumentFacts returns the arguments in words, in the order of their names.
func (v *visit) argumentFacts(arguments agent.Arguments, code string) []fact {
	var out []fact
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		if name == "program_id" || name == "id" {
			continue
		}
		text := string(arguments[name])
		if n, ok := arguments.Integer(name); ok && strings.HasSuffix(name, "_minor") && code != "" {
			text = v.Locale.Money(n, code)
		} else if argument := arguments.Text(name); argument != "" {
			text = argument
		} else if indented := new(bytes.Buffer); json.Indent(indented, arguments[name], "", "  ") == nil {
			text = indented.String()
		}
		out = append(out, fact{Name: site.Words(strings.TrimSuffix(name, "_minor"), vocabulary), Text: text})
	}
	return out
}

// confirm does what an MCP client asks for, once, as the person. The audit log names the client too.
func confirm(v *visit) error {
	c, end, err := v.confirmation()
	if end != nil || err != nil {
		return orEnd(v, end, err)
	}
	if !c.Allowed {
		return problem.New(problem.InsufficientScope, "The role lacks a scope.")
	}
	if v.value("amount") != c.Amount() {
		return orEnd(v, changed, nil)
	}
	if c.Does.Payouts() {
		if err := v.reconfirm(); err != nil {
			return v.again(err, showConfirmation)
		}
	}
	answer, err := v.ownAPI().Do(middleware.For(v.Ctx(), c.Client), c.Does, c.Arguments, c.Order.Key())
	if err == nil {
		err = answer.Refusal()
	}
	if problem.Is(err, problem.IdempotencyInProgress) {
		return v.note(http.StatusOK, "This is being done",
			"It was confirmed a moment ago. Reload this page in a few seconds to see the result.")
	}
	if err != nil {
		return v.again(err, showRefused(err))
	}
	back := "/console"
	if v.program.ID != "" {
		back = v.at("")
	}
	if c.Path != "" && !c.Does.Destroys() {
		back = c.Path
	}
	return v.done(back, fmt.Sprintf("Done: %s.", c.What()))
}

// showRefused shows that the API refused a confirmed request.
func showRefused(err error) action {
	p := middleware.Problem(err)
	return func(v *visit) error { return v.note(p.Status(), "This was refused", p.Message+" Nothing was changed.") }
}
