package payout

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"rail/gen/db"
	"rail/server/rules"
	"rail/server/secret"
)

// Formats are the files that WriteFile can write; each holds the payouts of
// the method of its name.
var Formats = []string{"paypal", "wise"}

// FileLimits are the most rows that the service takes in one file.
var FileLimits = map[string]int{"paypal": 5000, "wise": 1000}

// Payee is a payout with whom it is paid to.
type Payee struct {
	Payout          db.Payout
	Partner         db.Partner
	ProgramCurrency string
}

// WriteFile writes payouts of one currency as the file that PayPal Payouts
// (recipient, amount, currency, reference, note, wallet; no heading) or Wise
// batch payments (the "send by email" template) take. The recipient is the email
// of the partner's payout details, or else of the partner. It returns the
// payouts that it left out, because their recipient is no address.
func WriteFile(w io.Writer, format string, keeper *secret.Keeper, payees []Payee) (left []string, err error) {
	out := csv.NewWriter(w)
	if format == "wise" {
		_ = out.Write([]string{"name", "recipientEmail", "paymentReference", "receiverType", "amountCurrency", "amount", "sourceCurrency", "targetCurrency", "type"}) // Error tells
	}
	for _, p := range payees {
		to, err := recipient(format, keeper, p.Partner)
		if err != nil {
			return left, fmt.Errorf("payout %s: %w", p.Payout.ID, err)
		}
		if !addresses[format].MatchString(to) {
			left = append(left, p.Payout.ID)
			continue
		}
		_ = out.Write(row(format, p, to)) // Error tells
	}
	out.Flush()
	return left, out.Error()
}

// addresses are what each service pays to: emails, and PayPal's payer ids.
// Nothing that a spreadsheet would read as a formula is among them.
var addresses = map[string]*regexp.Regexp{
	"paypal": regexp.MustCompile(`^(` + mailbox + `|[A-Z0-9]{13})$`),
	"wise":   regexp.MustCompile(`^` + mailbox + `$`),
}

// Payable tells whether a service, a key of FileLimits, pays to such an address.
func Payable(service, address string) bool { return addresses[service].MatchString(address) }

const mailbox = "[A-Za-z0-9][A-Za-z0-9.!#$%&'*/=?^_`{|}~+-]*@[A-Za-z0-9.-]+"

// details are the members of the payout details that may hold the address.
var details = map[string][]string{"paypal": {"email", "paypal_email", "payer_id"}, "wise": {"email", "wise_email"}}

func row(format string, p Payee, email string) []string {
	amount := rules.Decimal(p.Payout.AmountMinor, p.Payout.Currency)
	if format == "paypal" {
		return []string{email, amount, p.Payout.Currency, p.Payout.ID, "", "PAYPAL"}
	}
	kind := "PERSON"
	if p.Partner.CompanyName != nil {
		kind = "INSTITUTION"
	}
	return []string{harmless(NameOf(p.Partner)), email, p.Payout.ID, kind, "target", amount, p.ProgramCurrency, p.Payout.Currency, "EMAIL"}
}

// recipient is the address in the payout details, or the partner's own.
func recipient(format string, keeper *secret.Keeper, p db.Partner) (string, error) {
	raw, err := DetailsOf(keeper, p)
	if err != nil || raw == nil {
		return p.Email, err
	}
	var given map[string]any
	if err := json.Unmarshal(raw, &given); err != nil {
		return "", err
	}
	for _, name := range details[format] {
		if to, ok := given[name].(string); ok && to != "" {
			return to, nil
		}
	}
	return p.Email, nil
}

// harmless keeps a spreadsheet from reading a name as a formula.
func harmless(s string) string {
	return strings.TrimLeft(strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s), "=+-@ ")
}

// Currencies are those of the payees, in order.
func Currencies(payees []Payee) []string {
	var out []string
	for _, p := range payees {
		if !slices.Contains(out, p.Payout.Currency) {
			out = append(out, p.Payout.Currency)
		}
	}
	return out
}
