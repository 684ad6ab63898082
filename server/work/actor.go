package work

// Kind is the kind of an actor.
type Kind string

// The kinds of actors, as in the audit log.
const (
	APIKey    Kind = "api_key"
	Person    Kind = "person"    // a partner in the portal, or a user of the console
	Operator  Kind = "operator"  // the command line on the server
	Job       Kind = "job"       // a background job
	Processor Kind = "processor" // a payment processor's webhook
	Importer  Kind = "importer"
	Visitor   Kind = "visitor" // of a short link
)

// Actor is the originator of a unit of work.
type Actor struct {
	Kind Kind
	ID   string // of the key or the person, or the name of the job, processor or import; may be empty
	User string // the responsible account, such as the user of an API key; may be empty
	// Client is the MCP client through which the change came, as it names itself; "" for every other change.
	Client string
	// PaysOut means that the actor may confirm payouts: it has the scope payouts:write.
	PaysOut bool
}

// Agent reports whether an MCP client acts with an API key, without a person who confirms.
func (a Actor) Agent() bool { return a.Kind == APIKey && a.Client != "" }

// Key returns the id of the API key; nil for every other actor.
func (a Actor) Key() *string {
	if a.Kind != APIKey {
		return nil
	}
	return &a.ID
}
