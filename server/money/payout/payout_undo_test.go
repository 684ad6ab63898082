package payout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
)

// undo undoes a payment.
func (e earner) undo(id string) apitest.Answer {
	return e.Post("/v1/payouts/"+id+"/undo_paid", M{"reason": "The wrong one."})
}

// books are the balances, the ledger's sums and the commissions of the program.
func (e earner) books(t *testing.T) (out string) {
	t.Helper()
	require.NoError(t, e.Pool.QueryRow(t.Context(), `SELECT concat_ws('; ',
		(SELECT string_agg(concat_ws(' ', id, partner_id, status, amount_minor, payout_id, clawed_minor), ', ' ORDER BY id) FROM commissions),
		(SELECT string_agg(concat_ws(' ', id, status, amount_minor, method, external_id, rail, error_code, error_message, paid_at), ', ' ORDER BY id) FROM payouts),
		(SELECT string_agg(concat_ws(' ', partner_id, bucket, sum), ', ' ORDER BY partner_id, bucket) FROM (
			SELECT partner_id, bucket, sum(amount) FROM (SELECT partner_id, to_bucket AS bucket, amount_minor AS amount FROM ledger_entries
				UNION ALL SELECT partner_id, from_bucket, -amount_minor FROM ledger_entries) l GROUP BY 1, 2 HAVING sum(amount) <> 0) b))`).Scan(&out))
	for _, b := range e.Get("/v1/balances?program_id=" + e.ProgramID).Data() {
		out += "; " + apitest.Answer{Body: b}.String("partner_id")
		for _, bucket := range []string{"pending_minor", "due_minor", "paid_minor"} {
			out += " " + b[bucket].(interface{ String() string }).String()
		}
	}
	return out
}

// TestUndoPaid: marking a payout as paid and undoing that restores the previous state, whatever the
// payout's status was. Then it can be paid again.
func TestUndoPaid(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	s := f.Server
	pending, _ := f.wants("wise", 10000, 5000)
	filed, sales := f.wants("paypal", 10000, 7000)
	failed, _ := f.wants("paypal", 20000)
	f.collect()
	f.exported(t, "paypal")
	s.Must(200, s.Post("/v1/payouts/"+f.payoutOf(failed).String("id")+"/mark_failed", M{"reason": "It bounced."}))
	// This clawback is older than the payment, so it does not keep the payment from being undone.
	s.Must(200, s.Post("/v1/sales/"+sales[1]+"/refund", nil))
	before := f.books(t)
	for _, partner := range []string{pending, filed, failed} {
		was := f.payoutOf(partner)
		id := was.String("id")
		s.Must(200, s.Post("/v1/payouts/"+id+"/mark_paid", M{"external_id": "T-1", "method": "wire"}))
		require.NotEqual(t, before, f.books(t))
		events := len(s.EventTypes(f.ProgramID))
		now := s.Must(200, f.undo(id))
		require.Equal(t, before, f.books(t))
		for _, member := range []string{"status", "method", "external_id", "error_code", "error_message", "paid_at", "commission_count"} {
			require.Equal(t, was.Body[member], now.Body[member], member)
		}
		for i, typ := range s.EventTypes(f.ProgramID)[events:] {
			if want := int(was.Int("commission_count")); i < want {
				require.Equal(t, "commission.updated", typ)
			} else {
				require.Equal(t, "payout.updated", typ)
			}
		}
		require.Contains(t, string(s.Refused(409, "payout_not_undoable", "", f.undo(id)).Raw), "conflict_error")
		f.Tallied(t)
		s.Must(200, s.Post("/v1/payouts/"+id+"/mark_paid", nil))
		f.Tallied(t)
		s.Must(200, f.undo(id))
	}
	require.Equal(t, before, f.books(t))
	log := s.Get("/v1/audit_log_entries?program_id=" + f.ProgramID + "&action=payout.paid_undone").Data()
	require.Len(t, log, 6)
	require.Equal(t, "The wrong one.", log[0]["reason"])
	f.Tallied(t)
}

