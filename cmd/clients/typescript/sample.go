package typescript

import (
	"regexp"
	"strings"

	"rail/cmd/clients/model"
)

// Setup begins a program with a call of a method: it makes the client that the sample uses.
func Setup(m model.Method) string {
	options := "baseURL: process.env.RAIL_BASE_URL!, apiKey: process.env.RAIL_API_KEY"
	if m.Security == model.Publishable {
		options = "baseURL: 'https://rail.example.com'"
	}
	return "import { Rail } from 'rail-client'\n\nconst rail = new Rail({ " + options + " })\n"
}

var identifier = regexp.MustCompile(`^[A-Za-z_$][\w$]*$`)

// literals writes values in JavaScript.
var literals = model.Literals{
	Indent: "  ", Comma: ",", Pad: " ", Null: "null", Yes: "true", No: "false", Width: 84, Text: text,
	Key: func(name string) string {
		if identifier.MatchString(name) {
			return name + ": "
		}
		return text(name) + ": "
	},
}

// text writes a string in single quotes where it can.
func text(s string) string {
	if strings.ContainsAny(s, "'\\\n\r\t") {
		return model.Quoted(s)
	}
	return "'" + s + "'"
}

// Sample returns an example of a call of rail, as one statement.
func Sample(_ *model.Model, m model.Method) string {
	begin := "const " + variable(m) + " = await rail." + call(m) + "("
	end := ")"
	if m.Page != nil {
		begin = "for await (const " + variable(m) + " of rail." + call(m) + "("
		end = ")) {\n  console.log(" + variable(m) + "." + shown(m) + ")\n}"
	}
	var args []string
	column := len(begin)
	add := func(v model.Value) {
		args = append(args, literals.Write(v, "", column))
		column += len(args[len(args)-1]) + len(", ")
	}
	for _, p := range m.PathParams {
		add(m.Example.Path[p.Name])
	}
	body, _ := m.Example.Body.(model.Members)
	if m.Body != nil && (m.Body.Required || len(body) > 0) {
		add(body)
	}
	if len(m.Example.Query) > 0 {
		query := model.Members{}
		for _, p := range m.Query {
			if v, ok := m.Example.Query[p.Name]; ok {
				query = append(query, model.NamedValue{Name: p.Ident, Value: v})
			}
		}
		add(query)
	}
	return begin + strings.Join(args, ", ") + end + "\n"
}

// variable returns the name of a variable for the answer of a call.
func variable(m model.Method) string {
	of := m.Answer.Shape.Name
	if m.Page != nil {
		of = m.Page.Item.Name
	}
	name := model.Camel(of)
	if name == "import" { // reserved
		return "started"
	}
	return name
}

// shown returns the member of an item that a loop prints.
func shown(m model.Method) string {
	if m.Page.OfPage {
		return "type"
	}
	return m.Page.Cursor
}
