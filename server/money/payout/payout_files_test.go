package payout_test

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/cli"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	"rail/server/secret"
)

// filer is an earner whose payouts the operator pays by files.
type filer struct {
	earner
	batch string
}

func newFiler(t *testing.T, more ...M) *filer {
	t.Helper()
	s := apitest.On(t, pgtest.DurableDSN(t), clock.NewManual(apitest.Start))
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	// as a first start does
	_, err = s.Pool.Exec(t.Context(), "INSERT INTO key_fingerprints (fingerprint, used_since) VALUES ($1, $2)",
		keeper.Fingerprint(), s.Clock.Now())
	require.NoError(t, err)
	f := &filer{earner: earner{s.Earner(more...)}}
	s.Flow(f.ProgramID)
	return f
}

// wants adds a partner with a due balance who is paid by the method.
func (f *filer) wants(method any, amounts ...int) (partner string, sales []string) {
	partner, sales = f.Referrer(amounts...)
	f.Must(200, f.Post("/v1/partners/"+partner, M{"payout_method": method}))
	return partner, sales
}

func (f *filer) collect() {
	f.batch = ensure201(f.Post("/v1/payout_batches",
		M{"program_id": f.ProgramID, "period_end": f.Clock.Now().String()})).String("id")
}

func (f *filer) payoutOf(partner string) apitest.Answer {
	return f.Payouts("&partner_id=" + partner)[0]
}

// rail runs a command of the operator.
func (f *filer) rail(args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = cli.Run(f.T.Context(), &cli.Env{Out: &o, Err: &e, Clock: f.Clock, Environ: map[string]string{
		"RAIL_DATABASE_URL": f.DSN, "RAIL_SECRET_KEY": hex.EncodeToString(f.Config.SecretKey[:]),
		"RAIL_DATA_DIR": f.T.TempDir(),
	}}, args)
	return status, o.String(), e.String()
}

// reference returns the reference of a payout in a file: its id, or the end of its id for Wise.
var reference = regexp.MustCompile("^(pyt_.*|P[0-9A-Z]{16})$")

// export writes a file, and returns its rows by the reference of the payout.
func (f *filer) export(method string, more ...string) (status int, rows map[string][]string, errs string) {
	f.T.Helper()
	status, out, errs := f.rail(append([]string{"payouts", "export", "--batch", f.batch, "--format", method}, more...)...)
	cells, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(f.T, err)
	rows = map[string][]string{}
	for _, c := range cells {
		for _, cell := range c {
			if reference.MatchString(cell) {
				rows[cell] = c
			}
		}
	}
	return status, rows, errs
}

// TestExportedPayouts: an exported payout cannot change. A later refund is clawed back, and the
// file and the books have the same amounts.
func TestExportedPayouts(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	s := f.Server
	partner, sales := f.wants("paypal", 50000, 25000)
	f.collect()
	p := f.payoutOf(partner)
	id := p.String("id")
	status, rows, errs := f.export("paypal")
	require.Equal(t, []any{0, "150.00", "1 payout written, 0 left out\n"}, []any{status, rows[id][1], errs})
	require.Equal(t, "processing", f.payoutOf(partner).String("status"))
	require.Equal(t, 1, apitest.Tally(s, f.ProgramID, "payout.updated"))

	require.EqualValues(t, 10000, s.Must(200, s.Post("/v1/sales/"+sales[0]+"/refund", nil)).Int("clawback_minor"))
	require.EqualValues(t, 15000, f.payoutOf(partner).Int("amount_minor"))
	refused := s.Refused(409, "payout_in_flight", "", s.Delete("/v1/payouts/"+id))
	require.Contains(t, string(refused.Raw), "file")
	s.Refused(409, "payout_in_flight", "", s.Delete("/v1/partners/"+partner))
	k := s.Get("/v1/commissions?program_id=" + f.ProgramID + "&sale_id=" + sales[1]).Data()[0]["id"].(string)
	s.Refused(409, "commission_in_payout", "", s.Post("/v1/commissions/"+k+"/reject", M{"reason": "x"}))
	f.collect()
	f.Tallied(t)

	status, again, errs := f.export("paypal")
	require.Equal(t, []any{0, rows}, []any{status, again}, "the same rows, whatever became of the first file")
	require.Contains(t, errs, "1 of them were in an earlier file")
	require.Equal(t, 1, apitest.Tally(s, f.ProgramID, "payout.updated"), "the state changes once")
	later, _ := f.wants("paypal", 5000)
	f.collect()
	status, fresh, errs := f.export("paypal", "--new")
	require.Equal(t, 0, status)
	require.Len(t, fresh, 1)
	require.Contains(t, fresh, f.payoutOf(later).String("id"))
	require.NotContains(t, errs, id, "it was in an earlier file")

	paid := s.Must(200, s.Post("/v1/payouts/"+id+"/mark_paid", M{"external_id": "PP-1"}))
	require.Equal(t, []any{"paid", int64(15000), "paypal"}, []any{
		paid.String("status"), paid.Int("amount_minor"), paid.String("method"),
	})
	_, due, done := s.Balance(f.ProgramID, partner, "USD")
	require.Equal(t, []int64{-10000, 15000}, []int64{due, done})
	_, rows, _ = f.export("paypal", "--new")
	require.Empty(t, rows, "what is paid is in no file")
	f.many(page + 1)
	f.collect()
	status, _, errs = f.export("paypal")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "still being generated")
	f.Tallied(t)
}

