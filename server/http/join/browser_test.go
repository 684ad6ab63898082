package join_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
)

// TestInABrowser fills in the form on a phone and a desktop, without scripts, and confirms with the mailed link. It
// checks the pages' accessibility in light and in dark.
func TestInABrowser(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	s := newSite(t, apitest.Loopback, func(c *config.Config) { c.BaseURL = "http://127.0.0.1:8080" })
	s.set(M{"accent_color": "#ffd400", "logo": M{"data": "R0lGODlhAQABAIAAAAAAAAAAACwAAAAAAQABAAACAkQBADs="}})
	b := browsertest.New(t, s.URL)
	b.Scripts(false)
	var status string
	for email, width := range map[string]int64{"phone@example.com": 390, "desk@other.example": 1280} {
		s.set(M{"auto_approve": M{"email_domains": []string{"example.com"}}})
		b.Do(chromedp.EmulateViewport(width, 900))
		b.Open(s.at)
		for field, value := range map[string]string{"email": email, "first_name": "Ada", "website_url": "ada.example"} {
			b.Do(chromedp.SendKeys(chromedp.CSS(`input[name="`+field+`"]`), value))
		}
		b.Picture("join" + strconv.FormatInt(width, 10))
		b.Do(chromedp.SendKeys(chromedp.CSS(`textarea[name="answer_audience"]`), "Readers"),
			chromedp.SetValue(chromedp.CSS(`select[name="country_code"]`), "DE"), chromedp.Click(chromedp.CSS(`input[name="terms"]`)))
		s.Clock.Advance(3 * time.Second)
		b.Do(chromedp.Click(chromedp.CSS("main button")))
		b.Reads("Check your inbox")
		_, paths := s.mails(email)
		require.Len(t, paths, 1)
		b.Open(paths[0])
		b.Do(chromedp.Click(chromedp.CSS("main button")))
		says := "Application received."
		if width == 390 {
			says = "Welcome! You’re now a partner."
		}
		b.Reads(says)
		status = strings.Replace(paths[0], "confirm", "status", 1)
	}
	b.Scripts(true)
	s.Must(303, s.applies("third@example.com"))
	_, paths := s.mails("third@example.com")
	b.Accessible(s.at, s.at+"?sent", paths[0], status)
	b.Silent()
}
