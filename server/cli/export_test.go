package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/api"
	"rail/server/cli/sample"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	importing "rail/server/inbound/importer/source"
	"rail/server/opt"
	"rail/server/secret"
)

// tried is a program with commissions in each state: paid, clawed back, rejected, voided, a reward and an open one; a
// partial refund, a customer with several ids, and a sale without a partner.
func tried(t *testing.T) apitest.Earner {
	t.Helper()
	e := apitest.On(t, pgtest.DurableDSN(t), clock.NewManual(apitest.Start)).Earner()
	e.Flow(e.ProgramID)
	partner, sales := e.Referrer(4000, 6000)
	for range 3 {
		e.Referrer(5000)
	}
	apitest.RunJobAt(t, e.Server, "mature-commissions", e.Clock.Now().Days(60))
	e.Batch(201)
	for _, p := range e.Payouts("&partner_id=" + partner) {
		e.Must(200, e.Post("/v1/payouts/"+p.String("id")+"/mark_paid", apitest.M{}))
	}
	e.Must(200, e.Post("/v1/sales/"+sales[0]+"/refund", apitest.M{}))
	e.Must(200, e.Post("/v1/programs/"+e.ProgramID, apitest.M{"holding_period_days": 30}))
	other := e.Partner(e.ProgramID, apitest.M{"email": "Cy@Example.com", "metadata": apitest.M{"note": "=1+1", "shoe": "46"}})
	customer := e.Customer(e.ProgramID, other, apitest.M{"external_customer_id": "cus a;b%1", "identifier": "user 7", "name": "-Bo, \"B\"\n"})
	e.Must(201, e.Post("/v1/customers/"+customer+"/external_ids", apitest.M{"external_customer_id": "second +id"}))
	partly := e.Sale(e.ProgramID, customer, apitest.M{"tax_minor": 300, "currency": "EUR"}).String("id")
	e.Must(200, e.Post("/v1/sales/"+partly+"/refund", apitest.M{"amount_minor": 1000}))
	whole := e.Sale(e.ProgramID, customer).String("id")
	e.Must(200, e.Post("/v1/sales/"+whole+"/refund", apitest.M{}))
	apitest.Grant(e.Server, e.ProgramID, other)
	k := apitest.Grant(e.Server, e.ProgramID, other).String("id")
	e.Must(200, e.Post("/v1/commissions/"+k+"/reject", apitest.M{"reason": "No."}))
	e.Must(201, e.Post("/v1/coupons", apitest.M{"program_id": e.ProgramID, "partner_id": other, "code": "CY20", "external_id": "promo_1"}))
	e.Must(201, e.Post("/v1/links", apitest.M{"program_id": e.ProgramID, "partner_id": other, "value": "cy-shop", "destination_url": "https://acme.example/shop"}))
	gone, _ := e.Referrer(3000)
	e.Must(200, e.Delete("/v1/partners/"+gone))
	return e
}

// TestExportReadsBack reads the files of an export as an import does: every object with its id and its money.
func TestExportReadsBack(t *testing.T) {
	t.Parallel()
	e := tried(t)
	keeper, err := secret.New(e.Config.SecretKey)
	require.NoError(t, err)
	require.NoError(t, sample.Load(t.Context(), e.Pool, keeper, e.Org, e.Clock.Now()))
	r := at(t, e.DSN, e.Config.SecretKey)
	var samples string
	require.NoError(t, e.Pool.QueryRow(t.Context(), "SELECT id FROM programs WHERE id LIKE 'sample_%'").Scan(&samples))
	longest := int64(0)
	for _, program := range []string{e.ProgramID, samples} {
		folder := filepath.Join(t.TempDir(), "new", "folder")
		out := r.must("export", "--program", program, "--out", folder)
		require.Contains(t, out, "commissions.csv")
		r.must("export", "--program", program, "--out", folder, "--format", "ndjson")
		got := readBack(t, folder, e.Clock.Now())
		want := wanted(t, folder)
		for _, kind := range importing.Kinds {
			require.Len(t, got[kind], len(want[kind]), kind)
			for id, row := range want[kind] {
				require.Equal(t, row, got[kind][id], "%s %s", kind, id)
			}
		}
		for _, f := range manifestOf(t, folder).Files {
			name := strings.TrimSuffix(f.Name, ".ndjson")
			if name == "links" || name == "deleted" {
				continue // a deleted link keeps its row
			}
			var rows int64
			count := "SELECT count(*) FROM " + name + " WHERE program_id = $1" // #nosec G202 -- a name of this test
			require.NoError(t, e.Pool.QueryRow(t.Context(), count, program).Scan(&rows))
			require.Equal(t, rows, f.Rows, name)
			longest = max(longest, rows)
		}
		adds(t, manifestOf(t, folder), got[importing.KindCommission])
	}
	require.Greater(t, longest, int64(500), "a list has several pages")
}

