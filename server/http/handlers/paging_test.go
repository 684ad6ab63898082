package handlers_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/apitest"
	"rail/server/ident"
)

// each is the number of objects of every type in the lists.
const each = 7

// fill creates the objects of every type in one program. The clock advances only once, so that most
// of them have equal times.
func fill(s *apitest.Server) (program string) {
	s.T.Helper()
	for range each - 1 {
		s.Program()
	}
	program = s.Program()
	s.Flow(program, M{"priority": 5})
	for i := range each {
		if i == 4 {
			s.Clock.Advance(time.Hour)
		}
		handle, priority := fmt.Sprintf("pager-%d", i), i%2
		partner := s.Partner(program, M{"handle": handle})
		s.Must(201, s.Post("/v1/tags", M{"program_id": program, "name": handle}))
		failedMail(s)
		s.Must(201, s.Post("/v1/partner_notes", M{"program_id": program, "partner_id": partner, "text": handle}))
		s.Must(201, s.Post("/v1/links", M{
			"program_id": program, "partner_id": partner, "destination_url": "https://shop.example",
		}))
		s.Must(201, s.Post("/v1/coupons", M{"program_id": program, "code": handle}))
		s.Click(program, handle)
		s.Must(201, s.Post("/v1/campaigns", M{"program_id": program, "name": handle, "subject": "x", "body": "x"}))
		s.Must(201, s.Post("/v1/sequences", M{
			"program_id": program, "name": handle, "trigger": "approved",
			"steps": []M{{"delay_days": 0, "subject": "x", "body": "x"}},
		}))
		s.Must(201, s.Post("/v1/resources", M{
			"program_id": program, "title": handle, "url": "https://x.example", "folder": []any{nil, "b", "a"}[i%3],
		}))
		s.Must(201, s.Post("/v1/publishable_keys", M{"program_id": program, "allowed_hosts": []string{"x.example"}}))
		s.Must(201, s.Post("/v1/webhook_endpoints", M{"program_id": program, "url": "https://hooks.example/" + handle}))
		s.Must(201, s.Post("/v1/tax_form_statuses", M{"partner_id": partner, "type": "w9", "status": "submitted"}))
		fillRows(s, program, partner, i)
		customer := s.Customer(program, partner)
		s.Sale(program, customer, M{"currency": []string{"USD", "EUR"}[i%2]})
		s.Must(202, s.Post("/v1/refunds", apitest.RefundBody(program, handle, handle)))
		if i == each-1 {
			break // the default group and the first flow are there already
		}
		group := s.Must(201, s.Post("/v1/groups", M{"program_id": program, "name": handle})).String("id")
		switch i % 3 {
		case 0:
			s.Flow(program, M{"priority": priority})
		case 1:
			s.Flow(program, M{"priority": priority, "group_id": group})
		default:
			s.Flow(program, M{"priority": priority, "partner_id": partner})
		}
	}
	return program
}

// fillRows adds the i-th rows of the lists that jobs and processors fill.
func fillRows(s *apitest.Server, program, partner string, i int) {
	s.T.Helper()
	connection := ident.New(ident.Connection)
	_, err := s.Pool.Exec(s.T.Context(),
		`INSERT INTO processor_connections (id, org_id, program_id, processor, livemode, status, record_direct,
			outside_checkout, secret, created_at, updated_at)
		VALUES ($1, $2, $3, 'generic', true, 'disconnected', false, false, '', $4, $4)`,
		connection, s.Org, program, s.Clock.Now())
	require.NoError(s.T, err)
	s.PayoutRail(program, db.PayoutRailStatusDisconnected, "paypal")
	_, err = s.Pool.Exec(s.T.Context(),
		`INSERT INTO inbox_events (id, org_id, program_id, connection_id, processor, external_event_id, type, livemode,
			status, attempts, failures, payload, headers, processed_at, created_at)
		VALUES ($1, $2, $3, $4, 'generic', $1, 'sale', true, 'recorded', 1, 0, '', '{}', $5, $5)`,
		ident.New(ident.InboxEvent), s.Org, program, connection, s.Clock.Now())
	require.NoError(s.T, err)
	_, err = s.Pool.Exec(s.T.Context(),
		`INSERT INTO applications (id, org_id, program_id, partner_id, email, status, created_at, updated_at)
		VALUES ($1, $2, $3, $4, 'x', 'withdrawn', $5, $5)`,
		ident.New(ident.Application), s.Org, program, partner, s.Clock.Now())
	require.NoError(s.T, err)
	_, err = s.Pool.Exec(s.T.Context(),
		`INSERT INTO risk_flags (id, org_id, program_id, partner_id, kind, severity, status, evidence, created_at)
		VALUES ($1, $2, $3, $4, 'self_referral', $5, 'open', '{"check": "self_referral", "summary": "x"}', $6)`,
		ident.New(ident.RiskFlag), s.Org, program, partner, []string{"low", "high", "medium"}[i%3], s.Clock.Now())
	require.NoError(s.T, err)
	_, err = s.Pool.Exec(s.T.Context(),
		`INSERT INTO imports (id, org_id, program_id, source, dry_run, emit_events, status, place, counts, balances, groups,
			created_at, updated_at)
		VALUES ($1, $2, $3, 'csv', true, false, 'ready', '{}', '{}', '[]', '[]', $4, $4)`,
		fmt.Sprintf("imp_pager%d", i), s.Org, program, s.Clock.Now())
	require.NoError(s.T, err)
	addImportDetails(s, program, "imp_pager0")
	batch := ident.New(ident.Batch)
	_, err = s.Pool.Exec(s.T.Context(),
		`INSERT INTO payout_batches (id, org_id, program_id, period_month, period_end, created_at, updated_at)
		VALUES ($1, $2, $3, date '2025-01-01' + $4 * interval '1 month', $5, $5, $5)`, batch, s.Org, program, i,
		s.Clock.Now())
	require.NoError(s.T, err)
	_, err = s.Pool.Exec(s.T.Context(),
		`INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status, reason,
			period_month, period_end, due_at, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, 5, 'USD', 'not_eligible', 'below_minimum', '2025-01-01', $6, $6, $6, $6)`,
		ident.New(ident.Payout), s.Org, program, partner, batch, s.Clock.Now())
	require.NoError(s.T, err)
}

