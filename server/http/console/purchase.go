package console

import (
	"cmp"
	"slices"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/locale/currency"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/tracking"
)

var purchaseRoutes = map[string]route{"GET /console/p/{program}/test-purchase": {Do: testPurchase}}

// purchaseData holds the data of the page with the test purchase.
type purchaseData struct {
	Inputs []site.Input
	Done   *purchase     // nil before the first one
	Next   *site.Nothing // what to do after it
	Before site.Nothing  // in place of it
}

// purchase is a rehearsed purchase in words.
type purchase struct {
	Title   string // its payment and its way
	Result  string // the earnings of the partner
	Earns   bool
	Steps   []purchaseStep
	Events  []string
	Partner api.Partner
}

// purchaseStep is a step of the purchase. State is done, refused or left, the last for steps after the refused one.
type purchaseStep struct {
	State, Name, Icon, Text string
	Note                    string // an effect of the step, "" for none
	Rule                    string // the id of the rule that decides, "" for none
	RuleName                string // with its exception
	Stops                   string // what refuses the step
}

// The states of a step.
const (
	stepDone    = "done"
	stepRefused = "refused"
	stepLeft    = "left"
)

// purchaseFields are the parameters of the page's address.
var purchaseFields = []string{"partner", "way", "amount", "currency", "product", "interval", "email"}

// firstPurchase is the payment of the form before anything is typed, in minor units.
const firstPurchase = 4900

// testPurchase shows the form of a test purchase, and rehearses the purchase in the address.
func testPurchase(v *visit) error {
	form := site.Form{Values: map[string]string{}, Errors: site.Faults{}}
	params := v.query(purchaseFields...)
	for name := range params {
		form.Values[name] = params.Get(name)
	}
	by, err := v.purchasePartner(form, len(params) > 0)
	if err != nil {
		return err
	}
	ways, err := v.ways(by)
	if err != nil {
		return err
	}
	v.fillPurchase(form, by, ways)
	data := purchaseData{Before: v.beforePurchase(by)}
	if len(params) > 0 && by.ID != "" {
		data.Done, err = v.rehearsePurchase(form, by)
		if p, ok := refused(err); ok {
			form.Errors[purchaseField(p.Param)], err = cmp.Or(site.FaultsOf(p)[""], p.Message), nil
		}
	}
	if err != nil {
		return err
	}
	if data.Done != nil {
		if data.Next, err = v.afterPurchase(*data.Done); err != nil {
			return err
		}
	}
	if data.Inputs, err = v.purchaseInputs(form, ways); err != nil {
		return err
	}
	return v.show(sheet{"purchase", "/integrations", "Test purchase", data})
}

// purchasePartner returns the partner in the address, or else the latest active one. Its ID is "" if there is none.
func (v *visit) purchasePartner(form site.Form, submitted bool) (p api.Partner, err error) {
	if submitted {
		p, err = v.whichPartner(form.Values["partner"])
		if fault, ok := refused(err); ok {
			form.Errors["partner"], err = cmp.Or(site.FaultsOf(fault, "partner")["partner"], fault.Message), nil
		}
		return p, err
	}
	reply, err := v.console.api.ListPartnersWithResponse(v.Ctx(), &api.ListPartnersParams{
		ProgramID: v.program.ID, Limit: new(int64(1)), Status: []api.PartnerStatus{api.PartnerStatusActive},
	})
	if err != nil || len(reply.JSON200.Data) == 0 {
		return p, err
	}
	return reply.JSON200.Data[0], nil
}

// maxWays is the number of links, and of coupons, that the page offers.
const maxWays = 20

// The beginnings of ways in the address.
const (
	byLink   = "link:"
	byCoupon = "coupon:"
)

// beforePurchase returns the text of the page before the first purchase.
func (v *visit) beforePurchase(by api.Partner) site.Nothing {
	if by.ID == "" {
		return site.Nothing{
			Title: "No partner to test with",
			Text:  "A test purchase needs a partner whose link or coupon the customer uses.",
			Link:  site.Link{Path: v.at("/partners/new"), Name: "Add a partner"},
		}
	}
	return site.Nothing{
		Title: "No test purchase yet",
		Text:  "The form is ready: send it to see each step, the commission and the rule that decides.",
	}
}

