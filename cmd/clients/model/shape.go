package model

import (
	"encoding/json"
	"fmt"
	"slices"
)

// types reads the named types.
func (r *reader) types() error {
	for _, s := range r.document.Components.Schemas {
		shape, err := r.shape(s.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		r.model.Types = append(r.model.Types, Type{Name: s.Name, Description: s.Value.Description, Shape: shape})
	}
	for i := range r.model.Types {
		r.model.types[r.model.Types[i].Name] = &r.model.Types[i]
	}
	return nil
}

// shape reads a schema.
func (r *reader) shape(s schema) (Shape, error) {
	switch {
	case s.Ref != "":
		if _, ok := r.document.Components.Schemas.get(last(s.Ref)); !ok {
			return Shape{}, fmt.Errorf("%s does not exist", s.Ref)
		}
		return Shape{Kind: Named, Name: last(s.Ref)}, nil
	case len(s.OneOf) > 0:
		return r.oneOf(s)
	case len(s.Enum) > 0 || s.Const != nil:
		return enum(s)
	}
	kind, nullable := s.kind()
	shape := Shape{Nullable: nullable, Format: s.Format}
	switch kind {
	case "":
		shape.Kind = Any
	case "string":
		shape.Kind = String
	case "integer":
		shape.Kind = Integer
	case "number":
		shape.Kind = Number
	case "boolean":
		shape.Kind = Boolean
	case "array":
		if s.Items == nil {
			return shape, fmt.Errorf("an array has no items")
		}
		item, err := r.shape(*s.Items)
		shape.Kind, shape.Item = List, &item
		return shape, err
	case "object":
		return r.object(s, shape)
	default:
		return shape, fmt.Errorf("the type %v is not known", s.Type)
	}
	return shape, nil
}

// kind returns the type of a schema, "" for any or for several, and whether null is allowed.
func (s schema) kind() (kind string, nullable bool) {
	all := slices.DeleteFunc(slices.Clone(s.Type), func(k string) bool { return k == "null" })
	if len(all) == 1 {
		kind = all[0]
	}
	return kind, len(all) < len(s.Type)
}

// oneOf reads a union. A union with null is the other variant, nullable.
func (r *reader) oneOf(s schema) (Shape, error) {
	union := Shape{Kind: Union}
	for _, v := range s.OneOf {
		if len(v.Type) == 1 && v.Type[0] == "null" {
			union.Nullable = true
			continue
		}
		shape, err := r.shape(v)
		if err != nil {
			return union, err
		}
		union.Variants = append(union.Variants, shape)
	}
	if len(union.Variants) == 1 {
		only := union.Variants[0]
		only.Nullable = only.Nullable || union.Nullable
		return only, nil
	}
	if s.Discriminator == nil {
		return union, nil
	}
	union.Tag, union.Tags = s.Discriminator.PropertyName, map[string]string{}
	for value, ref := range s.Discriminator.Mapping {
		union.Tags[value] = last(ref)
	}
	return union, nil
}

// enum reads an enumeration or a constant.
func enum(s schema) (Shape, error) {
	all := s.Enum
	if s.Const != nil {
		all = []any{s.Const}
	}
	shape := Shape{Kind: Enum}
	for _, v := range all {
		switch v := v.(type) {
		case string:
			shape.Values = append(shape.Values, v)
		case bool:
			shape.Format = "boolean"
			shape.Values = append(shape.Values, fmt.Sprint(v))
		case nil:
			shape.Nullable = true
		default:
			return shape, fmt.Errorf("%v is neither a string nor a boolean", v)
		}
	}
	return shape, nil
}

// object reads an object with members, or one of any names.
func (r *reader) object(s schema, shape Shape) (Shape, error) {
	shape.Kind = Object
	additional := string(s.Additional)
	if len(s.Properties) == 0 {
		item := Shape{Kind: Any}
		if additional != "" && additional != "true" && additional != "false" {
			var of schema
			if err := json.Unmarshal(s.Additional, &of); err != nil {
				return shape, err
			}
			var err error
			if item, err = r.shape(of); err != nil {
				return shape, err
			}
		}
		shape.Kind, shape.Item = Map, &item
		return shape, nil
	}
	shape.Open = additional == "true"
	for _, p := range s.Properties {
		of, err := r.shape(p.Value)
		if err != nil {
			return shape, fmt.Errorf("%s: %w", p.Name, err)
		}
		byDefault, err := readValue(p.Value.Default)
		if err != nil {
			return shape, err
		}
		shape.Members = append(shape.Members, Member{
			Name: p.Name, Description: r.described(p.Value), Shape: of,
			Required: slices.Contains(s.Required, p.Name), Default: byDefault,
		})
	}
	return shape, nil
}

// described returns the description of a schema, or of the type that it names.
func (r *reader) described(s schema) string {
	if s.Description == "" && s.Ref != "" {
		named, _ := r.document.Components.Schemas.get(last(s.Ref))
		return r.described(named)
	}
	return s.Description
}

// uses marks the types that requests and answers contain.
func (r *reader) uses() error {
	for _, resource := range r.model.Resources {
		for _, m := range resource.Methods {
			if m.Body != nil {
				r.mark(m.Body.Shape, true)
			}
			for _, p := range slices.Concat(m.PathParams, m.Query) {
				r.mark(p.Shape, true)
			}
			r.mark(m.Answer.Shape, false)
		}
	}
	for _, e := range r.model.Events {
		r.mark(Shape{Kind: Named, Name: e.Type}, false)
	}
	r.mark(Shape{Kind: Named, Name: "ErrorEnvelope"}, false)
	return nil
}

// mark marks what a shape contains as part of a request or of an answer.
func (r *reader) mark(s Shape, request bool) {
	if s.Kind == Named {
		t := r.model.types[s.Name]
		if request && t.Request || !request && t.Response {
			return
		}
		t.Request, t.Response = t.Request || request, t.Response || !request
		r.mark(t.Shape, request)
	}
	if s.Item != nil {
		r.mark(*s.Item, request)
	}
	for _, m := range s.Members {
		r.mark(m.Shape, request)
	}
	for _, v := range s.Variants {
		r.mark(v, request)
	}
}
