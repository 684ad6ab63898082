package portal

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"rail/server/http/site"
	"rail/server/money/payout"
	"rail/server/opt"
)

// detail is one of the account details that a payout method needs. Its name is
// its member of the stored details, which exports and payment rails read.
type detail struct {
	Name, Label, Hint string
	Optional          bool
	Most              int
	// check returns what is wrong with a value, or "".
	check func(string) string
}

// method is a way to be paid.
type method struct {
	Name, Label string
	Details     []detail
}

// methods are all payout methods, in the order of the page. Details of PayPal and Wise are limited to the characters
// of payout files.
var methods = []method{
	{"paypal", "PayPal", []detail{
		{Name: "email", Label: "Email address of your PayPal account", Most: 255, check: payable("paypal")},
	}},
	{"wise", "Wise", []detail{
		{Name: "email", Label: "Email address of your Wise account", Most: 255, check: payable("wise")},
	}},
	{"bank_transfer", "Bank transfer", []detail{
		{Name: "account_holder", Label: "Account holder", Most: 140},
		{Name: "iban", Label: "IBAN or account number", Most: 42, check: account},
		{Name: "bic", Label: "BIC, or the bank's own code", Optional: true, Most: 32, check: code},
		{Name: "bank_name", Label: "Name of the bank", Optional: true, Most: 140},
	}},
	{"wire", "Wire transfer", []detail{
		{Name: "account_holder", Label: "Account holder", Most: 140},
		{Name: "account_number", Label: "Account number or IBAN", Most: 42, check: account},
		{Name: "swift", Label: "SWIFT code (BIC)", Most: 14, check: swift},
		{Name: "bank_name", Label: "Name of the bank", Most: 140},
		{Name: "bank_address", Label: "Address of the bank", Optional: true, Most: 255},
	}},
	{"crypto", "Crypto", []detail{
		{Name: "asset", Label: "Currency", Hint: "For example USDC.", Most: 16, check: code},
		{Name: "network", Label: "Network", Hint: "For example Ethereum. A transfer over another network is lost.", Most: 64},
		{Name: "address", Label: "Address of your wallet", Most: 128, check: wallet},
	}},
}

// methodsOf returns the payout methods of a program; a program without any allows all (decisions, 205).
func methodsOf(names []string) (out []method) {
	for _, m := range methods {
		if len(names) == 0 || slices.Contains(names, m.Name) {
			out = append(out, m)
		}
	}
	return out
}

// methods are those of the program, in the partner's language.
func (v *visit) methods() []method {
	out := methodsOf(v.program.PayoutMethods)
	for i, m := range out {
		out[i].Label, out[i].Details = v.Locale.T(m.Label), slices.Clone(m.Details)
		for n := range out[i].Details {
			d := &out[i].Details[n]
			d.Label, d.Hint = v.Locale.T(d.Label), v.Locale.T(d.Hint)
		}
	}
	return out
}

// methodLabel returns a method's name for people. The API also takes methods that
// the portal does not know; they are shown by the name that they were given.
func methodLabel(name string) string {
	for _, m := range methods {
		if m.Name == name {
			return m.Label
		}
	}
	return name
}

// names lists the members of the stored details.
func (m method) names() []string {
	out := make([]string, len(m.Details))
	for i, d := range m.Details {
		out[i] = d.Name
	}
	return out
}

