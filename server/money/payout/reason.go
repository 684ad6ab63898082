package payout

import (
	"cmp"

	"rail/gen/db"
	"rail/server/locale"
	"rail/server/opt"
)

// PartnerReason returns why a payout failed, for its partner and in its language. The messages about PayPal address the
// merchant, so PartnerReason has other words for failures that a partner can resolve, and "" for the rest. Reasons from
// files, services and people are shown as they were entered.
func PartnerReason(l *locale.Locale, p db.Payout) string {
	if opt.Value(p.Rail) != string(db.PayoutRailKindPaypal) {
		return cmp.Or(opt.Value(p.ErrorMessage), opt.Value(p.ErrorCode))
	}
	switch opt.Value(p.ErrorCode) {
	case "RECEIVER_UNREGISTERED", "RECEIVER_ACCOUNT_INVALID":
		return l.T("PayPal has no account with this address. Open one with it, or enter the address of another account.")
	case "RECEIVER_UNCONFIRMED":
		return l.T("You have not confirmed this address at PayPal. Confirm it in your PayPal account.")
	case "RECEIVER_ACCOUNT_LOCKED":
		return l.T("Your PayPal account is inactive or restricted. Ask PayPal, or enter the address of another account.")
	case "RECEIVER_YOUTH_ACCOUNT", "SELF_PAY_NOT_ALLOWED":
		return l.T("PayPal cannot pay to this account. Enter the address of another account.")
	case "RECEIVER_COUNTRY_NOT_ALLOWED", "RECEIVER_STATE_RESTRICTED", "CURRENCY_COMPLIANCE", "REGULATORY_BLOCKED":
		return l.T("PayPal cannot send you this payment. Choose another payout method.")
	case "RECEIVER_REFUSED":
		return l.T("The payment was refused in your PayPal account.")
	case "RECEIVING_LIMIT_EXCEEDED":
		return l.T("Your PayPal account has reached its limit for receiving money. Raise the limit at PayPal.")
	case "CURRENCY_NOT_SUPPORTED_FOR_RECEIVER":
		return l.T("Your PayPal account cannot receive this currency. Enable it at PayPal, or choose another payout method.")
	case "RETURNED":
		return l.T("You did not claim the money in time, and PayPal returned it.")
	}
	return ""
}
