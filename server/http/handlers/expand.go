package handlers

import (
	"context"
	"slices"

	"github.com/oapi-codegen/nullable"

	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// wants reports whether a relation or a computed part was requested.
func wants[E ~string](asked []E, name E) bool { return slices.Contains(asked, name) }

// embed loads the related objects of a page with one query and sets them. ref returns the id of an
// object's relation (nil for none), set stores it. A requested relation that does not exist is
// null, not absent.
func embed[O, R, A any](ctx context.Context, tx pgtx.DBTX, u *work.Unit, objects []O,
	ref func(*O) *string, load func(ctx context.Context, tx pgtx.DBTX, org string, ids []string) ([]R, error),
	toAPI func(R) (string, A), set func(*O, nullable.Nullable[A]),
) error {
	var ids []string
	for i := range objects {
		// Objects of a page share relations, so load each once.
		if id := ref(&objects[i]); id != nil && !slices.Contains(ids, *id) {
			ids = append(ids, *id)
		}
	}
	related := map[string]A{}
	if len(ids) > 0 {
		rows, err := load(ctx, tx, u.OrgID, ids)
		if err != nil {
			return err
		}
		for _, r := range rows {
			id, a := toAPI(r)
			related[id] = a
		}
	}
	for i := range objects {
		value := nullable.NewNullNullable[A]()
		if id := ref(&objects[i]); id != nil {
			if a, ok := related[*id]; ok {
				value = nullable.NewNullableWithValue(a)
			}
		}
		set(&objects[i], value)
	}
	return nil
}

// ids returns the ids of objects in their order.
func ids[O any](objects []O, id func(*O) string) []string {
	out := make([]string, len(objects))
	for i := range objects {
		out[i] = id(&objects[i])
	}
	return out
}
