package handlers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/wait"
)

// planned sets a limit of an organization as the operator does, and waits until probe shows that
// both servers apply it.
func planned(t *testing.T, s *apitest.Server, org, column string, value any, probe func() bool) {
	t.Helper()
	_, err := s.Pool.Exec(t.Context(), "UPDATE organizations SET "+column+" = $2 WHERE id = $1", org, value)
	require.NoError(t, err)
	wait.Until(t, probe)
}

// TestFlowQuotaOfOrganization: an organization's quota applies to that organization alone, on every
// replica without a restart. "none" removes the server's limit, and null restores it.
func TestFlowQuotaOfOrganization(t *testing.T) {
	t.Parallel()
	quota := func(c *config.Config) { c.FlowQuota = 1 }
	s := apitest.New(t, quota)
	replica := apitest.On(t, s.DSN, s.Clock, quota)
	program, other := s.Program(), replica.Program()
	body := func(program string) M {
		return M{"program_id": program, "name": "Rule", "rate_type": "fixed", "rate_value": 1}
	}
	s.Must(201, s.Post("/v1/flows", body(program)))
	replica.Must(201, replica.Post("/v1/flows", body(other)))
	s.Refused(402, "flow_quota_exceeded", "", s.Post("/v1/flows", body(program)))

	own := func(r *apitest.Server, status int) func() bool {
		return func() bool { return r.Do("POST", "/v1/flows", s.Key, body(program)).Status == status }
	}
	changed := time.Now()
	planned(t, s, s.Org, "flow_quota", 3, own(s, 201))
	wait.Until(t, own(replica, 201), "the other replica")
	require.Less(t, time.Since(changed), 10*time.Second, "a second, and some for a busy machine")
	s.Refused(402, "flow_quota_exceeded", "", s.Post("/v1/flows", body(program)))
	replica.Refused(402, "flow_quota_exceeded", "", replica.Post("/v1/flows", body(other)))
	planned(t, s, s.Org, "flow_quota", 0, own(s, 201))
	planned(t, s, s.Org, "flow_quota", nil, own(s, 402))
}

// TestRevenueMeterOfOrganization: an organization can have a different meter.
func TestRevenueMeterOfOrganization(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	key := s.NewKey(s.NewOrg("Metered"), true, "read", "write")
	metered := *s
	metered.Key = key
	_, err := s.Pool.Exec(t.Context(), "UPDATE organizations SET revenue_meter_minor = 4998 WHERE name = 'Metered'")
	require.NoError(t, err)
	approve := func(s *apitest.Server) apitest.Answer {
		program := s.Program()
		s.Sale(program, s.Customer(program, s.Partner(program)))
		return s.Post("/v1/applications/"+s.Must(201, apitest.Apply(s, program, "a@example.com")).String("id")+"/approve", nil)
	}
	s.Must(200, approve(s))
	metered.Refused(402, "revenue_meter_exceeded", "", approve(&metered))
	_, err = s.Pool.Exec(t.Context(), "UPDATE organizations SET revenue_meter_minor = 4999 WHERE name = 'Metered'")
	require.NoError(t, err)
	wait.Until(t, func() bool { return approve(&metered).Status == 200 })
}

// TestMonitoringOfOrganization: a check disabled for one organization stays enabled for the others,
// with a key and through the public short link. The reverse also holds.
func TestMonitoringOfOrganization(t *testing.T) {
	t.Parallel()
	all := []string{"disposable_email", "paid_traffic", "paid_traffic"}
	for _, server := range []bool{true, false} {
		s := apitest.New(t, func(c *config.Config) { c.FraudMonitoring = server })
		other := *s
		other.Org = s.NewOrg("Other")
		other.Key = s.NewKey(other.Org, true, "read", "write")
		_, err := s.Pool.Exec(t.Context(), "UPDATE organizations SET fraud_monitoring = $1 WHERE id = $2", !server, other.Org)
		require.NoError(t, err)
		on, off := s, &other
		if !server {
			on, off = off, on
		}
		require.ElementsMatch(t, all, flagged(on), server)
		require.Empty(t, flagged(off), server)
	}
}

// flagged causes every flag in a new program, and returns the kinds of its flags.
func flagged(s *apitest.Server) (kinds []string) {
	program := s.Program()
	ada, bob := s.Partner(program, M{"handle": "ada"}), s.Partner(program)
	s.Click(program, "ada", M{"landing_url": "https://shop.example/?ref=ada&gclid=x"})
	s.Customer(program, ada, M{"email": "x@mailinator.com"})
	link := M{"program_id": program, "partner_id": bob, "destination_url": "https://shop.example/?gclid=x"}
	s.Must(302, apitest.Follow(s, "GET", s.Must(201, s.Post("/v1/links", link)).String("short_slug")))
	for _, f := range s.Must(200, s.Get("/v1/risk_flags?program_id="+program)).Data() {
		kinds = append(kinds, f["kind"].(string))
	}
	return kinds
}
