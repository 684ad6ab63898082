package handlers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/inbound/connection"
)

// A connection is returned without its secrets, and only the working one is active.
func TestProcessorConnections(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	old, c := s.Connect(program), s.Connect(program)
	trial := s.Connect(program, func(in *connection.Input) { in.Live, in.RecordDirect = false, true })
	got := s.Must(200, s.Get("/v1/processor_connections/"+c.ID))
	require.Equal(t, []any{
		"generic", true, "https://rail.example/hooks/generic/" + c.ID, "active", false, nil, s.Clock.Now().String(),
	}, []any{
		got.String("processor"), got.Body["livemode"], got.String("url"), got.String("status"), got.Body["record_direct"],
		got.Body["last_event_at"], got.String("created_at"),
	})
	require.NotContains(t, string(got.Raw), c.Signing)
	ended := s.Must(200, s.Get("/v1/processor_connections?status=disconnected&program_id="+program))
	require.Equal(t, old.ID, ended.Data()[0]["id"])
	require.EqualValues(t, 1, ended.Int("total_count"))
	require.EqualValues(t, 2, s.Get("/v1/processor_connections?status=active&program_id="+program).Int("total_count"))
	require.Equal(t, true, s.Get("/v1/processor_connections/" + trial.ID).Body["record_direct"])
	s.Refused(404, "resource_not_found", "", s.Get("/v1/processor_connections/pco_none"))
	s.Refused(404, "resource_not_found", "program_id",
		s.Get("/v1/processor_connections/"+c.ID+"?program_id="+s.Program()))
	audited := s.Get("/v1/audit_log_entries?program_id=" + program + "&target_id=" + old.ID).Data()
	require.Len(t, audited, 2)
	require.Equal(t, "processor_connection.disconnected", audited[0]["action"])
}
