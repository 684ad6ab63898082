package console_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/team"
)

// ruleForm is a whole form of a rule, with other values in it.
func ruleForm(changes ...string) []string {
	form := []string{
		"name", "Creators", "trigger", "new_payment", "action", "generate_commission", "rate_type", "percent", "rate", "20",
		"group_id", "", "partner", "", "approval_mode", "immediate", "approval_delay_days", "", "priority", "100",
		"status", "active", "description", "Kept.",
	}
	for i := 0; i < len(changes); i += 2 {
		if at := slices.Index(form[:24], changes[i]); at >= 0 && at%2 == 0 {
			form[at+1] = changes[i+1]
			continue
		}
		form = append(form, changes[i], changes[i+1])
	}
	return form
}

// TestRulesPage says the rules in words, in their order, with what decides before them.
func TestRulesPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.Contains(t, s.owner.page("/rules"), "No rule yet")
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": s.program, "name": "Gold"})).String("id")
	s.Flow(s.program, M{"name": "All", "priority": 50, "branches": []any{
		M{"label": "Big ones", "rate_type": "percent", "rate_value": 3000, "conditions": []any{
			M{"field": "sale.amount_minor", "operator": "gte", "value": 100000},
			M{"field": "partner.group_id", "operator": "eq", "value": group},
		}},
	}})
	s.Flow(s.program, M{"name": "Late", "priority": 60, "group_id": group, "rate_type": "fixed", "rate_value": 500})
	page := s.owner.page("/rules")
	require.Contains(t, page, "For every partner: <strong>20 % of every payment</strong>")
	require.Contains(t, page,
		"Big ones: if the amount is at least 1,000.00 USD and the partner’s group is Gold, <strong>30 % of every payment</strong>")
	require.Contains(t, page, "For partners in Gold: <strong>5.00 USD for every payment</strong>.")
	require.Contains(t, page, "Never used: the rule “All” is used for all of these partners.")

	partner := s.Partner(s.program, M{"first_name": "Ada", "handle": "ada"})
	s.Customer(s.program, partner, M{"email": "bob@example.com"})
	require.Contains(t, s.owner.page("/rules?partner=ada&amount=100"),
		"A payment of 100.00 USD pays 20.00 USD: 20 % of 100.00 USD.")
	require.Contains(t, s.owner.page("/rules?customer=bob@example.com&amount=1"), "A payment of 1.00 USD pays 0.20 USD")
	require.Contains(t, s.owner.page("/rules?partner=nobody&amount=100"), "No partner found")
	require.Contains(t, s.owner.page("/rules?customer=x@example.com&amount=100"), "No customer has this email.")
	require.Contains(t, s.owner.page("/rules?partner=ada&amount=lots"), "Enter an amount, such as 100.00.")
}

// TestTryPayment marks the rule and the exception that decide about a payment, and says it in the page's words.
func TestTryPayment(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program, M{"name": "Standard", "branches": []any{
		M{"label": "No packs", "rate_type": "percent", "rate_value": 0, "conditions": []any{
			M{"field": "sale.product_id", "operator": "eq", "value": "pack"},
		}},
		M{"label": "Yearly", "rate_type": "percent", "rate_value": 4000, "conditions": []any{
			M{"field": "sale.interval", "operator": "eq", "value": "year"},
		}},
		M{"label": "Later", "rate_type": "percent", "rate_value": 500, "conditions": []any{
			M{"field": "customer.months_since_conversion", "operator": "gte", "value": 3},
			M{"field": "customer.sales_count", "operator": "eq", "value": 4},
			M{"field": "sale.is_first_sale", "operator": "eq", "value": false},
		}},
	}})
	s.Partner(s.program, M{"handle": "ada"})
	for query, want := range map[string][]string{
		"partner=ada":                  {"pays 20.00 USD", "Decided by the rule <a", `rule-card answers`},
		"partner=ada&product=pack":     {"pays nothing.", "The rule pays nothing for it.", "the exception <em>No packs</em>"},
		"partner=ada&interval=year":    {"pays 40.00 USD: 40 % of 100.00 USD.", "the exception <em>Yearly</em>", `<li class="answers">Yearly`},
		"partner=ada&number=4&month=3": {"pays 5.00 USD", "the exception <em>Later</em>"},
		"partner=ada&number=4&month=2": {"pays 20.00 USD"},
		"partner=ada&number=many":      {"Enter a whole number."},
		"partner=ada&number=0":         {`id="number_about">`},
		"partner=ada&number=1&month=2": {`id="month_about">`},
		"":                             {"No partner: nobody earns."},
	} {
		page := s.owner.page("/rules?amount=100&" + query)
		for _, text := range want {
			require.Contains(t, page, text, query)
		}
		require.NotContains(t, page, "is required", query)
		require.NotContains(t, page, "the flow", query)
	}
}