// readBack reads the CSV files of a folder by kind and id.
func readBack(t *testing.T, folder string, now clock.Time) map[importing.Kind]map[string]importing.Row {
	t.Helper()
	all := map[importing.Kind]map[string]importing.Row{}
	for _, kind := range importing.Kinds {
		all[kind] = map[string]importing.Row{}
		file, err := os.Open(filepath.Join(folder, string(kind)+".csv"))
		require.NoError(t, err)
		for row, err := range (importing.CSV{Now: now, Currency: "XAU"}).Rows(kind, file) {
			require.NoError(t, err)
			if row.Problem != nil {
				require.Equal(t, importing.KindCoupon, kind, row.Problem.Detail) // one without a partner
				require.Contains(t, row.Problem.Detail, "the partner is missing")
				continue
			}
			require.NotContains(t, all[kind], row.ID)
			all[kind][row.ID] = row
		}
		require.NoError(t, file.Close())
	}
	return all
}

// objects reads the objects of a file with one per line.
func objects[A any](t *testing.T, folder, name string) (all []A) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name+".ndjson"))
	require.NoError(t, err)
	in := bufio.NewScanner(bytes.NewReader(text))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var a A
		require.NoError(t, json.Unmarshal(in.Bytes(), &a))
		all = append(all, a)
	}
	return all
}

// wanted returns the rows of the objects of an export in NDJSON.
func wanted(t *testing.T, folder string) map[importing.Kind]map[string]importing.Row {
	t.Helper()
	all := map[importing.Kind]map[string]importing.Row{}
	add := func(r importing.Row) {
		if all[r.Kind] == nil {
			all[r.Kind] = map[string]importing.Row{}
		}
		all[r.Kind][r.ID] = r
	}
	groups := map[string]string{}
	for _, g := range objects[api.Group](t, folder, "groups") {
		groups[g.ID] = g.Name
	}
	for _, p := range objects[api.Partner](t, folder, "partners") {
		add(importing.Row{Kind: importing.KindPartner, ID: p.ID, Partner: &importing.Partner{
			Email: p.Email, FirstName: opt.Value(p.FirstName), LastName: opt.Value(p.LastName), CompanyName: opt.Value(p.CompanyName),
			WebsiteURL: opt.Value(p.WebsiteURL), CountryCode: opt.Value(p.CountryCode), Handle: p.Handle, Published: true,
			Status: string(p.Status),
			Group:  groups[opt.Value(p.GroupID)], ExternalID: opt.Value(p.ExternalID), CreatedAt: p.CreatedAt, Metadata: ownData(t, p.Metadata),
		}})
	}
	for _, l := range objects[api.Link](t, folder, "links") {
		add(importing.Row{Kind: importing.KindLink, ID: l.ID, Link: &importing.Link{
			PartnerID: l.PartnerID, Param: l.Param, Value: l.Value, URL: l.DestinationURL, CreatedAt: l.CreatedAt,
		}})
	}
	for _, k := range objects[api.Coupon](t, folder, "coupons") {
		if k.PartnerID != nil {
			add(importing.Row{Kind: importing.KindCoupon, ID: k.ID, Coupon: &importing.Coupon{
				PartnerID: *k.PartnerID, Code: k.Code, ExternalID: opt.Value(k.ExternalID), Active: k.Active, CreatedAt: k.CreatedAt,
			}})
		}
	}
	for _, k := range objects[api.Customer](t, folder, "customers") {
		add(importing.Row{Kind: importing.KindCustomer, ID: k.ID, Customer: wantedCustomer(k)})
	}
	for _, k := range objects[api.Sale](t, folder, "sales") {
		add(importing.Row{Kind: importing.KindSale, ID: k.ID, Sale: &importing.Sale{
			CustomerID: k.CustomerID, PartnerID: opt.Value(k.PartnerID), ChargeID: k.ExternalChargeID, AmountMinor: k.ChargedMinor,
			TaxMinor: k.TaxMinor, RefundedMinor: k.RefundedMinor, Currency: k.Currency, ProductName: opt.Value(k.ProductName),
			Recurring: k.BillingType == api.BillingTypeSubscription, OccurredAt: k.OccurredAt, RefundedAt: k.RefundedAt,
		}})
	}
	wantedMoney(t, folder, add)
	return all
}