// TestUndoPaidRefused: only a payout that was marked by hand within a day, and has had no refund
// since, can be undone.
func TestUndoPaidRefused(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	s := f.Server
	late, _ := f.wants("wise", 10000)
	refunded, sales := f.wants("wise", 10000, 5000)
	reported, _ := f.wants("paypal", 10000)
	f.collect()
	f.exported(t, "paypal")
	id := func(partner string) string { return f.payoutOf(partner).String("id") }
	f.results(t, "payout_id,status\n"+id(reported)+",paid\n")
	require.Contains(t, string(s.Refused(409, "payout_not_undoable", "", f.undo(id(reported))).Raw), "result file")
	for _, p := range []string{late, refunded} {
		s.Refused(409, "payout_not_undoable", "", f.undo(id(p)))
		s.Must(200, s.Post("/v1/payouts/"+id(p)+"/mark_paid", nil))
	}
	s.Refused(400, "parameter_missing", "reason", s.Post("/v1/payouts/"+id(late)+"/undo_paid", M{}))
	s.Refused(404, "resource_not_found", "", f.undo("pyt_none"))
	s.Must(200, s.Post("/v1/sales/"+sales[1]+"/refund", M{"amount_minor": 1000}))
	require.Contains(t, string(s.Refused(409, "payout_not_undoable", "", f.undo(id(refunded))).Raw), "clawed")
	s.Clock.Advance(24*time.Hour + time.Second)
	require.Contains(t, string(s.Refused(409, "payout_not_undoable", "", f.undo(id(late))).Raw), "24 hours")
	_, err := s.Pool.Exec(t.Context(), "UPDATE payouts SET status = 'pending', paid_at = NULL WHERE id = $1", id(reported))
	require.ErrorContains(t, err, "is paid", "the database keeps payments that nobody marked by hand")
	_, err = s.Pool.Exec(t.Context(), "UPDATE commissions SET status = 'due' WHERE payout_id = $1", id(late))
	require.ErrorContains(t, err, "is paid")
	f.Tallied(t)
}

// TestUndoPaidRaces: the books balance when undoing races with refunds, payments, runs and itself.
// Each undo reverses one payment.
func TestUndoPaidRaces(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	s := e.Server
	var sales, ids []string
	for range 4 {
		_, some := e.Referrer(10000, 5000)
		sales = append(sales, some...)
	}
	e.Batch(201)
	for _, p := range e.Payouts("") {
		ids = append(ids, p.String("id"))
	}
	undone, paid := 0, 0
	for round := range 4 {
		for i, a := range apitest.AtOnce(20, func(i int) apitest.Answer {
			id := ids[(i+round)%4]
			switch i / 4 {
			case 0:
				return s.Post("/v1/payouts/"+id+"/mark_paid", nil)
			case 1, 2:
				return e.undo(id)
			case 3:
				return s.Post("/v1/payout_batches", M{"program_id": e.ProgramID, "period_end": "2026-09-01"})
			}
			return s.Post("/v1/sales/"+sales[(i+round)%8]+"/refund", M{"amount_minor": 500})
		}) {
			require.Contains(t, []int{200, 400, 409}, a.Status, "%s", a.Raw)
			switch {
			case a.Status == 200 && i/4 == 0:
				paid++
			case a.Status == 200 && (i/4 == 1 || i/4 == 2):
				undone++
			}
		}
		e.Tallied(t)
	}
	left := 0
	for _, p := range e.Payouts("") {
		if p.String("status") == "paid" {
			left++
		}
	}
	require.Equal(t, paid, undone+left)
}

// TestPaidAtSinceTheOldestSale: past payouts can be marked as paid at past times. A commission
// granted by hand counts from its creation.
func TestPaidAtSinceTheOldestSale(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	s := e.Server
	partner := s.Partner(e.ProgramID)
	s.Sale(e.ProgramID, s.Customer(e.ProgramID, partner), M{"amount_minor": 10000, "occurred_at": "2026-03-10T09:00:00Z"})
	granted := s.Partner(e.ProgramID)
	s.Must(201, apitest.Grant(s, e.ProgramID, granted))
	e.Batch(201)
	path := func(partner string) string {
		return "/v1/payouts/" + e.Payouts("&partner_id=" + partner)[0].String("id") + "/mark_paid"
	}
	s.Refused(400, "parameter_invalid", "paid_at", s.Post(path(partner), M{"paid_at": "2026-03-10T08:59:59Z"}))
	paid := s.Must(200, s.Post(path(partner), M{"paid_at": "2026-03-31T12:00:00Z"}))
	require.Equal(t, "2026-03-31T12:00:00.000Z", paid.String("paid_at"))
	s.Refused(400, "parameter_invalid", "paid_at", s.Post(path(granted), M{"paid_at": "2026-03-31T12:00:00Z"}))
	s.Must(200, s.Post(path(granted), M{"paid_at": s.Clock.Now().String()}))
	e.Tallied(t)
}

