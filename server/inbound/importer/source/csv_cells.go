package source

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"rail/server/clock"
	"rail/server/locale/currency"
)

// The words of files for states, besides the states themselves.
var (
	partnerStates = states(map[string]string{
		Active:    "active approved enabled accepted confirmed live",
		Pending:   "pending applied application new invited awaiting_approval unconfirmed",
		Declined:  "declined rejected denied",
		Suspended: "suspended paused banned disabled blocked inactive deactivated archived deleted",
	})
	// A refunded or suspended customer of Rail is cancelled: such a customer earns nothing until the next payment.
	customerStates = states(map[string]string{
		Lead:      "lead signup signed_up visitor referral pending",
		Trial:     "trial trialing",
		Paying:    "active customer conversion converted paying paid",
		Cancelled: "cancelled canceled churned refunded suspended inactive denied",
	})
	commissionStates = states(map[string]string{
		Open:     "pending open new hold on_hold awaiting_approval processing",
		Due:      "due approved unpaid confirmed payable processed",
		Paid:     "paid completed complete paid_out",
		Voided:   "voided void refunded cancelled canceled reversed chargeback",
		Rejected: "rejected declined denied fraud duplicate",
	})
)

// states returns the state of each word.
func states(words map[string]string) map[string]string {
	all := map[string]string{}
	for state, list := range words {
		for word := range strings.FieldsSeq(list) {
			all[wordOf(word)] = state
		}
	}
	return all
}

// status returns the state of the line, and the other one for an empty cell or without a column.
func (r *record) status(states map[string]string, other string) string {
	text := r.get("status")
	if text == "" && other != "" {
		return other
	}
	state, ok := states[wordOf(text)]
	if !ok {
		r.fail(UnknownStatus, "the status %q is unknown", text)
	}
	return state
}

// yes returns the value of a field that is yes or no.
func (r *record) yes(field string, other bool) bool {
	switch text := wordOf(r.get(field)); text {
	case "":
		return other
	case "true", "t", "1", "yes", "y", "active", "enabled", "on":
		return true
	case "false", "f", "0", "no", "n", "inactive", "disabled", "off", "archived", "expired", "deleted":
		return false
	default:
		r.fail(UnknownStatus, "%s is %q, neither yes nor no", field, text)
		return false
	}
}

// money returns the amount of a field in minor units, and its currency. A header that ends in minor or cents has
// integers in minor units, any other one decimals.
func (r *record) money(field string) (int64, string) {
	text := r.must(field)
	if text == "" {
		return 0, ""
	}
	code, ok := r.currencyOf(text)
	if !ok {
		r.fail(NotMoney, "the currency of %q is unknown", strings.TrimSpace(text+" "+r.get("currency")))
		return 0, code
	}
	header := r.words[r.column[field]]
	if strings.HasSuffix(header, "minor") || strings.HasSuffix(header, "cents") {
		minor, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			r.fail(MissingMember, "the amount %q is not an integer in minor units", text)
		}
		return minor, code
	}
	minor, err := parseAmount(text, code, r.lines.comma == ',')
	if err != nil {
		r.fail(MissingMember, "%q %s", text, err)
	}
	return minor, code
}

// signs are signs of one currency; of those with several, the first one is meant unless the file has another one.
var signs = map[string][]string{
	"€": {"EUR"}, "£": {"GBP"}, "₹": {"INR"}, "R$": {"BRL"}, "US$": {"USD"}, "CA$": {"CAD"}, "C$": {"CAD"}, "A$": {"AUD"},
	"AU$": {"AUD"}, "NZ$": {"NZD"}, "HK$": {"HKD"}, "MX$": {"MXN"}, "S$": {"SGD"}, "CN¥": {"CNY"},
	"$": {"USD", "AUD", "CAD", "HKD", "MXN", "NZD", "SGD"}, "¥": {"JPY", "CNY"},
}

