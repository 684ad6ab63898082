package source_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"

	"rail/server/clock"
	"rail/server/inbound/importer/source"
)

var csvNow = clock.At(time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC))

// readCSV reads a file of one kind, byte by byte.
func readCSV(t *testing.T, kind source.Kind, text string) []source.Row {
	t.Helper()
	rows, err := tryCSV(source.CSV{Currency: "USD", Now: csvNow}, kind, text)
	require.NoError(t, err)
	return rows
}

func tryCSV(c source.CSV, kind source.Kind, text string) (rows []source.Row, err error) {
	for row, err := range c.Rows(kind, iotest.OneByteReader(strings.NewReader(text))) {
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// day returns midnight of a date.
func day(t *testing.T, text string) clock.Time {
	t.Helper()
	at, _, err := clock.ParseDate(text)
	require.NoError(t, err)
	return at
}

// TestCSVPartners reads the exports of other products by the meaning of their headers.
func TestCSVPartners(t *testing.T) {
	t.Parallel()
	at := day(t, "2026-01-31")
	person := func(p source.Partner) *source.Partner {
		p.Email = "Ada@Example.com"
		return &p
	}
	for name, c := range map[string]struct {
		file   string
		want   source.Partner
		id     string
		value  string
		param  string
		linked bool
	}{
		"Rewardful": {
			file: "stripe_customer_id,first_name,last_name,email,paypal_email,token\n,Ada,Lovelace,Ada@Example.com,,Ada-L\n",
			want: source.Partner{FirstName: "Ada", LastName: "Lovelace", Status: "active"},
			id:   "ada@example.com", value: "Ada-L", linked: true,
		},
		"Tapfiliate": {
			file: "id;email;referral_code;approved;created_at\n7;Ada@Example.com;ADA 1;true;2026-01-31T00:00:00Z\n",
			want: source.Partner{Status: "active", CreatedAt: at}, id: "7", value: "ADA 1", linked: true,
		},
		"FirstPromoter 1": {
			file: "Email\tCust Ref\tStatus\tCurrent balance\nAda@Example.com\tada\tBlocked\t12.50\n",
			want: source.Partner{Status: "suspended", Open: map[string]int64{"USD": 1250}},
			id:   "ada@example.com", value: "ada", linked: true,
		},
		"FirstPromoter 2": {
			file: "ID,Email,ref_id\r\n9,Ada@Example.com,ada\r\n",
			want: source.Partner{Status: "active"}, id: "9", value: "ada", linked: true,
		},
		"PartnerStack": {
			file: "Partner_first,Partner_last,Partner_email,partner_key,Partner_group,Partner_joined_date\n" +
				"Ada,Lovelace,Ada@Example.com,ada,Gold,1/31/2026\n",
			want: source.Partner{FirstName: "Ada", LastName: "Lovelace", Status: "active", Group: "Gold", CreatedAt: at},
			id:   "ada@example.com", value: "ada", linked: true,
		},
		"Dub": {
			file: "ID,Name,Email,Country,Status,Group,Enrolled at,Payouts enabled at\n" +
				"pn_1,Ada King Lovelace,Ada@Example.com,GB,approved,Default,2026-01-31T00:00:00.000Z,\n",
			want: source.Partner{FirstName: "Ada", LastName: "King Lovelace", CountryCode: "GB", Status: "active", Group: "Default",
				CreatedAt: at}, id: "pn_1",
		},
		"a handle": {
			file: "Email,Handle,Parameter,Country\nAda@Example.com,ada,ref,England\n",
			want: source.Partner{Handle: "ada", Status: "active", Metadata: map[string]string{"country": "England"}},
			id:   "ada@example.com", value: "ada", param: "ref", linked: true,
		},
	} {
		rows := readCSV(t, source.KindPartner, c.file)
		require.Equal(t, source.Row{Kind: source.KindPartner, ID: c.id, Partner: person(c.want)}, rows[0], name)
		if !c.linked {
			require.Len(t, rows, 1, name)
			continue
		}
		require.Len(t, rows, 2, name)
		require.NotEmpty(t, rows[1].ID)
		require.Equal(t, &source.Link{PartnerID: c.id, Param: c.param, Value: c.value, CreatedAt: c.want.CreatedAt}, rows[1].Link, name)
	}
}

// TestCSVReferences refers to partners and customers by email where there are no ids.
func TestCSVReferences(t *testing.T) {
	t.Parallel()
	at := day(t, "2026-01-31")
	row := readCSV(t, source.KindCommission,
		"ID,Type,Amount,Earnings,Currency,Status,Created at,Partner email,Customer email,Stripe customer ID\n"+
			"cm_1,sale,\"$1,000.00\",$250.00,USD,processed,2026-01-31,ADA@example.com,Bo@example.com,\n")[0]
	require.Equal(t, source.Row{Kind: source.KindCommission, ID: "cm_1", Commission: &source.Commission{
		PartnerID: "ada@example.com", CustomerID: "bo@example.com", AmountMinor: 25000, Currency: "USD", Status: source.Due,
		CreatedAt: at,
	}}, row)
	row = readCSV(t, source.KindCustomer, "Email,Stripe Customer ID,Affiliate,Status,Created\nBo@example.com,cus_1,ADA@example.com,conversion,2026-01-31\n")[0]
	require.Equal(t, source.Row{Kind: source.KindCustomer, ID: "cus_1", Customer: &source.Customer{
		PartnerID: "ada@example.com", ExternalIDs: []string{"cus_1"}, Email: "Bo@example.com", Status: source.Paying, LeadAt: at,
		CreatedAt: at,
	}}, row)
	row = readCSV(t, source.KindSale, "Customer email,Order ID,Total,Refunded,VAT,Recurring,Date\nBo@example.com,o_1,120.00,20,19.16,yes,2026-01-31\n")[0]
	tax := int64(1916)
	require.Equal(t, source.Row{Kind: source.KindSale, ID: "o_1", Sale: &source.Sale{
		CustomerID: "bo@example.com", ChargeID: "o_1", AmountMinor: 12000, RefundedMinor: 2000, TaxMinor: &tax, Currency: "USD",
		Recurring: true, OccurredAt: at,
	}}, row)
	row = readCSV(t, source.KindPayout, "Affiliate email,Amount,Payment date\nada@example.com,€ 250,2026-01-31\n")[0]
	require.Equal(t, &source.Payout{
		PartnerID: "ada@example.com", AmountMinor: 25000, Currency: "EUR", Status: source.Paid, PaidAt: &at, CreatedAt: at,
	}, row.Payout)
	row = readCSV(t, source.KindCoupon, "Promo code,Affiliate,Enabled\nSAVE20,ada@example.com,no\n")[0]
	require.Equal(t, source.Row{Kind: source.KindCoupon, ID: "save20", Coupon: &source.Coupon{
		PartnerID: "ada@example.com", Code: "SAVE20",
	}}, row)
}

// TestCSVAmounts reads decimals of several countries, and refuses those with two meanings.
func TestCSVAmounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"12": "1200 USD", "12.5": "1250 USD", "1,234.50": "123450 USD", "1.234,50": "123450 USD", "1 234,50": "123450 USD",
		"1'234.50": "123450 USD", "1,234": "123400 USD", "1,234,567": "123456700 USD", "1.234.567": "123456700 USD",
		"$12": "1200 USD", "12 USD": "1200 USD", "USD 12": "1200 USD", "$12 USD": "1200 USD", "-$3.20": "-320 USD", "(3.20)": "-320 USD",
		"−3,2": "-320 USD", "€1.234,50": "123450 EUR", "12,50 €": "1250 EUR", "¥1,000": "1000 JPY", "CA$12.00": "1200 CAD", "jpy 1234.00": "1234 JPY",
		"1.234 KWD": "1234 KWD", "12.3400": "1234 USD", "0.5": "50 USD", ".5": "50 USD",
		"1.234": "can mean 1234 or 1.234. Write 1234.00 or 1.23", "12.345": "can mean", "12,3456": "more decimals", "1,23,456": "not a number", "1.5 JPY": "more decimals",
		"1,234 KWD": "can mean 1234 or 1.234. Write 1234.000 or 1.2340", "-1.234": "can mean -1234 or -1.234", "12 points": "currency", "10%": "currency", "free": "currency", "--3": "not a number", "": "empty",
	} {
		row := readCSV(t, source.KindPayout, fmt.Sprintf("partner_email,amount\nada@example.com,%q\n", text))[0]
		if row.Problem == nil {
			require.Equal(t, want, fmt.Sprintf("%d %s", row.Payout.AmountMinor, row.Payout.Currency), text)
			continue
		}
		require.Contains(t, row.Problem.Detail, want, text)
		require.Regexp(t, "^Line 2: ", row.Problem.Detail)
		code := source.MissingMember
		if want == "currency" {
			code = source.NotMoney
		}
		require.Equal(t, code, row.Problem.Code, text)
	}
	// A comma between cells does not come with a decimal comma; other delimiters leave both open.
	for text, want := range map[string]string{
		"12,50": "1250 USD", "1.234,50": "123450 USD", "1,234,567": "123456700 USD", "0,990": "99 USD", "1.2340 KWD": "1234 KWD",
		"12,500": "can mean 12500 or 12.500. Write 12500.00 or 12.50", "1.234": "can mean", "1.234 KWD": "can mean",
		"¥1,000": "can mean 1000 or 1.000. Write 1000 or 1",
	} {
		for _, delimiter := range []string{";", "\t"} {
			row := readCSV(t, source.KindPayout, "partner_email"+delimiter+"amount\nada@example.com"+delimiter+text+"\n")[0]
			if row.Problem != nil {
				require.Contains(t, row.Problem.Detail, want, text)
				continue
			}
			require.Equal(t, want, fmt.Sprintf("%d %s", row.Payout.AmountMinor, row.Payout.Currency), text)
		}
	}
	for cells, want := range map[string]int64{"1250,usd": 1250, "-1250,usd": -1250} {
		row := readCSV(t, source.KindPayout, "partner_email,amount_minor,currency\nada@example.com,"+cells+"\n")[0]
		require.Equal(t, want, row.Payout.AmountMinor)
		require.Equal(t, "USD", row.Payout.Currency)
	}
	for _, cells := range []string{"12.50,usd", "12,points", "12,", "€12,usd"} {
		row := readCSV(t, source.KindPayout, "partner_email,amount_cents,currency\nada@example.com,"+cells+"\n")[0]
		require.Equal(t, cells == "12,", row.Problem == nil, cells)
	}
}

