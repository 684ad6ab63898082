package payout_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/ident"
	"rail/server/money/payout"
	"rail/server/money/proof"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

// statement retrieves a statement of a payout; number is "" for the last one.
func (e earner) statement(id, number string) apitest.Answer {
	path := "/v1/payouts/" + id + "/statement"
	if number != "" {
		path += "?number=" + url.QueryEscape(number)
	}
	return e.Get(path)
}

// number is the number of a payout's statement, "" for none.
func (e earner) number(id string) string {
	e.T.Helper()
	number, _ := e.Must(200, e.Get("/v1/payouts/"+id)).Body["statement_number"].(string)
	return number
}

// keys are the public keys of the organization.
func (e earner) keys() (out []proof.Key) {
	e.T.Helper()
	rows, err := e.Pool.Query(e.T.Context(), "SELECT id, public_key, created_at FROM statement_keys WHERE org_id = $1", e.Org)
	require.NoError(e.T, err)
	var k proof.Key
	var public []byte
	_, err = pgx.ForEachRow(rows, []any{&k.ID, &public, &k.CreatedAt}, func() error {
		k.PublicKey = base64.StdEncoding.EncodeToString(public[:ed25519.PublicKeySize])
		out = append(out, k)
		return nil
	})
	require.NoError(e.T, err)
	return out
}

// checked parses a statement and requires that it is without faults, also after an earlier one.
func (e earner) checked(a apitest.Answer, earlier *proof.Document) proof.Document {
	e.T.Helper()
	d, _, err := proof.Parse(e.Must(200, a).Raw)
	require.NoError(e.T, err)
	require.Empty(e.T, proof.Check(d, e.keys(), earlier))
	return d
}

// member is a member of a statement.
func member(a apitest.Answer, path ...string) any {
	v := a.Body["statement"]
	for _, name := range path {
		v = v.(map[string]any)[name]
	}
	return v
}

// pending are the ids of the program's pending payouts.
func (e earner) pending() (ids []string) {
	for _, p := range e.Payouts("&status=pending&limit=100") {
		ids = append(ids, p.String("id"))
	}
	return ids
}

