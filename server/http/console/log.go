package console

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/ident"
	"rail/server/locale/plain"
	"rail/server/opt"
	"rail/server/work"
	"rail/server/work/auditlog"
)

var logRoutes = map[string]route{
	"GET /console/p/{program}/log":     {Do: auditLog},
	"GET /console/p/{program}/log.csv": {Do: auditTable},
}

// entry is a line of an audit log as people read it.
type entry struct {
	At            clock.Time
	Who, What     string
	Target        target
	Reason        string
	Before, After string // what changed, as JSON
}

// target is the changed object of a line. Path is the address of its page, "" for none.
type target struct{ Kind, Name, Path string }

// kinds names the objects of the audit log by the prefixes of their ids.
var kinds = map[ident.Prefix]string{
	ident.Partner: "Partner", ident.Customer: "Customer", ident.Sale: "Sale", ident.Commission: "Commission",
	ident.Payout: "Payout", ident.Batch: "Payout run", ident.Flow: "Rule", ident.RiskFlag: "Risk flag",
	ident.Endpoint: "Webhook endpoint", ident.InboxEvent: "Processor event", ident.Campaign: "Email", ident.Link: "Link",
	ident.Coupon: "Coupon", ident.Group: "Group", ident.Tag: "Tag", ident.Program: "Program", ident.APIKey: "API key",
	ident.User: "User", ident.Application: "Application", ident.Connection: "Connection", ident.Resource: "Resource",
	ident.Refund: "Refund", ident.Sequence: "Email sequence", ident.Publishable: "Publishable key",
	ident.PartnerNote: "Note", ident.Import: "Import", ident.TaxForm: "Tax form", ident.Rail: "Payment rail",
	ident.Statement: "Statement", ident.StatementKey: "Key of statements", ident.Mail: "Email",
	ident.Organization: "Organization",
}

// codes are the kinds of objects whose names are values of the API.
var codes = []ident.Prefix{ident.Rail, ident.Connection}

// targetOf describes the object of an id.
func (v *visit) targetOf(id string, names map[string]string) target {
	for prefix, kind := range kinds {
		if !ident.Has(id, prefix) {
			continue
		}
		t := target{Kind: kind, Name: names[id]}
		if slices.Contains(codes, prefix) {
			t.Name = wordsOf(t.Name)
		}
		page, ok := idPages[prefix]
		switch {
		case v.program.ID == "":
		case ok:
			t.Path = v.at(page + id)
		case prefix == ident.Rail:
			t.Path = v.at("/payouts/rails")
		}
		return t
	}
	return target{Kind: "Object"}
}

// auditLog shows who changed what in a program.
func auditLog(v *visit) error {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	reply, err := v.console.api.ListAuditLogEntriesWithResponse(v.Ctx(), &api.ListAuditLogEntriesParams{
		ProgramID: v.program.ID, StartingAfter: turn.After, EndingBefore: turn.Before,
		TargetID: opt.OrNil(cleaned(v.QueryParam("target_id"))), Action: opt.OrNil(cleaned(v.QueryParam("action"))),
	})
	if err != nil {
		return err
	}
	list := reply.JSON200
	entries, err := v.entries(list.Data)
	if err != nil {
		return err
	}
	found := pageOf(list.Data, list.HasMore, list.TotalCount)
	return v.show(sheet{"log", "/log", "Audit log", site.Listed(v.Request().URL, turn, found,
		func(e api.AuditLogEntry) string { return e.ID }, entries)})
}