// TestCSVDates reads times of several forms, and refuses days with two meanings.
func TestCSVDates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-01-31T10:20:30Z": "2026-01-31T10:20:30Z", "2026-01-31T10:20:30.5+02:00": "2026-01-31T08:20:30.5Z",
		"2026-01-31 10:20:30": "2026-01-31T10:20:30Z", "2026-01-31 10:20:30.123456 UTC": "2026-01-31T10:20:30.123456Z",
		"2026-01-31 10:20:30 GMT": "2026-01-31T10:20:30Z", "Sat, 31 Jan 2026 10:20:30 GMT": "2026-01-31T10:20:30Z",
		"2026-01-31 10:20:30 EST": "time zone EST", "Sat, 31 Jan 2026 10:20:30 PST": "time zone PST",
		"1/31/2026 3:04 PM CET": "time zone CET", "2026-01-31 3:04 PM": "not a date",
		"2026-01-31": "2026-01-31T00:00:00Z", "1769854830": "2026-01-31T10:20:30Z", "1769854830000": "2026-01-31T10:20:30Z",
		"1/31/2026": "2026-01-31T00:00:00Z", "31/1/2026": "2026-01-31T00:00:00Z", "1/1/2026": "2026-01-01T00:00:00Z",
		"1/31/2026 3:04 PM": "2026-01-31T15:04:00Z", "31.01.2026": "2026-01-31T00:00:00Z", "Jan 31, 2026": "2026-01-31T00:00:00Z",
		"1/2/2026": "may be", "soon": "not a date", "2/30/2026": "not a date", "0001-01-01": "not between", "13/13/2026": "not a date",
	} {
		row := readCSV(t, source.KindPayout, fmt.Sprintf("partner_email,amount,created_at\nada@example.com,1,%q\n", text))[0]
		if row.Problem == nil {
			require.Equal(t, want, row.Payout.CreatedAt.Format(time.RFC3339Nano), text)
			continue
		}
		require.Contains(t, row.Problem.Detail, want, text)
	}
}

