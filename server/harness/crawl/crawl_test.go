package crawl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A walk visits every page once, four of a kind, and none outside.
func TestWalk(t *testing.T) {
	t.Parallel()
	id := func(n int) string { return fmt.Sprintf("part_%026d", n) }
	site := map[string]string{
		"/p":                `<a href="/p/list?a=1&amp;b=2">a list</a> <a class="x" href="?days=7">7</a> <a href="https://other.example/p/x">out</a>`,
		"/p?days=7":         `<a href="/p#top">back</a> <a href="/q">elsewhere</a> <a href="/p/list.csv">a file</a> <a href="//p/p">out</a>`,
		"/p/list?a=1&b=2":   "",
		"/p/" + id(5):       "",
		"/p/" + id(5) + "/": "",
	}
	for n := range 9 {
		site["/p/list?a=1&b=2"] += `<a href="/p/` + id(n) + `">one</a>`
		site["/p/"+id(n)] = "<p>nothing more</p>"
	}
	var seen []string
	require.NoError(t, Walk("/p", func(at string) (string, error) {
		body, ok := site[at]
		require.True(t, ok, at)
		seen = append(seen, at)
		return body, nil
	}))
	require.Equal(t, []string{"/p", "/p/list?a=1&b=2", "/p?days=7", "/p/" + id(0), "/p/" + id(1), "/p/" + id(2), "/p/" + id(3)}, seen)
	broken := errors.New("404")
	require.ErrorIs(t, Walk("/p", func(at string) (string, error) {
		if strings.HasPrefix(at, "/p/") {
			return "", broken
		}
		return site[at], nil
	}), broken)
}

func TestKind(t *testing.T) {
	t.Parallel()
	for at, kind := range map[string]string{
		"/console/p/sample_prg_06h0ez8tsxr6bdn2xr6ygq2k9m/partners/part_00000000000000000003200000/money": "/console/p/{id}/partners/{id}/money",
		"/p?days=30":             "/p?days=30",
		"/p/list?status=x&a=%20": "/p/list?a&status",
		"/p/payouts/batches":     "/p/payouts/batches",
	} {
		require.Equal(t, kind, Kind(at))
	}
}
