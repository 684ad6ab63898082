package script_test

import (
	"net/http"
	"strings"
)

// tagShop is a shop with Rail's tag in its page and a program with a connection to Stripe.
// The lines between the marks are its whole integration with Rail.
type tagShop struct{ tag string }

// tagShopHead is the HTML that the merchant pastes into the head of the page. {TAG} is the tag of the
// publishable key.
const tagShopHead = `
<!-- rail begins -->
{TAG}
<!-- rail ends -->
`

// tagShopConnected is the command that the merchant runs once.
const tagShopConnected = `
# rail begins
rail processor connect stripe --program {PROGRAM} --secret {SECRET} --json
# rail ends
`

// ServeHTTP serves the shop's page.
func (s tagShop) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	showPage(w, strings.ReplaceAll(tagShopHead, "{TAG}", s.tag), "")
}