// TestCSVDays reads dates without a time as days in the program's zone, and leaves times as they are.
func TestCSVDays(t *testing.T) {
	t.Parallel()
	zone, err := clock.Zone("America/New_York")
	require.NoError(t, err)
	for text, want := range map[string]string{
		"2026-01-01": "2026-01-01T05:00:00Z", "01.01.2026": "2026-01-01T05:00:00Z", "7/31/2026": "2026-07-31T04:00:00Z",
		"Jan 1, 2026": "2026-01-01T05:00:00Z", "2026-01-01 00:00": "2026-01-01T00:00:00Z",
		"7/31/2026 15:04": "2026-07-31T15:04:00Z", "2026-01-01T00:00:00+01:00": "2025-12-31T23:00:00Z",
	} {
		rows, err := tryCSV(source.CSV{Currency: "USD", Now: csvNow, Zone: zone}, source.KindPayout,
			fmt.Sprintf("partner_email,amount,paid_at\nada@example.com,1,%q\n", text))
		require.NoError(t, err)
		require.Equal(t, want, rows[0].Payout.PaidAt.Format(time.RFC3339Nano), text)
	}
}

// TestCSVStates reads the words of states.
func TestCSVStates(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"Active": "active", "approved": "active", "applied": "pending", "declined": "declined", "rejected": "declined",
		"paused": "suspended", "Banned": "suspended", "": "active", "purple": "",
	} {
		row := readCSV(t, source.KindPartner, "email,status\nada@example.com,"+word+"\n")[0]
		if want == "" {
			require.Equal(t, source.UnknownStatus, row.Problem.Code)
			continue
		}
		require.Equal(t, want, row.Partner.Status, word)
	}
	for word, want := range map[string]string{
		"pending": "pending", "Unpaid": "due", "due": "due", "Approved": "due", "paid": "paid", "completed": "paid",
		"voided": "voided", "refunded": "voided", "rejected": "rejected", "": "", "purple": "",
	} {
		row := readCSV(t, source.KindCommission, "partner_email,amount,status\nada@example.com,1,"+word+"\n")[0]
		if want == "" {
			require.Equal(t, source.UnknownStatus, row.Problem.Code)
			continue
		}
		require.Equal(t, want, row.Commission.Status, word)
	}
}

