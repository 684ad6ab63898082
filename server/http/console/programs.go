package console

import (
	"strconv"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/money/statement"
	"rail/server/opt"
	"rail/server/problem"
)

var programRoutes = map[string]route{
	"GET /console/new":                   {Do: newProgram},
	"POST /console/new":                  {Do: createProgram},
	"GET /console/p/{program}/settings":  {Do: settings},
	"POST /console/p/{program}/settings": {Do: saveSettings},
}

// methods are the payout methods.
var methods = []site.Option{
	{Value: "paypal", Label: "PayPal"}, {Value: "wise", Label: "Wise"}, {Value: "bank_transfer", Label: "Bank transfer"},
	{Value: "wire", Label: "Wire"}, {Value: "crypto", Label: "Crypto"},
}

const newProgramTitle = "New program"

// newProgram asks for a program of the organization: the first one, or a further one.
func newProgram(v *visit) error {
	return v.show(sheet{"new-program", "", newProgramTitle, methods})
}

// createProgram makes a program.
func createProgram(v *visit) error {
	var program api.Program
	body := v.body("createProgram")
	if _, named := body["product_name"]; !named {
		body["product_name"] = v.value("name")
	}
	if err := v.send("createProgram", body, &program); err != nil {
		return v.again(err, newProgram)
	}
	return v.done("/console/p/"+program.ID+"/setup", "Your program is ready. Finish these steps to go live.")
}

// settingsData are the settings of a program, and the result of trying others.
type settingsData struct {
	*api.Program
	Rehearsal *api.AttributionRehearsal
}

// settings shows what of a program can be changed.
func settings(v *visit) error { return showSettings(v, nil) }

func showSettings(v *visit, tried *api.AttributionRehearsal) error {
	reply, err := v.console.api.RetrieveProgramWithResponse(v.Ctx(), v.program.ID, nil)
	if err != nil {
		return err
	}
	return v.show(sheet{"settings", "/settings", "Program", settingsData{reply.JSON200, tried}})
}

// trySettings shows who would have got the customers of the last 90 days under the typed settings, and saves nothing.
// An unchanged number of days is not sent: referrals then keep their ends, which an earlier number may have set.
func trySettings(v *visit, typed map[string]any) error {
	body := map[string]any{"program_id": v.program.ID, "days": 90}
	for _, name := range []string{"attribution_model", "cookie_days", "coupon_beats_link", "ignore_late_clicks"} {
		value, ok := typed[name]
		if ok && (name != "cookie_days" || v.value(name) != strconv.FormatInt(v.program.CookieDays, 10)) {
			body[name] = value
		}
	}
	var tried api.AttributionRehearsal
	if err := v.send("rehearseAttribution", body, &tried); err != nil {
		return v.again(err, settings)
	}
	return showSettings(v, &tried)
}

// URLParams returns the program's link parameters in one line.
func (f frame) URLParams() string { return strings.Join(f.program.URLParams, " ") }

// Methods returns all payout methods to choose from.
func (f frame) Methods() []site.Option { return methods }

// seller returns the company that statements name, as the page for the program has it.
func (f frame) seller() statement.Seller {
	seller, err := statement.SellerOf(f.program)
	if f.program.StatementSeller == nil || err != nil {
		return statement.Seller{}
	}
	return seller
}

// SellerName is the name of the company that statements name; "" for none.
func (f frame) SellerName() string { return f.seller().Name }

// SellerAddress is its address.
func (f frame) SellerAddress() string { return opt.Value(f.seller().Address) }

// SellerTaxIDs returns its tax ids in one line.
func (f frame) SellerTaxIDs() string { return strings.Join(f.seller().TaxIDs, ", ") }

// VATRate is the VAT rate at home in percent; "" for none.
func (f frame) VATRate() string {
	if f.program.VatRateBps == nil {
		return ""
	}
	return strconv.FormatFloat(float64(*f.program.VatRateBps)/100, 'f', -1, 64)
}

// vatRate reads the VAT rate of the form, in percent; nil for none.
func (v *visit) vatRate() (any, error) {
	text := v.value("vat_rate_bps")
	if text == "" {
		return nil, nil //nolint:nilnil // null is the value that removes the rate
	}
	return typedAmount("vat_rate_bps", string(api.RateTypePercent), text, "")
}

// seller reads the company of statements from the form; if all its fields are empty, it is nil. It refuses addresses or
// tax ids without a name, which would be lost.
func (v *visit) seller() (any, error) {
	name := v.value("statement_seller.name")
	switch {
	case name != "":
	case v.value("statement_seller.address") == "" && v.value("statement_seller.tax_ids") == "":
		return nil, nil //nolint:nilnil // null is the value that removes the company
	default:
		return nil, problem.Invalid("statement_seller.name", "Enter the company’s name, or empty its address and tax IDs too.")
	}
	ids := []string{}
	for id := range strings.SplitSeq(v.value("statement_seller.tax_ids"), ",") {
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	return map[string]any{"name": name, "address": opt.OrNil(v.value("statement_seller.address")), "tax_ids": ids}, nil
}

// saveSettings changes the program. The link parameters are typed in one line.
func saveSettings(v *visit) error {
	body := v.body("updateProgram")
	if v.value("do") == "rehearse" {
		return trySettings(v, body)
	}
	if v.Form.Has("url_params") {
		body["url_params"] = separated(v.value("url_params"))
	}
	if v.Form.Has("statement_seller.name") {
		seller, err := v.seller()
		if err != nil {
			return v.again(err, settings)
		}
		body["statement_seller"] = seller
	}
	if v.Form.Has("vat_rate_bps") {
		rate, err := v.vatRate()
		if err != nil {
			return v.again(err, settings)
		}
		body["vat_rate_bps"] = rate
	}
	if err := v.send("updateProgram", body, nil, v.program.ID); err != nil {
		return v.again(err, settings)
	}
	return v.done(v.at("/settings"), "The settings are saved.")
}
