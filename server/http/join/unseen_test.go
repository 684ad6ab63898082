package join_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnseenCharacters: names and answers have none, one of nothing else is missing, and the id of a payout that is
// hidden behind them is refused before a mail goes.
func TestUnseenCharacters(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.says(422, "Please fill this in.", s.applies("ada@example.com", map[string]string{"first_name": "\u200b\u3164"}))
	s.says(422, "Please fill this in.", s.applies("ada@example.com", map[string]string{"answer_audience": "\u202e"}))
	hidden := "p\u200byt_01kb2m4q8e7v9t3n5x6c0d1f2g"
	s.says(422, "id of a payout", s.applies("ada@example.com", map[string]string{"last_name": hidden}))
	s.Must(422, s.applies("ada\u2800@example.com"))
	s.Must(303, s.applies("ada@example.com", map[string]string{"first_name": "علی\u200cرضا", "answer_audience": "\u202eMany\u200b"}))
	_, paths := s.mails("ada@example.com")
	s.Must(303, s.press(paths[0]))
	a := s.application()
	require.Equal(t, "Many", a["answers"].(M)["audience"])
	require.Equal(t, "علی\u200cرضا", a["partner"].(M)["first_name"])
}
