package source

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"rail/server/inbound/lenient"
)

// perPage is the number of objects of a page.
const perPage = 100

// numbered is a list with numbered pages, newest objects first. While it is read, new objects push others to a later
// page, where they come a second time. Objects that disappear pull others to a page that was read already, which is
// then read again. So is a list with fewer objects than its total, since their order may have changed.
type numbered[T any] struct {
	kind    Kind
	fetch   func(ctx context.Context, page, size int) (answer, error)
	convert func(id string, item *T) []Row
	seen    *tally // nil for a list that is read within another one
}

// answer is a page of a numbered list.
type answer struct {
	listing
	total int64 // of the list; -1 if the source does not say
	last  bool  // the source reports that no page follows
	// follows means that the source announces another page, also after a short one.
	follows bool
}

// numberedCursor is the place in a numbered list. First, Last and Total belong to the page before.
type numberedCursor struct {
	Page  int    `json:"p"`
	First string `json:"f,omitempty"`
	Last  string `json:"l,omitempty"`
	Top   string `json:"t,omitempty"` // the first object of the first page
	Size  int    `json:"s,omitempty"` // of the first page
	Total int64  `json:"n,omitempty"`
	Backs int    `json:"b,omitempty"` // steps back, and repeated pages, until now
	Again int    `json:"r,omitempty"` // new beginnings
}

const (
	// maxBacks bounds the steps back in one list, for a source whose order changes all the time.
	maxBacks = 50
	// maxWalks bounds the new beginnings of a list that has fewer objects than its total.
	maxWalks = 2
)

// list returns the list with a name.
func (l numbered[T]) list(name string) List {
	l.seen = &tally{}
	return List{Name: name, Read: l.read}
}

func (l numbered[T]) read(ctx context.Context, cursor string) (Page, error) {
	c := numberedCursor{Page: 1}
	if cursor != "" && json.Unmarshal([]byte(cursor), &c) != nil {
		return Page{}, fmt.Errorf("the cursor %q is invalid", cursor)
	}
	got, err := l.fetch(ctx, c.Page, perPage)
	if err != nil {
		return Page{}, err
	}
	ids := namesOf(got.objects)
	if past, err := l.past(ctx, &c, got, ids); past || err != nil {
		return Page{}, err
	}
	if c.Page == 1 && len(ids) > 0 {
		c.Top, c.Size = ids[0], len(ids)
	}
	l.seen.add(c, got.total, ids)
	pulled, err := l.pulled(ctx, c, got, ids)
	if err != nil {
		return Page{}, err
	}
	p := Page{Rows: rows(l.kind, got.listing, l.convert)}
	next := numberedCursor{Top: c.Top, Size: c.Size, Total: got.total, Backs: c.Backs, Again: c.Again}
	switch {
	case pulled > 0 && c.Backs < maxBacks:
		next.Page, next.Backs = max(c.Page-pulled, 1), c.Backs+1
	case len(ids) == 0 || got.last || !got.follows && c.ends(got.total, len(ids)):
		listed, total := l.seen.count()
		if listed >= total {
			return p, nil
		}
		if c.Again == maxWalks {
			p.Rows = append(p.Rows, refused(l.kind, "list of "+string(l.kind), MissingMember,
				"the source counts %d %s, and lists %d", total, l.kind, listed))
			return p, nil
		}
		next = numberedCursor{Page: 1, Backs: c.Backs, Again: c.Again + 1}
	default:
		next.Page, next.First, next.Last = c.Page+1, ids[0], ids[len(ids)-1]
	}
	text, err := json.Marshal(next)
	p.Next = string(text)
	return p, err
}

// past reports whether a page without a total is past the end of the list, where a source repeats another page. If the
// list has a new top, new objects have filled exactly one page since the page before was read.
func (l numbered[T]) past(ctx context.Context, c *numberedCursor, got answer, ids []string) (bool, error) {
	if c.Page == 1 || len(ids) == 0 || got.total >= 0 || ids[0] != c.First && ids[0] != c.Top {
		return false, nil
	}
	if c.Backs++; got.follows && c.Backs < maxBacks {
		return false, nil
	}
	first, err := l.fetch(ctx, 1, perPage)
	if err != nil || len(first.objects) == 0 {
		return true, err
	}
	top := namesOf(first.objects)[0]
	is := top == c.Top || c.Backs >= maxBacks
	c.Top = top
	return is, nil
}

