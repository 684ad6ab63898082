package api_test

import (
	"testing"

	"rail/server/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m, everyOperationIsTested) }
