package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// parser counts over all leaves of one branch; the trigger decides which fields they may read. Paths in its
// errors name the place within the conditions, such as [0].any[1].value.
type parser struct {
	trigger Trigger
	leaves  int
	needs   Needs
}

// ParseConditions validates the conditions of a branch of a flow with that trigger and returns the form to
// evaluate. It enforces decisions 3.1 to 3.3, so parsed conditions can be matched without further errors.
// Duplicate names are refused earlier, with the body.
func ParseConditions(raw json.RawMessage, trigger Trigger) (Conditions, *ConditionError) {
	p := parser{trigger: trigger}
	items, err := p.items(raw, "", 1)
	if err != nil {
		return Conditions{}, err
	}
	return Conditions{items: items, needs: p.needs}, nil
}

// items parses an array of conditions and groups.
func (p *parser) items(raw json.RawMessage, path string, depth int) ([]node, *ConditionError) {
	elements, ok := array(raw)
	if !ok {
		return nil, wrong(path,
			"must be an array of conditions ({field, operator, value}) and groups ({any: [...]} or {all: [...]})")
	}
	nodes := make([]node, 0, min(len(elements), maxItems))
	for i, element := range elements {
		n, err := p.item(element, at(path, i), depth)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// item parses a group if it has a group's key, else a condition.
func (p *parser) item(raw json.RawMessage, path string, depth int) (node, *ConditionError) {
	members, ok := object(raw)
	if !ok {
		return nil, wrong(path,
			"must be an object: a condition {field, operator, value} or a group {any: [...]} or {all: [...]}")
	}
	for _, name := range []string{"any", "all"} {
		if _, ok := members[name]; ok {
			return p.group(members, name, path, depth+1)
		}
	}
	return p.leaf(members, path)
}

// group parses {any: [...]} or {all: [...]}. Depth and size are bounded, since every event evaluates stored
// conditions.
func (p *parser) group(members map[string]json.RawMessage, name, path string, depth int) (node, *ConditionError) {
	if err := only(members, path, "a group has one key, any or all", name); err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, wrong(path,
			fmt.Sprintf("is nested too deep; groups nest to depth %d, counting the outer array", maxDepth))
	}
	path += "." + name
	if elements, ok := array(members[name]); ok && (len(elements) < 1 || len(elements) > maxItems) {
		return nil, wrong(path, fmt.Sprintf("must have 1 to %d items", maxItems))
	}
	nodes, err := p.items(members[name], path, depth)
	if err != nil {
		return nil, err
	}
	if name == "any" {
		return anyOf(nodes), nil
	}
	return all(nodes), nil
}

// leaf parses one condition: the field decides the operators, field and operator the value.
func (p *parser) leaf(members map[string]json.RawMessage, path string) (node, *ConditionError) {
	if err := only(members, path, "a condition has the keys field, operator and value", "field", "operator",
		"value"); err != nil {
		return nil, err
	}
	if p.leaves++; p.leaves > maxLeaves {
		return nil, wrong(path,
			fmt.Sprintf("is one too many; a branch has at most %d conditions, those in groups included", maxLeaves))
	}
	f, err := p.field(members, path+".field")
	if err != nil {
		return nil, err
	}
	op, err := operatorOf(f, members, path+".operator")
	if err != nil {
		return nil, err
	}
	raw, ok := members["value"]
	if !ok {
		return nil, wrong(path+".value", "is required")
	}
	// Facts to read before the branch can be evaluated.
	p.needs |= f.needs
	l := leaf{field: f, op: op}
	if err := l.take(raw, path+".value"); err != nil {
		return nil, err
	}
	return l, nil
}

// field returns the field that a condition names, if the trigger has it.
func (p *parser) field(members map[string]json.RawMessage, path string) (*field, *ConditionError) {
	s, err := name(members, "field", path, "must be one of "+fieldNames(p.trigger))
	if err != nil {
		return nil, err
	}
	f, problem := fieldOf(s, p.trigger)
	if problem != "" {
		return nil, wrong(path, problem)
	}
	return f, nil
}

// operatorOf returns the operator of a condition, if the field's kind allows it.
func operatorOf(f *field, members map[string]json.RawMessage, path string) (operator, *ConditionError) {
	message := "must be one of " + listing(operators[f.kind]) + " for " + f.name
	s, err := name(members, "operator", path, message)
	if err != nil {
		return "", err
	}
	if op := operator(s); slices.Contains(operators[f.kind], op) {
		return op, nil
	}
	return "", wrong(path, message)
}

// name reads a required string member.
func name(members map[string]json.RawMessage, key, path, message string) (string, *ConditionError) {
	raw, ok := members[key]
	if !ok {
		return "", wrong(path, "is required and "+message)
	}
	s, ok := text(raw)
	if !ok {
		return "", wrong(path, message)
	}
	return s, nil
}

// only refuses members beyond those named. It checks them in order, so that the same body always gets the same
// message.
func only(members map[string]json.RawMessage, path, rule string, names ...string) *ConditionError {
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(names, key) {
			return wrong(path+"."+key, "is not allowed; "+rule)
		}
	}
	return nil
}

// at returns the path of an array's element.
func at(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// array, object and text decode a value of that type, and report false for any other, including null.
func array(raw json.RawMessage) (elements []json.RawMessage, ok bool) {
	ok = opens(raw, '[') && json.Unmarshal(raw, &elements) == nil
	return elements, ok
}

func object(raw json.RawMessage) (members map[string]json.RawMessage, ok bool) {
	ok = opens(raw, '{') && json.Unmarshal(raw, &members) == nil
	return members, ok
}

func text(raw json.RawMessage) (s string, ok bool) {
	ok = opens(raw, '"') && json.Unmarshal(raw, &s) == nil
	return s, ok
}

// opens reports whether a value begins with c, which tells its type. Unmarshal alone cannot: it accepts null for
// any type.
func opens(raw json.RawMessage, c byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == c
}