// TestCSVForms reads delimiters, marks and quotes.
func TestCSVForms(t *testing.T) {
	t.Parallel()
	plain := "email,company\nada@example.com,\"Say \"\"hi\"\",\nInc\"\n\n bo@example.com ,Bo \"B\" Ltd\n"
	want := readCSV(t, source.KindPartner, plain)
	require.Len(t, want, 2)
	require.Equal(t, "Say \"hi\",\nInc", want[0].Partner.CompanyName)
	require.Equal(t, "bo@example.com", want[1].ID)
	require.Equal(t, `Bo "B" Ltd`, want[1].Partner.CompanyName)
	wide, err := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String(plain)
	require.NoError(t, err)
	little, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(plain)
	require.NoError(t, err)
	for name, text := range map[string]string{
		"mark": "\ufeff" + plain, "utf-16": wide, "utf-16 le": little, "crlf": strings.ReplaceAll(plain, "\n\n", "\r\n\r\n"),
		"sep": "sep=,\r\n" + plain, "blank": "\n\r\n" + plain, "no end": strings.TrimSuffix(plain, "\n"),
		"semicolon": strings.NewReplacer("email,", "email;", "com,", "com;", "com ,", "com ;").Replace(plain),
		"tab":       strings.NewReplacer("email,", "email\t", "com,", "com\t", "com ,", "com \t").Replace(plain),
	} {
		require.Equal(t, want, readCSV(t, source.KindPartner, text), name)
	}
}

