package pages_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"

	"rail/server/harness/browsertest"
	"rail/server/http/docs/pages"
)

// chooses opens the menu of languages, and takes TypeScript.
const chooses = `(async () => {
	const find = (selector, text) => [...document.querySelectorAll(selector)].find((e) => e.textContent.trim() === text)
	find('button', 'curl').click()
	while (!find('[role=option]', 'TypeScript')) await new Promise((next) => setTimeout(next, 20))
	find('[role=option]', 'TypeScript').click()
	return true
})()`

// TestSamplesInABrowser opens an operation of the reference, and chooses a language.
func TestSamplesInABrowser(t *testing.T) {
	t.Parallel()
	e := echo.New()
	pages.Register(e, func(context.Context) error { return nil }, nil)
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	b := browsertest.New(t, server.URL)
	b.Open("/docs#tag/partners/POST/v1/partners")
	b.Reads(`curl "$RAIL_BASE_URL/v1/partners"`)
	browsertest.Eval[bool](b, chooses)
	b.Reads("await rail.partners.create({")
}