// ends reports whether the list ends with a page of so many objects: the pages have the total, or without a total the
// page is shorter than the first one.
func (c numberedCursor) ends(total int64, objects int) bool {
	if total >= 0 {
		return int64(c.Page*c.Size) >= total
	}
	return objects < c.Size
}

// pulled returns by how many pages objects moved towards the first page since the page before was read: the total is
// smaller, or without totals the last object of that page is no longer at its place. A source that ignores the size of
// a page does not show that place.
func (l numbered[T]) pulled(ctx context.Context, c numberedCursor, got answer, ids []string) (int, error) {
	if c.Page == 1 || c.Last == "" {
		return 0, nil
	}
	if got.total >= 0 {
		size := int64(c.Size)
		return int((max(c.Total-got.total, 0) + size - 1) / size), nil
	}
	if slices.Contains(ids, c.Last) {
		return 0, nil
	}
	at, err := l.fetch(ctx, (c.Page-1)*c.Size, 1)
	if err != nil || len(at.objects) > 1 || len(at.objects) == 1 && namesOf(at.objects)[0] == c.Last {
		return 0, err
	}
	return 1, nil
}

// tally counts the objects that one process has read of a list. It knows nothing of pages that another process read.
type tally struct {
	mu    sync.Mutex
	ids   map[string]bool
	pages int   // read without a gap
	least int64 // smallest total that the source stated
}

// add adds the ids of a page. The first page begins the count, unless the list is read again.
func (t *tally) add(c numberedCursor, total int64, ids []string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Page == 1 && c.Again == 0 {
		t.ids, t.pages, t.least = map[string]bool{}, 0, total
	}
	if c.Page > t.pages+1 || total < 0 {
		t.ids = nil
	}
	if t.ids == nil {
		return
	}
	t.pages, t.least = max(t.pages, c.Page), min(t.least, total)
	twice := map[string]int{}
	for _, id := range ids { // an object that is twice in a page counts twice in the total
		twice[id]++
		t.ids[fmt.Sprint(twice[id], " ", id)] = true
	}
}

// count returns the number of objects that were listed and their total, both 0 if one is not known.
func (t *tally) count() (listed, total int64) {
	if t == nil {
		return 0, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ids == nil {
		return 0, 0
	}
	return int64(len(t.ids)), t.least
}

// namesOf returns the ids of objects, or something else that names one without an id.
func namesOf(objects []json.RawMessage) []string {
	names := make([]string, len(objects))
	for i, raw := range objects {
		if names[i] = idOf(raw); names[i] == "" {
			names[i] = hash(raw)
		}
	}
	return names
}

// with returns a query with further parameters, given as names and values in turn.
func with(query url.Values, further ...string) url.Values {
	all := url.Values{}
	maps.Copy(all, query)
	for i := 0; i+1 < len(further); i += 2 {
		all.Set(further[i], further[i+1])
	}
	return all
}

// splitLink returns the query parameter of an address that has a value, and the address without it. The usual
// parameter is preferred.
func splitLink(full address, value, usual string) (param, page string) {
	u, err := url.Parse(string(full))
	if err != nil || u.Host == "" {
		return usual, ""
	}
	query := u.Query()
	for _, name := range append([]string{usual}, slices.Sorted(maps.Keys(query))...) {
		if strings.EqualFold(query.Get(name), value) {
			query.Del(name)
			u.RawQuery = query.Encode()
			return name, u.String()
		}
	}
	return usual, string(full)
}

// unknownStatus explains that a status is not in the source's documentation, and names the status in its place.
func unknownStatus(status lenient.Text, readAs string) *Problem {
	return &Problem{Code: UnknownStatus, Detail: fmt.Sprintf("status %q is read as %s", status, readAs)}
}
