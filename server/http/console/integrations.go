package console

import (
	"net/url"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
)

var integrationRoutes = map[string]route{
	"GET /console/p/{program}/integrations":                   {Do: integrations},
	"POST /console/p/{program}/integrations/keys":             {Do: createPublishableKey},
	"POST /console/p/{program}/integrations/keys/{id}/revoke": {Do: revokePublishableKey},
}

// integrationsData holds the data of the page about the script and connections.
type integrationsData struct {
	Tabs        site.Tabs
	Keys        []api.PublishableKey
	Host        string // of the program's website
	Connections []connectionRow
	Owner       bool // whether the person may connect
}

// connectionRow is a connection as the list has it.
type connectionRow struct {
	api.ProcessorConnection
	Mark string
}

// State returns the name of the connection's state, and the kind of its badge. A connection without an event is not
// yet called connected.
func (r connectionRow) State() struct{ Kind, Name string } {
	switch {
	case r.Status == api.ProcessorConnectionStatusDisconnected:
		return struct{ Kind, Name string }{"disconnected", "Ended"}
	case r.Status == api.ProcessorConnectionStatusPending || r.LastEventAt == nil:
		return struct{ Kind, Name string }{"pending", "Waiting for its first event"}
	}
	return struct{ Kind, Name string }{"active", "Connected"}
}

// integrations shows how visits and payments come to Rail.
func integrations(v *visit) error {
	keys, err := v.console.api.ListPublishableKeysWithResponse(v.Ctx(),
		&api.ListPublishableKeysParams{ProgramID: v.program.ID, Limit: new(int64(maxListed))})
	if err != nil {
		return err
	}
	connections, err := v.connections()
	if err != nil {
		return err
	}
	rows := make([]connectionRow, len(connections))
	for i, c := range connections {
		rows[i] = connectionRow{c, processorKind{Processor: string(c.Processor)}.Mark()}
	}
	return v.show(sheet{"integrations", "/integrations", "Integrations", integrationsData{
		Tabs: v.integrationTabs(false), Keys: keys.JSON200.Data, Host: host(v.program.WebsiteURL),
		Connections: rows, Owner: v.session.User.Role.ManagesPeople(),
	}})
}

// maxListed is how many keys, connections and endpoints a page shows: the latest ones.
const maxListed = 20

// connections are the program's latest connections to payment processors.
func (v *visit) connections() ([]api.ProcessorConnection, error) {
	reply, err := v.console.api.ListProcessorConnectionsWithResponse(v.Ctx(),
		&api.ListProcessorConnectionsParams{ProgramID: v.program.ID, Limit: new(int64(maxListed))})
	if err != nil {
		return nil, err
	}
	return reply.JSON200.Data, nil
}

// integrationTabs are the two pages about integrations.
func (v *visit) integrationTabs(events bool) site.Tabs {
	return site.Tabs{Label: "Integrations", Links: []site.Link{
		{Path: v.at("/integrations"), Name: "Script and payments", Current: !events},
		{Path: v.at("/integrations/events"), Name: "Event log", Current: events},
	}}
}

// host is that of an address, for the person to begin with.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Host, "www.")
}

// createPublishableKey makes a key for pages of the hosts, which are typed in one line.
func createPublishableKey(v *visit) error {
	body := v.body("createPublishableKey")
	body["allowed_hosts"] = separated(v.value("allowed_hosts"))
	if err := v.send("createPublishableKey", body, nil); err != nil {
		return v.again(err, integrations)
	}
	return v.done(v.at("/integrations"), "The key is created. Paste its tag into the head of every page.")
}

// separated splits a text at spaces, commas and line breaks.
func separated(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \n\t", r) })
}

func revokePublishableKey(v *visit) error {
	key, err := v.console.api.RetrievePublishableKeyWithResponse(v.Ctx(), v.PathValue("id"),
		&api.RetrievePublishableKeyParams{ProgramID: &v.program.ID})
	if err != nil {
		return err
	}
	if err := v.send("deletePublishableKey", nil, nil, key.JSON200.ID); err != nil {
		return v.again(err, integrations)
	}
	return v.done(v.at("/integrations"), "The key is revoked. It stops working within a second.")
}
