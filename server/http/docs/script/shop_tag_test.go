package script_test

import (
	"net/http"
	"strings"
)

// tagShop is a shop that has Rail's tag in its page, and whose program is connected to
// Stripe. What is between the marks is all that it has for Rail.
type tagShop struct{ tag string }

// tagShopHead is what the merchant pasted into the head of the page. Address, hash and key are those
// that the publishable key's member tag has.
const tagShopHead = `
<!-- rail begins -->
{TAG}
<!-- rail ends -->
`

// tagShopConnected is what the merchant ran once.
const tagShopConnected = `
# rail begins
rail processor connect stripe --program {PROGRAM} --secret {SECRET} --json
# rail ends
`

// ServeHTTP is the shop's page.
func (s tagShop) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	showPage(w, strings.ReplaceAll(tagShopHead, "{TAG}", s.tag), "")
}