// TestRecipes makes the common rules by a form of one to three fields.
func TestRecipes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Sale(s.program, s.Customer(s.program, s.Partner(s.program)), M{"product_id": "prod_pro", "product_name": "Pro"})
	page := s.owner.page("/rules/new")
	require.Contains(t, page, "<option value=\"prod_pro\tPro\">Pro</option>")
	create := func(fields ...string) M {
		t.Helper()
		require.Equal(t, "The rule is saved.", s.owner.done(s.owner.send("/rules/new", fields...)))
		all := s.Get("/v1/flows?program_id=" + s.program).Data()
		return all[len(all)-1]
	}
	require.Equal(t, "20 % of every payment", create("recipe", "share", "rate", "20", "do", "save")["name"])
	months := create("recipe", "months", "rate", "30", "months", "12")
	require.Equal(t, []any{"30 % for the first 12 months", json.Number("0")}, []any{months["name"], months["rate_value"]})
	require.Equal(t, []any{M{"field": "customer.months_since_conversion", "operator": "lt", "value": json.Number("12")}},
		months["branches"].([]any)[0].(M)["conditions"])
	product := create("recipe", "product", "rate", "30 %", "product", "prod_pro\tPro", "other_rate", "20")
	require.Equal(t, []any{"30 % on Pro", json.Number("2000")}, []any{product["name"], product["rate_value"]})
	branch := product["branches"].([]any)[0].(M)
	require.Equal(t, []any{M{"field": "sale.product_id", "operator": "in", "value": []any{"prod_pro"}}}, branch["conditions"])
	require.Equal(t, "Pro", branch["label"])
	require.Contains(t, s.owner.page("/rules"), "Pro: if the product is Pro, <strong>30 % of every payment</strong>")

	// The editor shows a recipe to change it, and a recipe that was refused.
	editor := string(s.Must(200, s.owner.send("/rules/new", "recipe", "months", "rate", "25", "months", "6", "do", "show")).Raw)
	require.Contains(t, editor, `value="25 % for the first 6 months"`)
	require.Contains(t, editor, `name="b0.c0.value" type="number" value="6"`)
	s.owner.says(400, "Enter a percentage", s.owner.send("/rules/new", "recipe", "share", "rate", "lots", "do", "save"))
	ticked := s.owner.page("/rules/" + product["id"].(string))
	require.Contains(t, ticked, `name="b0.c0.values" value="prod_pro" checked`)
}

// TestRuleInWords describes a rule while it is typed, and shows only the fields that apply.
func TestRuleInWords(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	group := s.Must(201, s.Post("/v1/groups", M{"program_id": s.program, "name": "Gold"})).String("id")
	words := func(changes ...string) string {
		t.Helper()
		return s.owner.unescaped(s.Must(200, s.owner.send("/rules/words", ruleForm(changes...)...)))
	}
	require.Contains(t, words(), "For every partner: <strong>20 % of every payment</strong>.")
	require.Contains(t, words("rate", "12.5"), `<th scope="row">Every payment</th><td class="number">12.50 USD</td>`)
	in := words("group_id", group, "b0.rate_type", "fixed", "b0.rate", "3.50", "b0.label", "", "b0.c0.field", "sale.is_first_sale",
		"b0.c0.value", "true")
	require.Contains(t, in, "For partners in Gold")
	require.Contains(t, in, `<th scope="row">It is the customer’s first payment</th><td class="number">3.50 USD</td>`)
	require.Contains(t, in, "Everything else")
	require.Contains(t, words("rate", "lots"), "Enter a percentage, such as 20 or 12.5.")
	require.Contains(t, words("b0.rate_type", "percent", "b0.rate", "5", "b0.c0.field", "sale.product_id", "b0.c0.op", "in"),
		"Fill in every condition.")
	require.Contains(t, words("action", "switch_group", "target_group_id", group), "moves the partner into Gold")
	require.Contains(t, words("whom", "partner", "partner", "ada@example.com"), "For ada@example.com")

	hidden := func(when string) string { return `data-when="` + when + `" hidden` }
	page := string(s.Must(200, s.owner.send("/rules/new", ruleForm("do", "show")...)).Raw)
	require.Contains(t, page, hidden("action=switch_group"))
	require.Contains(t, page, hidden("approval_mode=after_days"))
	require.NotContains(t, page, hidden("action=generate_commission"))
	page = string(s.Must(200, s.owner.send("/rules/new", ruleForm("do", "show", "action", "switch_group", "whom", "group")...)).Raw)
	require.NotContains(t, page, hidden("action=switch_group"))
	require.NotContains(t, page, hidden("whom=group"))
	require.Contains(t, page, hidden("action=generate_commission"))
}

