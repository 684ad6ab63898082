package rules

// Limits of the conditions of one branch (decisions, 3.1).
const (
	maxLeaves = 20
	maxItems  = 20
	maxDepth  = 3
	maxValues = 100
	maxText   = 255
)

// Conditions holds the parsed conditions of a branch, all of which must match. The zero value always matches
// (decisions, 3.1).
type Conditions struct {
	items all
	needs Needs
}

// Needs returns which facts the conditions read that cost a query.
func (c Conditions) Needs() Needs { return c.needs }

// Match reports whether every condition matches the facts (decisions, 3.4).
func (c Conditions) Match(f *Facts) bool { return c.items.match(readingOf(f)) }

// ConditionError is an invalid condition: the code `invalid_condition` of the API. Path is relative to the
// conditions, such as `[0].any[2].value`, and empty for the array itself. Message is a predicate ("must be ...")
// with the allowed values.
type ConditionError struct {
	Path    string
	Message string
}

// Error returns the path and the message.
func (e *ConditionError) Error() string { return "conditions" + e.Path + " " + e.Message }

// wrong returns the error at a path.
func wrong(path, message string) *ConditionError {
	return &ConditionError{Path: path, Message: message}
}

// node is a leaf or a group; match reports whether it matches the facts.
type node interface{ match(r *reading) bool }

// An empty all matches, since conditions may be empty; the parser refuses empty groups.
type (
	all   []node
	anyOf []node
)

func (g all) match(r *reading) bool {
	for _, n := range g {
		if !n.match(r) {
			return false
		}
	}
	return true
}

func (g anyOf) match(r *reading) bool {
	for _, n := range g {
		if n.match(r) {
			return true
		}
	}
	return false
}