// lists are the implemented lists with cursors.
func lists(t *testing.T) []operation {
	t.Helper()
	var out []operation
	for _, op := range operations() {
		inMemory := op.takesID() && !strings.HasPrefix(op.id, "listImport") || op.id == "listWebhookEvents"
		if op.cursors && !inMemory {
			out = append(out, op)
		}
	}
	require.GreaterOrEqual(t, len(out), 12)
	return out
}

// pager requests pages of a list.
type pager struct {
	s    *apitest.Server
	op   operation
	base string
}

func newPager(s *apitest.Server, op operation, program string) pager {
	s.T.Helper()
	base := op.path + "?"
	if op.takesID() { // the oldest import of the program
		imports := s.Must(200, s.Get("/v1/imports?program_id="+program)).Data()
		base = op.url(imports[len(imports)-1]["id"].(string)) + "?"
	}
	if w := op.window(); w != "" {
		base += w[1:] + "&"
	}
	if op.needsProgram {
		base += "program_id=" + program + "&"
	}
	return pager{s, op, base}
}

func (p pager) get(query string) apitest.Answer { p.s.T.Helper(); return p.s.Get(p.base + query) }

// page returns the ids of a page and whether more follow. Every page must count all objects, and
// must be full if more follow.
func (p pager) page(query string, limit int) (ids []string, more bool) {
	p.s.T.Helper()
	a := p.s.Must(200, p.get(fmt.Sprintf("limit=%d%s", limit, query)))
	require.Len(p.s.T, a.Body, 3, "%s", a.Raw)
	require.EqualValues(p.s.T, each, a.Int("total_count"), "%s %s", p.op.id, query)
	for _, o := range a.Data() {
		ids = append(ids, o["id"].(string))
	}
	more, ok := a.Body["has_more"].(bool)
	require.True(p.s.T, ok)
	require.LessOrEqual(p.s.T, len(ids), limit)
	if more {
		require.Len(p.s.T, ids, limit, "%s: a page that is not full has no more after it", p.op.id)
	}
	return ids, more
}

// walk follows a cursor to the end of the list, in the list's order. It starts at from, or at the
// beginning if from is empty.
func (p pager) walk(cursor, from string, limit int) []string {
	p.s.T.Helper()
	var all []string
	for range each + 1 {
		query := ""
		if from != "" {
			query = "&" + cursor + "=" + from
		}
		ids, more := p.page(query, limit)
		if cursor == "starting_after" {
			all = append(all, ids...)
		} else {
			all = append(slices.Clone(ids), all...)
		}
		if !more {
			return all
		}
		if from = ids[len(ids)-1]; cursor == "ending_before" {
			from = ids[0]
		}
	}
	require.Fail(p.s.T, "the walk does not end", p.op.id)
	return nil
}

