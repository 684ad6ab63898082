package quota

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWith(t *testing.T) {
	t.Parallel()
	zero, five, off, on := int64(0), int64(5), false, true
	server := Plan{FlowQuota: 3, RevenueMeterMinor: 100, FraudMonitoring: true}
	for _, v := range []struct {
		own  Own
		want Plan
	}{
		{Own{}, server},
		{Own{FlowQuota: &five}, Plan{5, 100, true}},
		{Own{FlowQuota: &zero, RevenueMeterMinor: &zero}, Plan{0, 0, true}},
		{Own{RevenueMeterMinor: &five, FraudMonitoring: &off}, Plan{3, 5, false}},
		{Own{FraudMonitoring: &on}, server},
	} {
		require.Equal(t, v.want, server.With(v.own))
	}
}
