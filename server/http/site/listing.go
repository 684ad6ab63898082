package site

import (
	"net/url"
	"regexp"

	"rail/server/list"
	"rail/server/problem"
)

// idForm is the form of an id in a page's address.
var idForm = regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`)

// Turn is where in a list a page lies: after or before a row's id.
type Turn struct{ After, Before *string }

// TurnOf reads it from an address.
func TurnOf(query url.Values) (Turn, error) {
	var t Turn
	for name, to := range map[string]**string{"after": &t.After, "before": &t.Before} {
		if id := query.Get(name); id != "" {
			if !idForm.MatchString(id) {
				// A made-up place in a list is a page that does not exist; forms have
				// no field to show a fault at.
				return t, problem.NotFound("")
			}
			*to = &id
		}
	}
	return t, nil
}

// Listing is a page of a list, which the template "pager" turns.
type Listing struct {
	Rows         any
	Total        int64
	Older, Newer string // addresses; "" for none
}

// Listed returns a page of a list with its rows. The ids of the rows are the cursors; at is the page's address, whose
// filters stay.
func Listed[R any](at *url.URL, t Turn, found list.Page[R], id func(R) string, rows any) Listing {
	l := Listing{Rows: rows, Total: found.Total}
	if len(found.Rows) == 0 {
		return l
	}
	// Someone who came back from an older page can go there again; otherwise
	// only a row read past the page shows that there are more.
	if t.Before != nil || found.HasMore {
		l.Older = turned(at, "after", id(found.Rows[len(found.Rows)-1]))
	}
	if t.After != nil || t.Before != nil && found.HasMore {
		l.Newer = turned(at, "before", id(found.Rows[0]))
	}
	return l
}

// turned is the address of another page of the same list.
func turned(at *url.URL, where, id string) string {
	query := at.Query()
	for _, name := range []string{"after", "before", "done"} {
		query.Del(name)
	}
	query.Set(where, id)
	return at.Path + "?" + query.Encode()
}