// TestStatement: a payment makes a signed statement. After its undoing, the number stays used and the next statement
// names it.
func TestStatement(t *testing.T) {
	t.Parallel()
	e := newEarner(t, M{"subdomain": "shop", "time_zone": "Pacific/Auckland", "statement_seller": M{
		"name": "Shop Ltd", "address": "1 High Street", "tax_ids": []string{"DE123456789"},
	}})
	partner, sales := e.Referrer(10000, 5000)
	e.Must(201, e.Post("/v1/commissions", M{
		"program_id": e.ProgramID, "partner_id": partner, "amount_minor": 700, "currency": "USD", "reason": "Thanks.",
	}))
	e.Clock.Set(time.Date(2026, 12, 31, 12, 0, 0, 0, time.UTC)) // 2027 in Auckland
	e.Batch(201, M{"period_end": e.Clock.Now().String()})
	id := e.pending()[0]
	e.Refused(409, "payout_not_paid", "", e.statement(id, ""))
	require.Empty(t, e.number(id))

	paid := e.Must(200, e.Post("/v1/payouts/"+id+"/mark_paid", M{"external_id": "T-1", "method": "wise"}))
	require.Equal(t, "SHOP-2027-000001", paid.String("statement_number"))
	require.Equal(t, "SHOP-2027-000001", e.number(id))
	first := e.statement(id, "")
	one := e.checked(first, nil)
	require.Len(t, one.Lines, 3)
	require.Equal(t, map[string]any{
		"name": "Shop Ltd", "address": "1 High Street", "tax_ids": []any{"DE123456789"},
	}, member(first, "seller"))
	require.Equal(t, "wise", member(first, "payout", "method"))
	require.Equal(t, "2027-01", member(first, "payout", "period_month"))
	require.Nil(t, member(first, "previous_hash"))
	require.Nil(t, member(first, "self_billing"))
	order := e.Get("/v1/sales/" + sales[1]).String("external_charge_id")
	at, err := one.FindOrder(order)
	require.NoError(t, err)
	require.Equal(t, sales[1], first.Body["lines"].([]any)[at-1].(map[string]any)["sale_id"])

	e.Must(200, e.undo(id))
	require.Empty(t, e.number(id))
	e.Refused(409, "payout_not_paid", "", e.statement(id, ""))
	undone := e.Must(200, e.statement(id, "SHOP-2027-000001"))
	require.Equal(t, true, undone.Body["undone"])
	require.Nil(t, undone.Body["lines"])
	require.Nil(t, undone.Body["corrected_by"])
	require.Equal(t, first.Body["statement"], undone.Body["statement"])
	e.Refused(404, "resource_not_found", "number", e.statement(id, "SHOP-2027-000009"))

	e.Must(200, e.Post("/v1/programs/"+e.ProgramID, M{"statement_prefix": "X", "statement_seller": nil, "name": "Renamed"}))
	e.Must(200, e.Post("/v1/payouts/"+id+"/mark_paid", nil))
	second := e.statement(id, "")
	e.checked(second, &one)
	require.Equal(t, "X-2027-000002", member(second, "number"))
	require.Equal(t, "SHOP-2027-000001", member(second, "corrects"))
	require.Nil(t, second.Body["corrected_by"])
	require.Equal(t, "X-2027-000002", e.statement(id, "SHOP-2027-000001").Body["corrected_by"])
	require.Equal(t, "Renamed", member(second, "seller", "name"))
	require.NotEqual(t, member(first, "salt"), member(second, "salt"))

	// A refund after the payment changes neither the statement nor its lines.
	e.Must(200, e.Post("/v1/sales/"+sales[0]+"/refund", nil))
	e.Must(200, e.Post("/v1/programs/"+e.ProgramID, M{"name": "Renamed again"}))
	require.Equal(t, second.Body, e.statement(id, "").Body)
	for _, sql := range []string{"UPDATE statements SET number = 'Y'", "DELETE FROM statements"} {
		_, err := e.Pool.Exec(t.Context(), sql)
		require.ErrorContains(t, err, "append-only")
	}

	// The statement outlives its partner, without lines.
	e.Must(200, e.Delete("/v1/partners/"+partner))
	stored := e.Must(200, e.statement(id, ""))
	require.Equal(t, second.Body["statement"], stored.Body["statement"])
	require.Nil(t, stored.Body["lines"])
	require.Equal(t, false, stored.Body["undone"])
}

// TestStatementCorrects: the next statement of a partner names the undone one, even if it is about another payout; each
// undone statement is named.
func TestStatementCorrects(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	partner, _ := e.Referrer(10000)
	other, _ := e.Referrer(20000)
	e.Batch(201)
	ids := map[string]string{}
	pay := func(id string) apitest.Answer {
		e.Must(200, e.Post("/v1/payouts/"+id+"/mark_paid", nil))
		return e.statement(id, "")
	}
	for _, p := range e.Payouts("") {
		ids[p.String("partner_id")] = p.String("id")
	}
	undone := pay(ids[partner])
	e.Must(200, e.undo(ids[partner]))
	require.Nil(t, member(pay(ids[other]), "corrects"), "another partner's")
	e.Must(200, e.Delete("/v1/payouts/"+ids[partner]))
	e.Batch(200)
	again := e.pending()[0]
	require.NotEqual(t, ids[partner], again)
	next := pay(again)
	require.Equal(t, member(undone, "number"), member(next, "corrects"))
	require.Equal(t, "R-2026-000003", strings.Replace(member(next, "number").(string), e.prefix(), "R", 1))
	gone := e.Must(200, e.statement(ids[partner], ""+member(undone, "number").(string)))
	require.Equal(t, true, gone.Body["undone"])
	d := e.checked(gone, nil)
	e.checked(next, &d)
}

