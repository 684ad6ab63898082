package payout

import (
	"encoding/csv"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"rail/server/ident"
	"rail/server/locale/plain"
	"rail/server/problem"
)

const (
	// resultRows bounds the rows of a provider's result.
	resultRows = 10_000
	// headingWithin is the maximum number of lines before the headings.
	headingWithin = 20
)

// Row is one payment in a provider's result.
type Row struct {
	Line     int
	PayoutID string // empty if the reference names none
	Short    string // the end of a payout's id, from a short reference; see shortReference
	State    State  // empty if Word is unknown
	Word     string // the provider's name of the state
	ExternalID, Reason,
	Amount, Currency string // unparsed; empty without such a column
}

// columns are the known headings of each column, in lower-case letters only: those of PayPal's activity and
// payouts reports, of Wise's history of transfers, and of Rail's own export. Of each list, the first heading in
// the file counts.
//
// Only the reference identifies a payout (decisions, 327). Partners choose their names and addresses, so an id
// in such a column proves nothing. The id column is for tables of payouts without another reference.
var columns = map[string][]string{
	"reference": {
		"payoutid", "payout", "senderitemid", "uniqueid", "uniqueidentifier", "customnumber", "paymentreference", "reference",
		"id",
	},
	"status": {
		"status", "transactionstatus", "payoutitemstatus", "payoutstatus", "transferstatus", "paymentstatus", "itemstatus",
	},
	"type":     {"type", "transactiontype"},
	"id":       {"transactionid", "payoutitemid", "transferid", "externalid", "id"},
	"reason":   {"reason", "failurereason", "errormessage", "errorsmessage", "error", "reasoncode"},
	"amount":   {"targetamountafterfees", "targetamount", "gross", "grossamount", "amountvalue", "amount"},
	"currency": {"targetcurrency", "currency", "currencycode", "grosscurrency"},
}

// words are the names that providers give to states.
var words = states(map[State]string{
	Settled:  "success succeeded completed complete paid sent settled outgoingpaymentsent claimed",
	InFlight: "pending processing inprogress new unclaimed onhold held scheduled unconfirmed fundsconverted incomingpaymentwaiting",
	Rejected: "failed failure denied blocked canceled cancelled rejected declined expired",
	Returned: "returned reversed refunded fundsrefunded bouncedback chargedback",
})

func states(byState map[State]string) map[string]State {
	out := map[string]State{}
	for state, words := range byState {
		for word := range strings.FieldsSeq(words) {
			out[word] = state
		}
	}
	return out
}

// references find a payout's id, and a short reference, in the reference cell, also beside other words or in
// capitals.
var (
	fullReference  = regexp.MustCompile(`(?i)\b(sample_)?pyt[_ -]?([0-9a-z]{26})\b`)
	shortReference = regexp.MustCompile(`(?i)\bp([0-9a-z]{16})\b`)
)

// NamesPayout reports whether a text contains a payout's id. Names and payout details of partners must not
// (decisions, 327).
func NamesPayout(text string) bool { return fullReference.MatchString(text) }

// ReadResults parses a provider's result, whose columns are found by their headings. It skips rows without a
// state and a reference, such as blank ones, and refuses a file in which no row names a payout.
func ReadResults(content string) ([]Row, error) {
	content = strings.TrimPrefix(content, "\ufeff")
	// Excel for Mac ends lines with \r alone.
	content = strings.ReplaceAll(strings.ReplaceAll(content, "\r\n", "\n"), "\r", "\n")
	r := csv.NewReader(strings.NewReader(content))
	r.FieldsPerRecord, r.LazyQuotes, r.Comma = -1, true, delimiter(content)
	var heads map[string]int
	var out []Row
	for n := 0; ; n++ {
		cells, err := r.Read()
		switch {
		case errors.Is(err, io.EOF) && heads != nil:
			return out, usable(out)
		case errors.Is(err, io.EOF) || err == nil && heads == nil && n == headingWithin:
			return nil, problem.Invalid("content", "content has no heading line with a column %q.", "status")
		case err != nil:
			return nil, problem.Invalid("content", "content is not a table: %s.", err)
		case len(out) == resultRows:
			return nil, problem.Invalid("content", "content has more than %d rows: send it in parts.", resultRows)
		case heads == nil:
			if heads = headingsOf(cells); heads == nil {
				continue
			}
			if _, ok := heads["reference"]; !ok {
				return nil, problem.Invalid("content",
					"content has no column with the payouts' references, such as payout_id, Unique ID or Reference.")
			}
			continue
		}
		line, _ := r.FieldPos(0)
		if row := rowOf(cells, heads, line); row.Word != "" || row.namesPayout() {
			out = append(out, row)
		}
	}
}

// namesPayout reports whether the row has the reference of a payout.
func (row Row) namesPayout() bool { return row.PayoutID != "" || row.Short != "" }

// usable refuses rows if none names a payout.
func usable(rows []Row) error {
	if slices.ContainsFunc(rows, Row.namesPayout) {
		return nil
	}
	return problem.Invalid("content", "content has no row whose reference names a payout.")
}

// delimiter returns the separator of the cells in the first line that has one.
func delimiter(content string) rune {
	for line := range strings.Lines(content) {
		most, found := 0, ','
		for _, d := range ",;\t" {
			if n := strings.Count(line, string(d)); n > most {
				most, found = n, d
			}
		}
		if most > 0 {
			return found
		}
	}
	return ','
}

// headingsOf returns the positions of the columns, nil for a line without a column of states.
func headingsOf(cells []string) map[string]int {
	at := map[string]int{}
	for i, c := range cells {
		at[letters(c)] = i
	}
	heads := map[string]int{}
	for what, names := range columns {
		for _, name := range names {
			if i, ok := at[name]; ok {
				heads[what] = i
				break
			}
		}
	}
	if _, ok := heads["status"]; !ok {
		return nil
	}
	return heads
}

// letters returns the letters of a heading or a state, in lower case.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(s))
}

func rowOf(cells []string, heads map[string]int, line int) Row {
	cell := func(what string) string {
		if i, ok := heads[what]; ok && i < len(cells) {
			return strings.TrimSpace(cells[i])
		}
		return ""
	}
	row := Row{
		Line: line, Word: cell("status"), ExternalID: plain.Cut(cell("id"), 255), Reason: cell("reason"), Amount: cell("amount"),
		Currency: strings.ToUpper(cell("currency")),
	}
	row.PayoutID, row.Short = referenceOf(cell("reference"))
	if heads["id"] == heads["reference"] {
		row.ExternalID = "" // not a separate id
	}
	row.State = words[letters(row.Word)]
	// PayPal reports returned money as a separate, completed payment.
	if kind := letters(cell("type")); row.State == Settled {
		switch {
		case strings.Contains(kind, "reversal"), strings.Contains(kind, "refund"), strings.Contains(kind, "return"):
			row.State, row.Word = Returned, cell("type")
		case strings.Contains(kind, "hold"):
			row.State = InFlight
		}
	}
	return row
}

// referenceOf parses the reference cell: a payout's id, or the end of one from a short reference. A cell with
// two payouts identifies none.
func referenceOf(cell string) (id, short string) {
	for _, found := range fullReference.FindAllStringSubmatch(cell, -1) {
		one := strings.ToLower(found[1]) + string(ident.Payout) + strings.ToLower(found[2])
		if id != "" && id != one {
			return "", ""
		}
		id = one
	}
	if found := shortReference.FindAllStringSubmatch(cell, -1); id == "" && len(found) == 1 {
		short = strings.ToLower(found[0][1])
	}
	return id, short
}