// auditTable sends the log as a file.
func auditTable(v *visit) error {
	query := v.query("target_id", "action")
	query.Set("program_id", v.program.ID)
	rows, err := v.fileRows("listAuditLogEntries", query)
	if err != nil {
		return err
	}
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.cell("actor_id"), r.cell("target_id"))
	}
	names, err := v.loggedNames(ids)
	if err != nil {
		return err
	}
	return v.sendRows("audit-log", []field{
		timeField("When", "created_at"),
		{"Who", func(r fileRow) string {
			return plain.Cell(actor(r.cell("actor_type"), r.cell("actor_id"), names) + through(opt.OrNil(r.cell("client"))))
		}},
		{"What", func(r fileRow) string { return plain.Cell(doing(r.cell("action"))) }},
		{"Object", func(r fileRow) string { return v.targetOf(r.cell("target_id"), names).Kind }},
		{"Name", func(r fileRow) string { return plain.Cell(v.targetOf(r.cell("target_id"), names).Name) }},
		plainField("Reason", "reason"),
		plainField("Before", "before"),
		plainField("After", "after"),
		plainField("Object ID", "target_id"),
		rowID,
	}, rows)
}

// loggedNames returns the names of the log's people and objects by their ids.
func (v *visit) loggedNames(ids []string) (map[string]string, error) {
	names, err := v.console.People.Names(v.Ctx(), v.unit(), ids)
	if err != nil {
		return nil, err
	}
	objects, err := auditlog.Names(v.Ctx(), v.unit(), ids)
	maps.Copy(names, objects)
	return names, err
}

// entries are lines of the API's log with the names of people and objects in it.
func (v *visit) entries(list []api.AuditLogEntry) ([]entry, error) {
	var ids []string
	for _, e := range list {
		ids = append(ids, opt.Value(e.ActorID), e.TargetID)
	}
	names, err := v.loggedNames(ids)
	if err != nil {
		return nil, err
	}
	out := make([]entry, len(list))
	for i, e := range list {
		out[i] = entry{
			At: e.CreatedAt, Who: actor(string(e.ActorType), opt.Value(e.ActorID), names) + through(e.Client),
			What:   doing(e.Action),
			Target: v.targetOf(e.TargetID, names), Reason: opt.Value(e.Reason), Before: shown(e.Before), After: shown(e.After),
		}
	}
	return out, nil
}

// peopleLog returns changes of the organization's people.
func (v *visit) peopleLog() ([]entry, error) {
	list, err := v.console.People.Log(v.Ctx(), v.unit())
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range list {
		ids = append(ids, opt.Value(e.ActorID), e.TargetID)
	}
	names, err := v.console.People.Names(v.Ctx(), v.unit(), ids)
	if err != nil {
		return nil, err
	}
	out := make([]entry, len(list))
	for i, e := range list {
		by := auditlog.ActorOf(e)
		out[i] = entry{
			At: e.CreatedAt, Who: actor(string(by.Kind), by.ID, names), What: doing(e.Action), Reason: opt.Value(e.Reason),
			Target: target{Kind: "User", Name: named(e.TargetID, names)}, Before: string(e.Before), After: string(e.After),
		}
	}
	return out, nil
}

// through names the MCP client that asked for a change; "" for none.
func through(client *string) string {
	if client == nil {
		return ""
	}
	return ", asked by " + *client
}

// actor is who did something, by name where it is a person.
func actor(kind, id string, names map[string]string) string {
	switch work.Kind(kind) {
	case work.Person:
		if name := names[id]; name != "" {
			return name
		}
		return "A partner"
	case work.APIKey:
		return "API key " + named(id, names)
	case work.Operator:
		return "The operator"
	case work.Job:
		return "Rail itself"
	case work.Processor:
		return "The payment processor"
	case work.Importer, work.Visitor:
	}
	return site.Words(kind, vocabulary)
}

// named returns the name of a person, or the id if there is no such person.
func named(id string, names map[string]string) string {
	if name := names[id]; name != "" {
		return name
	}
	return id
}

// doing is an action of the log in words: commission.rejected is Commission rejected.
func doing(a string) string {
	return site.Words(strings.NewReplacer(".", " ", "_", " ").Replace(a), vocabulary)
}

// shown is a snapshot as JSON; "" for none.
func shown(snapshot any) string {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if out.Encode(snapshot) != nil || strings.TrimSpace(b.String()) == "null" {
		return ""
	}
	return strings.TrimSpace(b.String())
}