// TestStatementCorrectsInOneRequest: a request pays several payouts of one partner. Each new statement corrects the last
// one of its payout, or else one whose payout is not paid; none is corrected twice.
func TestStatementCorrectsInOneRequest(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	e.Clock.Set(time.Date(2027, 1, 5, 12, 0, 0, 0, time.UTC)) // all numbers are of one year
	partner, _ := e.Referrer(10000)
	var ids []string
	more := func() string {
		e.Must(201, e.Post("/v1/commissions", M{
			"program_id": e.ProgramID, "partner_id": partner, "amount_minor": 7000, "currency": "USD", "reason": "Thanks.",
		}))
		a := e.Post("/v1/payout_batches", M{"program_id": e.ProgramID, "period_end": e.Clock.Now().String()})
		require.Less(t, a.Status, 300, "%s", a.Raw)
		for _, id := range e.pending() {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
				return id
			}
		}
		t.Fatal("no new payout")
		return ""
	}
	for range 3 {
		more()
		e.Clock.Advance(31 * 24 * time.Hour)
	}
	// pays marks payouts in one request, and requires the numbers that their statements correct.
	total := 0
	pays := func(want map[string]string) map[string]string {
		t.Helper()
		numbers := map[string]string{}
		e.Must(200, e.mark(M{"payout_ids": slices.Sorted(maps.Keys(want))}))
		for id, corrects := range want {
			a := e.Must(200, e.statement(id, ""))
			got, _ := member(a, "corrects").(string)
			require.Equal(t, corrects, got)
			numbers[id] = member(a, "number").(string)
		}
		total += len(want)
		e.gapless(total)
		return numbers
	}
	undo := func(ids ...string) {
		for _, id := range ids {
			e.Must(200, e.undo(id))
		}
	}
	one, two, three := ids[0], ids[1], ids[2]
	a := pays(map[string]string{two: "", three: ""})
	undo(two, three)
	b := pays(map[string]string{one: "", two: a[two], three: a[three]})
	undo(one, two, three)
	c := pays(map[string]string{one: b[one], two: b[two], three: b[three]})

	// The payout is gone: another one of the same request corrects its statement.
	undo(one, three)
	e.Must(200, e.Delete("/v1/payouts/"+one))
	four := more()
	d := pays(map[string]string{four: c[one], three: c[three]})

	// Another payout has corrected the statement already.
	undo(three)
	e.Clock.Advance(31 * 24 * time.Hour)
	five := more()
	pays(map[string]string{five: d[three]})
	pays(map[string]string{three: ""})
	var twice int
	require.NoError(t, e.Pool.QueryRow(t.Context(), `SELECT count(*) - count(DISTINCT corrects) FROM statements
		WHERE corrects IS NOT NULL`).Scan(&twice))
	require.Zero(t, twice)
}

// TestStatementTimes: a unit of work that began before the key was made, or before the partner's last statement was
// issued, issues no earlier statement.
func TestStatementTimes(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	keeper, err := secret.New(e.Config.SecretKey)
	require.NoError(t, err)
	one, _ := e.Referrer(10000)
	other, _ := e.Referrer(10000)
	e.Batch(201)
	ids := map[string]string{}
	for _, p := range e.Payouts("") {
		ids[p.String("partner_id")] = p.String("id")
	}
	e.Clock.Advance(24 * time.Hour)
	now := e.Clock.Now()
	late := func(id string, by time.Duration) {
		u := e.unit(clock.At(now.Add(-by)))
		require.NoError(t, u.Within(t.Context(), func(u *work.Unit) error {
			_, err := payout.MarkPaid(t.Context(), u, nil, keeper, id, payout.Payment{At: u.Now})
			return err
		}))
	}
	e.Must(200, e.Post("/v1/payouts/"+ids[one]+"/mark_paid", nil))
	first := e.statement(ids[one], "")
	require.Equal(t, now.String(), member(first, "issued_at"))
	d := e.checked(first, nil)

	late(ids[other], time.Hour)
	second := e.statement(ids[other], "")
	e.checked(second, nil)
	require.Equal(t, clock.At(now.Add(-time.Minute)).String(), member(second, "issued_at"), "the key is a minute older")

	e.Must(200, e.undo(ids[one]))
	late(ids[one], 30*time.Second)
	third := e.statement(ids[one], "")
	require.Equal(t, now.String(), member(third, "issued_at"))
	e.checked(third, &d)
}

// unit returns an operator's unit of work at a time.
func (e earner) unit(now clock.Time) *work.Unit {
	return work.New(e.Pool, work.Unit{
		OrgID: e.Org, Now: now, Actor: work.Actor{Kind: work.Operator}, RequestID: ident.New(ident.Request),
	})
}

// prefix is the program's prefix of numbers.
func (e earner) prefix() string {
	return e.Get("/v1/programs/" + e.ProgramID).String("statement_prefix")
}

