// Package problem has the closed list of the API's error codes, and the table from a code to its
// type and HTTP status (decisions, 3 to 5).
//
// The rules return an *Error for a fault of the client. Every other failure is an ordinary error,
// which the HTTP layer answers as an internal one. The package does not depend on HTTP.
package problem

import "net/http"

// Code is a value of error.code. Codes are stable; clients branch on them.
type Code string

// The codes, grouped by type and status. A new one also needs its example in openapi/codes.yaml, and a class below.
const (
	// 401: the key or the signature of the request.

	APIKeyMissing     Code = "api_key_missing"
	APIKeyInvalid     Code = "api_key_invalid"
	APIKeyRevoked     Code = "api_key_revoked"
	SignatureRequired Code = "signature_required"
	SignatureInvalid  Code = "signature_invalid"
	SignatureExpired  Code = "signature_expired"

	// 403.

	InsufficientScope Code = "insufficient_scope"
	OriginNotAllowed  Code = "origin_not_allowed"

	// 400: a part of the request, which Param names.

	InvalidJSON         Code = "invalid_json"
	ParameterMissing    Code = "parameter_missing"
	ParameterInvalid    Code = "parameter_invalid"
	ParameterUnknown    Code = "parameter_unknown"
	ParametersExclusive Code = "parameters_exclusive"
	InvalidCursor       Code = "invalid_cursor"
	InvalidExpand       Code = "invalid_expand"
	InvalidInclude      Code = "invalid_include"
	InvalidReference    Code = "invalid_reference"
	InvalidCondition    Code = "invalid_condition"
	FlowTooLarge        Code = "flow_too_large"
	RangeTooLarge       Code = "range_too_large"
	URLNotAllowed       Code = "url_not_allowed"
	CountryBlocked      Code = "country_blocked"
	UnsupportedVersion  Code = "unsupported_version"

	// 405, 413, 415 and 422, of the same type as 400.

	MethodNotAllowed     Code = "method_not_allowed"
	PayloadTooLarge      Code = "payload_too_large"
	UnsupportedMediaType Code = "unsupported_media_type"
	IdempotencyKeyReused Code = "idempotency_key_reused"

	// 404: the same for an object of another organization.

	ResourceNotFound      Code = "resource_not_found"
	RouteNotFound         Code = "route_not_found"
	TrackingValueNotFound Code = "tracking_value_not_found"
	TestClockOff          Code = "test_clock_off"

	// 409: a value that must be unique; some answers have the existing object.

	PartnerEmailTaken       Code = "partner_email_taken"
	PartnerExternalIDTaken  Code = "partner_external_id_taken"
	PartnerHandleTaken      Code = "partner_handle_taken"
	LinkValueTaken          Code = "link_value_taken"
	CouponCodeTaken         Code = "coupon_code_taken"
	TagNameTaken            Code = "tag_name_taken"
	GroupNameTaken          Code = "group_name_taken"
	CustomerExternalIDTaken Code = "customer_external_id_taken"
	CustomerExternalIDLimit Code = "customer_external_id_limit"
	CustomersOfTwoPartners  Code = "customers_of_two_partners"
	CustomerMergeLimit      Code = "customer_merge_limit"
	CustomerHasPartner      Code = "customer_has_partner"
	CreditLimit             Code = "credit_limit"

	// 409: the object is in a state that does not allow it.

	ApplicationAlreadyDecided  Code = "application_already_decided"
	ApplicationNotReopenable   Code = "application_not_reopenable"
	CommissionNotPending       Code = "commission_not_pending"
	CommissionAlreadyPaid      Code = "commission_already_paid"
	CommissionNotOpen          Code = "commission_not_open"
	CommissionNotCorrectable   Code = "commission_not_correctable"
	CommissionInPayout         Code = "commission_in_payout"
	SaleRefunded               Code = "sale_refunded"
	RefundWaiting              Code = "refund_waiting"
	CustomerHasSales           Code = "customer_has_sales"
	CustomerHasPaidCommissions Code = "customer_has_paid_commissions"
	DefaultGroupUndeletable    Code = "default_group_undeletable"
	PayoutInFlight             Code = "payout_in_flight"
	PayoutAlreadyPaid          Code = "payout_already_paid"
	PayoutNotPayable           Code = "payout_not_payable"
	PayoutNotUndoable          Code = "payout_not_undoable"
	ConfirmationDiffers        Code = "confirmation_differs"
	PayoutNotFailed            Code = "payout_not_failed"
	PayoutFailureEmailed       Code = "payout_failure_emailed"
	PayoutBatchGenerating      Code = "payout_batch_generating"
	PayoutRailPays             Code = "payout_rail_pays"
	PayoutRailDisconnected     Code = "payout_rail_disconnected"
	ImportActive               Code = "import_active"
	ImportNotReady             Code = "import_not_ready"
	PayoutRailTest             Code = "payout_rail_test"
	PayoutNotOnRail            Code = "payout_not_on_rail"
	PayoutAttentionOpen        Code = "payout_attention_open"
	PayoutNotPaid              Code = "payout_not_paid"
	CampaignNotSendable        Code = "campaign_not_sendable"
	CampaignNotPausable        Code = "campaign_not_pausable"
	CampaignNotResumable       Code = "campaign_not_resumable"
	CampaignNotEditable        Code = "campaign_not_editable"
	CampaignAudienceEmpty      Code = "campaign_audience_empty"
	MailNotRetryable           Code = "mail_not_retryable"
	PartnerNotActive           Code = "partner_not_active"
	PartnerNotReviewed         Code = "partner_not_reviewed"
	PartnerBanNotUndoable      Code = "partner_ban_not_undoable"
	PartnerNoteLimit           Code = "partner_note_limit"
	RiskFlagClosed             Code = "risk_flag_closed"
	InboxEventNotResolvable    Code = "inbox_event_not_resolvable"
	ProgramPaused              Code = "program_paused"
	ReferralExpired            Code = "referral_expired"
	SelfReferralBlocked        Code = "self_referral_blocked"
	WebhookEndpointDisabled    Code = "webhook_endpoint_disabled"
	WebhookEndpointLimit       Code = "webhook_endpoint_limit"
	WebhookEventExpired        Code = "webhook_event_expired"
	WebhookTestDelivery        Code = "webhook_test_delivery"
	IdempotencyInProgress      Code = "idempotency_in_progress"

	// 429.

	RateLimitExceeded Code = "rate_limit_exceeded"

	// 402: a limit of the organization.

	FlowQuotaExceeded    Code = "flow_quota_exceeded"
	RevenueMeterExceeded Code = "revenue_meter_exceeded"

	// 501: the operator has not configured it.

	EmailNotConfigured Code = "email_not_configured"
	RailNotConfigured  Code = "rail_not_configured"

	// 500 and 503.

	InternalError Code = "internal_error"
	Unavailable   Code = "unavailable"
)