// TestMakeRule builds a rule with a case by buttons alone, without scripts.
func TestMakeRule(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	blank := s.owner.page("/rules/new")
	require.Contains(t, blank, "New rule")
	with := s.Must(200, s.owner.send("/rules/new", ruleForm("do", "case:")...))
	require.Contains(t, string(with.Raw), `name="b0.rate"`)
	oneCase := []string{"b0.label", "Box", "b0.rate_type", "fixed", "b0.rate", "3.50"}
	row := s.Must(200, s.owner.send("/rules/new", append(ruleForm(oneCase...), "b0.new", "sale.product_id", "do", "row:b0.")...))
	require.Contains(t, string(row.Raw), `name="b0.c0.op"`)
	full := append(ruleForm(oneCase...),
		"b0.c0.field", "sale.product_id", "b0.c0.op", "in", "b0.c0.value", "box, bag",
		"b0.c1.field", "sale.amount_minor", "b0.c1.join", "and", "b0.c1.op", "gte", "b0.c1.value", "10.50",
		"b0.c2.field", "sale.interval", "b0.c2.join", "or", "b0.c2.op", "in", "b0.c2.values", "month", "b0.c2.values", "year",
		"b0.c3.field", "sale.is_first_sale", "b0.c3.join", "and", "b0.c3.value", "true",
		"b0.c4.field", "customer.metadata.", "b0.c4.join", "and", "b0.c4.key", "plan", "b0.c4.op", "absent")
	require.Equal(t, "The rule is saved.", s.owner.done(s.owner.send("/rules/new", append(full, "do", "save")...)))
	flow := s.Get("/v1/flows?program_id=" + s.program).Data()[0]
	require.Equal(t, []any{"Creators", json.Number("2000"), json.Number("100")}, []any{flow["name"], flow["rate_value"], flow["priority"]})
	branch := flow["branches"].([]any)[0].(M)
	require.Equal(t, json.Number("350"), branch["rate_value"])
	require.Equal(t, []any{
		M{"field": "sale.product_id", "operator": "in", "value": []any{"box", "bag"}},
		M{"any": []any{
			M{"field": "sale.amount_minor", "operator": "gte", "value": json.Number("1050")},
			M{"field": "sale.interval", "operator": "in", "value": []any{"month", "year"}},
		}},
		M{"field": "sale.is_first_sale", "operator": "eq", "value": true},
		M{"field": "customer.metadata.plan", "operator": "exists", "value": false},
	}, branch["conditions"])

	// The stored rule comes back as it was typed, and saving it changes nothing.
	id := flow["id"].(string)
	page := s.owner.page("/rules/" + id)
	for _, text := range []string{`value="3.50"`, `value="box, bag"`, `value="10.50"`, `value="plan"`, `value="20"`} {
		require.Contains(t, page, text)
	}
	s.owner.done(s.owner.send("/rules/"+id, append(full, "b0.id", branch["id"].(string), "do", "save")...))
	require.Equal(t, flow, s.Get("/v1/flows?program_id=" + s.program).Data()[0])
	dropped := s.Must(200, s.owner.send("/rules/"+id, append(full, "do", "drop:b0.c1.")...))
	require.NotContains(t, string(dropped.Raw), `value="10.50"`)
	require.Contains(t, string(dropped.Raw), `name="b0.c3.field"`)
	require.NotContains(t, string(dropped.Raw), `name="b0.c4.field"`)

	// Without its cases, the stored rule has no branch left.
	s.owner.done(s.owner.send("/rules/"+id, ruleForm("do", "save")...))
	require.Empty(t, s.Get("/v1/flows/" + id).Body["branches"])
}

// TestRuleKeepsNestedConditions: conditions nested deeper than the form survive a change of the rate.
func TestRuleKeepsNestedConditions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	deep := M{"any": []any{
		M{"field": "sale.product_id", "operator": "eq", "value": "box"},
		M{"all": []any{M{"field": "sale.amount_minor", "operator": "gt", "value": json.Number("5")}}},
	}}
	id := s.Flow(s.program, M{"branches": []any{M{"rate_type": "percent", "rate_value": 1000, "conditions": []any{deep}}}})
	page := s.owner.page("/rules/" + id)
	require.Contains(t, page, "If the product is box or the amount is more than 0.05 USD")
	stored, err := json.Marshal(deep)
	require.NoError(t, err)
	s.owner.done(s.owner.send("/rules/"+id, ruleForm("rate", "12.5", "b0.rate_type", "percent", "b0.rate", "10", "b0.label", "",
		"b0.c0.kept", string(stored), "b0.c0.words", "deep", "do", "save")...))
	flow := s.Get("/v1/flows/" + id)
	require.EqualValues(t, 1250, flow.Int("rate_value"))
	require.Equal(t, []any{deep}, flow.Body["branches"].([]any)[0].(M)["conditions"])
}

