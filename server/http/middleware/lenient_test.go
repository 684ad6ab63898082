package middleware_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
)

// TestLenient: with the setting, unknown members are ignored, except members that Go would decode
// as known ones.
func TestLenient(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.IgnoreUnknownFields = true })
	program := s.Program()
	a := s.Must(201, s.Post("/v1/tags", M{"program_id": program, "name": "x", "colour": "red", "more": M{"a": 1}}))
	require.Equal(t, "#64748B", a.String("color"))
	s.Refused(400, "parameter_unknown", "Color", s.Post("/v1/tags", M{
		"program_id": program, "name": "y", "Color": "nonsense",
	}))
	s.Refused(400, "parameter_invalid", "color", s.Post("/v1/tags", M{
		"program_id": program, "name": "y", "color": "nonsense",
	}))
	flow := M{
		"program_id": program, "name": "f", "rate_type": "percent", "rate_value": 1,
		"branches": []M{{"conditions": []M{}, "rate_type": "percent", "rate_value": 1, "Label": 5}},
	}
	s.Refused(400, "parameter_unknown", "branches.Label", s.Post("/v1/flows", flow))
}