// TestFilesListOmittedPayouts: each unpaid payout of the batch is in the file, or listed with the
// reason.
func TestFilesListOmittedPayouts(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	s := f.Server
	fine, _ := f.wants("paypal", 10000)
	moved, _ := f.wants("paypal", 10000)
	arrived, _ := f.wants("bank_transfer", 10000)
	suspended, _ := f.wants("paypal", 10000)
	nowhere, _ := f.wants("paypal", 10000)
	euros, _ := f.wants("paypal", 10000)
	s.Must(201, apitest.Grant(s, f.ProgramID, euros, M{"amount_minor": 700, "currency": "EUR"}))
	f.wants("wire", 10000)
	f.wants(nil, 10000)
	f.collect()
	s.Must(200, s.Post("/v1/partners/"+moved, M{"payout_method": "wise"}))
	s.Must(200, s.Post("/v1/partners/"+arrived, M{"payout_method": "paypal"}))
	s.Must(200, s.Post("/v1/partners/"+suspended, M{"status": "suspended"}))
	s.Must(200, s.Post("/v1/partners/"+nowhere, M{"payout_details": M{"email": "no address"}}))
	ids := map[string]string{}
	var inEuros string
	for _, p := range f.Payouts("") {
		if p.String("currency") == "EUR" {
			inEuros = p.String("id")
		} else {
			ids[p.String("partner_id")] = p.String("id")
		}
	}
	status, _, errs := f.export("paypal")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "choose one currency")
	status, rows, errs := f.export("paypal", "--currency", "usd")
	require.Equal(t, 1, status, "something is in no file")
	require.Len(t, rows, 2)
	require.Contains(t, rows, ids[fine])
	require.Contains(t, rows, ids[euros])
	for id, why := range map[string]string{
		ids[moved]:     "it was created for paypal, and its partner has chosen wise since",
		ids[arrived]:   "it was created for bank_transfer, and its partner has chosen paypal since",
		ids[suspended]: "its partner is suspended", ids[nowhere]: "its recipient is not a valid address", inEuros: "it is in EUR",
	} {
		require.Contains(t, errs, id+" is left out: "+why+"\n")
	}
	require.Contains(t, errs, "not in this file: 1 payouts in USD to be paid by wire\n")
	require.Contains(t, errs, "not in this file: 1 payouts in USD without a method\n")
	require.Contains(t, errs, "2 payouts written, 5 left out\n")
	require.Equal(t, "pending", f.payoutOf(moved).String("status"), "what is not in the file has not left")
	status, rows, errs = f.export("wise")
	require.Equal(t, 1, status)
	require.Empty(t, rows)
	require.Contains(t, errs, ids[moved]+" is left out")
	s.Must(200, s.Post("/v1/partners/"+euros, M{"status": "suspended"}))
	_, _, errs = f.export("paypal", "--currency", "USD")
	require.Contains(t, errs, ids[euros]+" is left out: its partner is suspended; it was in an earlier file\n")
	f.Tallied(t)
}

// TestFilesEnd: the operator marks exported payouts as paid or failed.
func TestFilesEnd(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	s := f.Server
	bounced, sales := f.wants("wise", 10000)
	one, _ := f.wants("wise", 20000)
	two, _ := f.wants("wise", 30000)
	pending, _ := f.wants("paypal", 40000)
	f.collect()
	f.export("wise")
	status, _, errs := f.rail("payouts", "fail", f.payoutOf(bounced).String("id"), "--reason", "It bounced.")
	require.Zero(t, status, errs)
	p := f.payoutOf(bounced)
	require.Equal(t, []string{"failed", "It bounced."}, []string{p.String("status"), p.String("error_message")})
	s.Must(200, s.Post("/v1/sales/"+sales[0]+"/refund", M{"amount_minor": 5000}))
	require.EqualValues(t, 1000, f.payoutOf(bounced).Int("amount_minor"), "it is within reach again")

	for args, says := range map[string]string{
		"payouts paid " + f.payoutOf(pending).String("id"):            "is processing",
		"payouts paid batch_none":                                     "no payout batch",
		"payouts paid " + f.batch + " --paid-at 2000-01-01T00:00:00Z": "before the oldest sale",
		"payouts paid " + f.batch + " --paid-at 2099-01-01T00:00:00Z": "future",
		"payouts paid": "PAYOUT_ID_OR_BATCH_ID is missing",
	} {
		status, _, errs := f.rail(strings.Fields(args)...)
		require.NotZero(t, status, args)
		require.Contains(t, errs, says)
	}
	status, out, errs := f.rail("payouts", "paid", f.payoutOf(one).String("id"), "--external-id", "W-1")
	require.Equal(t, []any{0, "1 payout paid\n"}, []any{status, out}, errs)
	require.Equal(t, "W-1", f.payoutOf(one).String("external_id"))
	status, out, errs = f.rail("payouts", "paid", f.batch)
	require.Equal(t, []any{0, "1 payout paid\n"}, []any{status, out}, errs)
	require.Equal(t, "paid", f.payoutOf(two).String("status"))
	require.Equal(t, "pending", f.payoutOf(pending).String("status"))

	_, rows, errs := f.export("wise")
	require.Len(t, rows, 1, "a failed one is sent again: %s", errs)
	require.Equal(t, []any{"processing", nil}, []any{
		f.payoutOf(bounced).Body["status"], f.payoutOf(bounced).Body["error_code"],
	})
	status, _, errs = f.rail("payouts", "paid", f.batch)
	require.Zero(t, status, errs)
	require.Equal(t, 3, apitest.Tally(s, f.ProgramID, "payout.paid"))
	f.Tallied(t)
}

// ensure201 accepts a batch that already exists as created.
func ensure201(a apitest.Answer) apitest.Answer {
	if a.Status == 200 {
		a.Status = 201
	}
	return a
}
