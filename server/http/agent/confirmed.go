package agent

import (
	"net/http"
	"slices"

	"rail/openapi"
	"rail/server/auth"
)

// always are the operations that a person confirms whatever their arguments are (decisions, 431).
var always = map[string]bool{
	// They change what is owed, or to whom.
	"approveCommission": true,
	"banPartner":        true,
	"correctCommission": true,
	"createRefund":      true,
	"creditCustomer":    true,
	"deleteCoupon":      true,
	"deleteCustomer":    true,
	"deletePartner":     true,
	"detachExternalID":  true,
	"mergeCustomer":     true,
	"refundSale":        true,
	"rejectCommission":  true,
	"resolveInboxEvent": true,
	"runImport":         true,
	"undoImport":        true,
	"undoPartnerBan":    true,
	// They change what later sales pay, or lift what holds payments.
	"createFlow":          true,
	"createTaxFormStatus": true,
	"deleteFlow":          true,
	"deleteGroup":         true,
	"deleteTag":           true,
	"resolveRiskFlag":     true,
	"reviewRiskFlag":      true,
	"updateFlow":          true,
	"updateProgram":       true,
	// The applicant's own text asks for them.
	"approveApplication": true,
	"reopenApplication":  true,
	// They write to many people, publish, or send data elsewhere.
	"createResource":        true,
	"createSequence":        true,
	"deleteWebhookEndpoint": true,
	"resumeCampaign":        true,
	"resumeSequence":        true,
	"sendCampaign":          true,
	"updateCampaign":        true,
	"updatePortalSettings":  true,
	"updateResource":        true,
	"updateSequence":        true,
	"updateWebhookEndpoint": true,
}

// members are arguments with which a person confirms an operation.
var members = map[string][]string{
	"createCampaign": {"scheduled_at"},
	"createPartner":  {"group_id", "tag_ids"},
	"createProgram":  {"agent_limit_minor"},
	"updateCoupon":   {"partner_id"},
	"updateCustomer": {"partner_id", "status"},
	"updateGroup":    {"is_default"},
	"updatePartner":  {"payout_method", "payout_details", "group_id", "tag_ids", "country_code", "status"},
}

// Confirmed reports whether a person must confirm an operation of an agent (decisions, 431). A dry run changes nothing.
// createCommission is not among them: its rule is the program's limit, which the commission itself checks.
func Confirmed(o openapi.Operation, args Arguments) bool {
	switch {
	case DryRun(o, args):
		return false
	case slices.Contains(o.Scopes, auth.ScopePayouts), always[o.ID]:
		return true
	}
	return slices.ContainsFunc(members[o.ID], func(name string) bool { _, has := args[name]; return has })
}

// DryRun reports whether an operation is asked for a dry run that stores nothing; that of an import stores its report.
func DryRun(o openapi.Operation, args Arguments) bool {
	return o.ID != "createImport" && o.Body != nil && o.Body.Properties["dry_run"] != nil && args.isTrue("dry_run")
}

// Payouts reports whether an operation is one on payouts, for which the console asks again who confirms.
func (o Operation) Payouts() bool { return slices.Contains(o.Scopes, auth.ScopePayouts) }

// Destroys reports whether an operation deletes or ends something.
func (o Operation) Destroys() bool { return o.Method == http.MethodDelete || ending[o.ID] }

// ending are operations that are no deletion but cannot be undone.
var ending = map[string]bool{
	"banPartner": true, "deleteGroup": true, "mergeCustomer": true, "undoImport": true,
}
