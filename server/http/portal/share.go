package portal

import (
	"net/url"

	"rail/server/http/site"
)

// shared is a link with the ways to share it. Without any, it needs a script that opens the device's own menu.
type shared struct {
	URL, Title string
	Ways       []site.Link
}

// share returns a link with the ways to share it. Without a script, they are links to other sites.
func (v *visit) share(link string) shared {
	with := func(base string, pairs ...string) string {
		query := url.Values{}
		for i := 0; i+1 < len(pairs); i += 2 {
			query.Set(pairs[i], pairs[i+1])
		}
		return base + query.Encode()
	}
	mail := "mailto:?subject=" + url.PathEscape(v.program.Name) + "&body=" + url.PathEscape(link)
	return shared{URL: link, Title: v.program.Name, Ways: []site.Link{
		{Name: v.Locale.T("Email"), Path: mail},
		{Name: "WhatsApp", Path: with("https://wa.me/?", "text", link)},
		{Name: "LinkedIn", Path: with("https://www.linkedin.com/sharing/share-offsite/?", "url", link)},
		{Name: "X", Path: with("https://x.com/intent/post?", "url", link)},
		{Name: "Facebook", Path: with("https://www.facebook.com/sharer/sharer.php?", "u", link)},
	}}
}
