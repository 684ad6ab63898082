package payout_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/api"
	"rail/server/app"
	"rail/server/harness/apitest"
)

// exported writes a file through the generated client.
func (f *filer) exported(t *testing.T, format api.PayoutFileFormat, change ...func(*api.PayoutExport)) *api.PayoutFile {
	t.Helper()
	body := api.PayoutExport{Format: format}
	for _, c := range change {
		c(&body)
	}
	answer, err := f.Client.ExportPayoutBatchWithResponse(t.Context(), f.batch, nil, body)
	require.NoError(t, err)
	require.NotNil(t, answer.JSON200, "%s", answer.Body)
	return answer.JSON200
}

// reported sends a provider's result with these headings and lines.
func (f *filer) reported(t *testing.T, lines ...string) *api.PayoutResultReport {
	t.Helper()
	text := "payout_id,status,transaction_id,reason,amount,currency\n" + strings.Join(lines, "\n") + "\n"
	return f.results(t, text)
}

// cancelled cancels all payouts that can be cancelled.
func (f *filer) cancelled(t *testing.T, exported bool) *api.PayoutBatchCancelled {
	t.Helper()
	body := api.PayoutBatchCancel{Exported: &exported}
	answer, err := f.Client.CancelPayoutBatchWithResponse(t.Context(), f.batch, nil, body)
	require.NoError(t, err)
	require.NotNil(t, answer.JSON200, "%s", answer.Body)
	return answer.JSON200
}

// TestExport: the API writes the file that the operator's command writes.
func TestExport(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	ada, _ := f.wants("paypal", 10000)
	gone, _ := f.wants("paypal", 5000)
	f.wants("wise", 20000)
	f.collect()
	f.Must(200, f.Post("/v1/partners/"+gone, M{"status": "suspended"}))
	file := f.exported(t, "paypal")
	require.Equal(t, []any{int64(1), int64(2000), int64(0), int64(1), false, "USD"}, []any{
		file.PayoutCount, file.AmountMinor, file.AgainCount, file.LeftCount, file.HasMore, *file.Currency,
	})
	require.Equal(t, "payouts-2026-09-paypal-usd.csv", file.FileName)
	require.Equal(t, []api.PayoutLeftOut{
		{PayoutID: f.payoutOf(gone).String("id"), PartnerID: gone, Reason: "its partner is suspended"},
	}, file.Left)
	require.Equal(t, []api.PayoutFileOther{{Currency: "USD", Method: new(api.PayoutMethodWise), PayoutCount: 1}}, file.Other)
	require.Equal(t, "processing", f.payoutOf(ada).String("status"))
	require.Equal(t, 1, apitest.Tally(f.Server, f.ProgramID, "payout.updated"))
	require.Len(t, f.Get("/v1/audit_log_entries?program_id="+f.ProgramID+"&action=payout_batch.exported").Data(), 1)

	status, out, errs := f.rail("payouts", "export", "--batch", f.batch, "--format", "paypal")
	require.Equal(t, []any{1, file.Content}, []any{status, out}, errs)
	require.EqualValues(t, 1, f.exported(t, "paypal").AgainCount)
	require.Zero(t, f.exported(t, "paypal", func(b *api.PayoutExport) { b.New = new(true) }).PayoutCount)
	require.Equal(t, 1, apitest.Tally(f.Server, f.ProgramID, "payout.updated"), "the state changes once")
	f.Tallied(t)
}

