package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSettingsOfLists changes payout methods and link parameters; a form without them keeps them.
func TestSettingsOfLists(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.Contains(t, s.owner.page("/settings"), "must choose another before their next payout")
	s.owner.done(s.owner.send("/settings", "url_params", "via, ref", "payout_methods", "wise", "payout_methods", "paypal",
		"lists", "payout_methods"))
	listed := func() []any {
		p := s.Must(200, s.Get("/v1/programs/"+s.program))
		return []any{p.Body["url_params"], p.Body["payout_methods"]}
	}
	require.Equal(t, []any{[]any{"via", "ref"}, []any{"wise", "paypal"}}, listed())
	page := s.owner.page("/settings")
	require.Contains(t, page, `value="via ref"`)
	require.Contains(t, page, `value="wise" checked`)
	s.owner.done(s.owner.send("/settings", "name", "Renamed"))
	require.Equal(t, []any{[]any{"via", "ref"}, []any{"wise", "paypal"}}, listed())
	s.owner.says(400, `aria-invalid="true"`, s.owner.send("/settings", "url_params", "a/b"))
	s.owner.says(400, `aria-invalid="true"`, s.owner.send("/settings", "url_params", ""))
	s.owner.done(s.owner.send("/settings", "lists", "payout_methods"))
	require.Equal(t, []any{[]any{"via", "ref"}, []any{}}, listed())
}

// TestNewProgramWarns: the form marks the fields that cannot be changed later.
func TestNewProgramWarns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.owner.page("/console/new")
	require.Contains(t, page, "Cannot be changed later. A three-letter code")
	require.Contains(t, page, "Cannot be changed later. Part of the join page’s address")
	require.Contains(t, page, "You can add and remove methods later.")
}
