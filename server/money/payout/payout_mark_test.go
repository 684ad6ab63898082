package payout_test

import (
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
)

// mark marks payouts of the program as paid.
func (e earner) mark(body M) apitest.Answer {
	body["program_id"] = e.ProgramID
	return e.Post("/v1/payouts/mark_paid", body)
}

// unmark undoes the marks of a request.
func (e earner) unmark(request string) apitest.Answer {
	return e.Post("/v1/payouts/undo_paid", M{
		"program_id": e.ProgramID, "request_id": request, "reason": "The wrong ones.",
	})
}

// items are the objects of a member of an answer.
func items(a apitest.Answer, name string) (out []M) {
	for _, item := range a.Body[name].([]any) {
		out = append(out, item.(M))
	}
	return out
}

// TestMarkAll: payouts of a batch are marked by method and currency, or by their ids, and the request's id undoes
// exactly its marks.
func TestMarkAll(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	wise, _ := f.wants("wise", 10000)
	paypal, _ := f.wants("paypal", 20000)
	filed, _ := f.wants("paypal", 30000)
	none, _ := f.Referrer(40000)
	f.collect()
	id := func(partner string) string { return f.payoutOf(partner).String("id") }
	f.exported(t, "paypal")
	f.Must(200, f.Post("/v1/payouts/"+id(paypal)+"/mark_failed", M{"reason": "It bounced."}))
	before := f.books(t)
	all := M{"batch_id": f.batch, "method": "paypal", "currency": "USD"}
	with := func(more M) M {
		out := M{}
		for _, m := range []M{all, more} {
			maps.Copy(out, m)
		}
		return out
	}

	preview := f.Must(200, f.mark(with(M{"dry_run": true})))
	require.EqualValues(t, 1, preview.Int("payout_count"), "a failed payout is marked by its id alone")
	require.Equal(t, before, f.books(t))
	f.Refused(409, "confirmation_differs", "confirm_count", f.mark(with(M{"confirm_count": 2})))
	f.Refused(409, "confirmation_differs", "confirm_amount_minor", f.mark(with(M{"confirm_amount_minor": 1})))
	require.Equal(t, before, f.books(t))
	marked := f.Must(200, f.mark(with(M{
		"confirm_count": 1, "confirm_amount_minor": 6000, "external_id": "T-1", "paid_at": f.Clock.Now().String(),
	})))
	require.Equal(t, id(filed), items(marked, "payouts")[0]["payout_id"])
	require.Equal(t, "T-1", f.payoutOf(filed).String("external_id"))
	require.Equal(t, f.Clock.Now().Plus(24*time.Hour).String(), f.payoutOf(filed).String("undoable_until"))
	require.Equal(t, "pending", f.payoutOf(wise).String("status"))
	f.Tallied(t)

	// A payout that is paid already is refused by itself.
	rest := f.Must(200, f.mark(M{"payout_ids": []string{id(wise), id(filed), id(paypal), id(none)}}))
	require.EqualValues(t, 3, rest.Int("payout_count"))
	require.Equal(t, []M{{
		"payout_id": id(filed), "code": "payout_already_paid", "reason": "The payout is paid already.",
	}}, items(rest, "refused"))
	require.NotEqual(t, marked.String("request_id"), rest.String("request_id"))
	undone := f.Must(200, f.unmark(rest.String("request_id")))
	require.EqualValues(t, 3, undone.Int("payout_count"))
	require.Equal(t, "paid", f.payoutOf(filed).String("status"), "another request has marked it")
	require.EqualValues(t, 0, f.Must(200, f.unmark(rest.String("request_id"))).Int("payout_count"))
	require.EqualValues(t, 1, f.Must(200, f.unmark(marked.String("request_id"))).Int("payout_count"))
	require.Equal(t, before, f.books(t))
	require.Nil(t, f.payoutOf(filed).Body["undoable_until"])

	without := f.Must(200, f.mark(M{"batch_id": f.batch, "method": nil}))
	require.Equal(t, id(none), items(without, "payouts")[0]["payout_id"])
	f.Refused(400, "parameter_invalid", "payout_ids", f.mark(M{}))
	f.Refused(400, "parameter_invalid", "payout_ids", f.mark(with(M{"payout_ids": []string{id(wise)}})))
	f.Refused(400, "parameter_invalid", "paid_at", f.mark(with(M{"paid_at": "2031-01-01T00:00:00Z"})))
	f.Refused(400, "parameter_invalid", "paid_at", f.mark(with(M{"paid_at": "2001-01-01T00:00:00Z", "confirm_count": 1})))
	f.Refused(404, "resource_not_found", "payout_ids[1]", f.mark(M{"payout_ids": []string{id(wise), "pyt_none"}}))
	f.Refused(404, "resource_not_found", "batch_id", f.mark(M{"batch_id": "batch_none"}))
	other := M{"program_id": f.Program(), "batch_id": f.batch}
	f.Refused(404, "resource_not_found", "batch_id", f.Post("/v1/payouts/mark_paid", other))
	other["request_id"], other["reason"] = without.String("request_id"), "x"
	delete(other, "batch_id")
	require.EqualValues(t, 0, f.Must(200, f.Post("/v1/payouts/undo_paid", other)).Int("payout_count"))
	f.Tallied(t)
}

