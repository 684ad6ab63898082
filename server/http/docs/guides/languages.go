package guides

import (
	"encoding/json"
	"fmt"
	"go/format"
	"strings"
)

// language writes calls in one language.
type language struct {
	name, title, fence string
	file               string // that has the functions get and post
	indent, comma      string // of members, each in a line; comma follows the last
	object, list       string // opens each
	pad                string // inside of an object in one line
	null, yes, no      string
	text               func(string) string
	key                func(string) string
	call               func(c call, path, headers, body string) string
	hour               string // names the time an hour ago
}

// languages are those of the tabs, in their order.
var languages = []language{curl, node, python, golang}

var curl = language{
	name: "curl", title: "curl", fence: "sh", file: "setup.sh",
	indent: "  ", object: "{", list: "[", null: "null", yes: "true", no: "false",
	text: func(s string) string {
		return variable.ReplaceAllString(strings.ReplaceAll(quoted(s), "'", `'\''`), `'$$$1'`)
	},
	key: quotedKey,
	call: func(c call, path, headers, body string) string {
		line := strings.ToLower(c.method) + " " + shell(path)
		if body != "" {
			line += " '" + body + "'"
		}
		if headers != "" {
			line += ` -H "` + c.header + ": " + c.value + `"`
		}
		if c.name != "" {
			return c.name + "=$(" + line + ")"
		}
		return line
	},
	hour: "%s=$(date -u -d '1 hour ago' +%%Y-%%m-%%dT%%H:%%M:%%SZ)",
}

// shell quotes a path where it needs quotes.
func shell(path string) string {
	if strings.ContainsAny(path, "$?&[") {
		return `"` + path + `"`
	}
	return path
}

var node = language{
	name: "node", title: "Node", fence: "js", file: "setup.mjs",
	indent: "  ", comma: ",", object: "{", list: "[", pad: " ", null: "null", yes: "true", no: "false",
	text: func(s string) string {
		quote := func(s string) string {
			switch {
			case strings.Contains(s, "${"):
				return "`" + s + "`"
			case strings.ContainsAny(s, "'\\\n"):
				return quoted(s)
			}
			return "'" + s + "'"
		}
		return substituted(s, quote, "%s", "$${%s}", "")
	},
	key:  func(s string) string { return s + ": " },
	call: function("await ", "const %s = "),
	hour: "const %s = new Date(Date.now() - 3_600_000).toISOString()",
}

var python = language{
	name: "python", title: "Python", fence: "python", file: "setup.py",
	indent: "    ", comma: ",", object: "{", list: "[", null: "None", yes: "True", no: "False",
	text: func(s string) string { return substituted(s, quoted, "%s", "{%s}", "f") },
	key:  quotedKey,
	call: function("", "%s = "),
	hour: "%s = (datetime.now(timezone.utc) - timedelta(hours=1)).isoformat()",
}

var golang = language{
	name: "go", title: "Go", fence: "go", file: "setup.go.txt",
	indent: "\t", comma: ",", object: "object{", list: "[]any{", null: "nil", yes: "true", no: "false",
	text: concatenated,
	key:  quotedKey,
	call: function("", "%s := "),
	hour: "%s := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)",
}

// function writes a call of the function get or post. prefix precedes the function's name;
// assign has %s for the name of the result.
func function(prefix, assign string) func(c call, path, headers, body string) string {
	return func(c call, path, headers, body string) string {
		line := prefix + strings.ToLower(c.method) + "(" + join(path, body, headers) + ")"
		if c.name != "" {
			return fmt.Sprintf(assign, c.name) + line
		}
		return line
	}
}

// concatenated writes a string in Go, which has no variables in strings.
func concatenated(s string) string {
	var parts []string
	literal := func(s string) {
		if s != "" {
			parts = append(parts, quoted(s))
		}
	}
	rest := 0
	for _, at := range variable.FindAllStringSubmatchIndex(s, -1) {
		literal(s[rest:at[0]])
		parts = append(parts, s[at[2]:at[3]])
		rest = at[1]
	}
	literal(s[rest:])
	if len(parts) == 0 {
		return `""`
	}
	return strings.Join(parts, " + ")
}

