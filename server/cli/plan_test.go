package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type object = map[string]any

// TestOrgPlan: the operator's limits of one organization, beside the environment's.
func TestOrgPlan(t *testing.T) {
	t.Parallel()
	r := newRail(t).running()
	r.environ["RAIL_REVENUE_METER_MINOR"] = "700"
	org := r.object("org", "create", "--name", "Acme")["id"].(string)
	other := r.object("org", "create", "--name", "Other")["id"].(string)
	limit := func(source string, n any) object { return object{"source": source, "limit": n} }
	shown := func(args ...string) object {
		t.Helper()
		v := r.object(append([]string{"org", "plan", org}, args...)...)
		require.Equal(t, v, r.object("org", "plan", org), "without flags it is only shown")
		return v
	}
	want := object{
		"id": org, "flow_quota": limit("default", nil), "revenue_meter_minor": limit("default", 700.0),
		"fraud_monitoring": object{"source": "default", "on": true},
	}
	require.Equal(t, want, shown())

	want["flow_quota"], want["fraud_monitoring"] = limit("organization", 5.0), object{
		"source": "organization", "on": false,
	}
	require.Equal(t, want, shown("--flow-quota", "5", "--fraud-monitoring", "off"))
	want["revenue_meter_minor"], want["fraud_monitoring"] = limit("organization", nil), object{
		"source": "organization", "on": true,
	}
	require.Equal(t, want, shown("--revenue-meter-minor", "none", "--fraud-monitoring", "on"))
	want["flow_quota"], want["revenue_meter_minor"], want["fraud_monitoring"] = limit("default",
		nil), limit("organization", 9.0), object{"source": "default", "on": true}
	require.Equal(t, want, shown("--flow-quota", "default", "--revenue-meter-minor", "9", "--fraud-monitoring", "default"))
	require.Regexp(t,
		`(?m)^flow-quota +none +default\nrevenue-meter-minor +9 +organization\nfraud-monitoring +on +default\n$`,
		r.must("org", "plan", org))
	require.Equal(t, limit("default", 700.0), r.object("org", "plan", other)["revenue_meter_minor"],
		"the other organization has its own")

	for args, says := range map[string]string{
		"":                                "ORG_ID is missing",
		org + " --flow-quota 0":           "from 1 on, none or default",
		org + " --flow-quota -1":          "from 1 on, none or default",
		org + " --revenue-meter-minor x":  "from 1 on, none or default",
		org + " --fraud-monitoring maybe": "it must be on or off (or yes, no, true, false, 1, 0), or default",
	} {
		status, _, errs := r.run(strings.Fields("org plan " + args)...)
		require.Equal(t, 2, status, args)
		require.Contains(t, errs, says, args)
	}
	status, _, errs := r.run("org", "plan", "org_none", "--flow-quota", "1")
	require.Equal(t, 1, status)
	require.Contains(t, errs, `no organization "org_none"`)
	require.Contains(t, r.must("help", "org", "plan"), "RAIL_FLOW_QUOTA")
}
