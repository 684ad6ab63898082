package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/team"
)

// TestSavedFilters saves the filters of a list for one person, shows them, and deletes them.
func TestSavedFilters(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NotContains(t, s.owner.page("/partners"), "Save these filters", "no filter is set")
	require.Contains(t, s.owner.page("/partners?status=active"), "Save these filters")
	save := func(name, query string) string {
		return s.owner.done(s.owner.send("/views", "page", "/partners", "name", name, "query", query))
	}
	require.Equal(t, "The filters are saved.", save("Active ones", "status=active&after=part_x&search="))
	page := s.owner.page("/partners?status=active")
	require.Contains(t, page, `href="`+s.at+`/partners?status=active" aria-current="true"`)
	require.NotContains(t, page, "Save these filters", "they are saved")
	require.NotContains(t, s.owner.page("/customers"), "Active ones")
	require.NotContains(t, s.person(s.Org, team.Owner).page("/partners"), "Active ones", "of another person")

	require.Equal(t, "The filters are saved.", save("Active ones", "status=pending"))
	page = s.owner.page("/partners")
	require.Equal(t, 1, strings.Count(page, "saved-view"), "one name, one set of filters")
	require.Contains(t, page, "/partners?status=pending")

	for _, wrong := range [][2]string{{"", "is required"}, {strings.Repeat("x", 61), "at most 60"}} {
		require.Contains(t, save(wrong[0], "status=active"), wrong[1])
	}
	require.Contains(t, save("Long", "search="+strings.Repeat("x", 1000)), "too long")
	s.Must(404, s.owner.send("/views", "page", "/../keys", "name", "x", "query", ""))
	stranger := s.person(s.NewOrg("Other"), team.Owner)
	stranger.says(404, "Page not found", stranger.send(s.at+"/views", "page", "/partners", "name", "x", "query", ""))

	s.owner.done(s.owner.send("/views/delete", "page", "/partners", "name", "Active ones"))
	require.NotContains(t, s.owner.page("/partners"), "Active ones")
	for i := range 50 {
		require.Equal(t, "The filters are saved.", save(fmt.Sprintf("v%d", i), "status=active"))
	}
	require.Contains(t, save("one more", "status=active"), "at most 50")
	require.Equal(t, "The filters are saved.", save("v7", "status=pending"), "in place of one that exists")
}