// TestUndoAllKeeps: what a refund has clawed back from stays paid, the other payouts of the request do not. Nothing is
// undone after 24 hours.
func TestUndoAllKeeps(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	refunded, sales := f.wants("wise", 10000, 5000)
	f.wants("wise", 10000)
	f.collect()
	marked := f.Must(200, f.mark(M{"batch_id": f.batch}))
	f.Must(200, f.Post("/v1/sales/"+sales[1]+"/refund", M{"amount_minor": 1000}))
	undone := f.Must(200, f.unmark(marked.String("request_id")))
	require.EqualValues(t, 1, undone.Int("payout_count"))
	require.Equal(t, f.payoutOf(refunded).String("id"), items(undone, "refused")[0]["payout_id"])
	require.Equal(t, "payout_not_undoable", items(undone, "refused")[0]["code"])
	again := f.Must(200, f.mark(M{"batch_id": f.batch}))
	f.Clock.Advance(24*time.Hour + time.Second)
	late := f.Must(200, f.unmark(again.String("request_id")))
	require.EqualValues(t, 0, late.Int("payout_count"))
	require.EqualValues(t, 1, late.Int("refused_count"))
	f.Tallied(t)
}

// TestMarkAllRaces: the books balance when whole batches are marked and unmarked while single payouts, refunds and
// runs change them.
func TestMarkAllRaces(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	s := e.Server
	var sales []string
	for range 4 {
		_, some := e.Referrer(10000, 5000)
		sales = append(sales, some...)
	}
	batch := e.Batch(201).String("id")
	last := "req_none"
	for round := range 4 {
		answers := apitest.AtOnce(20, func(i int) apitest.Answer {
			switch i / 4 {
			case 0, 1:
				return e.mark(M{"batch_id": batch})
			case 2:
				return e.unmark(last)
			case 3:
				id := e.Payouts("")[i%4].String("id")
				return s.Post("/v1/payouts/"+id+"/mark_paid", nil)
			}
			return s.Post("/v1/sales/"+sales[(i+round)%8]+"/refund", M{"amount_minor": 500})
		})
		for i, a := range answers {
			require.Contains(t, []int{200, 400, 409}, a.Status, "%s", a.Raw)
			if a.Status == 200 && i/4 < 2 && a.Int("payout_count") > 0 {
				last = a.String("request_id")
			}
		}
		e.Tallied(t)
		e.Must(200, e.unmark(last))
		e.Tallied(t)
	}
}

// TestBreakdown: a batch counts its payouts by state, method and currency on request.
func TestBreakdown(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	wise, _ := f.wants("wise", 10000)
	f.wants("paypal", 20000)
	f.wants("paypal", 30000)
	f.collect()
	require.NotContains(t, f.Get("/v1/payout_batches/"+f.batch).Body, "breakdown")
	f.Must(200, f.Post("/v1/payouts/"+f.payoutOf(wise).String("id")+"/mark_paid", nil))
	var rows []string
	for _, part := range items(f.Get("/v1/payout_batches/"+f.batch+"?include=breakdown"), "breakdown") {
		p := apitest.Answer{Body: part}
		rows = append(rows, p.String("status")+" "+p.String("method")+" "+p.String("currency")+" "+
			strconv.FormatInt(p.Int("payout_count"), 10)+" "+strconv.FormatInt(p.Int("amount_minor"), 10))
	}
	require.Equal(t, []string{"paid wise USD 1 2000", "pending paypal USD 2 10000"}, rows)
}

// TestEmailFailure: the partner gets the reason of a failure once, and a new failure is another one. A payment drops
// the mark, and undoing it brings it back.
func TestEmailFailure(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	f := &filer{earner: earner{s.Earner()}}
	s.Flow(f.ProgramID)
	partner, _ := f.wants("bank_transfer", 10000)
	f.collect()
	id := f.payoutOf(partner).String("id")
	path := "/v1/payouts/" + id + "/"
	s.Refused(409, "payout_not_failed", "", s.Post(path+"email_failure", nil))
	fails := func() {
		s.Must(200, s.Post("/v1/payout_batches/"+f.batch+"/export", M{"format": "csv", "currency": "USD"}))
		s.Must(200, s.Post(path+"mark_failed", M{"reason": "No such account."}))
		s.Clock.Advance(time.Minute)
	}
	mails := func() (n int) {
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM mails
			WHERE purpose = 'payout_failed' AND plain LIKE '%No such account.%'`).Scan(&n))
		return n
	}
	fails()
	at := s.Must(200, s.Post(path+"email_failure", nil)).String("failure_emailed_at")
	require.Equal(t, s.Clock.Now().String(), at)
	s.Refused(409, "payout_failure_emailed", "", s.Post(path+"email_failure", nil))
	require.Equal(t, 1, mails())
	require.Nil(t, s.Must(200, s.Post(path+"mark_paid", nil)).Body["failure_emailed_at"])
	require.Equal(t, at, s.Must(200, f.undo(id)).String("failure_emailed_at"))
	marked := s.Must(200, f.mark(M{"payout_ids": []string{id}})).String("request_id")
	waiting := func() (n int) {
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM mails WHERE purpose = 'payout_paid'
			AND status = 'queued' AND next_attempt_at = created_at + interval '10 minutes'`).Scan(&n))
		return n
	}
	require.Equal(t, 1, waiting())
	require.EqualValues(t, 1, s.Must(200, f.unmark(marked)).Int("payout_count"))
	require.Zero(t, waiting())
	fails()
	require.Nil(t, f.payoutOf(partner).Body["failure_emailed_at"])
	s.Must(200, s.Post(path+"email_failure", nil))
	require.Equal(t, 2, mails())

	silent := newFiler(t)
	partner, _ = silent.wants("bank_transfer", 10000)
	silent.collect()
	silent.Must(200, silent.Post("/v1/payout_batches/"+silent.batch+"/export", M{"format": "csv", "currency": "USD"}))
	id = silent.payoutOf(partner).String("id")
	silent.Must(200, silent.Post("/v1/payouts/"+id+"/mark_failed", M{"reason": "No such account."}))
	silent.Refused(501, "email_not_configured", "", silent.Post("/v1/payouts/"+id+"/email_failure", nil))
}