// TestExportTable: the table contains the payouts that fit no service's file, with the bank
// details, in which numbers keep all digits. It contains no text that a spreadsheet would run as a formula.
func TestExportTable(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	bank, _ := f.wants("bank_transfer", 10000)
	f.Must(200, f.Post("/v1/partners/"+bank, M{
		"company_name": "=HYPERLINK(1)", "payout_details": M{
			"iban": "DE02120300000000202051", "bic": "=BYLADEM1001", "account": 12345678, "routing": json.Number("12345678901234567"),
			"owner": M{"city": "Berlin"},
		},
	}))
	f.wants(nil, 20000)
	f.wants("paypal", 30000)
	f.collect()
	file := f.exported(t, "csv")
	require.EqualValues(t, 2, file.PayoutCount)
	cells, err := csv.NewReader(strings.NewReader(file.Content)).ReadAll()
	require.NoError(t, err)
	byID := map[string][]string{}
	for _, c := range cells[1:] {
		byID[c[0]] = c
	}
	require.Equal(t, []string{
		f.payoutOf(bank).String("id"), "HYPERLINK(1)", f.Get("/v1/partners/" + bank).String("email"), "bank_transfer", "20.00",
		"USD", "account: 12345678; bic: =BYLADEM1001; iban: DE02120300000000202051; " +
			`owner: {"city":"Berlin"}; routing: 12345678901234567`, "", "", "",
	}, byID[f.payoutOf(bank).String("id")])
	require.Contains(t, file.Other, api.PayoutFileOther{Currency: "USD", Method: new(api.PayoutMethodPaypal), PayoutCount: 1})
	named := f.exported(t, "csv", func(b *api.PayoutExport) { b.Method = new(api.PayoutMethodPaypal) })
	require.EqualValues(t, 1, named.PayoutCount)
	require.Equal(t, "payouts-2026-09-csv-paypal-usd.csv", named.FileName)
	f.Tallied(t)
}

// TestExportRefuses: a wrong file is refused, and so is a file that pays a partner twice.
func TestExportRefuses(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	partner, _ := f.wants("paypal", 10000)
	f.Must(201, apitest.Grant(f.Server, f.ProgramID, partner, M{"amount_minor": 700, "currency": "EUR"}))
	f.collect()
	export := "/v1/payout_batches/" + f.batch + "/export"
	f.Refused(400, "parameter_invalid", "currency", f.Post(export, M{"format": "paypal"}))
	f.Refused(400, "parameter_invalid", "currency", f.Post(export, M{"format": "paypal", "currency": "XXQ"}))
	f.Refused(400, "parameters_exclusive", "method", f.Post(export, M{"format": "paypal", "method": "wise"}))
	f.Refused(400, "parameter_invalid", "format", f.Post(export, M{"format": "ofx"}))
	require.EqualValues(t, 1, f.exported(t, "paypal", func(b *api.PayoutExport) { b.Currency = new("eur") }).PayoutCount)
	f.many(page + 1)
	f.collect()
	f.Refused(409, "payout_batch_generating", "", f.Post(export, M{"format": "paypal", "currency": "USD"}))
	f.Refused(409, "payout_batch_generating", "", f.Post("/v1/payout_batches/"+f.batch+"/cancel", nil))
}

// TestExportInParts: a file has at most as many rows as its service accepts. Another file has the
// rest.
func TestExportInParts(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	f.many(2*page + 200)
	_, err := f.Pool.Exec(t.Context(), "UPDATE partners SET payout_method = 'wise' WHERE program_id = $1", f.ProgramID)
	require.NoError(t, err)
	f.collect()
	apitest.RunJob(t, f.Server, "generate-payouts")
	first := f.exported(t, "wise")
	require.Equal(t, []any{int64(1000), true}, []any{first.PayoutCount, first.HasMore})
	rest := f.exported(t, "wise", func(b *api.PayoutExport) { b.New = new(true) })
	require.Equal(t, []any{int64(200), false, int64(0)}, []any{rest.PayoutCount, rest.HasMore, rest.AgainCount})
	require.Equal(t, 2*page+200, apitest.Tally(f.Server, f.ProgramID, "payout.updated"))

	var lines []string
	for _, content := range []string{first.Content, rest.Content} {
		cells, err := csv.NewReader(strings.NewReader(content)).ReadAll()
		require.NoError(t, err)
		for _, c := range cells[1:] {
			lines = append(lines, c[2]+",paid,,,"+c[5]+",USD")
		}
	}
	report := f.reported(t, lines...)
	require.Equal(t, []int64{1000, 200}, []int64{report.PaidCount, report.RemainingCount})
	report = f.reported(t, lines...)
	require.Equal(t, []int64{200, 1000, 0}, []int64{report.PaidCount, report.UnchangedCount, report.RemainingCount})
	f.Tallied(t)
}