// afterPurchase returns the next step: to what stopped the purchase, or else towards a real one.
func (v *visit) afterPurchase(p purchase) (*site.Nothing, error) {
	status, err := v.status()
	if err != nil {
		return nil, err
	}
	s := status.Setup
	next := func(title, text, path, name string) (*site.Nothing, error) {
		return &site.Nothing{Title: title, Text: text, Link: site.Link{Path: path, Name: name}}, nil
	}
	switch {
	case !s.HasFlow:
		return next("Next: a rule", "Without a rule, no payment earns a commission.", v.at("/rules/new"), "Create a rule")
	case !p.Earns && p.stoppedAt() == len(p.Steps)-1:
		return next("Next: your rules", "Check the rules for such a payment.", v.at("/rules"), "View rules")
	case !p.Earns:
		return next("Next: "+nameOf(p.Partner), "Check the partner, its links and its coupons.",
			v.at("/partners/"+p.Partner.ID), "View partner")
	case s.ScriptSeenAt == nil:
		return next("Next: the script on your site", "Your rules work. With the script, real visitors of partners count.",
			v.at("/integrations"), "Copy the tag")
	case !s.ProcessorConnected || s.ProcessorSeenAt == nil:
		return next("Next: your payment processor", "Your rules work. Connect the processor that reports real payments.",
			v.at("/integrations"), "Connect it")
	case s.SaleSeenAt == nil:
		return next("Next: a real purchase", "Open your site by the partner’s link and buy something.",
			v.at("/sales"), "View sales")
	}
	return next("Everything is connected", "Real purchases take the same steps.", v.at("/sales"), "View sales")
}

// ways returns the partner's handle, links and active coupons as options.
func (v *visit) ways(p api.Partner) ([]site.Option, error) {
	if p.ID == "" {
		return []site.Option{{Label: "The partner’s link"}}, nil
	}
	out := []site.Option{{Value: byLink + p.Handle, Label: "Link (" + p.Handle + ")"}}
	links, err := v.console.api.ListLinksWithResponse(v.Ctx(), &api.ListLinksParams{
		ProgramID: v.program.ID, PartnerID: &p.ID, Limit: new(int64(maxWays)),
	})
	if err != nil {
		return nil, err
	}
	for _, l := range links.JSON200.Data {
		if l.Value != p.Handle {
			out = append(out, site.Option{Value: byLink + l.Value, Label: "Link (" + l.Value + ")"})
		}
	}
	coupons, err := v.console.api.ListCouponsWithResponse(v.Ctx(), &api.ListCouponsParams{
		ProgramID: v.program.ID, PartnerID: &p.ID, Limit: new(int64(maxWays)),
	})
	if err != nil {
		return nil, err
	}
	for _, c := range coupons.JSON200.Data {
		label := "Coupon " + c.Code
		if !c.Active {
			label += " (off)"
		}
		out = append(out, site.Option{Value: byCoupon + c.Code, Label: label})
	}
	return out, nil
}

// fillPurchase fills in the fields that the address lacks. A way of another partner becomes the first way.
func (v *visit) fillPurchase(form site.Form, by api.Partner, ways []site.Option) {
	fill := func(name, value string) { form.Values[name] = cmp.Or(form.Values[name], value) }
	fill("partner", by.Email)
	fill("currency", v.program.Currency)
	form.Values["currency"] = strings.ToUpper(form.Values["currency"])
	fill("amount", currency.Decimal(firstPurchase, form.Values["currency"]))
	if !slices.ContainsFunc(ways, func(o site.Option) bool { return o.Value == form.Values["way"] }) {
		form.Values["way"] = ways[0].Value
	}
}

// purchaseField returns the field for a parameter of the rehearsal.
func purchaseField(param string) string {
	switch param {
	case "email", "currency", "interval":
		return param
	case "product_id":
		return "product"
	case "value", "coupon_code":
		return "way"
	}
	return "amount"
}

// purchaseInputs returns the form's inputs.
func (v *visit) purchaseInputs(form site.Form, ways []site.Option) ([]site.Input, error) {
	products, err := v.productChoices()
	if err != nil {
		return nil, err
	}
	input := func(name, label, kind string) site.Input {
		return site.NewInput(form, name, label, "", kind, "off", most["text"])
	}
	product := input("product", "Product", "text").Maybe().Says("The product’s id.")
	if len(products) > 0 {
		product = input("product", "Product", "select").Of(noneFirst("Any other product", products))
	}
	return []site.Input{
		input("partner", "Partner", "lookup").From(v.at("/find/partners")).Says("A name or an email."),
		input("way", "The customer comes by", "select").Of(ways),
		input("amount", "Amount", "text").Up(24),
		input("currency", "Currency", "text").Up(3),
		product,
		input("interval", "Billing", "select").Of(intervals),
		input("email", "The customer’s email", "email").Maybe(),
	}, nil
}

