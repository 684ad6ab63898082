package site

// Sort is the head of a column that can be sorted by, as the template "sort".
type Sort struct {
	Name, Path string
	Order      string // "ascending", "descending", or "" where the list has another order
	Number     bool   // the column's figures stand to the right
}

// Bulk is the bar below a table whose rows can be ticked, by the template "bulk". It
// and the table are in one form; a row begins with the template "tick", the table's
// head with "tick-all".
type Bulk struct {
	What    string // names the rows, such as partners
	Actions []Action
}

// Action is a button of a form.
type Action struct {
	Label, Name, Value string
	Path               string // where the form goes to, if not to its own action
	Confirm            string // what the browser asks first, if its scripts run
	Danger             bool
}

// Tick is the checkbox of a row, which What names.
type Tick struct{ Name, Value, What string }

// NewTick returns the box of a row.
func NewTick(name, value, what string) Tick { return Tick{name, value, what} }