// TestResults: a provider's result ends payouts once, like the manual operations. It reports the
// payouts that it does not end, with reasons.
func TestResults(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	id := map[string]string{}
	var euros string
	for _, name := range []string{"fine", "bounced", "waits", "differs", "pending"} {
		partner, _ := f.wants("paypal", 10000)
		id[name] = partner
		if name == "pending" {
			f.Must(200, f.Post("/v1/partners/"+partner, M{"payout_method": "wise"}))
		}
	}
	f.collect()
	for name, partner := range id {
		id[name] = f.payoutOf(partner).String("id")
	}
	require.EqualValues(t, 4, f.exported(t, "paypal").PayoutCount)
	stranger := newEarner(t)
	stranger.Referrer(10000)
	stranger.Batch(201)
	euros = stranger.Payouts("")[0].String("id")
	lines := []string{
		id["fine"] + ",Completed,9XY,,-20.00,USD", id["bounced"] + ",Completed,8XY,,20,USD",
		id["bounced"] + ",Returned,,No such account.,20.00,USD", id["waits"] + ",Unclaimed,,,20.00,USD",
		id["differs"] + ",Completed,,,19.99,USD", id["pending"] + ",Denied,,,,", euros + ",Completed,,,,", "nobody,Completed,,,,",
		id["waits"] + ",Perhaps,,,,",
	}
	report := f.reported(t, lines...)
	require.Equal(t, []int64{1, 1, 0, 1, 2, 2, 0, 2, 0}, []int64{
		report.PaidCount, report.FailedCount, report.UnchangedCount, report.WaitingCount, report.RefusedCount,
		report.UnknownCount, report.RemainingCount, report.RepeatedCount, report.MissingCount,
	})
	reasons := map[int64]string{}
	for _, r := range report.Data {
		reasons[r.Line] = string(r.Outcome) + ": " + deref(r.Reason)
	}
	require.Equal(t, map[int64]string{
		2: "paid: ", 4: "failed: No such account.", 5: "waiting: The provider says Unclaimed.",
		6: "refused: Its amount is 19.99, and the payout's 20.00 USD.",
		7: "refused: The payout is pending; only an exported payout can be marked as failed.",
		8: "unknown: It names no payout of this batch.", 9: "unknown: Its reference names no payout.",
	}, reasons)
	fine := f.Get("/v1/payouts/" + id["fine"])
	require.Equal(t, []string{"paid", "9XY", "paypal"}, []string{
		fine.String("status"), fine.String("external_id"), fine.String("method"),
	})
	bounced := f.Get("/v1/payouts/" + id["bounced"])
	require.Equal(t, []string{"failed", "returned", "No such account."}, []string{
		bounced.String("status"), bounced.String("error_code"), bounced.String("error_message"),
	})
	require.Equal(t, []int{1, 1}, []int{apitest.Tally(f.Server, f.ProgramID, "payout.paid"), apitest.Tally(f.Server, f.ProgramID, "payout.failed")})

	again := f.reported(t, lines...)
	require.Equal(t, []int64{0, 0, 2}, []int64{again.PaidCount, again.FailedCount, again.UnchangedCount})
	require.Equal(t, []int{1, 1}, []int{apitest.Tally(f.Server, f.ProgramID, "payout.paid"), apitest.Tally(f.Server, f.ProgramID, "payout.failed")})
	back := f.reported(t, id["fine"]+",Reversed,,,,")
	require.EqualValues(t, 1, back.RefusedCount, "what is paid stays paid")
	require.Contains(t, *back.Data[0].Reason, "is paid")
	results := "/v1/payout_batches/" + f.batch + "/results"
	f.Refused(400, "parameter_invalid", "content", f.Post(results, M{"content": "nothing"}))
	f.Refused(400, "parameter_invalid", "paid_at",
		f.Post(results, M{"content": "id,status\n" + id["waits"] + ",paid\n", "paid_at": "2099-01-01T00:00:00Z"}))
	early := f.Must(200, f.Post(results, M{
		"content": "payout,status\n" + id["waits"] + ",paid\n", "paid_at": "2000-01-01T00:00:00Z",
	}))
	require.EqualValues(t, 1, early.Int("refused_count"), "nobody was paid before there was something to pay")
	f.Tallied(t)
}

