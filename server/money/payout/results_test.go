package payout

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/problem"
)

const (
	firstID  = "pyt_01kb2m4q8e7v9t3n5x6c0d1f2g"
	secondID = "pyt_01kb2m4q8e7v9t3n5x6c0d1f2h"
)

func TestReadResults(t *testing.T) {
	t.Parallel()
	row := func(line int, id string, state State, word string) Row {
		return Row{Line: line, PayoutID: id, State: state, Word: word}
	}
	with := func(r Row, external, reason, amount, currency string) Row {
		r.ExternalID, r.Reason, r.Amount, r.Currency = external, reason, amount, currency
		return r
	}
	for name, c := range map[string]struct {
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
	} {
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
		"status\n" + strings.Repeat("paid\n", 10_001):  "more than 10000 rows",
		strings.Repeat("a,b\n", 30) + "status\npaid\n": "no line of headings",
	} {
		_, err := ReadResults(content)
		var refused *problem.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "content", refused.Param)
		require.Contains(t, refused.Message, says)
	}
}

// FuzzReadResults: whatever somebody uploads is a table or a refusal.
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
			require.True(t, r.PayoutID == "" || len(r.PayoutID) == len(firstID))
			require.True(t, r.PayoutID != "" || r.Word != "")
		}
	})
}