// currencyOf returns the currency of an amount: of its column, or else of a sign in its text, or else of the file. It
// reports false for another word, such as points, and for two currencies.
func (r *record) currencyOf(text string) (string, bool) {
	unit := cmp.Or(r.get("currency"), r.Currency)
	code, ok := currency.Normal(unit)
	sign := strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) || strings.ContainsRune("-−+()0123456789.,'’", c) {
			return -1
		}
		return c
	}, text)
	if len(sign) > 3 && signs[sign[:len(sign)-3]] != nil { // $12 USD
		sign = sign[len(sign)-3:]
	}
	switch codes := signs[sign]; {
	case sign == "":
		return code, ok
	case codes == nil:
		word, valid := currency.Normal(sign)
		return word, valid && (r.get("currency") == "" || word == code)
	case slices.Contains(codes, code):
		return code, ok
	default:
		return codes[0], r.get("currency") == ""
	}
}

// amountForm is an amount without its currency: a sign, digits, and separators.
var amountForm = regexp.MustCompile(`^(-?)([0-9]*)((?:[.,][0-9]+)*)$`)

// parseAmount reads a decimal such as "1,234.50", "1.234,50", "$12" or "(12 USD)", and returns minor units. It refuses
// a text with two meanings, such as 1.234 USD. point means that the file has commas between its cells: it comes from a
// country with a decimal point, so that 1,234 has thousands.
func parseAmount(text, code string, point bool) (int64, error) {
	bare := strings.Map(func(c rune) rune {
		switch {
		case c == '−':
			return '-'
		case strings.ContainsRune("-0123456789.,", c):
			return c
		}
		return -1
	}, text)
	if strings.HasPrefix(strings.TrimSpace(text), "(") {
		bare = "-" + bare
	}
	m := amountForm.FindStringSubmatch(bare)
	if m == nil || m[2]+m[3] == "" {
		return 0, errors.New("is not a number")
	}
	digits := currency.Digits(code)
	whole, part, err := decimals(m[2], m[3], digits, point)
	if errors.Is(err, errTwoMeanings) {
		return 0, twoMeanings(m[1]+whole, part, digits)
	}
	if err != nil {
		return 0, err
	}
	if len(part) > digits {
		part = part[:digits] + strings.TrimRight(part[digits:], "0")
	}
	minor, ok := currency.Minor(m[1]+whole+"."+part, code)
	if !ok {
		return 0, fmt.Errorf("is too large or has more decimals than %s", code)
	}
	return minor, nil
}

// errTwoMeanings means that three digits after a separator are thousands or decimals.
var errTwoMeanings = errors.New("can mean two amounts")

// twoMeanings returns the error for an amount with two meanings, with two texts that have one.
func twoMeanings(whole, part string, digits int) error {
	thousands, decimals := whole+part, whole+"."+(part + "0")[:digits] // four decimals are no thousands
	if digits == len(part) {
		decimals += "0"
	}
	if digits == 0 {
		decimals = whole
	} else {
		thousands += "." + strings.Repeat("0", digits)
	}
	return fmt.Errorf("can mean %s or %s. Write %s or %s", whole+part, whole+"."+part, thousands, decimals)
}

// decimals splits a number at its decimal separator. rest begins with the first separator; digits are the currency's.
// point means that a comma comes before thousands. With errTwoMeanings it returns the digits on both sides.
func decimals(whole, rest string, digits int, point bool) (string, string, error) {
	at := strings.LastIndexAny(rest, ".,")
	if at < 0 {
		return whole, "", nil
	}
	separator, before, part := rest[at], rest[:at], rest[at+1:]
	switch {
	case before != "" && strings.IndexByte(before, separator) >= 0: // 1,234,567
		before, part = rest, ""
	case before != "": // 1,234.50
	case len(part) != 3 || whole == "" || whole == "0" || len(whole) > 3:
		return whole, part, nil
	case point && separator == '.' && digits == 3:
		return whole, part, nil
	case !point || separator == '.' || digits == 3:
		return whole, part, errTwoMeanings
	default: // 1,234
		before, part = rest, ""
	}
	groups := strings.Split(before[1:], before[:1])
	odd := func(g string) bool { return len(g) != 3 || strings.ContainsAny(g, ".,") }
	if len(whole) > 3 || slices.ContainsFunc(groups, odd) {
		return "", "", errors.New("is not a number")
	}
	return whole + strings.Join(groups, ""), part, nil
}