// TestRuleFaults finds refusals beside their fields and the typed values on the page.
func TestRuleFaults(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct {
		fields []string
		id     string
	}{
		{ruleForm("rate", "lots"), "rate"}, {ruleForm("rate", "600"), "rate"}, {ruleForm("name", ""), "name"},
		{ruleForm("partner", "nobody"), "partner"}, {ruleForm("priority", "9999"), "priority"},
		{ruleForm("approval_mode", "after_days"), "approval_delay_days"},
		{ruleForm("b0.rate_type", "percent", "b0.rate", "x"), "b0.rate"},
		{ruleForm("b0.rate_type", "percent", "b0.rate", "5", "b0.c0.field", "sale.amount_minor", "b0.c0.op", "gte", "b0.c0.value", "1",
			"b0.c1.field", "customer.sales_count", "b0.c1.join", "or", "b0.c1.op", "gte", "b0.c1.value", "many"), "b0.c1.value"},
	} {
		for _, do := range []string{"save", "rehearse"} {
			if c.id == "name" && do == "rehearse" {
				continue // a rehearsal needs none
			}
			page := string(s.Must(400, s.owner.send("/rules/new", append(c.fields, "do", do)...)).Raw)
			require.Regexp(t, `<p class="error" id="`+c.id+`_about">[^<]`, page, "%s of %v", do, c.fields)
			require.Contains(t, page, "Kept.")
		}
	}
	require.Zero(t, s.Get("/v1/flows?program_id="+s.program).Int("total_count"))
}

// TestRehearseRule shows the commissions of the last month under the rule, and saves nothing.
func TestRehearseRule(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.Flow(s.program)
	s.Sale(s.program, s.Customer(s.program, s.Partner(s.program)), M{"amount_minor": 10000})
	viewer := s.person(s.Org, team.Viewer)
	page := string(s.Must(200, s.owner.send("/rules/"+id, ruleForm("rate", "25", "do", "rehearse")...)).Raw)
	require.Contains(t, page, "1 of 1 sales would have paid another amount.")
	require.Contains(t, page, "20.00")
	require.Contains(t, page, "25.00")
	require.EqualValues(t, 2000, s.Get("/v1/flows/"+id).Int("rate_value"))
	s.Must(200, viewer.send("/rules/"+id, ruleForm("rate", "25", "do", "rehearse")...))
	s.Must(403, viewer.send("/rules/"+id, ruleForm("rate", "25", "do", "save")...))
	s.owner.done(s.owner.send("/rules/"+id, ruleForm("rate", "25", "do", "save")...))
	require.EqualValues(t, 2500, s.Get("/v1/flows/"+id).Int("rate_value"))
	require.Equal(t, "The rule is off.", s.owner.done(s.owner.send("/rules/"+id+"/state", "status", "inactive")))
	require.Equal(t, "The rule is deleted.", s.owner.done(s.owner.send("/rules/"+id+"/delete")))
}

// TestRuleKeepsConditions: a condition that the new trigger lacks is refused, and not dropped, which would pay everyone.
func TestRuleKeepsConditions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	flow := s.Must(201, s.Post("/v1/flows", M{
		"program_id": s.program, "name": "Pro", "rate_type": "percent", "rate_value": 1000, "branches": []M{{
			"rate_type": "percent", "rate_value": 2000,
			"conditions": []M{{"field": "sale.product_id", "operator": "eq", "value": "prod_pro"}},
		}},
	})).String("id")
	a := s.owner.send("/rules/"+flow, "name", "Pro", "trigger", "new_signup", "action", "generate_commission", "whom", "everyone",
		"rate_type", "fixed", "rate", "5.00", "approval_mode", "immediate", "priority", "100", "status", "active",
		"b0.rate_type", "fixed", "b0.rate", "3.00", "b0.c0.field", "sale.product_id", "b0.c0.op", "eq", "b0.c0.value", "prod_pro")
	require.Equal(t, 400, a.Status)
	stored := s.Must(200, s.Get("/v1/flows/"+flow))
	require.Equal(t, "new_payment", stored.String("trigger"))
	require.Len(t, stored.Body["branches"].([]any)[0].(M)["conditions"], 1)
}
