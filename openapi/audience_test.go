package openapi_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// forConsole are the operations with x-audience: console. The value is how the console's pages call the operation, or
// why it has the mark although no page calls it.
var forConsole = map[string]string{
	"listPartnerNotes":        called,
	"createPartnerNote":       called,
	"retrievePartnerNote":     "completes the notes",
	"updatePartnerNote":       "completes the notes",
	"deletePartnerNote":       called,
	"retrievePartnerNoteFile": called,
	"listMails":               called,
	"retrieveMail":            "completes the mails",
	"retryMail":               called,
	"retrievePortalSettings":  called,
	"updatePortalSettings":    called,
	"previewCampaign":         called,
	"previewCampaignDraft":    called,
	"testCampaign":            called,
	"rehearseFlows":           called,
	"rehearseSale":            called,
	"rehearseAttribution":     called,
}

const called = "a page calls it"

// TestAudienceIsTheConsole: the marked operations are those of the list, the console's pages call them, and none is in
// the specification.
func TestAudienceIsTheConsole(t *testing.T) {
	t.Parallel()
	pages := consoleSource(t)
	marked := 0
	eachOperation(document(t), func(id string, op object, _ []any) {
		audience, has := op["x-audience"]
		require.Equal(t, forConsole[id] != "", has, id)
		require.Equal(t, has, op["x-badges"] != nil, id)
		if !has {
			return
		}
		marked++
		require.Equal(t, "console", audience, id)
		require.Equal(t, true, op["x-additive"], "%s is in the specification", id)
		call := regexp.MustCompile(`\b` + strings.ToUpper(id[:1]) + id[1:] + `With\w*\(|"` + id + `"`)
		require.Equal(t, forConsole[id] == called, call.MatchString(pages), id)
	})
	require.Len(t, forConsole, marked)
}

// consoleSource returns the Go source of the console without its tests.
func consoleSource(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../server/http/console/*.go")
	require.NoError(t, err)
	var all strings.Builder
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}
