package payout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/api"
	"rail/server/harness/apitest"
)

// results sends a provider's result unchanged.
func (f *filer) results(t *testing.T, content string) *api.PayoutResultReport {
	t.Helper()
	answer, err := f.Client.ReportPayoutResultsWithResponse(t.Context(), f.batch, nil, api.PayoutResults{Content: content})
	require.NoError(t, err)
	require.NotNil(t, answer.JSON200, "%s", answer.Body)
	return answer.JSON200
}

// newFiled returns n payouts of 20.00 USD that were exported in a file of a method, by partner.
func newFiled(t *testing.T, method string, n int) (f *filer, partners, ids []string) {
	t.Helper()
	f = newFiler(t)
	for range n {
		partner, _ := f.wants(method, 10000)
		partners = append(partners, partner)
	}
	f.collect()
	for _, p := range partners {
		ids = append(ids, f.payoutOf(p).String("id"))
	}
	require.EqualValues(t, n, f.exported(t, api.PayoutFileFormat(method)).PayoutCount)
	return f, partners, ids
}

// TestResultsOfEarlierTransfers: a payout that is exported again after its transfer failed is not failed by the results
// of that transfer, which would pay it a third time.
func TestResultsOfEarlierTransfers(t *testing.T) {
	t.Parallel()
	f, _, ids := newFiled(t, "paypal", 3)
	sent, noID, byHand := ids[0], ids[1], ids[2]
	first := []string{
		sent + ",Completed,X1,,,", sent + ",Returned,X2,Closed.,,", noID + ",Returned,,Closed.,,",
	}
	require.EqualValues(t, 2, f.reported(t, first...).FailedCount)
	f.Must(200, f.Post("/v1/payouts/"+byHand+"/mark_failed", M{"reason": "Closed."}))
	require.EqualValues(t, 3, f.exported(t, "paypal").PayoutCount)

	old := f.reported(t, first...)
	require.Equal(t, []int64{0, 0, 1, 1}, []int64{old.PaidCount, old.FailedCount, old.UnchangedCount, old.RefusedCount})
	require.Contains(t, *old.Data[0].Reason, "Mark it as paid or failed yourself")
	both := f.reported(t, append(first, sent+",Completed,Y1,,,", byHand+",Returned,Z1,,,", byHand+",Completed,Z2,,,")...)
	require.Equal(t, []int64{1, 0, 0, 2}, []int64{both.PaidCount, both.FailedCount, both.UnchangedCount, both.RefusedCount})
	for id, status := range map[string]string{sent: "paid", noID: "processing", byHand: "processing"} {
		require.Equal(t, status, f.Get("/v1/payouts/"+id).String("status"))
	}
	require.Equal(t, "Y1", f.Get("/v1/payouts/"+sent).String("external_id"))
	require.EqualValues(t, 1, f.reported(t, byHand+",Completed,Z2,,,").PaidCount)
	f.Tallied(t)
}

// TestDetailsChangedAfterExport: payout details that change between the export of a payout and its result have changed
// since the partner was last paid.
func TestDetailsChangedAfterExport(t *testing.T) {
	t.Parallel()
	f, _, ids := newFiled(t, "paypal", 1)
	partner := f.Get("/v1/payouts/" + ids[0]).String("partner_id")
	f.Clock.Advance(time.Hour)
	f.Must(200, f.Post("/v1/partners/"+partner, M{"payout_details": M{"email": "thief@example.com"}}))
	changed := f.Clock.Now().String()
	f.Clock.Advance(time.Hour)
	require.EqualValues(t, 1, f.reported(t, ids[0]+",Completed,X1,,,").PaidCount)
	f.Clock.Advance(31 * 24 * time.Hour)
	f.Must(201, apitest.Grant(f.Server, f.ProgramID, partner))
	f.Clock.Advance(31 * 24 * time.Hour)
	apitest.RunJob(t, f.Server, "mature-commissions")
	preview := f.Must(200, f.Post("/v1/payout_batches/preview", M{"program_id": f.ProgramID, "period_end": f.Clock.Now().String()}))
	require.Equal(t, changed, preview.Data()[0]["details_changed_at"])
}

// TestSecondTransferFails: the new transfer of a payout can fail as well.
func TestSecondTransferFails(t *testing.T) {
	t.Parallel()
	f, _, ids := newFiled(t, "paypal", 1)
	for _, transfer := range []string{"X1", "X2", "X3"} {
		report := f.reported(t, ids[0]+",Completed,"+transfer+"0,,,", ids[0]+",Returned,"+transfer+",,,")
		require.EqualValues(t, 1, report.FailedCount, transfer)
		require.EqualValues(t, 1, f.exported(t, "paypal").PayoutCount)
	}
	f.Tallied(t)
}

