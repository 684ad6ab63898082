package source_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"rail/server/harness/importtest"
	"rail/server/inbound/importer/source"
)

// now is when the world of these tests ends.
var now = time.Date(2026, 9, 20, 12, 0, 0, 0, time.UTC)

// faults are faults that the client overcomes.
var faults = importtest.Faults{CutEvery: 7, FailEvery: 11, ThrottleEvery: 13}

// open returns the source of a product whose API is replaced by a handler.
func open(t *testing.T, product string, a source.Account, api http.Handler, faults importtest.Faults) source.Source {
	t.Helper()
	p, ok := source.Find(product)
	if !ok {
		t.Fatalf("no product %q", product)
	}
	a.Address = importtest.Serve(t, api, faults).URL
	return p.Open(a)
}

// found are the rows of a walk, by kind and id.
type found map[source.Kind]map[string]source.Row

// walk reads all lists of a source. A row that comes twice counts once. With twice it reads each page a second time,
// which must give the same rows.
func walk(t *testing.T, s source.Source, twice bool) found {
	t.Helper()
	all := found{}
	for _, list := range s.Lists() {
		cursor := ""
		for pages := 0; pages == 0 || cursor != ""; pages++ {
			page := read(t, list, cursor)
			if twice && text(t, read(t, list, cursor)) != text(t, page) {
				t.Errorf("%s: a page read twice at %q differs", list.Name, cursor)
			}
			for _, row := range page.Rows {
				if all[row.Kind] == nil {
					all[row.Kind] = map[string]source.Row{}
				}
				all[row.Kind][row.ID] = row
			}
			if cursor = page.Next; pages > 1000 {
				t.Fatalf("%s does not end", list.Name)
			}
		}
	}
	return all
}

func read(t *testing.T, list source.List, cursor string) source.Page {
	t.Helper()
	page, err := list.Read(t.Context(), cursor)
	if err != nil {
		t.Fatalf("%s at %q: %v", list.Name, cursor, err)
	}
	return page
}

// equal compares a walk with the rows of a world, in the form that the product can express.
func (f found) equal(t *testing.T, want []source.Row) {
	t.Helper()
	seen := map[source.Kind]int{}
	for _, row := range want {
		seen[row.Kind]++
		got, ok := f[row.Kind][row.ID]
		switch {
		case !ok:
			t.Errorf("%s %s is lost", row.Kind, row.ID)
		case text(t, got) != text(t, row):
			t.Errorf("%s %s:\n got %s\nwant %s", row.Kind, row.ID, text(t, got), text(t, row))
		}
	}
	for kind, rows := range f {
		if len(rows) != seen[kind] {
			t.Errorf("%d %s, want %d", len(rows), kind, seen[kind])
		}
	}
}

// sums checks the open and the paid money by partner and currency. Partner translates the id of a world's partner.
func (f found) sums(t *testing.T, w *importtest.World, partner func(string) string) {
	t.Helper()
	open, paid := map[string]map[string]int64{}, map[string]map[string]int64{}
	add := func(to map[string]map[string]int64, k *source.Commission) {
		if to[k.PartnerID] == nil {
			to[k.PartnerID] = map[string]int64{}
		}
		to[k.PartnerID][k.Currency] += k.AmountMinor
	}
	for _, row := range f[source.KindCommission] {
		switch k := row.Commission; {
		case k == nil:
		case k.Status == source.Open || k.Status == source.Due:
			add(open, k)
		case k.Status == source.Paid:
			add(paid, k)
		}
	}
	for name, sums := range map[string][2]map[string]map[string]int64{
		"open": {open, w.Open()}, "paid": {paid, w.Paid()},
	} {
		want := map[string]map[string]int64{}
		for id, byCurrency := range sums[1] {
			want[partner(id)] = byCurrency
		}
		if text(t, sums[0]) != text(t, want) {
			t.Errorf("%s money is %s, want %s", name, text(t, sums[0]), text(t, want))
		}
	}
}

// problems checks which rows have a problem, by kind and id, and that nothing else is lost compared with a walk
// without oddities.
func (f found) problems(t *testing.T, plain found, want map[source.Kind]map[string]source.Code) {
	t.Helper()
	for kind, rows := range f {
		for id, row := range rows {
			expected := want[kind][id]
			switch {
			case row.Problem == nil && expected != "":
				t.Errorf("%s %s has no problem, want %s", kind, id, expected)
			case row.Problem != nil && row.Problem.Code != expected:
				t.Errorf("%s %s has the problem %v, want %q", kind, id, *row.Problem, expected)
			}
		}
	}
	for kind, rows := range plain {
		for id := range rows {
			if _, ok := f[kind][id]; !ok {
				t.Errorf("%s %s is lost", kind, id)
			}
		}
	}
}

// keepsAll checks that a list loses no object, whatever happens to the list while it is read.
func keepsAll(
	t *testing.T, kind source.Kind, open func(importtest.Oddities) (source.Source, []string), list string, id any,
) {
	t.Helper()
	for name, c := range map[string]struct {
		odd     importtest.Oddities
		removed int // newest first
	}{
		"pages past the end": {importtest.Oddities{PastEnd: true}, -1},
		"a duplicate":        {importtest.Oddities{Changes: []importtest.Change{importtest.Duplicate(list, 99)}}, -1},
		"a new object":       {importtest.Oddities{Changes: []importtest.Change{importtest.Insert(list, 2, id)}}, -1},
		"a page of objects":  {importtest.Oddities{Changes: []importtest.Change{importtest.InsertPage(list, 2, id)}}, -1},
		"a removed object":   {importtest.Oddities{Changes: []importtest.Change{importtest.Remove(list, 3, 10)}}, 10},
		"the last of a page": {importtest.Oddities{PastEnd: true, Changes: []importtest.Change{
			importtest.Remove(list, 2, 99),
		}}, 99},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ids := open(c.odd)
			if len(ids) < 250 {
				t.Fatalf("%d objects are too few for three pages", len(ids))
			}
			got := walk(t, s, false)[kind]
			for i, id := range ids {
				if _, ok := got[id]; !ok && len(ids)-1-i != c.removed {
					t.Errorf("%s %s is lost", kind, id)
				}
			}
		})
	}
}

// refusesKey checks that each list reports a key that the source refuses.
func refusesKey(t *testing.T, s source.Source) {
	t.Helper()
	for _, list := range s.Lists() {
		if _, err := list.Read(t.Context(), ""); !errors.Is(err, source.ErrKey) {
			t.Errorf("%s with a wrong key: %v", list.Name, err)
		}
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
