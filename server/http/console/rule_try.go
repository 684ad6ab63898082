package console

import (
	"cmp"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/locale/currency"
	earned "rail/server/money/commission"
	"rail/server/money/rules"
	"rail/server/opt"
)

// try is the form that tries a payment on the rules, and its answer.
type try struct {
	Inputs []site.Input
	Asked  bool
	Says   string // the commission, with its calculation
	Why    string // the reason for none
	Rule   string // the id of the rule that decides; "" for none
	Name   string // of the rule
	Case   string // the exception that decides; "" for none
}

// tryFields are the parameters of the payment in the page's address.
var tryFields = []string{"partner", "customer", "amount", "product", "interval", "number", "month"}

// tryPayment computes the commission of the payment in the address, if there is one, and marks the rule that decides.
func (v *visit) tryPayment(list []rule) (try, error) {
	form := site.Form{Values: map[string]string{}, Errors: site.Faults{}}
	params := v.query(tryFields...)
	for name := range params {
		form.Values[name] = params.Get(name)
	}
	t := try{Asked: len(params) > 0}
	var err error
	if t.Asked {
		err = v.answer(&t, form, list)
	}
	if p, ok := refused(err); ok {
		form.Errors[tryField(p.Param)], err = cmp.Or(site.FaultsOf(p)[""], p.Message), nil
	}
	if err != nil {
		return t, err
	}
	t.Inputs, err = v.tryInputs(form)
	return t, err
}

// tryField returns the field for a parameter of the preview.
func tryField(param string) string {
	switch param {
	case "partner", "partner_id":
		return "partner"
	case "customer_id":
		return "customer"
	case "payment_number":
		return "number"
	case "customer_months":
		return "month"
	}
	return "amount"
}

// tryInputs returns the form's inputs.
func (v *visit) tryInputs(form site.Form) ([]site.Input, error) {
	products, err := v.productChoices()
	if err != nil {
		return nil, err
	}
	input := func(name, label, hint, kind string) site.Input {
		return site.NewInput(form, name, label, hint, kind, "off", most["text"])
	}
	product := input("product", "Product", "The product’s id.", "text")
	if len(products) > 0 {
		product.Type, product.Hint = "select", ""
		product.Options = append([]site.Option{{Label: "Any other product"}}, products...)
	}
	return []site.Input{
		input("partner", "New customer of", "A partner’s name, email or handle.", "lookup").
			From(v.at("/find/partners")),
		input("customer", "Or existing customer", "Their email.", "text"),
		input("amount", "Amount", "", "money").In(v.program.Currency),
		product,
		input("interval", "Billing", "", "select").Of(intervals),
		input("number", "Which payment", "1 is the customer’s first.", "number"),
		input("month", "Months since their first payment", "", "number"),
	}, nil
}

// answer asks the API for the commission of the payment.
func (v *visit) answer(t *try, form site.Form, list []rule) error {
	value := func(name string) string { return form.Values[name] }
	body := api.FlowPreviewRequest{
		ProgramID: v.program.ID, Currency: v.program.Currency, ProductID: opt.OrNil(value("product")),
	}
	var ok bool
	if body.AmountMinor, ok = currency.Minor(value("amount"), v.program.Currency); !ok || body.AmountMinor < 1 {
		form.Errors["amount"] = "Enter an amount, such as 100.00."
		return nil
	}
	if value("partner") == "" && value("customer") == "" {
		t.Says = "No partner: nobody earns."
		return nil
	}
	if text := value("interval"); text != "" {
		body.Interval = new(api.BillingInterval(text))
	}
	if value("customer") == "" {
		var err error
		if body.PaymentNumber, err = number("payment_number", value("number")); err != nil {
			return err
		}
		if body.CustomerMonths, err = number("customer_months", value("month")); err != nil {
			return err
		}
	}
	if found, err := v.payer(form, &body); !found || err != nil {
		return err
	}
	reply, err := v.console.api.PreviewFlowsWithResponse(v.Ctx(), body)
	if err != nil {
		return err
	}
	t.read(v, body, *reply.JSON200, list)
	return nil
}

// read puts the API's answer into words, and marks the rule and the exception that decide.
func (t *try) read(v *visit, request api.FlowPreviewRequest, p api.FlowPreview, list []rule) {
	payment := v.Locale.Money(request.AmountMinor, request.Currency)
	t.Says = "A payment of " + payment + " pays nothing."
	if p.AmountMinor > 0 {
		rate := rules.Rate{RateType: rules.RateType(*p.RateType), RateValue: *p.RateValue}
		t.Says = "A payment of " + payment + " pays " + v.Locale.Money(p.AmountMinor, p.Currency) + ": " +
			earned.Words(rate, opt.Value(p.RevenueMinor), request.Currency) + "."
	} else if len(p.Warnings) > 0 {
		t.Why = unearned(p.Warnings[0], p.DecidingFlowID != nil)
	}
	for i := range list {
		r := &list[i]
		if r.ID != opt.Value(p.DecidingFlowID) {
			continue
		}
		t.Rule, t.Name, r.Answers = r.ID, r.Name, p.DecidingFlowBranchID == nil
		for j := range r.Cases {
			if c := &r.Cases[j]; c.ID == opt.Value(p.DecidingFlowBranchID) {
				t.Case, c.Answers = cmp.Or(c.Label, c.When), true
			}
		}
	}
}

// payer reads the customer or the partner of the payment, and puts a fault at the field if there is none.
func (v *visit) payer(form site.Form, body *api.FlowPreviewRequest) (bool, error) {
	if email := form.Values["customer"]; email != "" {
		reply, err := v.console.api.ListCustomersWithResponse(v.Ctx(),
			&api.ListCustomersParams{ProgramID: v.program.ID, Email: &email, Limit: new(int64(1))})
		if err != nil {
			return false, err
		}
		if len(reply.JSON200.Data) == 0 {
			form.Errors["customer"] = "No customer has this email."
			return false, nil
		}
		body.CustomerID = &reply.JSON200.Data[0].ID
		return true, nil
	}
	p, err := v.whichPartner(form.Values["partner"])
	if fault, ok := refused(err); ok {
		form.Errors["partner"] = fault.Message
		return false, nil
	}
	body.PartnerID = &p.ID
	return true, err
}
