package agent_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/openapi"
	"rail/server/http/agent"
)

// TestConfirmed: without the arguments of confirmed.go, an agent does these writing operations at once. Every other one
// waits for a person: a new operation fails this test until it is in one of the lists.
func TestConfirmed(t *testing.T) {
	t.Parallel()
	spec, err := openapi.Read(openapi.Bundle)
	require.NoError(t, err)
	described, err := openapi.Operations(spec)
	require.NoError(t, err)
	all := agent.NewCatalogue(described)
	var atOnce []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if o := all[name]; !o.Reads() && !agent.Confirmed(o.Operation, agent.Arguments{}) {
			atOnce = append(atOnce, name)
		}
	}
	require.Equal(t, []string{
		"attachExternalID", "createApplication", "createAttributionToken", "createCampaign", "createClick",
		"createClickBatch", "createCommission", "createCoupon", "createCustomer", "createGroup", "createLink",
		"createPartner", "createProgram", "createSale", "createSaleBatch", "createTag", "deleteCampaign",
		"deleteLink", "deletePartnerNote", "deleteResource", "deleteSequence", "pauseCampaign", "pauseSequence",
		"pingWebhookEndpoint", "rejectApplication", "replayInboxEvent", "replayWebhookDelivery",
		"replayWebhookEndpoint", "retryMail", "setTestClock", "testCampaign", "updateCoupon", "updateCustomer",
		"updateGroup", "updateLink", "updatePartner", "updatePartnerNote", "updateTag", "withdrawApplication",
	}, atOnce)
}
