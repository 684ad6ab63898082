package paypal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"rail/server/locale/plain"
)

// Bounds of the texts of PayPal.
const (
	mostCode    = 255
	mostMessage = 1000
)

// A list accepts PayPal's spellings of a list: one element alone, or an object for none.
type list[T any] []T

// UnmarshalJSON reads a list; what is none is empty, or one element.
func (l *list[T]) UnmarshalJSON(raw []byte) error {
	*l = nil
	if len(raw) > 0 && raw[0] == '[' {
		return json.Unmarshal(raw, (*[]T)(l))
	}
	if len(raw) > 2 && raw[0] == '{' {
		var one T
		if err := json.Unmarshal(raw, &one); err != nil {
			return err
		}
		*l = list[T]{one}
	}
	return nil
}

// apiError is an answer of PayPal without success.
type apiError struct {
	Status  int          `json:"-"`
	Name    string       `json:"name"`
	Message string       `json:"message"`
	DebugID string       `json:"debug_id"`
	Details list[detail] `json:"details"`
	Links   list[link]   `json:"links"`
	// OAuth's form, which PayPal uses for tokens.
	OAuth string `json:"error"`
}

// detail is a fault of one field. Link is in the answer to a repeated sender_batch_id.
type detail struct {
	Field string     `json:"field"`
	Issue string     `json:"issue"`
	Link  list[link] `json:"link"`
	Links list[link] `json:"links"`
}

type link struct {
	Href string `json:"href"`
}

// readError reads an error, of which any part may be missing.
func readError(status int, body []byte) *apiError {
	e := apiError{}
	_ = json.Unmarshal(body, &e) // a proxy's page has only its status
	e.Status = status
	return &e
}

// Error returns PayPal's code and message.
func (e *apiError) Error() string {
	text := fmt.Sprintf("PayPal answered %d", e.Status)
	if code := cmp.Or(e.code(), clip(e.OAuth, mostCode)); code != "" {
		text += " " + code
	}
	if e.Message != "" {
		text += ": " + clip(e.Message, mostCode)
	}
	return text + e.debug()
}

func (e *apiError) debug() string {
	if e.DebugID == "" {
		return ""
	}
	return " (PayPal's debug id is " + clip(e.DebugID, 64) + ")"
}

var issueCode = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)

// general has the names of errors whose reason is in their details.
var general = []string{"UNPROCESSABLE_ENTITY", "INVALID_REQUEST", "USER_BUSINESS_ERROR"}

// code returns the most exact code of the error.
func (e *apiError) code() string {
	if slices.Contains(general, e.Name) {
		for _, d := range e.Details {
			if issueCode.MatchString(d.Issue) {
				return clip(d.Issue, mostCode)
			}
		}
	}
	return clip(e.Name, mostCode)
}

// duplicate reports whether PayPal may have an earlier submission. In doubt it is one, since a refusal would let the
// payout be paid again.
func (e *apiError) duplicate() bool {
	if e.Status/100 != 4 {
		return false
	}
	if strings.HasPrefix(e.code(), "DUPLICATE") {
		return true
	}
	if e.Name != "USER_BUSINESS_ERROR" {
		return false
	}
	texts := []string{e.Message, e.linkedBatch()}
	for _, d := range e.Details {
		texts = append(texts, d.Field, d.Issue)
	}
	text := strings.ToLower(strings.Join(texts, " "))
	return e.linkedBatch() != "" || strings.Contains(text, "sender_batch_id") || strings.Contains(text, "duplicate")
}

// linkedBatch returns the id of the first batch that a link names. Only the path counts: the host is often another
// than the API's.
func (e *apiError) linkedBatch() string {
	links := slices.Clone(e.Links)
	for _, d := range e.Details {
		links = slices.Concat(links, d.Link, d.Links)
	}
	for _, l := range links {
		if u, err := url.Parse(l.Href); err == nil {
			if found := batchURL.FindStringSubmatch(u.Path); found != nil {
				return found[1]
			}
		}
	}
	return ""
}

func (e *apiError) needsFunds() bool { return e.Status/100 == 4 && e.code() == "INSUFFICIENT_FUNDS" }

// aboutPayout has codes of errors about a receiver, an amount or a currency. All codes that begin with RECEIVER_,
// RECEIVING_ or CURRENCY_ are about them too.
var aboutPayout = []string{
	"VALIDATION_ERROR", "NON_HOLDING_CURRENCY", "TRANSACTION_LIMIT", "TRANSACTION_LIMIT_EXCEEDED", "SELF_PAY_NOT_ALLOWED",
	"ZERO_AMOUNT", "REFUSED_ZERO_AMT", "INVALID_AMOUNT", "INVALID_EMAIL", "REGULATORY_BLOCKED",
}