// time returns the time of a field; nil without one.
func (r *record) time(field string) *clock.Time {
	text := r.get(field)
	if text == "" {
		return nil
	}
	at, err := parseDate(text, cmp.Or(r.Zone, time.UTC))
	if err != nil {
		r.fail(MissingMember, "%s %q %s", field, text, err)
		return nil
	}
	return &at
}

var (
	// timeForms are the forms of times with one meaning. Times without a zone are UTC. Of the names of zones, only those
	// of UTC have one meaning.
	timeForms = []string{
		time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z07", "2006-01-02 15:04:05 Z07:00",
		"2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 UTC", "2006-01-02 15:04:05 GMT", "2006-01-02T15:04:05",
		"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006/01/02 15:04:05", "02.01.2006 15:04",
		"02.01.2006 15:04:05", "Jan 2, 2006 15:04:05", "Jan 2, 2006 3:04 PM", "Mon, 02 Jan 2006 15:04:05 UTC",
		"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC1123Z,
	}
	// dayForms are the forms of days, which begin at midnight in the zone of the program.
	dayForms = []string{
		"2006-01-02", "2006/01/02", "02.01.2006", "Jan 2, 2006", "January 2, 2006", "2 Jan 2006", "2 January 2006",
	}
	// hourForms are the forms of a date with slashes and a time, after the date was ordered.
	hourForms = []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02 3:04 PM", "2006-01-02 3:04:05 PM"}
)

var (
	// slashes is a date of the United States, or of other countries, with the time after it.
	slashes = regexp.MustCompile(`^(\d{1,2})/(\d{1,2})/(\d{4})(?:,? (.+))?$`)
	// zoneName is the name of a zone after a time.
	zoneName = regexp.MustCompile(`\d(?: ?[AP]M)? ([A-Z]{3,5})$`)
)

// parseDate reads a time: RFC 3339, ISO dates, words, seconds or milliseconds since 1970, and m/d/y or d/m/y where only
// one of them is possible. A date without a time is the beginning of that day in zone.
func parseDate(text string, zone *time.Location) (clock.Time, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		switch len(text) {
		case 9, 10:
			return clock.At(time.Unix(n, 0)), nil
		case 13:
			return clock.At(time.UnixMilli(n)), nil
		}
	}
	if at, ok := parsed(text, timeForms); ok {
		return within(at)
	}
	if day, ok := parsed(text, dayForms); ok {
		return within(clock.Midnight(day, zone).Time)
	}
	if m := zoneName.FindStringSubmatch(text); m != nil {
		return clock.Time{}, fmt.Errorf("has the time zone %s, which has several meanings. Write UTC or an offset such as -05:00",
			m[1])
	}
	m := slashes.FindStringSubmatch(text)
	if m == nil {
		return clock.Time{}, errors.New("is not a date")
	}
	month, _ := strconv.Atoi(m[1])
	day, _ := strconv.Atoi(m[2])
	switch {
	case month > 12:
		month, day = day, month
	case day <= 12 && day != month:
		return clock.Time{}, errors.New("may be m/d/y or d/m/y")
	}
	iso := fmt.Sprintf("%s-%02d-%02d", m[3], month, day)
	if day, ok := parsed(iso, dayForms); ok && m[4] == "" {
		return within(clock.Midnight(day, zone).Time)
	}
	if at, ok := parsed(iso+" "+strings.TrimSpace(m[4]), hourForms); ok {
		return within(at)
	}
	return clock.Time{}, errors.New("is not a date")
}

// parsed reads a time by the first form that fits.
func parsed(text string, forms []string) (time.Time, bool) {
	for _, form := range forms {
		if at, err := time.Parse(form, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// within refuses years that no affiliate program has.
func within(at time.Time) (clock.Time, error) {
	if at.Year() < 1990 || at.Year() > 2100 {
		return clock.Time{}, errors.New("is not between 1990 and 2100")
	}
	return clock.At(at), nil
}