// class is the type of a code, error.type in answers, and its HTTP status.
type class struct {
	kind   string
	status int
}

// The classes of several codes; the table has the others.
var (
	authentication = class{"authentication_error", http.StatusUnauthorized}
	permission     = class{"permission_error", http.StatusForbidden}
	invalid        = class{"invalid_request_error", http.StatusBadRequest}
	notFound       = class{"not_found_error", http.StatusNotFound}
	conflict       = class{"conflict_error", http.StatusConflict}
	plan           = class{"plan_error", http.StatusPaymentRequired}
	notImplemented = class{"not_implemented_error", http.StatusNotImplemented}
)

// classes maps codes to types and statuses.
var classes = map[Code]class{
	APIKeyMissing:     authentication,
	APIKeyInvalid:     authentication,
	APIKeyRevoked:     authentication,
	SignatureRequired: authentication,
	SignatureInvalid:  authentication,
	SignatureExpired:  authentication,

	InsufficientScope: permission,
	OriginNotAllowed:  permission,

	InvalidJSON:         invalid,
	ParameterMissing:    invalid,
	ParameterInvalid:    invalid,
	ParameterUnknown:    invalid,
	ParametersExclusive: invalid,
	InvalidCursor:       invalid,
	InvalidExpand:       invalid,
	InvalidInclude:      invalid,
	InvalidReference:    invalid,
	InvalidCondition:    invalid,
	FlowTooLarge:        invalid,
	RangeTooLarge:       invalid,
	URLNotAllowed:       invalid,
	CountryBlocked:      invalid,
	UnsupportedVersion:  invalid,

	MethodNotAllowed:     {"invalid_request_error", http.StatusMethodNotAllowed},
	PayloadTooLarge:      {"invalid_request_error", http.StatusRequestEntityTooLarge},
	UnsupportedMediaType: {"invalid_request_error", http.StatusUnsupportedMediaType},
	IdempotencyKeyReused: {"invalid_request_error", http.StatusUnprocessableEntity},

	ResourceNotFound:      notFound,
	RouteNotFound:         notFound,
	TrackingValueNotFound: notFound,
	TestClockOff:          notFound,

	PartnerEmailTaken:       conflict,
	PartnerExternalIDTaken:  conflict,
	PartnerHandleTaken:      conflict,
	LinkValueTaken:          conflict,
	CouponCodeTaken:         conflict,
	TagNameTaken:            conflict,
	GroupNameTaken:          conflict,
	CustomerExternalIDTaken: conflict,
	CustomerExternalIDLimit: conflict,
	CustomersOfTwoPartners:  conflict,
	CustomerMergeLimit:      conflict,
	CustomerHasPartner:      conflict,
	CreditLimit:             conflict,

	ApplicationAlreadyDecided:  conflict,
	ApplicationNotReopenable:   conflict,
	CommissionNotPending:       conflict,
	CommissionAlreadyPaid:      conflict,
	CommissionNotOpen:          conflict,
	CommissionNotCorrectable:   conflict,
	CommissionInPayout:         conflict,
	SaleRefunded:               conflict,
	RefundWaiting:              conflict,
	CustomerHasSales:           conflict,
	CustomerHasPaidCommissions: conflict,
	DefaultGroupUndeletable:    conflict,
	PayoutInFlight:             conflict,
	PayoutAlreadyPaid:          conflict,
	PayoutNotPayable:           conflict,
	PayoutNotUndoable:          conflict,
	ConfirmationDiffers:        conflict,
	PayoutNotFailed:            conflict,
	PayoutFailureEmailed:       conflict,
	PayoutBatchGenerating:      conflict,
	PayoutRailPays:             conflict,
	PayoutRailDisconnected:     conflict,
	ImportActive:               conflict,
	ImportNotReady:             conflict,
	PayoutRailTest:             conflict,
	PayoutNotOnRail:            conflict,
	PayoutAttentionOpen:        conflict,
	PayoutNotPaid:              conflict,
	CampaignNotSendable:        conflict,
	CampaignNotPausable:        conflict,
	CampaignNotResumable:       conflict,
	CampaignNotEditable:        conflict,
	CampaignAudienceEmpty:      conflict,
	MailNotRetryable:           conflict,
	PartnerNotActive:           conflict,
	PartnerNotReviewed:         conflict,
	PartnerBanNotUndoable:      conflict,
	PartnerNoteLimit:           conflict,
	RiskFlagClosed:             conflict,
	InboxEventNotResolvable:    conflict,
	ProgramPaused:              conflict,
	ReferralExpired:            conflict,
	SelfReferralBlocked:        conflict,
	WebhookEndpointDisabled:    conflict,
	WebhookEndpointLimit:       conflict,
	WebhookEventExpired:        conflict,
	WebhookTestDelivery:        conflict,
	IdempotencyInProgress:      conflict,

	RateLimitExceeded: {"rate_limit_error", http.StatusTooManyRequests},

	FlowQuotaExceeded:    plan,
	RevenueMeterExceeded: plan,

	EmailNotConfigured: notImplemented,
	RailNotConfigured:  notImplemented,

	InternalError: {"api_error", http.StatusInternalServerError},
	Unavailable:   {"api_error", http.StatusServiceUnavailable},
}

// Codes returns every code, for tests and documents.
func Codes() []Code {
	out := make([]Code, 0, len(classes))
	for c := range classes {
		out = append(out, c)
	}
	return out
}
