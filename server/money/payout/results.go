package payout

import (
	"encoding/csv"
	"errors"
	"io"
	"regexp"
	"strings"

	"rail/server/problem"
)

const (
	// resultRows bounds the rows of a provider's result.
	resultRows = 10_000
	// headingWithin is how many lines may stand above the headings.
	headingWithin = 20
)

// Row is what a provider's result says of one payment.
type Row struct {
	Line     int
	PayoutID string // empty where the row names none
	State    State  // empty where Word is not known
	Word     string // the provider's own word for the state
	ExternalID, Reason,
	Amount, Currency string // as they stand there; empty where there is no such column
}

// columns are the headings under which providers tell a thing, in small letters and without
// anything else: those of PayPal's activity and payouts reports, of Wise's history of transfers,
// and of the table that Rail exports.
var columns = map[string][]string{
	"status": {
		"status", "transactionstatus", "payoutitemstatus", "payoutstatus", "transferstatus", "paymentstatus", "itemstatus",
	},
	"type":     {"type", "transactiontype"},
	"id":       {"transactionid", "payoutitemid", "transferid", "externalid", "id"},
	"reason":   {"reason", "failurereason", "errormessage", "errorsmessage", "error", "reasoncode"},
	"amount":   {"targetamountafterfees", "targetamount", "gross", "grossamount", "amountvalue", "amount"},
	"currency": {"targetcurrency", "currency", "currencycode", "grosscurrency"},
}

// words are the states that providers name.
var words = states(map[State]string{
	Settled:  "success succeeded completed complete paid sent settled outgoingpaymentsent claimed",
	InFlight: "pending processing inprogress new unclaimed onhold held scheduled unconfirmed fundsconverted incomingpaymentwaiting",
	Rejected: "failed failure denied blocked canceled cancelled rejected declined expired",
	Returned: "returned reversed refunded fundsrefunded bouncedback chargedback",
})

func states(given map[State]string) map[string]State {
	out := map[string]State{}
	for state, words := range given {
		for word := range strings.FieldsSeq(words) {
			out[word] = state
		}
	}
	return out
}

// reference finds a payout's id in a cell, also in one that has other words beside it or has
// lost its case.
var reference = regexp.MustCompile(`(?i)\bpyt[_ -]?([0-9a-z]{26})\b`)

// ReadResults reads a provider's result, whose columns are found by their headings. Rows that
// name no state, such as blank ones, are passed over.
func ReadResults(content string) ([]Row, error) {
	content = strings.TrimPrefix(content, "\ufeff")
	r := csv.NewReader(strings.NewReader(content))
	r.FieldsPerRecord, r.LazyQuotes, r.Comma = -1, true, delimiter(content)
	var heads map[string]int
	var out []Row
	for n := 0; ; n++ {
		cells, err := r.Read()
		switch {
		case errors.Is(err, io.EOF) && heads != nil:
			return out, nil
		case errors.Is(err, io.EOF) || err == nil && heads == nil && n == headingWithin:
			return nil, problem.Invalid("content", "content has no line of headings with a column %q.", "status")
		case err != nil:
			return nil, problem.Invalid("content", "content is no table: %s.", err)
		case len(out) == resultRows:
			return nil, problem.Invalid("content", "content has more than %d rows: send it in parts.", resultRows)
		case heads == nil:
			heads = headingsOf(cells)
			continue
		}
		line, _ := r.FieldPos(0)
		if row := rowOf(cells, heads, line); row.Word != "" || row.PayoutID != "" {
			out = append(out, row)
		}
	}
}

// delimiter is what stands between the cells of the first line that has any.
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

// headingsOf returns where the columns are; nil for a line that has no column of states.
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

// letters keeps the small letters of a heading or a state.
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
		Line: line, Word: cell("status"), ExternalID: clip(cell("id"), 255), Reason: cell("reason"), Amount: cell("amount"),
		Currency: strings.ToUpper(cell("currency")),
	}
	for _, c := range cells {
		if found := reference.FindStringSubmatch(c); found != nil {
			row.PayoutID = "pyt_" + strings.ToLower(found[1])
			break
		}
	}
	if reference.MatchString(row.ExternalID) {
		row.ExternalID = "" // the payout's own
	}
	row.State = words[letters(row.Word)]
	// PayPal tells what came back as a payment of its own, which is completed.
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
