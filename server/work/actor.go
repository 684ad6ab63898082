package work

// Kind is what sort of actor does a unit of work.
type Kind string

// The kinds of actors, as the audit log names them.
const (
	APIKey    Kind = "api_key"
	Person    Kind = "person"    // a partner in the portal, or a user of the console
	Operator  Kind = "operator"  // the command line on the server
	Job       Kind = "job"       // by itself, as time passes
	Processor Kind = "processor" // a payment processor's webhook
	Importer  Kind = "importer"
	Visitor   Kind = "visitor" // of a short link
)

// Actor is who does a unit of work.
type Actor struct {
	Kind Kind
	ID   string // of the key or the person, or the name of the job, processor or import; "" for none
	User string // the account that answers for it, such as the owner of an API key; "" for none
}

// Key returns the id of the API key; nil for every other actor.
func (a Actor) Key() *string {
	if a.Kind != APIKey {
		return nil
	}
	return &a.ID
}