// intervals are the kinds of payments.
var intervals = []site.Option{
	{Label: "Once"},
	{Value: "month", Label: "Monthly"},
	{Value: "year", Label: "Yearly"},
	{Value: "week", Label: "Weekly"},
	{Value: "day", Label: "Daily"},
}

// rehearsePurchase asks the API to rehearse the purchase, and describes its steps.
func (v *visit) rehearsePurchase(form site.Form, by api.Partner) (*purchase, error) {
	value := func(name string) string { return form.Values[name] }
	body := api.SaleRehearsalRequest{
		ProgramID: v.program.ID, Currency: value("currency"), ProductID: opt.OrNil(value("product")),
		Email: opt.OrNil(value("email")), Interval: opt.OrNil(api.BillingInterval(value("interval"))),
	}
	if code, ok := strings.CutPrefix(value("way"), byCoupon); ok {
		body.CouponCode = &code
	} else {
		body.Value = new(strings.TrimPrefix(value("way"), byLink))
	}
	var ok bool
	if body.AmountMinor, ok = currency.Minor(value("amount"), body.Currency); !ok || body.AmountMinor < 1 {
		return nil, problem.Invalid("amount", "Enter an amount, such as %s.", currency.Decimal(firstPurchase, body.Currency))
	}
	reply, err := v.console.api.RehearseSaleWithResponse(v.Ctx(), body)
	if err != nil {
		return nil, err
	}
	r := *reply.JSON200
	out := &purchase{Partner: by, Events: r.EventTypes}
	way := "link"
	if body.CouponCode != nil {
		way = "coupon " + *body.CouponCode
	} else if *body.Value != by.Handle {
		way = "link “" + *body.Value + "”"
	}
	out.Title = v.Locale.Money(body.AmountMinor, body.Currency) + " by " + nameOf(by) + "’s " + way
	return out, v.describePurchase(out, body, r)
}

// describePurchase describes the steps of a rehearsal and its result.
func (v *visit) describePurchase(p *purchase, request api.SaleRehearsalRequest, r api.SaleRehearsal) error {
	name := nameOf(p.Partner)
	if request.Value != nil {
		p.Steps = append(p.Steps, v.clickStep(name, *request.Value, r))
	}
	p.Steps = append(p.Steps, v.customerStep(name, request, r), v.saleStep(request, r))
	earned, err := v.commissionStep(name, request, r)
	if err != nil {
		return err
	}
	p.Steps = append(p.Steps, earned)
	p.Earns = earned.State == stepDone
	p.Result = earned.Text
	if stopped := p.stoppedAt(); stopped >= 0 {
		p.Result = name + " earns nothing. " + p.Steps[stopped].Text
		for i := range p.Steps[stopped+1:] {
			p.Steps[stopped+1+i].State, p.Steps[stopped+1+i].Text = stepLeft, "Not reached."
		}
	}
	return nil
}

// stoppedAt returns the index of the first refused step, or -1.
func (p purchase) stoppedAt() int {
	return slices.IndexFunc(p.Steps, func(s purchaseStep) bool { return s.State == stepRefused })
}

// refusedAt turns a step into the refused one if the rehearsal ended there.
func (v *visit) refusedAt(
	s purchaseStep, name string, r api.SaleRehearsal, step api.SaleRehearsalRefusalStep,
) purchaseStep {
	if s.State = stepDone; r.Refused == nil || r.Refused.Step != step {
		return s
	}
	s.State, s.Note = stepRefused, ""
	switch problem.Code(r.Refused.Code) {
	case problem.TrackingValueNotFound:
		s.Text = "The link leads to no active partner: " + name + " is not active."
	case problem.ResourceNotFound:
		s.Text = "The coupon is off."
	default:
		s.Text = r.Refused.Message
	}
	return s
}

// clickStep describes the click.
func (v *visit) clickStep(name, value string, r api.SaleRehearsal) purchaseStep {
	s := purchaseStep{
		Name:  "Click",
		Icon:  "mouse-pointer-click",
		Text:  "A visitor opens " + tracking.PartnerURL(v.program, nil, value) + ".",
		Note:  "A purchase within " + v.days(v.program.CookieDays) + " counts for " + name + ".",
		Stops: "An inactive partner, a paused program or an unknown link would stop it here.",
	}
	return v.refusedAt(s, name, r, api.SaleRehearsalRefusalStepClick)
}

