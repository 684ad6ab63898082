package model

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Value is a JSON value: nil, a bool, a json.Number, a string, a []Value, or Members for an object.
type Value any

// Members is a JSON object in the order of the description.
type Members []NamedValue

// NamedValue is a member of a JSON object.
type NamedValue struct {
	Name  string
	Value Value
}

// Get returns the value of a member, or nil.
func (m Members) Get(name string) Value {
	for _, one := range m {
		if one.Name == name {
			return one.Value
		}
	}
	return nil
}

// readValue reads JSON into a Value. No JSON is nil.
func readValue(raw json.RawMessage) (Value, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := decode(dec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", raw, err)
	}
	return v, nil
}

// decode reads the next value of a decoder.
func decode(dec *json.Decoder) (Value, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return decodeMembers(dec)
	case json.Delim('['):
		return decodeList(dec)
	}
	return token, nil
}

// decodeMembers reads the rest of an object.
func decodeMembers(dec *json.Decoder) (Value, error) {
	all := Members{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		v, err := decode(dec)
		if err != nil {
			return nil, err
		}
		all = append(all, NamedValue{fmt.Sprint(name), v})
	}
	_, err := dec.Token()
	return all, err
}

// decodeList reads the rest of an array.
func decodeList(dec *json.Decoder) (Value, error) {
	all := []Value{}
	for dec.More() {
		v, err := decode(dec)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	_, err := dec.Token()
	return all, err
}