// TestCSVProblems loses nothing but the bad lines.
func TestCSVProblems(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70_000)
	for name, c := range map[string]struct{ line, says string }{
		"no email":       {",Ada", "email is empty"},
		"not an email":   {"ada,Ada", "not an email"},
		"too few cells":  {"ada@example.com", "has 1 cells, and the header has 2"},
		"too many cells": {"ada@example.com,a,b", "has 3 cells, and the header has 2"},
		"long":           {"ada@example.com," + long, "longer than 65536"},
		"long in quotes": {`ada@example.com,"` + long + `"`, "longer than 65536"},
		"open quote":     {`ada@example.com,"Ada`, "a quote in it is not closed"},
	} {
		rows := readCSV(t, source.KindPartner, "email,company\nbo@example.com,Bo\n"+c.line+"\ncy@example.com,\"Cy\nLtd\"\n")
		require.Len(t, rows, 3, name)
		require.Equal(t, "bo@example.com", rows[0].ID, name)
		require.NotNil(t, rows[1].Problem, name)
		require.Equal(t, source.KindPartner, rows[1].Kind, name)
		require.NotEmpty(t, rows[1].ID, name)
		require.Contains(t, rows[1].Problem.Detail, "Line 3: ", name)
		require.Contains(t, rows[1].Problem.Detail, c.says, name)
		require.Equal(t, "cy@example.com", rows[2].ID, name)
	}
}

// TestCSVFile refuses whole files.
func TestCSVFile(t *testing.T) {
	t.Parallel()
	mapped := source.CSV{Mapping: map[source.Kind]map[string]string{source.KindPartner: {"email": "Mail"}}}
	for _, c := range []struct {
		csv  source.CSV
		file string
		says string
	}{
		{source.CSV{}, "", "empty"},
		{source.CSV{}, "\n\n", "empty"},
		{source.CSV{}, "name,company\nAda,x\n", "no column for the email"},
		{source.CSV{}, "email,name\nada@example.com,M\xfcller\n", "not UTF-8"},
		{source.CSV{}, "email" + strings.Repeat(",x", 200) + "\n", "201 columns"},
		{source.CSV{}, "[[AFFILIATES]]\n!USERID,!REFID\n", "Post Affiliate Pro"},
		{source.CSV{}, "email," + strings.Repeat("x", 70_000), "longer than"},
		{mapped, "email,name\nada@example.com,Ada\n", `no column "Mail", which is mapped to email`},
		{source.CSV{Mapping: map[source.Kind]map[string]string{source.KindPartner: {"mail": "email"}}}, "email\n", `no field "mail"`},
	} {
		_, err := tryCSV(c.csv, source.KindPartner, c.file)
		require.ErrorContains(t, err, c.says, c.says)
	}
	_, err := tryCSV(source.CSV{}, "persons", "email\n")
	require.ErrorContains(t, err, "no kind")
	_, err = tryCSV(source.CSV{}, source.KindCommission, "id,earnings,status\n1,2,paid\n")
	require.ErrorContains(t, err, "no column for the partner (id or email)")
	rows, err := tryCSV(mapped, source.KindPartner, "email,MAIL,token\nx,ada@example.com,ada\n")
	require.NoError(t, err)
	require.Len(t, rows, 1, "only what is mapped")
	require.Equal(t, "ada@example.com", rows[0].ID)
}