// TestMarkFailed: only a payout that was exported in a file can be marked as failed.
func TestMarkFailed(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	partner, _ := f.wants("paypal", 10000)
	f.collect()
	path := "/v1/payouts/" + f.payoutOf(partner).String("id")
	f.Refused(409, "payout_not_payable", "", f.Post(path+"/mark_failed", M{"reason": "No."}))
	f.exported(t, "paypal")
	failed := f.Must(200, f.Post(path+"/mark_failed", M{"reason": "No such account."}))
	require.Equal(t, []any{"failed", "rejected", "No such account.", int64(1)}, []any{
		failed.String("status"), failed.String("error_code"), failed.String("error_message"), failed.Int("commission_count"),
	})
	require.Equal(t, failed.Body["error_message"], f.Get(path).Body["error_message"])
	f.Must(200, f.Post(path+"/mark_paid", nil))
	f.Refused(409, "payout_already_paid", "", f.Post(path+"/mark_failed", M{"reason": "No."}))
	f.Refused(400, "parameter_missing", "reason", f.Post(path+"/mark_failed", M{}))
	f.Tallied(t)
}

// TestCancel: payouts that can be cancelled are cancelled and collected again. The others stay.
func TestCancel(t *testing.T) {
	t.Parallel()
	f := newFiler(t, M{"min_payout_minor": 500})
	paid, _ := f.wants("paypal", 10000)
	filed, _ := f.wants("paypal", 20000)
	f.wants("wise", 30000)
	f.wants("wise", 100)
	f.collect()
	f.exported(t, "paypal")
	f.Must(200, f.Post("/v1/payouts/"+f.payoutOf(paid).String("id")+"/mark_paid", nil))
	done := f.cancelled(t, false)
	require.Equal(t, []int64{1, 1, 2}, []int64{done.PayoutCount, done.NotEligibleCount, done.KeptCount})
	require.Equal(t, []api.PayoutBatchTotal{{Currency: "USD", AmountMinor: 6000, PayoutCount: 1}}, done.Totals)
	require.Equal(t, "processing", f.payoutOf(filed).String("status"))
	require.Equal(t, []int{2, 0}, []int{apitest.Tally(f.Server, f.ProgramID, "payout.deleted"), apitest.Tally(f.Server, f.ProgramID, "payout.failed")})
	done = f.cancelled(t, true)
	require.Equal(t, []int64{1, 0, 1}, []int64{done.PayoutCount, done.NotEligibleCount, done.KeptCount})
	require.Equal(t, []int{3, 1}, []int{apitest.Tally(f.Server, f.ProgramID, "payout.deleted"), apitest.Tally(f.Server, f.ProgramID, "payout.failed")})
	require.Zero(t, f.cancelled(t, true).PayoutCount)
	require.Len(t, f.Payouts(""), 1)
	require.Len(t, f.Get("/v1/audit_log_entries?program_id="+f.ProgramID+"&action=payout_batch.cancelled").Data(), 3)
	require.Equal(t, []int{1, 3}, []int{
		apitest.Tally(f.Server, f.ProgramID, "payout_batch.created"), apitest.Tally(f.Server, f.ProgramID, "payout_batch.cancelled"),
	})
	f.Tallied(t)
	f.collect()
	require.Len(t, f.Payouts("&limit=100"), 4, "the same month's next run collects it")
	f.Tallied(t)
}

