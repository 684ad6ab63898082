package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"rail/cmd/clients/model"
	"rail/cmd/clients/typescript"
)

// sample is an entry of x-codeSamples, as reference pages read it.
type sample struct {
	Lang   string `json:"lang"`
	Label  string `json:"label"`
	Source string `json:"source"`
}

// dialect writes samples in a language: setup begins each, and call writes the call.
type dialect struct {
	lang, label string
	setup       func(model.Method) string
	call        func(*model.Model, model.Method) string
}

// dialects are in the order of the tabs in /docs.
var dialects = []dialect{
	{"Shell", "curl", nil, curl},
	{"TypeScript", "TypeScript", typescript.Setup, typescript.Sample},
}

// writeSamples returns the samples of all operations by their ids, as JSON in the order of the model.
func writeSamples(m *model.Model) ([]byte, error) {
	w := bytes.NewBufferString("{\n")
	comma := ""
	for _, r := range m.Resources {
		for _, method := range r.Methods {
			var all []sample
			for _, d := range dialects {
				source := d.call(m, method)
				if d.setup != nil {
					source = d.setup(method) + "\n" + source
				}
				all = append(all, sample{d.lang, d.label, source})
			}
			var text bytes.Buffer
			e := json.NewEncoder(&text)
			e.SetEscapeHTML(false)
			if err := e.Encode(all); err != nil {
				return nil, err
			}
			fmt.Fprintf(w, "%s%q: %s", comma, method.OperationID, bytes.TrimSpace(text.Bytes()))
			comma = ",\n"
		}
	}
	w.WriteString("\n}\n")
	return w.Bytes(), nil
}

// curl writes a call for the shell.
func curl(_ *model.Model, m model.Method) string {
	path := m.Path
	for _, p := range m.PathParams {
		path = strings.Replace(path, "{"+p.Name+"}", url.PathEscape(fmt.Sprint(m.Example.Path[p.Name])), 1)
	}
	query := url.Values{}
	for name, value := range m.Example.Query {
		query.Set(name, fmt.Sprint(value))
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	lines := []string{`curl "$RAIL_BASE_URL` + path + `"`}
	if m.HTTP == "DELETE" || m.HTTP == "POST" && m.Example.Body == nil {
		lines[0] = "curl -X " + m.HTTP + strings.TrimPrefix(lines[0], "curl")
	}
	if m.Security == model.Secret {
		lines = append(lines, `-H "Authorization: Bearer $RAIL_API_KEY"`)
	}
	if m.Idempotent {
		lines = append(lines, `-H "Idempotency-Key: $(uuidgen)"`)
	}
	if m.Example.Body != nil {
		body := model.JSON.Write(m.Example.Body, "", 0)
		lines = append(lines, `-H "Content-Type: application/json"`, "-d '"+strings.ReplaceAll(body, "'", `'\''`)+"'")
	}
	return strings.Join(lines, " \\\n  ") + "\n"
}
