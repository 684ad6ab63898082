package inbox_test

import (
	"testing"

	"rail/server/harness/apitest"
	"rail/server/inbound/connection"
)

// M is a JSON object.
type M = apitest.M

// inboxed adds the steps of this package's stories to apitest.Inboxed.
type inboxed struct{ apitest.Inboxed }

func newInboxed(t *testing.T, options ...func(*connection.Input)) inboxed {
	t.Helper()
	return inboxed{apitest.NewInboxed(t, options...)}
}
