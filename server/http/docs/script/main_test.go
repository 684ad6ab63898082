package script_test

import (
	"testing"

	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
