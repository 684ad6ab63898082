package design

// Form is a form's values and faults, as it is shown.
type Form struct {
	Values map[string]string
	Errors Faults
}

// Input is one line of a form as it is shown, by the template "input".
type Input struct {
	Name, ID, Label, Hint, Value, Error, Type, Auto string
	// Most is how many characters are taken.
	Most     int
	Optional bool
}

// NewInput fills a line with what was typed and its fault. auto is the value of
// autocomplete.
func NewInput(f Form, name, label, hint, kind, auto string, most int) Input {
	return Input{
		Name: name, ID: name, Label: label, Hint: hint, Value: f.Values[name], Error: f.Errors[name], Type: kind,
		Auto: auto, Most: most,
	}
}