// compare compares two objects in the order that the list promises.
func (p pager) compare(a, b M) int {
	text := func(o M, name string) string { s, _ := o[name].(string); return s }
	switch p.op.id {
	case "listMaturingCommissions":
		return cmp.Or(strings.Compare(text(a, "mature_at"), text(b, "mature_at")),
			strings.Compare(text(a, "id"), text(b, "id")))
	case "listBalances":
		return cmp.Or(strings.Compare(text(a, "partner_id"), text(b, "partner_id")),
			strings.Compare(text(a, "currency"), text(b, "currency")))
	case "listResources":
		position := func(o M) int64 { return apitest.Answer{Body: o}.Int("position") }
		return cmp.Or(strings.Compare(text(a, "folder"), text(b, "folder")), cmp.Compare(position(a), position(b)),
			strings.Compare(text(a, "id"), text(b, "id")))
	case "listRiskFlags":
		rank := func(o M) int { return slices.Index([]string{"high", "medium", "low"}, text(o, "severity")) }
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(text(b, "created_at"), text(a, "created_at")),
			strings.Compare(text(b, "id"), text(a, "id")))
	case "listFlows":
		narrow := func(o M) int {
			switch {
			case o["partner_id"] != nil:
				return 0
			case o["group_id"] != nil:
				return 1
			default:
				return 2
			}
		}
		priority := func(o M) int64 { return apitest.Answer{Body: o}.Int("priority") }
		return cmp.Or(cmp.Compare(priority(a), priority(b)), cmp.Compare(narrow(a), narrow(b)),
			strings.Compare(text(a, "created_at"), text(b, "created_at")), strings.Compare(text(a, "id"), text(b, "id")))
	default:
		return cmp.Or(strings.Compare(text(b, "created_at"), text(a, "created_at")),
			strings.Compare(text(b, "received_at"), text(a, "received_at")), strings.Compare(text(b, "id"), text(a, "id")))
	}
}

// TestPagingWalks reads every list in both directions with every page size. Each object appears
// once, in the list's order, with exact has_more and total_count.
func TestPagingWalks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := fill(s)
	for _, op := range lists(t) {
		p := newPager(s, op, program)
		whole := s.Must(200, p.get("limit=100")).Data()
		require.True(t, slices.IsSortedFunc(whole, p.compare), "%s is out of order", op.id)
		all, more := p.page("", 100)
		require.Len(t, all, each, op.id)
		require.False(t, more)
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(all))), each, "%s repeats an object", op.id)
		times := map[any]int{}
		for _, o := range whole {
			at := o["created_at"]
			if at == nil {
				at = o["received_at"]
			}
			times[at]++
		}
		if op.id != "listBalances" && op.id != "listPrograms" {
			require.Len(t, times, 2, "%s: objects of equal times, and others", op.id)
		}
		for _, limit := range []int{1, 3, each - 1, each, each + 1, 100} {
			require.Equal(t, all, p.walk("starting_after", "", limit), "%s by %d", op.id, limit)
			for at := range all {
				if limit != 3 && at != each-1 && at != 0 {
					continue
				}
				before, after := p.walk("ending_before", all[at], limit), p.walk("starting_after", all[at], limit)
				require.Equal(t, all, slices.Concat(before, all[at:at+1], after), "%s by %d around %d", op.id, limit, at)
			}
		}
		nearest, _ := p.page("&ending_before="+all[5], 2)
		require.Equal(t, all[3:5], nearest, "%s: the page just before, in the list's order", op.id)
		first, _ := p.page("", 25)
		require.Equal(t, all, first)
		require.Equal(t, string(p.get("limit=25").Raw), string(p.get("").Raw), "%s: 25 is the default", op.id)
	}
}

// TestPagingFilteredCount: total_count follows the filters, not the cursor.
func TestPagingFilteredCount(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	for i := range 5 {
		s.Partner(program)
		if i%2 == 0 {
			s.Partner(program, M{"status": "pending"})
		}
	}
	pending := s.Must(200, s.Get("/v1/partners?program_id="+program+"&status=pending&limit=2"))
	require.EqualValues(t, 3, pending.Int("total_count"))
	require.Equal(t, true, pending.Body["has_more"])
	last := s.Must(200,
		s.Get("/v1/partners?program_id="+program+"&status=pending&limit=2&starting_after="+pending.Data()[1]["id"].(string)))
	require.EqualValues(t, 3, last.Int("total_count"))
	require.Equal(t, false, last.Body["has_more"])
	require.Len(t, last.Data(), 1)
	require.Equal(t, "pending", last.Data()[0]["status"])
}

