package console_test

import (
	"encoding/json"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/harness/browsertest"
	"rail/server/harness/wait"
)

// TestRuleInBrowser builds a rule with an exception. The script hides the fields that do not apply, adds conditions without
// leaving the page, and shows the rule in words; without scripts the buttons do the same.
func TestRuleInBrowser(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	s := d.fixture
	s.Sale(d.program, s.Customer(d.program, s.Partner(d.program)), M{"product_id": "prod_pro", "product_name": "Pro"})
	choose := func(name, value string) {
		t.Helper()
		require.True(t, browsertest.Eval[bool](d.Tab, `(() => {
			const field = document.getElementsByName(`+quoted(name)+`)[0];
			if (!field || !field.checkVisibility()) return false;
			field.value = `+quoted(value)+`;
			for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, { bubbles: true }));
			return true;
		})()`), name)
	}
	seen := func(name string) bool {
		return browsertest.Eval[bool](d.Tab, `!!document.getElementsByName(`+quoted(name)+`)[0]?.checkVisibility()`)
	}
	d.Open(d.at + "/rules/new?form=1")
	d.Reads("For every partner: 20 % of every payment.")
	require.False(t, seen("group_id") || seen("target_group_id") || seen("approval_delay_days"))
	choose("action", "switch_group")
	require.True(t, seen("target_group_id"))
	require.False(t, seen("rate"))
	choose("action", "generate_commission")
	choose("rate", "25")
	d.Reads("For every partner: 25 % of every payment.")
	d.Do(chromedp.Click(chromedp.CSS(`[value="case:"]`)))
	d.Reads("Exception 1")
	require.True(t, browsertest.Eval[bool](d.Tab, `document.activeElement.matches('[data-add]')`), "the focus moves along")
	choose("b0.new", "sale.product_id")
	d.Do(chromedp.Click(chromedp.CSS(`[value="row:b0."]`)))
	d.Reads("Other product ids")
	d.Do(chromedp.Click(chromedp.CSS(`[name="b0.c0.values"]`)))
	choose("b0.rate", "40")
	d.Reads("if the product is Pro, 40 % of every payment")
	d.Reads("The product is Pro\t40.00 USD")
	d.Accessible(d.at+"/rules", d.at+"/rules/new")
	d.Open(d.at + "/rules/new?form=1")
	d.Reads("For every partner")
	choose("trigger", "new_signup")
	require.Equal(t, "fixed", browsertest.Eval[string](d.Tab, `document.getElementById('rate_type').value`), "a sign-up has no amount")
	d.Silent()

	// The commonest rule: a click on New rule, a number and a click.
	d.Scripts(false)
	d.Open(d.at + "/rules")
	d.Do(chromedp.Click(chromedp.CSS(`a.button`)))
	d.Do(chromedp.Click(chromedp.CSS(`form.recipe:nth-of-type(2) button[value="save"]`)))
	var flows []M
	wait.Until(t, func() bool {
		flows = s.Get("/v1/flows?program_id=" + d.program).Data()
		return len(flows) == 2
	}, "the rule is there")
	require.Equal(t, []any{"30 % for the first 12 months", json.Number("0")}, []any{flows[1]["name"], flows[1]["rate_value"]})
	d.Reads("30 % for the first 12 months") // the answer has arrived, and aborts no other page
	d.Open(d.at + "/rules/new?form=1")
	d.Do(chromedp.Click(chromedp.CSS(`[value="case:"]`)))
	d.Do(chromedp.WaitVisible(chromedp.CSS(`[name="b0.new"]`)))
	d.Do(chromedp.SendKeys(chromedp.CSS(`[name="b0.new"]`), "the amount"))
	d.Do(chromedp.Click(chromedp.CSS(`[value="row:b0."]`)))
	d.Do(chromedp.WaitVisible(chromedp.CSS(`[name="b0.c0.value"]`)))
}