// TestResultsReadReferencesAlone: a row ends the payout of its reference and no other, whatever the
// recipients' names are.
func TestResultsReadReferencesAlone(t *testing.T) {
	t.Parallel()
	f, _, ids := newFiled(t, "paypal", 3)
	report := f.results(t, "Recipient,Target name,Status,Unique ID,Amount\n"+
		ids[1]+"@evil.example,"+ids[1]+",Completed,"+ids[0]+",20.00\n"+
		"b@x.example,"+ids[0]+",Failed,"+ids[1]+",20.00\n"+
		ids[2]+"@evil.example,"+ids[2]+",Completed,,20.00\n")
	require.Equal(t, []int64{1, 1, 1, 0, 1}, []int64{
		report.PaidCount, report.FailedCount, report.UnknownCount, report.RepeatedCount, report.MissingCount,
	})
	require.Equal(t, ids[2], report.Missing[0].PayoutID, "a row without a reference leaves its payout unnamed")
	for i, status := range []string{"paid", "failed", "processing"} {
		require.Equal(t, status, f.Get("/v1/payouts/"+ids[i]).String("status"))
	}
	for _, content := range []string{
		"Recipient,Status\n" + ids[2] + ",Completed\n", "payout_id,status\n", "payout_id,status\nnone,paid\n",
		"Recipient,Status,Reference\n" + ids[2] + ",Completed,\n",
	} {
		f.Refused(400, "parameter_invalid", "content",
			f.Post("/v1/payout_batches/"+f.batch+"/results", M{"content": content}))
	}
	f.Tallied(t)
}

// TestResultsReportMissing: an exported payout without a row in the result is reported until it
// has ended. Payouts of other files are not reported.
func TestResultsReportMissing(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	one, _ := f.wants("paypal", 10000)
	two, _ := f.wants("paypal", 10000)
	f.wants("wise", 10000)
	f.collect()
	f.exported(t, "paypal")
	f.exported(t, "wise")
	first, second := f.payoutOf(one).String("id"), f.payoutOf(two).String("id")
	report := f.results(t, "payout_id,status\n"+first+",paid\n"+first+",pending\n")
	require.Equal(t, []int64{1, 1, 1}, []int64{report.PaidCount, report.RepeatedCount, report.MissingCount})
	require.Equal(t, []api.PayoutMissing{{PayoutID: second, PartnerID: two, AmountMinor: 2000, Currency: "USD"}}, report.Missing)
	report = f.results(t, "payout_id,status\n"+first+",paid\n"+second+",paid\n")
	require.Equal(t, []int64{1, 1, 0}, []int64{report.PaidCount, report.UnchangedCount, report.MissingCount})
	require.Empty(t, report.Missing)
}

// TestResultsOfWise: the short reference and the id from an older file both identify the payout.
func TestResultsOfWise(t *testing.T) {
	t.Parallel()
	f, _, ids := newFiled(t, "wise", 3)
	file := f.exported(t, "wise")
	lines := strings.Split(file.Content, "\n")
	require.Equal(t, "name,recipientEmail,paymentReference,receiverType,amountCurrency,amount,sourceCurrency,targetCurrency", lines[0])
	short := func(id string) string { return "P" + strings.ToUpper(id[len(id)-16:]) }
	for _, id := range ids {
		require.Contains(t, file.Content, ","+short(id)+",")
	}
	report := f.results(t, "ID,Status,Target name,Reference\nT-1,COMPLETED,"+ids[1]+","+short(ids[0])+
		"\nT-2,COMPLETED,x,"+strings.ToUpper(ids[1])+"\nT-3,COMPLETED,x,P0000000000000000\n")
	require.Equal(t, []int64{2, 1, 1}, []int64{report.PaidCount, report.UnknownCount, report.MissingCount})
	require.Equal(t, ids[2], report.Missing[0].PayoutID)
	require.Equal(t, "T-1", f.Get("/v1/payouts/"+ids[0]).String("external_id"))
	f.Tallied(t)
}

// TestResultsOfSpreadsheets: field case 17 (a result file from a spreadsheet). A result that a
// spreadsheet has saved is read, in all its variants.
func TestResultsOfSpreadsheets(t *testing.T) {
	t.Parallel()
	variants := []string{
		"\ufeffpayout_id;amount;currency;status\r\nID;20,00;USD;paid\r\n",
		"sep=;\r\npayout_id;amount;currency;status\r\nID;20,00;USD;paid\r\n",
		"payout_id;name;amount;status\nID;Zo\u00eb;20,00;paid\n",
		"payout_id\tamount\tstatus\nID\t$20.00\tpaid\n",
		"payout_id,amount,status\rID,20.00,paid\r",
		"\"payout_id\",\"amount\",\"status\"\r\n\"ID\",\"20,00\",\"Paid\"\r\n",
	}
	f, _, ids := newFiled(t, "paypal", len(variants))
	for i, v := range variants {
		require.EqualValues(t, 1, f.results(t, strings.ReplaceAll(v, "ID", ids[i])).PaidCount, "%q", v)
	}
	f.Tallied(t)
}
