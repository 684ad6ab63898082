package api

// Unimplemented lists the operationIds without a handler. They answer 501
// after authentication and scope, and before anything is read or written.
var Unimplemented = []string{
	"approveApplication", "createApplication", "listApplications", "rejectApplication", "retrieveApplication", "withdrawApplication",
	"approveCommission", "createCommission", "listMaturingCommissions", "rejectCommission",
	"refundSale",
	"deletePayout", "listPayouts", "markPayoutPaid", "retrievePayout",
	"createPayoutBatch", "listPayoutBatches", "retrievePayoutBatch",
	"retrieveReport",
	"listRiskFlags", "resolveRiskFlag", "retrieveRiskFlag", "reviewRiskFlag",
	"createResource", "deleteResource", "listResources", "retrieveResource", "updateResource",
	"createCampaign", "deleteCampaign", "listCampaigns", "pauseCampaign", "retrieveCampaign", "sendCampaign", "updateCampaign",
	"createSequence", "deleteSequence", "listSequences", "pauseSequence", "resumeSequence", "retrieveSequence",
	"createWebhookEndpoint", "deleteWebhookEndpoint", "listWebhookEndpoints", "pingWebhookEndpoint", "replayWebhookEndpoint",
	"retrieveWebhookEndpoint", "rotateWebhookEndpointSecret", "updateWebhookEndpoint",
	"listWebhookDeliveries", "replayWebhookDelivery", "listWebhookEvents",
	"createTaxFormStatus", "listTaxFormStatuses", "retrieveTaxFormStatus",
	"listAuditLogEntries",
}