// customerStep describes the sign-up, and its commission.
func (v *visit) customerStep(name string, request api.SaleRehearsalRequest, r api.SaleRehearsal) purchaseStep {
	visitor := "The visitor"
	if request.Email != nil {
		visitor = *request.Email
	}
	s := purchaseStep{Name: "Customer", Icon: "user-plus", Text: visitor + " signs up and becomes a customer of " + name + "."}
	stops := "An expired click"
	if request.CouponCode != nil {
		s.Text = visitor + " uses the coupon " + *request.CouponCode + " and becomes a customer of " + name + "."
		stops = "A coupon that is off, an inactive partner"
	}
	if v.program.BlockSelfReferrals {
		stops += " or the partner’s own email"
	}
	s.Stops = stops + " would stop it here."
	for _, k := range r.Commissions {
		if k.SaleID == nil {
			s.Note = "Earns " + v.Locale.Money(k.AmountMinor, k.Currency) + " for the sign-up."
		}
	}
	return v.refusedAt(s, name, r, api.SaleRehearsalRefusalStepCustomer)
}

// saleStep describes the payment.
func (v *visit) saleStep(request api.SaleRehearsalRequest, r api.SaleRehearsal) purchaseStep {
	s := purchaseStep{
		Name: "Sale", Icon: "receipt", Text: "The customer pays " + v.Locale.Money(request.AmountMinor, request.Currency) + ".",
		Stops: "A real payment is reported by your payment processor.",
	}
	if request.Interval != nil {
		s.Text = strings.TrimSuffix(s.Text, ".") + ", the first payment of a " +
			strings.ToLower(billings[string(*request.Interval)]) + "."
	}
	return v.refusedAt(s, "", r, api.SaleRehearsalRefusalStepSale)
}

// commissionStep describes the commission for the sale, or the reason for none.
func (v *visit) commissionStep(
	name string, request api.SaleRehearsalRequest, r api.SaleRehearsal,
) (purchaseStep, error) {
	s := purchaseStep{
		Name: "Commission", Icon: "hand-coins", State: stepRefused,
		Stops: "Without a matching rule, or with a fixed rate in another currency, it would earn nothing.",
	}
	if r.Sale == nil {
		return s, nil
	}
	at := slices.IndexFunc(r.Commissions, func(k api.Commission) bool { return k.SaleID != nil })
	if at < 0 {
		for _, w := range r.Sale.Warnings {
			s.Text = unearned(w, false)
		}
		return s, nil
	}
	k := r.Commissions[at]
	s.State, s.Text = stepDone, name+" earns "+v.Locale.Money(k.AmountMinor, k.Currency)
	if r.RateType != nil && *r.RateType == api.RateTypePercent {
		s.Text += ", " + v.Locale.Percent(opt.Value(r.RateValue)) + " of " +
			v.Locale.Money(opt.Value(k.RevenueMinor), request.Currency)
	}
	s.Text += "."
	err := v.decidedBy(&s, k)
	return s, err
}

// decidedBy adds the rule and the exception that decide to the step, and the commission's way to a payout.
func (v *visit) decidedBy(s *purchaseStep, k api.Commission) error {
	f, err := v.flow(opt.Value(k.FlowID))
	if err != nil {
		return err
	}
	described, err := v.describeRule(*f, v.ruleNames([]api.Flow{*f}))
	if err != nil {
		return err
	}
	s.Rule, s.RuleName = f.ID, f.Name
	for _, c := range described.Cases {
		if c.ID == opt.Value(k.FlowBranchID) {
			s.RuleName += ", exception: " + c.title()
		}
	}
	switch {
	case k.Status != api.CommissionStatusPending:
		s.Note = "It is approved at once"
	case f.ApprovalDelayDays != nil:
		s.Note = "It is approved after " + v.days(*f.ApprovalDelayDays)
	default:
		s.Note = "It waits for your approval"
	}
	if k.MatureAt != nil && k.MatureAt.After(v.Now.Time) {
		s.Note += ", and can be paid out from " + v.Locale.Day(k.MatureAt.Time)
	}
	s.Note += "."
	return nil
}

// days returns a number of days in words.
func (v *visit) days(n int64) string {
	return v.Locale.Count(n) + oneOrMany(n, " day", " days")
}

// unearned says why a payment pays nothing. decides is whether a rule decides that.
func unearned(w api.SaleWarning, decides bool) string {
	switch {
	case w.Code == api.SaleWarningCodeNoCommissionFromRules && decides:
		return "The rule pays nothing for it."
	case strings.Contains(w.Message, "flow"): // the API's word for a rule
		return "No rule matches."
	}
	return w.Message
}