// aboutItem matches the fields of an item that a business error may name.
var aboutItem = regexp.MustCompile(`(?i)receiver|amount|currency`)

// refusal reports whether PayPal will never accept this payout. All else may be the account's fault and pass.
func (e *apiError) refusal() bool {
	switch {
	case e.Status/100 != 4, e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden,
		e.Status == http.StatusTooManyRequests:
		return false
	case e.code() == "USER_BUSINESS_ERROR":
		return slices.ContainsFunc(e.Details, func(d detail) bool { return aboutItem.MatchString(d.Field) })
	}
	code := e.code()
	return slices.Contains(aboutPayout, code) || strings.HasPrefix(code, "RECEIVER_") ||
		strings.HasPrefix(code, "RECEIVING_") || strings.HasPrefix(code, "CURRENCY_")
}

// sentence returns the reason of a refusal for people.
func (e *apiError) sentence() string {
	if text := sentences[e.code()]; text != "" {
		return clip(text+e.debug(), mostMessage)
	}
	var faults []string
	for _, d := range e.Details {
		faults = append(faults, strings.Trim(d.Field+": "+d.Issue, ": "))
	}
	reason := cmp.Or(clip(strings.Join(faults, "; "), mostMessage-200), clip(e.Message, mostMessage-200), e.code())
	return clip("PayPal did not accept the payout: "+reason+e.debug(), mostMessage)
}

// sentences has a reason and a next step for the common codes of errors, and for states without a code.
var sentences = map[string]string{
	"RECEIVER_UNREGISTERED": "This address has no PayPal account. " +
		"The partner must open one with it, or give the address of another account.",
	"RECEIVER_UNCONFIRMED": "The partner has not confirmed this address at PayPal. " +
		"The partner must confirm it in the PayPal account.",
	"RECEIVER_ACCOUNT_LOCKED": "The partner's PayPal account is inactive or restricted. " +
		"The partner must resolve this with PayPal, or give the address of another account.",
	"RECEIVER_ACCOUNT_INVALID": "The partner's PayPal account does not exist. " +
		"The partner must give the address of another account.",
	"RECEIVER_COUNTRY_NOT_ALLOWED": "PayPal pays no payouts to the partner's country. " +
		"The partner must choose another payout method.",
	"RECEIVER_STATE_RESTRICTED": "PayPal pays no payouts to the partner's state. " +
		"The partner must choose another payout method.",
	"RECEIVER_YOUTH_ACCOUNT": "PayPal pays no payouts to youth accounts. The partner must give the address of another account.",
	"RECEIVER_REFUSED":       "The partner refused the payment. Ask the partner for another account or another payout method.",
	"RECEIVING_LIMIT_EXCEEDED": "The partner's PayPal account has reached its limit for receiving money. " +
		"The partner must raise the limit at PayPal.",
	"CURRENCY_NOT_SUPPORTED_FOR_RECEIVER": "The partner's PayPal account cannot receive this currency. " +
		"The partner must enable it at PayPal, or choose another payout method.",
	"CURRENCY_COMPLIANCE": "PayPal may not pay this currency to the partner. " +
		"The partner must choose another payout method.",
	"NON_HOLDING_CURRENCY": "Your PayPal account has no balance in this currency. Add one at PayPal, or pay it another way.",
	"TRANSACTION_LIMIT": "The amount is above PayPal's limit for one payout. " +
		"Pay it another way and mark it as paid, or have PayPal raise the limit.",
	"TRANSACTION_LIMIT_EXCEEDED": "The amount is above PayPal's limit for one payout. " +
		"Pay it another way and mark it as paid, or have PayPal raise the limit.",
	"SELF_PAY_NOT_ALLOWED": "The address is of the paying PayPal account. The partner must give the address of another account.",
	"INSUFFICIENT_FUNDS":   "Your PayPal account had not enough funds for this payout. Add funds at PayPal.",
	"REGULATORY_BLOCKED":   "PayPal blocked the payout by law. The partner must choose another payout method.",
	"RISK_DECLINE":         "PayPal declined the payout for risk. Ask PayPal's support for the reason.",

	"DENIED":    "PayPal denied the payout. Ask PayPal's support for the reason.",
	"CANCELED":  "The payout was canceled at PayPal.",
	"FAILED":    "PayPal could not pay the payout.",
	"BLOCKED":   "PayPal blocked the payout. Ask PayPal's support for the reason.",
	"UNCLAIMED": "The partner has not claimed the money. PayPal returns it after 30 days.",
	"ONHOLD":    "PayPal reviews the payout.",
	"RETURNED":  "The partner did not claim the money, and PayPal returned it.",
	"REFUNDED":  "The partner sent the money back.",
	"REVERSED":  "PayPal reversed the payment.",
}

// clip makes a text of PayPal one line of at most most characters.
func clip(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return plain.Cut(s, most)
}
