package agent

import (
	"slices"

	"rail/openapi"
	"rail/server/problem"
)

// Catalogue has the operations that agents can call, by name.
type Catalogue map[string]Operation

// withheld are operations that no agent can call, and why.
var withheld = map[string]string{
	"createEmbedToken":            secrets,
	"createPartnerSSO":            secrets,
	"createWebhookEndpoint":       secrets,
	"rotateWebhookEndpointSecret": secrets,
	"createImport":                "it takes an API key of another product, or files",
	"exportPayoutBatch":           "it answers a file with payout details",
	"reportPayoutResults":         "it takes a file",
	"createPartnerNote":           "it takes a file",
	"retrievePartnerNoteFile":     "it answers a file",
	"retrieveBrowserAttribution":  "pages call it",
}

const secrets = "it answers a secret, which would stay in the client's history"

// tagsWithheld are tags none of whose operations agents can call.
var tagsWithheld = []string{"Publishable keys", "Security", "Documents", "Hooks", "Browser"}

// NewCatalogue returns the operations that agents can call.
func NewCatalogue(all []openapi.Operation) Catalogue {
	out := Catalogue{}
	for _, o := range all {
		if o.Public || o.Browser || withheld[o.ID] != "" || slices.Contains(tagsWithheld, tagOf(o)) {
			continue
		}
		out[o.ID] = newOperation(o)
	}
	return out
}

// tagOf returns the tag of an operation, which has one.
func tagOf(o openapi.Operation) string { return o.Route.Operation.Tags[0] }

// Tag returns the tag of an operation.
func (o Operation) Tag() string { return tagOf(o.Operation) }

// Summary returns the operation in a few words.
func (o Operation) Summary() string { return o.Route.Operation.Summary }

// Description returns the operation in full.
func (o Operation) Description() string { return o.Route.Operation.Description }

// Find returns an operation, or a refusal that suggests one with a similar name.
func (c Catalogue) Find(name string, among []string) (Operation, error) {
	if o, ok := c[name]; ok && slices.Contains(among, name) {
		return o, nil
	}
	return Operation{}, problem.UnknownName("operation "+name, "is not one of this tool", name, among)
}