// TestFilesOfRails: files leave out payouts by a method that a rail pays.
func TestFilesOfRails(t *testing.T) {
	t.Parallel()
	r := apitest.NewPayoutRail(t)
	_, partner, _ := r.Due(t, 10000)
	a, err := app.New(r.Config, r.Pool, r.Clock, slog.New(slog.DiscardHandler), r.Rail)
	require.NoError(t, err)
	web := httptest.NewServer(a.Handler())
	t.Cleanup(web.Close)
	r.URL = web.URL
	export := "/v1/payout_batches/" + r.Payouts("&partner_id=" + partner)[0].String("batch_id") + "/export"
	refused := r.Refused(409, "payout_rail_pays", "", r.Post(export, M{"format": "paypal"}))
	require.Contains(t, string(refused.Raw), r.Rail.Name())
	r.Refused(409, "payout_rail_pays", "", r.Post(export, M{"format": "csv", "method": "paypal"}))
	require.Zero(t, r.Must(200, r.Post(export, M{"format": "csv"})).Int("payout_count"))
}

// TestCancelRaces: the books balance when cancelling races with payments, refunds, exports, results
// and other runs.
func TestCancelRaces(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	var sales, ids []string
	for range 6 {
		_, some := f.wants("paypal", 10000, 5000)
		sales = append(sales, some[0])
	}
	f.collect()
	for _, p := range f.Payouts("") {
		ids = append(ids, p.String("id"))
	}
	batch := "/v1/payout_batches/" + f.batch
	for round := range 3 {
		for _, a := range apitest.AtOnce(14, func(i int) apitest.Answer {
			p := "/v1/payouts/" + ids[(i+round)%len(ids)]
			switch i % 7 {
			case 0:
				return f.Post(batch+"/cancel", M{"exported": i > 6})
			case 1:
				return f.Post(p+"/mark_paid", nil)
			case 2:
				return f.Post("/v1/sales/"+sales[(i+round)%len(sales)]+"/refund", M{"amount_minor": 1000})
			case 3:
				return f.Post(batch+"/export", M{"format": "paypal"})
			case 4:
				return f.Post(batch+"/results", M{"content": fmt.Sprintf("id,status\n%s,paid\n%s,failed\n", ids[i%6], ids[(i+3)%6])})
			case 5:
				return f.Post("/v1/payout_batches", M{"program_id": f.ProgramID, "period_end": "2026-09-01"})
			}
			return f.Post(p+"/mark_failed", M{"reason": "No."})
		}) {
			require.Contains(t, []int{200, 404, 409}, a.Status, "%s", a.Raw)
		}
		f.Tallied(t)
	}
}

// TestFilesOfCurrencies: field case 7 (PayPal's file in forints and New Taiwan dollars). PayPal's
// file has whole units in currencies without decimals at PayPal. Payouts that PayPal cannot pay are
// left out with a reason, and stay due.
func TestFilesOfCurrencies(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]map[int]string{ // by the amount: the cell, or why there is none
		"HUF": {123400: "1234", 123455: "PayPal pays HUF in whole units, and 1234.55 is not one: pay it another way and mark it as paid"},
		"TWD": {19900: "199", 19991: "PayPal pays TWD in whole units, and 199.91 is not one: pay it another way and mark it as paid"},
		"JPY": {1234: "1234"}, "EUR": {1234: "12.34"},
		"INR": {20000: "PayPal does not pay INR: pay it another way and mark it as paid"},
	} {
		f := newFiler(t, M{"currency": code})
		partners := map[int]string{}
		for amount := range want {
			partners[amount], _ = f.wants("paypal")
			f.Must(201, apitest.Grant(f.Server, f.ProgramID, partners[amount], M{"amount_minor": amount}))
		}
		f.collect()
		file := f.exported(t, "paypal")
		reasons := map[string]string{}
		for _, l := range file.Left {
			require.False(t, l.Elsewhere)
			reasons[l.PayoutID] = l.Reason
		}
		for amount, says := range want {
			p := f.payoutOf(partners[amount])
			if why, left := reasons[p.String("id")]; left {
				require.Equal(t, []string{says, "pending"}, []string{why, p.String("status")})
				require.NotContains(t, file.Content, p.String("id"))
				f.Must(200, f.Post("/v1/payouts/"+p.String("id")+"/mark_paid", M{"method": "wire"}))
				continue
			}
			require.Contains(t, file.Content, ","+says+","+code+","+p.String("id")+",")
			require.Equal(t, "processing", p.String("status"))
		}
		f.Tallied(t)
	}
}
