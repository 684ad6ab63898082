package payout

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/ident"
	"rail/server/problem"
)

const (
	firstID  = "pyt_01kb2m4q8e7v9t3n5x6c0d1f2g"
	secondID = "pyt_01kb2m4q8e7v9t3n5x6c0d1f2h"
)

func row(line int, id string, state State, word string) Row {
	return Row{Line: line, PayoutID: id, State: state, Word: word}
}

func with(r Row, external, reason, amount, currency string) Row {
	r.ExternalID, r.Reason, r.Amount, r.Currency = external, reason, amount, currency
	return r
}

var results = map[string]struct {
	content string
	want    []Row
}{
	"PayPal's activity": {
		"\ufeff" + `"Date","Time","TimeZone","Name","Type","Status","Currency","Gross","Fee","Net","Transaction ID","Custom Number"
"09/30/2026","09:00:00","PDT","Ada","Mass Pay Payment","Completed","USD","-1,250.00","-0.25","-1,250.25","9XY","` + firstID + `"
"09/30/2026","09:00:00","PDT","Bob","Mass Pay Payment","Unclaimed","USD","-10.00","0","-10.00","8XY","` + secondID + `"
"10/30/2026","09:00:00","PDT","Bob","Mass Pay Reversal","Completed","USD","10.00","0","10.00","7XY","` + secondID + `"
`,
		[]Row{
			with(row(2, firstID, Settled, "Completed"), "9XY", "", "-1,250.00", "USD"),
			with(row(3, secondID, InFlight, "Unclaimed"), "8XY", "", "-10.00", "USD"),
			with(row(4, secondID, Returned, "Mass Pay Reversal"), "7XY", "", "10.00", "USD"),
		},
	},
	"Wise's transfers": {
		`ID,Status,Direction,"Source amount (after fees)","Source currency","Target amount (after fees)","Target currency",Reference
TRANSFER-1,COMPLETED,OUT,120.50,USD,110.00,EUR,PYT_01KB2M4Q8E7V9T3N5X6C0D1F2G
TRANSFER-2,CANCELLED,OUT,120.50,USD,110.00,EUR,pyt 01kb2m4q8e7v9t3n5x6c0d1f2h
`,
		[]Row{
			with(row(2, firstID, Settled, "COMPLETED"), "TRANSFER-1", "", "110.00", "EUR"),
			with(row(3, secondID, Rejected, "CANCELLED"), "TRANSFER-2", "", "110.00", "EUR"),
		},
	},
	"a table of one's own": {
		"Payments of September\n\npayout_id;status;transaction_id;reason\n" + firstID + ";paid;B1;\n" + secondID + ";failed;;No such account.\n;;;\n" +
			"nobody;perhaps;;\n",
		[]Row{
			with(row(4, firstID, Settled, "paid"), "B1", "", "", ""),
			with(row(5, secondID, Rejected, "failed"), "", "No such account.", "", ""),
			row(7, "", "", "perhaps"),
		},
	},
	"ids are no transactions": {
		"id\tstatus\n" + firstID + "\tpaid\n", []Row{row(2, firstID, Settled, "paid")},
	},
	"PayPal's payouts": {
		"Batch 7,Total,30.00 USD\n\nTransaction ID,Recipient,Unique Identifier,Amount,Fee,Total,Status,Custom Note\n" +
			"9XY," + secondID + "@x.example," + firstID + ",10.00 USD,0.20 USD,10.20 USD,Success," + secondID + "\n",
		[]Row{with(row(4, firstID, Settled, "Success"), "9XY", "", "10.00 USD", "")},
	},
	"the reference before the name": {
		"ID,Status,Target name,Reference\nT-1,COMPLETED," + secondID + "," + firstID + "\nT-2,COMPLETED," + firstID + ",\n",
		[]Row{
			with(row(2, firstID, Settled, "COMPLETED"), "T-1", "", "", ""), with(row(3, "", Settled, "COMPLETED"), "T-2", "", "", ""),
		},
	},
	"two ids in one reference": {
		"payout_id,status\n" + firstID + " " + secondID + ",paid\n" + firstID + ",paid\n",
		[]Row{row(2, "", Settled, "paid"), row(3, firstID, Settled, "paid")},
	},
	"ids of the sample program": {
		"payout_id,status\nsample_" + firstID + ",paid\n", []Row{row(2, "sample_"+firstID, Settled, "paid")},
	},
	"lines of Excel for Mac": {
		"payout_id;status\r" + firstID + ";paid\r" + secondID + ";failed\r",
		[]Row{row(2, firstID, Settled, "paid"), row(3, secondID, Rejected, "failed")},
	},
	"sep=": {
		"\ufeffsep=;\r\npayout_id;amount;currency;status\r\n" + firstID + ";1.250,00;EUR;paid\r\n",
		[]Row{with(row(3, firstID, Settled, "paid"), "", "", "1.250,00", "EUR")},
	},
}

func TestReadResults(t *testing.T) {
	t.Parallel()
	for name, c := range results {
		got, err := ReadResults(c.content)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
}

func TestReadResultsRefuses(t *testing.T) {
	t.Parallel()
	for content, says := range map[string]string{
		"":           "no line of headings",
		"a,b\n1,2\n": "no line of headings",
		"payout_id,status\n" + strings.Repeat(",paid\n", 10_001): "more than 10000 rows",
		strings.Repeat("a,b\n", 30) + "status\npaid\n":           "no line of headings",
		// Payout ids in names and addresses are not references.
		"Status,Target name,Recipient\nCOMPLETED," + firstID + "," + firstID + "@x.example\n": "no column with the payouts' references",
		"payout_id,status\n": "no row whose reference names a payout",
		"Name,Status,Reference\n" + firstID + ",paid,hello\n": "no row whose reference names a payout",
	} {
		_, err := ReadResults(content)
		var refused *problem.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "content", refused.Param)
		require.Contains(t, refused.Message, says)
	}
}

// FuzzReadResults: any upload is a table or a refusal.
func FuzzReadResults(f *testing.F) {
	f.Add("payout_id,status\n" + firstID + ",paid\n")
	f.Add("\ufeff\"Status\";\"Gross\"\r\n\"a\"b\";1.000,00")
	f.Fuzz(func(t *testing.T, content string) {
		rows, err := ReadResults(content)
		if err != nil {
			require.ErrorAs(t, err, new(*problem.Error))
			return
		}
		for _, r := range rows {
			require.True(t, r.PayoutID == "" || len(strings.TrimPrefix(r.PayoutID, "sample_")) == len(firstID))
			require.True(t, r.namesPayout() || r.Word != "")
		}
	})
}

// TestShortReference: the reference in Wise's file has only letters and digits, and identifies the payout.
func TestShortReference(t *testing.T) {
	t.Parallel()
	for range 100 {
		id := ident.New(ident.Payout)
		require.Regexp(t, "^P[0-9A-Z]{16}$", shortID(id))
		for _, cell := range []string{shortID(id), strings.ToLower(shortID(id)), "Ref: " + shortID(id) + "."} {
			none, end := referenceOf(cell)
			require.Empty(t, none)
			require.Equal(t, id[len(id)-shortLength:], end)
		}
		full, end := referenceOf(id)
		require.Equal(t, []string{id, ""}, []string{full, end})
	}
}
