package portal

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/singleflight"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/money/report"
)

const (
	// boardRows is how many partners the leaderboard shows, besides the reader.
	boardRows = 10
	// boardLeast is how many partners it needs: with fewer, each knows the others' numbers.
	boardLeast = 5
	// boardAge is how long a ranking is used again.
	boardAge = time.Minute
	// boardsStored bounds the rankings in memory.
	boardsStored = 64
)

// board is the leaderboard of the month so far, by the number of customers.
type board struct {
	Rows     []boardRow
	Out      bool // the reader does not take part
	Unranked bool // the reader has brought no customer this month
}

// boardRow is a partner on the leaderboard.
type boardRow struct {
	Rank, Customers int64
	Name            string
	Mine            bool
}

// place is a partner of a ranking.
type place struct {
	id              string
	rank, customers int64
}

// board returns the leaderboard; nil without one. Names and opting out are read anew for each page, so that a partner
// who opts out disappears at once.
func (v *visit) board() (*board, error) {
	if !v.ranks {
		return nil, nil
	}
	ranking, err := v.portal.boards.of(v)
	if err != nil || len(ranking) < boardLeast {
		return nil, err
	}
	own := slices.IndexFunc(ranking, func(p place) bool { return p.id == v.partner.ID })
	shown := ranking[:min(boardRows, len(ranking))]
	if own >= boardRows {
		shown = append(slices.Clone(shown), ranking[own])
	}
	named, err := v.leaders(v.Ctx(), ids(shown, func(p place) string { return p.id }))
	if err != nil || len(named) < boardLeast {
		return nil, err
	}
	out := &board{Out: !v.partner.OnLeaderboard, Unranked: own < 0}
	for _, p := range shown {
		if l, ok := named[p.id]; ok {
			out.Rows = append(out.Rows, boardRow{
				Rank: p.rank, Customers: p.customers, Mine: p.id == v.partner.ID,
				Name: cmp.Or(shortName(l), v.Locale.T("A partner")),
			})
		}
	}
	return out, nil
}

// leaders returns those of some partners who take part, by their ids.
func (v *visit) leaders(ctx context.Context, of []string) (map[string]db.PortalLeadersRow, error) {
	rows, err := queries.PortalLeaders(ctx, v.portal.Pool, db.PortalLeadersParams{
		Ids: of, ProgramID: v.program.ID, OrgID: v.partner.OrgID,
	})
	out := make(map[string]db.PortalLeadersRow, len(rows))
	for _, r := range rows {
		out[r.ID] = r
	}
	return out, err
}

// shortName returns a partner's first name and the initial of the last one; "" without a first name. A display name
// counts without these, unless it is the last name. A name with an @ may be an address, and is never shown.
func shortName(l db.PortalLeadersRow) string {
	first, last := strings.Fields(l.FirstName), strings.Fields(l.LastName)
	if len(first) == 0 || address(l.FirstName) || address(l.LastName) {
		name := l.DisplayName
		if family, firstName, found := strings.Cut(name, ","); found { // such as Lovelace, Ada
			name = firstName + " " + family
		}
		if address(name) || strings.EqualFold(strings.TrimSpace(name), strings.TrimSpace(l.LastName)) {
			return ""
		}
		first, last = strings.Fields(name), nil
		if len(first) > 1 {
			last = first[1:]
		}
	}
	switch {
	case len(first) == 0:
		return ""
	case len(last) == 0:
		return first[0]
	}
	initial, _ := utf8.DecodeRuneInString(last[len(last)-1])
	return first[0] + " " + string(initial) + "."
}

// address reports whether a name may be an email address.
func address(name string) bool { return strings.ContainsAny(name, "@\uff20\ufe6b") }

// boards holds the last rankings by program: many partners read the same one.
type boards struct {
	reading singleflight.Group
	mu      sync.Mutex
	last    map[string]ranking
}

// ranking is the partners of a program by their customers of the month, at a time.
type ranking struct {
	places []place
	at     clock.Time
}

// of returns the ranking of the visit's program.
func (b *boards) of(v *visit) ([]place, error) {
	b.mu.Lock()
	found, ok := b.last[v.program.ID]
	b.mu.Unlock()
	if age := v.Now.Sub(found.at.Time); ok && age >= 0 && age < boardAge {
		return found.places, nil
	}
	read, err, _ := b.reading.Do(v.program.ID, func() (any, error) {
		// Visits share it, so that the end of one's request is not the end of all.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(v.Ctx()), timeout)
		defer cancel()
		places, err := v.rank(ctx)
		if err == nil {
			b.store(v.program.ID, ranking{places, v.Now})
		}
		return places, err
	})
	if err != nil {
		return nil, err
	}
	return read.([]place), nil //nolint:forcetypeassert // rank returns nothing else
}

// store puts a ranking into memory. When the memory is full, it starts anew.
func (b *boards) store(programID string, r ranking) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil || len(b.last) >= boardsStored {
		b.last = map[string]ranking{}
	}
	b.last[programID] = r
}

// rank reads the ranking from the sums of reports. Partners with equal numbers have the same rank.
func (v *visit) rank(ctx context.Context) ([]place, error) {
	today := v.Today()
	answers, err := report.Read(ctx, v.unit(), report.Query{
		OrgID: v.partner.OrgID, ProgramID: v.program.ID, By: report.Partner, Attribution: report.PartnersOnly,
		From: clock.MonthOf(today), To: today, Zone: v.program.TimeZone,
		Currency: v.program.Currency, ProgramCurrency: v.program.Currency,
	})
	if err != nil {
		return nil, err
	}
	rows := slices.DeleteFunc(answers[0].Rows, func(r report.Row) bool { return r.Customers <= 0 })
	named, err := v.leaders(ctx, ids(rows, func(r report.Row) string { return r.Key }))
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r report.Row) bool { return named[r.Key].ID == "" })
	slices.SortFunc(rows, func(a, b report.Row) int {
		return cmp.Or(cmp.Compare(b.Customers, a.Customers), cmp.Compare(a.Key, b.Key))
	})
	places := make([]place, len(rows))
	for i, r := range rows {
		places[i] = place{r.Key, int64(i + 1), r.Customers}
		if i > 0 && r.Customers == rows[i-1].Customers {
			places[i].rank = places[i-1].rank
		}
	}
	return places, nil
}
