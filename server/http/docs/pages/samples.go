package pages

import (
	"bytes"
	"encoding/json"
	"regexp"

	"rail/gen/samples"
	"rail/openapi"
)

// operation finds the id of an operation in the bundle, which has a member in each line.
var operation = regexp.MustCompile(`(?m)^ +"operationId": "(\w+)",$`)

// withSamples returns the description of the API with x-codeSamples. The document that clients are generated from has
// none: it would be a sixth larger.
func withSamples() ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(samples.JSON, &all); err != nil {
		return nil, err
	}
	return operation.ReplaceAllFunc(openapi.Bundle, func(line []byte) []byte {
		of := all[string(operation.FindSubmatch(line)[1])]
		if of == nil { // an operation that payment processors call, or a webhook
			return line
		}
		return bytes.Join([][]byte{line, []byte("\n\"x-codeSamples\": "), of, []byte(",")}, nil)
	}), nil
}