// TestCSVSameID imports the first of several lines with one id, and reports the others. Equal lines are one.
func TestCSVSameID(t *testing.T) {
	t.Parallel()
	head := "id,partner_id,amount,currency,status\n"
	rows := readCSV(t, source.KindCommission, head+"7,1,10.00,USD,due\n7,1,10.00,USD,due\n7,1,25.00,USD,due\n7,1,x,USD,due\n")
	require.Len(t, rows, 4)
	require.Equal(t, rows[0], rows[1])
	require.EqualValues(t, 1000, rows[0].Commission.AmountMinor)
	require.Equal(t, &source.Problem{Code: source.Duplicate, Detail: `Line 4: line 2 has the id "7" as well. Line 2 is imported.`},
		rows[2].Problem)
	require.Equal(t, source.NotMoney, rows[3].Problem.Code)
	for _, row := range rows[2:] {
		require.NotEqual(t, "7", row.ID, "it does not replace the first line")
	}
	rows = readCSV(t, source.KindCommission, head+"7,1,x,USD,due\n7,1,25.00,USD,due\n")
	require.NotNil(t, rows[0].Problem)
	require.Nil(t, rows[1].Problem, "a refused line has no id that counts")
	rows = readCSV(t, source.KindPartner, "email,token\nada@example.com,ada\nAda@example.com,promo\n")
	require.Len(t, rows, 4)
	require.Equal(t, source.Duplicate, rows[2].Problem.Code)
	require.Equal(t, "promo", rows[3].Link.Value, "the partner has both links")
	require.Equal(t, "ada@example.com", rows[3].Link.PartnerID)
}

// TestCSVRepeated does not decide between columns that can be the same field; each can be mapped.
func TestCSVRepeated(t *testing.T) {
	t.Parallel()
	mapped := func(header string) source.CSV {
		return source.CSV{Currency: "USD", Mapping: map[source.Kind]map[string]string{source.KindCommission: {
			"partner_email": "Affiliate", "amount_minor": header, "status": "Status",
		}}}
	}
	twice := "Affiliate,Amount,Status,Amount\na@example.com,100.00,paid,20.00\n"
	for header, want := range map[string]int64{"Amount (1)": 10000, "Amount (2)": 2000} {
		rows, err := tryCSV(mapped(header), source.KindCommission, twice)
		require.NoError(t, err)
		require.Equal(t, want, rows[0].Commission.AmountMinor)
	}
	_, err := tryCSV(mapped("Amount"), source.KindCommission, twice)
	require.EqualError(t, err,
		`"Amount" is mapped to amount_minor, but the file has the columns "Amount (1)" and "Amount (2)": map one of them`)
	headers, used, err := source.CSV{}.Headers(source.KindCommission, strings.NewReader(twice))
	require.NoError(t, err)
	require.Equal(t, []string{"Affiliate", "Amount (1)", "Status", "Amount (2)"}, headers)
	require.Equal(t, map[string]string{"partner_email": "Affiliate", "status": "Status"}, used)
	for file, says := range map[string]string{
		twice: `which column to use for "Amount of the commission", "Amount (1)" and "Amount (2)": map`,
		"Affiliate,Amount,Payout,Status\na@example.com,100.00,20.00,paid\n": `"Amount of the commission", "Amount" and "Payout": map`,
		"Affiliate,Commission,Status,Currency,currency\n":                   `"Currency", "Currency" and "currency": map`,
	} {
		_, err := tryCSV(source.CSV{Currency: "USD"}, source.KindCommission, file)
		require.ErrorContains(t, err, says)
	}
	for file, want := range map[string]int64{
		"Affiliate,Amount,Payout,Commission,Status\na@example.com,100.00,17,20.00,paid\n": 2000,
		"Affiliate,Sale,Payout,Status\na@example.com,1,20.00,paid\n":                      2000,
		"Affiliate,,Amount cents,,Status\na@example.com,,2000,,paid\n":                    2000,
		"Affiliate,Payout cents,Payout id,Payout,Status\na@example.com,1,p1,20.00,paid\n": 2000,
	} {
		require.Equal(t, want, readCSV(t, source.KindCommission, file)[0].Commission.AmountMinor, file)
	}
	cents := source.CSV{Mapping: mapped("Cents (2)").Mapping, Currency: "USD"}
	rows, err := tryCSV(cents, source.KindCommission, "Affiliate,Cents,Status,Cents\na@example.com,1,paid,2000\n")
	require.NoError(t, err)
	require.EqualValues(t, 2000, rows[0].Commission.AmountMinor, "a number after the header changes nothing")
}