// TestStatementPDF: a statement is a PDF by parameter and by header, whatever the letters of names.
func TestStatementPDF(t *testing.T) {
	t.Parallel()
	e := newEarner(t, M{"self_billing": true, "statement_seller": M{
		"name": "山田商店", "address": "1 High Street\nLondon", "tax_ids": []string{"DE123456789"},
	}})
	partner, _ := e.Referrer(10000)
	e.Must(200, e.Post("/v1/partners/"+partner, M{"language_code": "de", "company_name": "Ωmega Ζ"}))
	e.Batch(201)
	id := e.pending()[0]
	e.Must(200, e.Post("/v1/payouts/"+id+"/mark_paid", nil))
	require.Equal(t, "Gutschrift", member(e.statement(id, ""), "self_billing", "words"))
	path := "/v1/payouts/" + id + "/statement"
	for _, a := range []apitest.Answer{
		e.Get(path + "?format=pdf"), e.Do("GET", path, e.Key, nil, "Accept", "application/pdf"),
	} {
		require.Equal(t, 200, a.Status, "%s", a.Raw)
		require.Equal(t, "application/pdf", a.Header.Get("Content-Type"))
		require.True(t, strings.HasPrefix(string(a.Raw), "%PDF-"))
		require.Less(t, len(a.Raw), 200_000)
	}
	e.Refused(400, "parameter_invalid", "format", e.Get(path+"?format=csv"))
	require.Contains(t, e.Get(path).Header.Values("Vary"), "Accept")
}

// TestStatementsOfRail: a rail's report and a results file make statements too.
func TestStatementsOfRail(t *testing.T) {
	t.Parallel()
	r := apitest.NewPayoutRail(t)
	id, _, _ := r.Due(t, 10000)
	r.Rail.End(id, payout.Status{State: payout.Settled})
	r.Later()
	require.NoError(t, r.Round(t))
	require.Equal(t, "paid", r.Payout(id).String("status"))
	e := earner{r.Earner}
	require.Regexp(t, `^[A-Z0-9-]+-2026-000001$`, e.number(id))
	e.checked(e.statement(id, ""), nil)

	f := newFiler(t)
	for range 3 {
		f.wants("paypal", 10000)
	}
	f.collect()
	f.exported(t, "paypal")
	text := "payout_id,status\n"
	for _, p := range f.Payouts("") {
		text += p.String("id") + ",paid\n"
	}
	report := f.Must(200, f.Post("/v1/payout_batches/"+f.batch+"/results", M{"content": text}))
	require.EqualValues(t, 3, report.Int("paid_count"))
	f.gapless(3)
}

// gapless requires that the organization's numbers of a year are 1 to n, and that each partner's statements are a
// chain.
func (e earner) gapless(n int) {
	e.T.Helper()
	var count, most, least, last int
	require.NoError(e.T, e.Pool.QueryRow(e.T.Context(), `SELECT count(DISTINCT sequence), max(sequence), min(sequence),
		(SELECT sum(last) FROM statement_counters WHERE org_id = $1)
		FROM statements WHERE org_id = $1`, e.Org).Scan(&count, &most, &least, &last))
	require.Equal(e.T, []int{n, n, 1, n}, []int{count, most, least, last})
	var broken int
	require.NoError(e.T, e.Pool.QueryRow(e.T.Context(), `SELECT count(*) FROM (SELECT position, previous_hash,
			lag(position) OVER w AS before, lag(hash) OVER w AS hash FROM statements
			WINDOW w AS (PARTITION BY partner_id ORDER BY position)) x
		WHERE position <> coalesce(before, 0) + 1 OR previous_hash IS DISTINCT FROM hash`).Scan(&broken))
	require.Zero(e.T, broken)
}

