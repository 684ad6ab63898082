package tracking

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDestinationKey(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://example.com":                      "example.com",
		"https://example.com/":                     "example.com",
		"https://Example.COM/Pricing/":             "example.com/pricing",
		"http://example.com/pricing?ref=ann#top":   "example.com/pricing",
		"https://example.com//":                    "example.com",
		"https://example.com/?a=/b/":               "example.com",
		"https://example.com:443/a":                "example.com/a",
		"http://example.com:80/a":                  "example.com/a",
		"http://example.com:443/a":                 "example.com:443/a",
		"https://example.com:8443/a":               "example.com:8443/a",
		"https://user:secret@example.com/a":        "example.com/a",
		"https://example.com/%41%62":               "example.com/ab",
		"https://example.com/caf\u00e9":            "example.com/caf%c3%a9",
		"https://example.com/CAF%C3%89":            "example.com/caf%c3%a9",
		"https://example.com/a%00b":                "example.com/a%00b",
		"https://[2001:DB8::1]:443/a":              "[2001:db8::1]/a",
		"https://www.example.com/a":                "www.example.com/a",
		"https://example.com/a b":                  "example.com/a%20b",
		"https://example.com/%zz":                  "",
		"https://example.com/a/../b;c=1/d.html///": "example.com/a/../b;c=1/d.html",
	} {
		require.Equal(t, want, destinationKey(address), address)
	}
}

func TestShortURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, short, want string }{
		{"https://rail.example", "", "https://rail.example/r/a1"},
		{"https://rail.example/", "", "https://rail.example/r/a1"},
		{"https://rail.example", "https://go.example/", "https://go.example/a1"},
		{"https://rail.example", "https://go.example/x", "https://go.example/x/a1"},
	} {
		require.Equal(t, c.want, ShortURL(ShortBase(c.base, c.short), "a1"))
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ destination, param, value, want string }{
		{"https://example.com", "ref", "ann", "https://example.com?ref=ann"},
		{"https://example.com/", "ref", "ann", "https://example.com/?ref=ann"},
		{"https://example.com/p?", "ref", "ann", "https://example.com/p?ref=ann"},
		{"https://example.com/p?a=1&b=2", "ref", "ann", "https://example.com/p?a=1&b=2&ref=ann"},
		{"https://example.com/p?ref=bob&a=1", "ref", "ann", "https://example.com/p?a=1&ref=ann"},
		{"https://example.com/p?ref=bob&a=1&ref=eve", "ref", "ann", "https://example.com/p?a=1&ref=ann"},
		{"https://example.com/p?ref", "ref", "ann", "https://example.com/p?ref=ann"},
		{"https://example.com/p?r%65f=bob", "ref", "ann", "https://example.com/p?ref=ann"},
		{"https://example.com/p?Ref=bob&preref=1", "ref", "ann", "https://example.com/p?Ref=bob&preref=1&ref=ann"},
		{"https://example.com/p#top", "ref", "ann", "https://example.com/p?ref=ann#top"},
		{"https://example.com/p?a=1#top?ref=x", "ref", "ann", "https://example.com/p?a=1&ref=ann#top?ref=x"},
		{"https://example.com/p#", "ref", "ann", "https://example.com/p?ref=ann#"},
		{
			"https://example.com/p?a=%20+b&c=%zz&%zz=1", "via", "An.n_1-x",
			"https://example.com/p?a=%20+b&c=%zz&%zz=1&via=An.n_1-x",
		},
		{"https://example.com/p?q=a?b=c", "ref", "ann", "https://example.com/p?q=a?b=c&ref=ann"},
	} {
		require.Equal(t, c.want, URL(c.destination, c.param, c.value), c.destination)
	}
}