// TestPagingBadValues: every list refuses these values. Stage G2 of the bar tests that a cursor of
// another list, program or organization is refused like an unknown one.
func TestPagingBadValues(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	foreign := apitest.On(t, s.DSN, s.Clock).Program()
	own := populate(s, "ours")
	for _, op := range lists(t) {
		p := newPager(s, op, own["prg_"])
		for _, limit := range []string{
			"0", "101", "-1", "1.5", "abc", "", "%2B5", "%205", "5%3B", "%EF%BC%95", "1e1", "0x5", "99999999999999999999",
		} {
			s.Refused(400, "parameter_invalid", "limit", p.get("limit="+limit))
		}
		s.Refused(400, "parameter_invalid", "limit", p.get("limit=5&limit=5"))
		require.Equal(t, 400, p.get("limit=5;").Status, op.id)
		id := own[op.prefix()]
		s.Refused(400, "parameters_exclusive", "ending_before", p.get("starting_after="+id+"&ending_before="+id))
		for _, name := range []string{"starting_after", "ending_before"} {
			s.Refused(400, "parameter_invalid", name, p.get(name+"="))
			s.Refused(400, "parameter_invalid", name, p.get(name+"="+id+"&"+name+"="+id))
		}
		if op.id == "listRiskFlags" { // which was paged by offset first
			s.Refused(400, "parameters_exclusive", "offset", p.get("offset=1&starting_after="+id))
			s.Refused(400, "parameters_exclusive", "offset", p.get("offset=1&ending_before="+id))
		} else {
			s.Refused(400, "parameter_unknown", "offset", p.get("offset=1"))
		}
		if !op.needsProgram {
			continue
		}
		s.Refused(400, "parameter_missing", "program_id", s.Get(op.path))
		s.Refused(400, "parameter_invalid", "program_id", s.Get(op.path+"?program_id="))
		s.Refused(400, "parameter_invalid", "program_id",
			s.Get(op.path+"?program_id="+own["prg_"]+"&program_id="+own["prg_"]))
		s.Refused(400, "parameter_invalid", "program_id", s.Get(op.path+"?program_id="+own["tag_"]))
		s.Refused(404, "resource_not_found", "program_id",
			s.Get(op.path+"?program_id="+foreign+"&starting_after="+id+op.window()))
	}
}

// settings are the lists of configured objects, and lists with a different range. All other lists
// are of recorded objects and accept a range of times.
var settings = []string{
	"listBalances", "listCampaigns", "listFlows", "listGroups", "listImportBalances", "listImportProblems", "listImports", "listMaturingCommissions", "listPayoutRails", "listProcessorConnections",
	"listPrograms", "listPublishableKeys", "listResources", "listSequences", "listTags", "listWebhookEndpoints",
}

// TestCreatedRanges: every list of recorded objects accepts a range of times, with the start
// included and the end excluded, and counts the objects in it.
func TestCreatedRanges(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := fill(s)
	for _, op := range lists(t) {
		if slices.Contains(settings, op.id) {
			require.False(t, op.ranged, "%s takes a range and is no list of settings", op.id)
			continue
		}
		require.True(t, op.ranged, "%s has no created_after: add it, or the list to settings", op.id)
		p := newPager(s, op, program)
		all := s.Must(200, p.get("limit=100")).Data()
		at := born(slices.MaxFunc(all, func(a, b M) int { return strings.Compare(born(a), born(b)) }))
		var from, to []M
		for _, o := range all {
			if born(o) >= at {
				from = append(from, o)
			} else {
				to = append(to, o)
			}
		}
		require.NotEmpty(t, to, "%s: nothing to tell apart", op.id)
		for query, want := range map[string][]M{
			"created_after=" + at:                                          from,
			"created_before=" + at:                                         to,
			"created_after=2026-09-01&created_before=2026-09-03":           all,
			"created_after=" + at + "&created_before=" + at:                nil,
			"created_before=2026-08-31&created_after=2026-08-30T12:00:00Z": nil,
		} {
			a := s.Must(200, p.get("limit=100&"+query))
			require.Equal(t, ids(want), ids(a.Data()), "%s %s", op.id, query)
			require.EqualValues(t, len(want), a.Int("total_count"), "%s %s", op.id, query)
		}
		s.Refused(400, "parameter_invalid", "created_after", p.get("created_after=today"))
		s.Refused(400, "parameter_invalid", "created_before", p.get("created_before=2026-02-30"))
	}
}

// born returns the time when an object was created. For a processor's event it is the time of
// arrival.
func born(o M) string {
	if at, ok := o["received_at"].(string); ok {
		return at
	}
	return o["created_at"].(string)
}

// ids returns the ids of objects, in order.
func ids(objects []M) []string {
	out := []string{}
	for _, o := range objects {
		out = append(out, o["id"].(string))
	}
	return out
}