// read takes the details from the form.
// It returns the object to store, or the faults by field; an optional detail that
// is empty is left out.
func (m method) read(v *visit) (json.RawMessage, site.Faults) {
	fields, wrong := map[string]string{}, site.Faults{}
	for _, d := range m.Details {
		text := v.Form.Value(d.Name)
		switch {
		case text == "" && !d.Optional:
			wrong[d.Name] = v.Locale.T("Please fill this in.")
		// Characters, as in the browser's own maxlength.
		case len([]rune(text)) > d.Most:
			wrong[d.Name] = v.Locale.T("This is too long.")
		case text == "":
			continue
		case d.check != nil && d.check(text) != "":
			wrong[d.Name] = v.Locale.T(d.check(text))
		default:
			fields[d.Name] = text
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, site.Faults{"": v.Locale.T("These details are not valid.")}
	}
	return raw, nil
}

// payable checks an address as the payout file of the service will, so that the
// partner hears of a mistake now and not at the end of the month.
func payable(service string) func(string) string {
	return func(text string) string {
		if payout.Payable(service, text) {
			return ""
		}
		return "Enter a valid email address."
	}
}

// These forms find slips of the keyboard. Whether an account exists, only the
// payment shows.
var (
	accountForm = regexp.MustCompile(`^[A-Za-z0-9 .-]{4,42}$`)
	ibanForm    = regexp.MustCompile(`^[A-Z]{2}[0-9]{2}[A-Z0-9]{10,30}$`)
	codeForm    = regexp.MustCompile(`^[A-Za-z0-9 .-]{2,32}$`)
	swiftForm   = regexp.MustCompile(`^[A-Za-z]{6}[A-Za-z0-9]{2}([A-Za-z0-9]{3})?$`)
	walletForm  = regexp.MustCompile(`^[A-Za-z0-9:._-]{20,128}$`)
)

// account takes account numbers; what looks like an IBAN must be one.
// Any other number passes: most countries have no IBAN, and no check digits.
func account(text string) string {
	plain := strings.ToUpper(strings.ReplaceAll(text, " ", ""))
	switch {
	case !accountForm.MatchString(text):
		return "An account number has only letters and digits."
	case ibanForm.MatchString(plain) && !validIBAN(plain):
		return "This IBAN is not valid: its check digits do not match."
	}
	return ""
}

// validIBAN reports whether the check digits of ISO 13616 are right.
func validIBAN(iban string) bool {
	var digits strings.Builder
	// Letters count from A = 10; the whole number must leave 1 when divided by 97.
	// It has up to 68 digits, too many for an int64.
	for _, r := range iban[4:] + iban[:4] {
		if r >= 'A' {
			digits.WriteString(big.NewInt(int64(r-'A') + 10).String())
			continue
		}
		digits.WriteRune(r)
	}
	n, ok := new(big.Int).SetString(digits.String(), 10)
	return ok && n.Mod(n, big.NewInt(97)).Int64() == 1
}

// code checks the code of a bank, of a currency or of a token.
func code(text string) string {
	if codeForm.MatchString(text) {
		return ""
	}
	return "Use only letters and digits."
}

// swift checks a BIC of ISO 9362: bank, country, place and, maybe, branch.
func swift(text string) string {
	if swiftForm.MatchString(text) {
		return ""
	}
	return "A SWIFT code has 8 or 11 letters and digits."
}

// wallet checks only letters and length, since each network has another format.
func wallet(text string) string {
	if walletForm.MatchString(text) {
		return ""
	}
	return "Enter a valid wallet address."
}

// stored is the payout method as it is kept, with as much of its details as one
// needs to recognize them.
type stored struct {
	Name, Label string
	Offered     bool // the program still pays by it
	Lines       []line
}

// line is one detail, veiled.
type line struct{ Label, Text string }

// stored opens the details of the partner.
func (v *visit) stored() (*stored, error) {
	name := opt.Value(v.partner.PayoutMethod)
	if name == "" {
		return nil, nil
	}
	// The method may have been offered once, or have been set by the program.
	out := &stored{Name: name, Label: v.Locale.Said(methodLabel(name))}
	out.Offered = len(v.program.PayoutMethods) == 0 || slices.Contains(v.program.PayoutMethods, name)
	raw, err := payout.DetailsOf(v.portal.Keeper, v.partner)
	if err != nil || raw == nil {
		return out, err
	}
	var details map[string]any
	if err := json.Unmarshal(raw, &details); err != nil {
		return nil, err
	}
	// Details that this page did not ask for are kept, but not shown.
	for _, m := range methodsOf([]string{name}) {
		for _, d := range m.Details {
			if text, ok := details[d.Name].(string); ok && text != "" {
				out.Lines = append(out.Lines, line{v.Locale.T(d.Label), masked(text)})
			}
		}
	}
	return out, nil
}

// masked masks a detail so that its owner recognizes it: an address keeps its first letter and domain, a number its
// end, without spaces. A short number loses all but its first character: its end would be most of it.
func masked(text string) string {
	first := string([]rune(text)[:1]) + "•••"
	if at := strings.LastIndexByte(text, '@'); at > 0 {
		return first + text[at:]
	}
	if number := []rune(strings.ReplaceAll(text, " ", "")); len(number) >= 12 {
		return "•••• " + string(number[len(number)-4:])
	}
	return first
}