// wantedMoney adds the commissions and payouts.
func wantedMoney(t *testing.T, folder string, add func(importing.Row)) {
	t.Helper()
	paid := map[string]*clock.Time{}
	for _, p := range objects[api.Payout](t, folder, "payouts") {
		paid[p.ID] = p.PaidAt
		add(importing.Row{Kind: importing.KindPayout, ID: p.ID, Payout: &importing.Payout{
			PartnerID: p.PartnerID, AmountMinor: p.AmountMinor, Currency: p.Currency, Status: string(p.Status),
			Method: string(opt.Value(p.Method)), PaidAt: p.PaidAt, CreatedAt: p.CreatedAt,
		}})
	}
	now := manifestOf(t, folder).ExportedAt
	for _, k := range objects[api.Commission](t, folder, "commissions") {
		status, payout, mature := string(k.Status), "", k.MatureAt
		switch k.Status {
		case api.CommissionStatusPending:
			mature = nil // a person approves it
		case api.CommissionStatusPaid:
			payout = opt.Value(k.PayoutID)
		case api.CommissionStatusApproved:
			if status = importing.Due; k.MatureAt.After(now.Time) {
				status = importing.Open
			}
		}
		add(importing.Row{Kind: importing.KindCommission, ID: k.ID, Commission: &importing.Commission{
			PartnerID: k.PartnerID, CustomerID: opt.Value(k.CustomerID), SaleID: opt.Value(k.SaleID), AmountMinor: k.AmountMinor,
			Currency: k.Currency, Status: status, Reason: opt.Value(k.VoidReason), CreatedAt: k.CreatedAt, MatureAt: mature,
			PaidAt: paid[payout], VoidedAt: k.VoidedAt, PayoutID: payout,
		}})
	}
}

func wantedCustomer(k api.Customer) *importing.Customer {
	out := &importing.Customer{
		PartnerID: opt.Value(k.PartnerID), Email: opt.Value(k.Email), Name: opt.Value(k.Name), LinkID: opt.Value(k.LinkID),
		Identifier: opt.Value(k.Identifier), SubscriptionID: opt.Value(k.ExternalSubscriptionID),
		CouponID: opt.Value(k.CouponID), Status: string(k.Status), LeadAt: k.LeadAt, ConvertedAt: k.ConvertedAt, CreatedAt: k.CreatedAt,
	}
	for _, x := range *k.ExternalIds {
		out.ExternalIDs = append(out.ExternalIDs, x.ExternalCustomerID)
	}
	if p := string(opt.Value(k.Processor)); p != "api" {
		out.Processor = p
	}
	if k.Status == api.CustomerStatusRefunded || k.Status == api.CustomerStatusSuspended {
		out.Status = importing.Cancelled
	}
	return out
}

// ownData returns metadata as texts.
func ownData(t *testing.T, metadata any) (out map[string]string) {
	t.Helper()
	text, err := json.Marshal(metadata)
	require.NoError(t, err)
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &all))
	for name, value := range all {
		var s string
		if json.Unmarshal(value, &s) != nil {
			s = string(value)
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = s
	}
	return out
}

func manifestOf(t *testing.T, folder string) (m exported) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &m))
	return m
}

// adds compares the sums of commissions with the balances of the manifest.
func adds(t *testing.T, m exported, commissions map[string]importing.Row) {
	t.Helper()
	open, paid := map[string]int64{}, map[string]int64{}
	states := map[string]bool{}
	for _, row := range commissions {
		k := row.Commission
		states[k.Status] = true
		switch k.Status {
		case importing.Open, importing.Due:
			open[k.Currency] += k.AmountMinor
		case importing.Paid:
			paid[k.Currency] += k.AmountMinor
		}
	}
	require.Len(t, states, 5, "every state is tried")
	require.NotEmpty(t, m.Balances)
	for _, b := range m.Balances {
		require.Equal(t, b.PendingMinor+b.DueMinor, open[b.Currency], b.Currency)
		require.Equal(t, b.PaidMinor, paid[b.Currency], b.Currency)
	}
}