// TestCSVRefunds reads refunded parts, and yes or no for the whole.
func TestCSVRefunds(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]int64{
		"no": 0, "False": 0, "": 0, "0": 0, "yes": 1000, "TRUE": 1000, "2.50": 250, "-2.50": 250,
	} {
		row := readCSV(t, source.KindSale, "id,customer,amount,refunded\n1,bo@example.com,10.00,"+cell+"\n")[0]
		require.Nil(t, row.Problem, cell)
		require.Equal(t, want, row.Sale.RefundedMinor, cell)
	}
	row := readCSV(t, source.KindSale, "id,customer,amount,refunded\n1,bo@example.com,10.00,perhaps\n")[0]
	require.NotNil(t, row.Problem)
}

// TestCSVUsernames does not take the name of an account for a tracking value.
func TestCSVUsernames(t *testing.T) {
	t.Parallel()
	rows := readCSV(t, source.KindPartner, "email,username\nada@example.com,ada\n")
	require.Len(t, rows, 1)
	require.Empty(t, rows[0].Partner.Handle)
}

// TestCSVHeaders shows the columns, and the mapping that a file gets by meaning.
func TestCSVHeaders(t *testing.T) {
	t.Parallel()
	headers, used, err := source.CSV{}.Headers(source.KindPartner, strings.NewReader("Partner Email, Token ,Shoe size\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"Partner Email", "Token", "Shoe size"}, headers)
	require.Equal(t, map[string]string{"email": "Partner Email", "value": "Token"}, used)
	headers, used, err = source.CSV{}.Headers(source.KindCommission, strings.NewReader("Shoe size\n"))
	require.NoError(t, err)
	require.Len(t, headers, 1)
	require.Empty(t, used)
	for _, kind := range source.Kinds {
		names := map[string]bool{}
		for _, f := range source.Fields(kind) {
			require.False(t, names[f.Name], "%s %s", kind, f.Name)
			require.NotEmpty(t, f.Title)
			require.Equal(t, f.Required, f.Need != "")
			names[f.Name] = true
		}
	}
}

// TestCSVStable gives lines without ids the same ids again, in another order and with others between.
func TestCSVStable(t *testing.T) {
	t.Parallel()
	head := "partner_email,customer_email,amount,status,created_at\n"
	a, b := "ada@example.com,bo@example.com,5,paid,2026-01-31\n", "ada@example.com,bo@example.com,6,due,2026-02-28\n"
	ids := func(file string) (ids []string) {
		for _, row := range readCSV(t, source.KindCommission, file) {
			require.Nil(t, row.Problem)
			ids = append(ids, row.ID)
		}
		return ids
	}
	first := ids(head + a + a + b)
	require.Len(t, first, 3)
	require.NotEqual(t, first[0], first[1], "equal lines are two commissions")
	require.Equal(t, []string{first[2], first[0], first[1]}, ids(head+b+a+a))
	moved := ids("status,amount,partner_email,customer_email,created_at\ndue,6,ada@example.com,bo@example.com,2026-02-28\n")
	require.Equal(t, first[2:], moved, "the order of columns does not matter")
	paid := ids(head + strings.Replace(b, "due", "paid", 1))
	require.Equal(t, first[2:], paid, "a commission that is paid now is the same")
}