// TestDetailsChanged: the partner gets a mail about each change of its payout details. Its unpaid
// payouts show a change since the last payment.
func TestDetailsChanged(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	e := earner{s.Earner()}
	s.Flow(e.ProgramID)
	partner, _ := e.Referrer(10000)
	mails := func() (n int) {
		require.NoError(t, s.Pool.QueryRow(t.Context(),
			"SELECT count(*) FROM mails WHERE purpose = 'payout_details_changed'").Scan(&n))
		return n
	}
	change := func(body M) {
		s.Clock.Advance(time.Minute)
		s.Must(200, s.Post("/v1/partners/"+partner, body))
	}
	change(M{"payout_method": "paypal", "payout_details": M{"email": "one@pay.example"}})
	change(M{"payout_details": M{"email": "one@pay.example"}})
	change(M{"first_name": "Ada"})
	require.Equal(t, 1, mails(), "the same details are no change")
	e.Batch(201)
	payout := func() apitest.Answer { return e.Payouts("&partner_id=" + partner)[0] }
	require.Nil(t, payout().Body["details_changed_at"], "the partner was never paid")
	first := payout().String("id")
	s.Must(200, s.Post("/v1/payouts/"+first+"/mark_paid", nil))
	change(M{"payout_details": M{"email": "two@pay.example"}})
	changed := s.Clock.Now().String()
	require.Equal(t, 2, mails())
	require.Nil(t, payout().Body["details_changed_at"], "what is paid needs no look")

	s.Clock.Set(time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC))
	s.Must(201, apitest.Grant(s, e.ProgramID, partner))
	order := M{"program_id": e.ProgramID, "period_end": "2026-10-01"}
	preview := s.Must(200, s.Post("/v1/payout_batches/preview", order))
	require.Equal(t, changed, preview.Data()[0]["details_changed_at"])
	s.Must(201, s.Post("/v1/payout_batches", order))
	require.Equal(t, changed, payout().String("details_changed_at"))
	require.Equal(t, changed, s.Get("/v1/payouts/"+payout().String("id")).String("details_changed_at"))
	change(M{"payout_method": nil})
	require.Equal(t, 3, mails())
	require.Equal(t, s.Clock.Now().String(), payout().String("details_changed_at"))
	s.Must(200, s.Post("/v1/payouts/"+payout().String("id")+"/mark_paid", nil))
	require.Nil(t, payout().Body["details_changed_at"])
	e.Tallied(t)
}

// TestNoPayoutIdsInNames: a payout id is refused as a partner's name and in its payout details.
func TestNoPayoutIdsInNames(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	const id = "pyt_01kb2m4q8e7v9t3n5x6c0d1f2g"
	for _, name := range []string{"first_name", "last_name", "company_name"} {
		for _, path := range []string{"/v1/partners", "/v1/applications"} {
			if name == "company_name" && path == "/v1/applications" {
				continue
			}
			s.Refused(400, "parameter_invalid", name, s.Post(path, M{
				"program_id": program, "email": apitest.Unique("a") + "@x.example", name: "Ada " + id,
			}))
		}
		s.Refused(400, "parameter_invalid", name, s.Post("/v1/partners/"+partner, M{name: id}))
	}
	s.Refused(400, "parameter_invalid", "display_name", s.Post("/v1/partners/"+partner, M{"display_name": "PYT 01KB2M4Q8E7V9T3N5X6C0D1F2G"}))
	s.Refused(400, "parameter_invalid", "email", s.Post("/v1/partners", M{"program_id": program, "email": id + "@x.example"}))
	for _, details := range []M{{"email": id + "@x.example"}, {"a": []any{M{"b": id}}}, {id: "x"}} {
		s.Refused(400, "parameter_invalid", "payout_details",
			s.Post("/v1/partners/"+partner, M{"payout_method": "paypal", "payout_details": details}))
	}
	s.Must(200, s.Post("/v1/partners/"+partner, M{"company_name": "Pyt Ltd", "payout_method": "paypal", "payout_details": M{"email": "pyt@x.example"}}))
}
