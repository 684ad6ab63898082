package handlers_test

import (
	"testing"

	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// M is a JSON object.
type M = apitest.M
