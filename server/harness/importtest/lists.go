package importtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"rail/server/clock"
	"rail/server/inbound/importer/source"
)

// Object is an object of a fake API.
type Object = map[string]any

// Change changes a list of a fake API before an answer. It returns another slice. Read counts the requests for the
// list since its first page was requested.
type Change func(list string, read int, objects []Object) []Object

// Oddities are unusual answers of a fake API that are no faults.
type Oddities struct {
	// PastEnd answers pages past the end with the last page.
	PastEnd bool
	Changes []Change
}

// Alter changes object i of a list.
func Alter(list string, i int, alter func(Object)) Change {
	return func(name string, _ int, objects []Object) []Object {
		if name == list {
			objects = slices.Clone(objects)
			objects[i] = maps.Clone(objects[i])
			alter(objects[i])
		}
		return objects
	}
}

// Duplicate shows object i of a list twice.
func Duplicate(list string, i int) Change {
	return func(name string, _ int, objects []Object) []Object {
		if name == list {
			objects = slices.Insert(slices.Clone(objects), i, objects[i])
		}
		return objects
	}
}

// Insert adds copies of the first object with other ids or keys at the top of a list, from the n-th request on.
func Insert(list string, n int, ids ...any) Change {
	inserted := false
	return func(name string, read int, objects []Object) []Object {
		inserted = inserted || name == list && read >= n
		if name != list || !inserted {
			return objects
		}
		var all []Object
		for _, id := range ids {
			first := maps.Clone(objects[0])
			if _, keyed := first["key"]; keyed {
				first["key"] = id
			} else {
				first["id"] = id
			}
			all = append(all, first)
		}
		return append(all, objects...)
	}
}

// Page is the number of objects in a page of most sources.
const Page = 100

// InsertPage adds exactly one page of objects as Insert does. Id is a number or the beginning of an id.
func InsertPage(list string, n int, id any) Change {
	ids := make([]any, Page)
	for i := range ids {
		if number, ok := id.(int); ok {
			ids[i] = number + i
		} else {
			ids[i] = fmt.Sprint(id, i)
		}
	}
	return Insert(list, n, ids...)
}

// Remove removes object i of a list, from the n-th request on.
func Remove(list string, n, i int) Change {
	removed := false
	return func(name string, read int, objects []Object) []Object {
		removed = removed || name == list && read >= n
		if name == list && removed {
			objects = slices.Delete(slices.Clone(objects), i, i+1)
		}
		return objects
	}
}

// lists has the lists of a fake API. A list is made anew when its first page is requested.
type lists struct {
	build map[string]func() []Object
	odd   Oddities

	mu    sync.Mutex
	built map[string][]Object
	reads map[string]int
}

func newLists(odd Oddities, build map[string]func() []Object) *lists {
	return &lists{build: build, odd: odd, built: map[string][]Object{}, reads: map[string]int{}}
}

// get returns a list for a request, false if there is none with that name.
func (l *lists) get(name string, first bool) ([]Object, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	build, ok := l.build[name]
	if !ok {
		return nil, false
	}
	if first || l.built[name] == nil {
		l.built[name], l.reads[name] = build(), 0
	}
	l.reads[name]++
	objects := l.built[name]
	for _, change := range l.odd.Changes {
		objects = change(name, l.reads[name], objects)
	}
	return objects, true
}

// page returns a page of a list by its number, and the number of pages.
func (l *lists) page(objects []Object, number, size int) (shown []Object, pages int) {
	pages = max((len(objects)+size-1)/size, 1)
	if number > pages && l.odd.PastEnd {
		number = pages
	}
	from := min((number-1)*size, len(objects))
	return objects[from:min(from+size, len(objects))], pages
}

// parameter returns a parameter of a query between 1 and most, or the usual value.
func parameter(query url.Values, name string, usual, most int) int {
	n, err := strconv.Atoi(query.Get(name))
	if err != nil || n < 1 {
		return usual
	}
	return min(n, most)
}

// objectsOf returns the objects of rows, newest first.
func objectsOf(rows []source.Row, object func(source.Row) Object) []Object {
	objects := []Object{}
	for _, row := range slices.Backward(rows) {
		if o := object(row); o != nil {
			objects = append(objects, o)
		}
	}
	return objects
}

// byID returns rows by their ids.
func byID(rows []source.Row) map[string]source.Row {
	found := make(map[string]source.Row, len(rows))
	for _, row := range rows {
		found[row.ID] = row
	}
	return found
}

// Numeric returns the number in the id of a world, for products with numeric ids.
func Numeric(id string) int {
	n, _ := strconv.Atoi(id[strings.LastIndexByte(id, '_')+1:])
	return n
}

// answerJSON answers with JSON.
func answerJSON(w http.ResponseWriter, code int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

// orNull returns a time or null.
func orNull(at *clock.Time) any {
	if at == nil {
		return nil
	}
	return at
}
