package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"rail/server/inbound/lenient"
)

// errNoList is the error for an answer that has no list where one belongs.
var errNoList = errors.New("the answer has no list")

// errNoID is the error for a page without an id to continue after.
var errNoID = errors.New("no object of the page has an id")

// listing is a page of objects, as a bare list or under "data", "items", "results" or "affiliates" of an object. Null is
// an empty list.
type listing struct {
	objects []json.RawMessage
	more    lenient.Bool // the member has_more
}

// UnmarshalJSON reads any of the forms.
func (l *listing) UnmarshalJSON(raw []byte) error {
	switch raw[0] {
	case '[':
		return json.Unmarshal(raw, &l.objects)
	case 'n':
		return nil
	case '{':
	default:
		return errNoList
	}
	var outer struct {
		Data       json.RawMessage `json:"data"`
		Items      json.RawMessage `json:"items"`
		Results    json.RawMessage `json:"results"`
		Affiliates json.RawMessage `json:"affiliates"`
		More       lenient.Bool    `json:"has_more"`
	}
	if err := json.Unmarshal(raw, &outer); err != nil {
		return err
	}
	within := outer.Data
	for _, other := range []json.RawMessage{outer.Items, outer.Results, outer.Affiliates} {
		if within == nil {
			within = other
		}
	}
	if within == nil {
		return errNoList
	}
	if err := l.UnmarshalJSON(within); err != nil {
		return err
	}
	if outer.More.OK {
		l.more = outer.More
	}
	return nil
}

// enveloped is a page of objects, and further members of the object around it.
type enveloped[T any] struct {
	listing

	around T
}

// UnmarshalJSON reads the objects as listing does.
func (e *enveloped[T]) UnmarshalJSON(raw []byte) error {
	_ = lenient.Into(raw, &e.around) // an unreadable member stays empty
	return e.listing.UnmarshalJSON(raw)
}

// totalOf returns the total that a source states, or -1.
func totalOf(n lenient.Int) int64 {
	if !n.OK {
		return -1
	}
	return n.N
}

// list reads a page of a list.
func (c *client) list(ctx context.Context, path string, query url.Values) (listing, http.Header, error) {
	var page listing
	header, err := c.get(ctx, path, query, &page)
	return page, header, err
}

// ofOne returns the error of a request about one object of a page. If the source refuses that, the object may have been
// deleted meanwhile, and reading the page again can succeed.
func ofOne(err error) error {
	if errors.Is(err, ErrRequest) {
		return errors.New(err.Error())
	}
	return err
}

// idOf returns the id or key of an object, or "".
func idOf(raw json.RawMessage) string {
	var object struct {
		ID  lenient.ID `json:"id"`
		Key lenient.ID `json:"key"`
	}
	if _ = lenient.Into(raw, &object); object.ID != "" {
		return string(object.ID)
	}
	return string(object.Key)
}

// hash names an object without an id.
func hash(raw json.RawMessage) string {
	sum := sha256.Sum256(raw)
	return "unnamed-" + hex.EncodeToString(sum[:8])
}

// rows converts the objects of a page to rows. An object without an id is a problem.
func rows[T any](kind Kind, page listing, convert func(id string, item *T) []Row) []Row {
	var all []Row
	for _, raw := range page.objects {
		id := idOf(raw)
		if id == "" {
			all = append(all, missing(kind, hash(raw), "id"))
			continue
		}
		item := new(T)
		_ = lenient.Into(raw, item) // an unreadable member stays empty
		for _, row := range convert(id, item) {
			row.boundAddresses()
			all = append(all, row)
		}
	}
	return all
}

// maxAddress bounds the addresses that Rail stores, in bytes.
const maxAddress = 2048

// boundAddresses leaves out an address that is too long: a part of it would lead elsewhere.
func (r *Row) boundAddresses() {
	var to *string
	switch {
	case r.Partner != nil:
		to = &r.Partner.WebsiteURL
	case r.Link != nil:
		to = &r.Link.URL
	default:
		return
	}
	long := len(*to)
	if long <= maxAddress {
		return
	}
	*to = ""
	if r.Problem == nil {
		r.Problem = &Problem{Code: OutOfBounds, Detail: fmt.Sprintf("an address of %d characters is left out", long)}
	}
}

// missing returns the row for an object without a required member.
func missing(kind Kind, id, member string) Row {
	return refused(kind, id, MissingMember, "%q is missing or cannot be read", member)
}

// refused returns the row for an object that cannot be imported.
func refused(kind Kind, id string, code Code, format string, args ...any) Row {
	return Row{Kind: kind, ID: id, Problem: &Problem{Code: code, Detail: fmt.Sprintf(format, args...)}}
}

// place is a place in a list with numbered pages. First is the first id of the page before; a page that begins with
// it repeats that page.
type place struct {
	number int
	first  string
}

// placeOf parses a cursor.
func placeOf(cursor string) place {
	text, first, _ := strings.Cut(cursor, " ")
	number, err := strconv.Atoi(text)
	if err != nil {
		return place{number: 1}
	}
	return place{number: number, first: first}
}

// next returns the cursor of the next page. It is empty after an empty page, and after a page that repeats the one
// before. A short page is not the end, since a source may have a smaller limit.
func (p place) next(page listing) string {
	if len(page.objects) == 0 {
		return ""
	}
	first := idOf(page.objects[0])
	if first == "" {
		first = hash(page.objects[0])
	}
	if first == p.first {
		return ""
	}
	return fmt.Sprintf("%d %s", p.number+1, first)
}

// nextAfter returns the cursor after a page that was read after the id cursor: the last id. It is empty at the end, and
// if the source repeats the page.
func nextAfter(cursor string, page listing) (string, error) {
	if len(page.objects) == 0 || page.more.OK && !page.more.V {
		return "", nil
	}
	for _, raw := range slices.Backward(page.objects) {
		switch id := idOf(raw); id {
		case "":
		case cursor:
			return "", nil
		default:
			return id, nil
		}
	}
	return "", errNoID
}