// TestExportFiles writes private files with the columns of the API, and keeps those of an earlier export after an error.
func TestExportFiles(t *testing.T) {
	t.Parallel()
	e := tried(t)
	r := at(t, e.DSN, e.Config.SecretKey)
	r.environ["RAIL_BASE_URL"] = e.Config.BaseURL
	folder := t.TempDir()
	result := r.object("export", "--program", e.ProgramID, "--out", folder)
	require.Equal(t, []any{"export", e.ProgramID, "csv", true}, []any{result["object"], result["program_id"], result["format"], result["complete"]})
	names, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, names, 8+2)
	for _, n := range names {
		info, err := n.Info()
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm(), n.Name())
		require.False(t, strings.HasPrefix(n.Name(), "."), n.Name())
	}
	for _, f := range manifestOf(t, folder).Files {
		kind, isCSV := strings.CutSuffix(f.Name, ".csv")
		if !isCSV {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, f.Name))
		require.NoError(t, err)
		lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		require.NoError(t, err)
		require.EqualValues(t, f.Rows, len(lines)-1, f.Name)
		path := "/v1/" + kind + "?program_id=" + e.ProgramID + "&format=csv"
		table := string(e.Must(200, e.Get(path)).Raw)
		header, _, _ := strings.Cut(table, "\r\n")
		require.Equal(t, header, strings.Join(lines[0][:strings.Count(header, ",")+1], ","), kind)
		for _, line := range strings.SplitAfter(table, "\r\n")[1:] {
			require.Contains(t, string(text), strings.TrimSuffix(line, "\r\n"), "the table of the API has the same lines")
		}
	}
	before, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	require.NoError(t, err)
	_, err = e.Pool.Exec(t.Context(), "ALTER TABLE payouts RENAME TO moved")
	require.NoError(t, err)
	status, _, _ := r.run("export", "--program", e.ProgramID, "--out", folder)
	require.Equal(t, 1, status)
	after, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	require.NoError(t, err)
	require.Equal(t, before, after)
	names, err = os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, names, 10)
	for _, wrong := range []string{"--out x", "--program prg_1", "--program prg_1 --out x --format xml", "--program prg_1 --out x --since -1"} {
		status, _, _ := r.run(append([]string{"export"}, strings.Fields(wrong)...)...)
		require.Equal(t, 2, status, wrong)
	}
	status, _, errs := r.run("export", "--program", "prg_none", "--out", folder)
	require.Equal(t, 1, status)
	require.Contains(t, errs, `there is no program "prg_none"`)
}

// TestExportSince writes what changed after a position, and the ids of deleted objects.
func TestExportSince(t *testing.T) {
	t.Parallel()
	e := tried(t)
	r := at(t, e.DSN, e.Config.SecretKey)
	folder := t.TempDir()
	export := func(since int64) exported {
		r.must("export", "--program", e.ProgramID, "--out", folder, "--format", "ndjson", "--since", fmt.Sprint(since))
		return manifestOf(t, folder)
	}
	e.Clock.Advance(2 * time.Hour)
	latest := e.Partner(e.ProgramID)
	first := export(0)
	require.True(t, first.Complete)
	require.Positive(t, first.Position)
	require.Empty(t, objects[deletion](t, folder, "deleted"))
	all := objects[api.Partner](t, folder, "partners")
	slices.SortFunc(all, func(a, b api.Partner) int { return cmp.Compare(a.Email, b.Email) })
	e.Clock.Advance(2 * time.Hour)
	all = slices.DeleteFunc(all, func(p api.Partner) bool { return p.ID == latest })
	changed, gone := all[0].ID, all[1].ID
	e.Must(200, e.Post("/v1/partners/"+changed, apitest.M{"first_name": "Dee"}))
	e.Must(200, e.Delete("/v1/partners/"+gone))
	fresh := e.Partner(e.ProgramID)
	second := export(first.Position)
	require.False(t, second.Complete)
	require.Greater(t, second.Position, first.Position)
	var ids []string
	for _, p := range objects[api.Partner](t, folder, "partners") {
		ids = append(ids, p.ID)
	}
	require.ElementsMatch(t, []string{changed, latest, fresh}, ids, "of the last hour before the position, too")
	require.Empty(t, objects[api.Payout](t, folder, "payouts"))
	deleted := objects[deletion](t, folder, "deleted")
	require.Len(t, deleted, 1)
	require.Equal(t, []string{"partner", gone}, []string{deleted[0].Object, deleted[0].ID})
	require.Greater(t, deleted[0].Seq, first.Position)
	e.Clock.Advance(2 * time.Hour)
	third := export(second.Position)
	ids = nil
	for _, p := range objects[api.Partner](t, folder, "partners") {
		ids = append(ids, p.ID)
	}
	require.ElementsMatch(t, []string{changed, fresh}, ids)
	require.Equal(t, second.Position, third.Position)
	require.Equal(t, second.Balances, third.Balances)
	status, _, errs := r.run("export", "--program", e.ProgramID, "--out", folder, "--since", "999999999")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "another database")
	// Without the events before a position, what was deleted is unknown.
	for _, trigger := range []string{"DISABLE", "ENABLE"} {
		_, err := e.Pool.Exec(t.Context(), "ALTER TABLE events "+trigger+" TRIGGER ALL")
		require.NoError(t, err)
		if trigger == "DISABLE" {
			_, err = e.Pool.Exec(t.Context(), "DELETE FROM events WHERE seq <= $1", first.Position)
			require.NoError(t, err)
		}
	}
	require.True(t, export(first.Position).Complete)
}