// quotedKey writes the name of a member in quotes.
func quotedKey(name string) string { return quoted(name) + ": " }

// join lists the arguments that are not empty.
func join(all ...string) string {
	var out []string
	for _, one := range all {
		if one != "" {
			out = append(out, one)
		}
	}
	return strings.Join(out, ", ")
}

// lineWidth is the longest line that is not broken.
const lineWidth = 84

// code writes the calls of a block.
func (l language) code(block string) string {
	var b strings.Builder
	for _, c := range calls(block) {
		b.WriteString(l.statement(c) + "\n")
	}
	if l.name != golang.name {
		return b.String()
	}
	formatted, err := format.Source([]byte(b.String()))
	if err != nil {
		panic(err)
	}
	return string(formatted)
}

// statement writes a call, in one line where it fits.
func (l language) statement(c call) string {
	if c.method == hour {
		return fmt.Sprintf(l.hour, c.name)
	}
	path, headers := c.path, ""
	if l.name != curl.name {
		path = l.text(path)
	}
	if c.header != "" {
		headers = l.headers(c)
	}
	if c.body == nil {
		return l.call(c, path, headers, "")
	}
	if line := l.call(c, path, headers, l.inline(c.body)); len(line) <= lineWidth {
		return line
	}
	return l.call(c, path, headers, l.broken(c.body, ""))
}

// headers writes the argument for the request's header.
func (l language) headers(c call) string {
	if l.name == golang.name {
		return join(l.text(c.header), l.text(c.value))
	}
	return l.object + l.pad + l.text(c.header) + ": " + l.text(c.value) + l.pad + "}"
}

// inline writes a value in one line.
func (l language) inline(v any) string {
	switch v := v.(type) {
	case members:
		var all []string
		for _, m := range v {
			all = append(all, l.key(m.name)+l.inline(m.value))
		}
		if len(all) == 0 {
			return l.object + "}"
		}
		return l.object + l.pad + strings.Join(all, ", ") + l.pad + "}"
	case []any:
		var all []string
		for _, one := range v {
			all = append(all, l.inline(one))
		}
		return l.list + strings.Join(all, ", ") + l.endOfList()
	}
	return l.scalar(v)
}

// broken writes each member of an object in a line, and each item of a list.
func (l language) broken(v any, indent string) string {
	inner := indent + l.indent
	lines := func(open, end string, each []string) string {
		return open + "\n" + inner + strings.Join(each, ",\n"+inner) + l.comma + "\n" + indent + end
	}
	var each []string
	switch v := v.(type) {
	case members:
		for _, m := range v {
			each = append(each, l.key(m.name)+l.fitting(m.value, inner))
		}
		return lines(l.object, "}", each)
	case []any:
		for _, one := range v {
			each = append(each, l.fitting(one, inner))
		}
		return lines(l.list, l.endOfList(), each)
	}
	return l.scalar(v)
}

// fitting writes a value in one line where it fits.
func (l language) fitting(v any, indent string) string {
	if line := l.inline(v); len(indent)+len(line) <= lineWidth {
		return line
	}
	return l.broken(v, indent)
}

// endOfList closes a list as it was opened.
func (l language) endOfList() string {
	if strings.HasSuffix(l.list, "{") {
		return "}"
	}
	return "]"
}

// scalar writes a string, a number, true, false or null.
func (l language) scalar(v any) string {
	switch v := v.(type) {
	case string:
		return l.text(v)
	case json.Number:
		return v.String()
	case bool:
		if v {
			return l.yes
		}
		return l.no
	}
	return l.null
}

// setup is the code that the calls of a page need.
func (l language) setup() string {
	text, err := files.ReadFile("setup/" + l.file)
	if err != nil {
		panic(err)
	}
	return string(text)
}