// TestStatementNumbers: two servers pay, mark in bulk, undo and roll back payouts of two programs of an organization at
// the same time. The numbers have no gaps, and every statement is signed over its stored bytes.
func TestStatementNumbers(t *testing.T) {
	t.Parallel()
	const partners = 6
	one := newEarner(t, M{"statement_prefix": "ONE"})
	two := earner{one.Server.Earner(M{"statement_prefix": "TWO"})}
	two.Flow(two.ProgramID)
	replica := *one.Server
	replica.URL, replica.Key = apitest.On(t, one.DSN, one.Clock).URL, one.Key
	keeper, err := secret.New(one.Config.SecretKey)
	require.NoError(t, err)
	ids := map[string][]string{}
	for _, e := range []earner{one, two} {
		for range partners {
			e.Referrer(10000)
		}
		e.Batch(201)
		ids[e.ProgramID] = e.pending()
	}
	errLost := errors.New("the connection was lost")
	rolledBack := func(e earner, id string) apitest.Answer {
		u := e.unit(clock.At(e.Clock.Now().Time))
		err := u.Within(t.Context(), func(u *work.Unit) error {
			ctx := context.WithoutCancel(t.Context())
			if _, err := payout.MarkPaid(ctx, u, nil, keeper, id, payout.Payment{At: u.Now}); err != nil {
				return err
			}
			if _, err := u.Tx.Exec(ctx, "SELECT 1"); err != nil { // sends the statement before it is rolled back
				return err
			}
			return errLost
		})
		if !errors.Is(err, errLost) {
			_, refused := errors.AsType[*problem.Error](err)
			require.True(t, refused, "%v", err)
		}
		return apitest.Answer{}
	}
	for _, a := range apitest.AtOnce(96, func(i int) apitest.Answer {
		e := []earner{one, two}[i%2]
		via := []*apitest.Server{one.Server, &replica}[i/2%2]
		id := ids[e.ProgramID][i/4%partners]
		switch i % 7 {
		case 0, 1:
			return via.Post("/v1/payouts/"+id+"/mark_paid", nil)
		case 2:
			return via.Post("/v1/payouts/mark_paid", M{"program_id": e.ProgramID, "payout_ids": ids[e.ProgramID]})
		case 3, 4:
			return via.Post("/v1/payouts/"+id+"/undo_paid", M{"reason": "The wrong one."})
		case 5:
			return rolledBack(e, id)
		}
		return via.Post("/v1/programs/"+e.ProgramID, M{"statement_prefix": "P" + string(rune('A'+i%26))})
	}) {
		require.Contains(t, []int{0, 200, 409}, a.Status, "%s", a.Raw)
	}
	var n int
	require.NoError(t, one.Pool.QueryRow(t.Context(), "SELECT count(*) FROM statements").Scan(&n))
	require.Greater(t, n, partners, "payments and undone ones")
	one.gapless(n)
	one.Tallied(t)
	// Each paid payout has a statement; each undone one is named by at most one other.
	var missing, twice int
	require.NoError(t, one.Pool.QueryRow(t.Context(), `SELECT count(*) FROM payouts p WHERE p.status = 'paid'
		AND NOT EXISTS (SELECT FROM statements s WHERE s.payout_id = p.id)`).Scan(&missing))
	require.NoError(t, one.Pool.QueryRow(t.Context(), `SELECT count(*) FROM (SELECT corrects FROM statements
		WHERE corrects IS NOT NULL GROUP BY corrects HAVING count(*) > 1) x`).Scan(&twice))
	require.Zero(t, missing)
	require.Zero(t, twice)
	rows, err := one.Pool.Query(t.Context(), "SELECT document, signature, key_id, hash FROM statements")
	require.NoError(t, err)
	var document []byte
	var d proof.Document
	var hash string
	keys := one.keys()
	require.Len(t, keys, 1)
	_, err = pgx.ForEachRow(rows, []any{&document, &d.Signature, &d.KeyID, &hash}, func() error {
		d.Statement = document
		require.Empty(t, proof.Check(d, keys, nil))
		canonical, err := proof.Canonicalize(document)
		require.NoError(t, err)
		require.Equal(t, string(canonical), string(document))
		require.Equal(t, proof.Hash(document), hash)
		return nil
	})
	require.NoError(t, err)
}

// TestStatementsOfMarks: a bulk mark takes as many statements of SQL for the statements of 2 payouts as of 12.
func TestStatementsOfMarks(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	for range 14 {
		e.Referrer(10000)
	}
	e.Batch(201)
	ids := e.pending()
	e.Must(200, e.mark(M{"payout_ids": ids[:2]}))
	e.gapless(2)
	e.Must(200, e.mark(M{"payout_ids": ids[2:]}))
	e.gapless(14)
	e.Must(200, e.mark(M{"payout_ids": ids, "dry_run": true}))
	e.gapless(14)
	for i, id := range ids {
		a := e.statement(id, "")
		e.checked(a, nil)
		if i < 2 {
			require.Contains(t, member(a, "number"), "-2026-00000")
		}
	}
}
