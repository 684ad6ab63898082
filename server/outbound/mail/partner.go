package mail

import (
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/locale"
	"rail/server/opt"
)

// Reader is a partner, or somebody who wants to be one, whom a mail is written to in the name
// of a program.
type Reader struct {
	Email, ProgramID, Program string
	Locale                    *locale.Locale
}

// ToPartner returns a partner as a reader: in the partner's own language, or else in what a
// browser accepts, by its Accept-Language.
func ToPartner(p db.Partner, program db.Program, accept string) Reader {
	return Reader{p.Email, program.ID, program.Name, locale.Of(accept, opt.Value(p.LanguageCode))}
}

// PortalSignIn brings a partner a link into the portal; token is the link's.
func PortalSignIn(to Reader, key, token string) Message {
	return to.letter("portal_sign_in", key).titled("Sign in to %s", to.name()).
		says("Sign in to the partner portal of %s with this link. It works once, for 30 minutes.", to.name()).
		offers("Sign in", "portal/sign-in/"+token).
		says("If you didn’t request it, you can ignore this email.").Message
}

// Approved notifies an applicant of the approval.
func Approved(to Reader, applicationID string) Message {
	return to.letter("application_approved", applicationID).titled("Welcome to %s", to.name()).
		says("Your application to the affiliate program of %s was approved. You are a partner now.", to.name()).
		offers("Open your portal", to.portal()).Message
}

// Rejected notifies an applicant of the reason, word for word.
func Rejected(to Reader, applicationID, reason string) Message {
	return to.letter("application_rejected", applicationID).titled("Your application to %s", to.name()).
		says("Your application to the affiliate program of %s was not accepted.", to.name()).
		quotes(lines(reason)).Message
}

// NewReferral notifies a partner of a new lead; first says that it is the first.
func NewReferral(to Reader, customerID string, first bool) Message {
	l := to.letter("new_referral", customerID).titled("A new referral").
		says("Good news: someone you referred to %s just signed up.", to.name())
	if first {
		l = to.letter("first_referral", customerID).titled("Your first referral").
			says("Congratulations! Your first referral to %s just signed up.", to.name())
	}
	return l.offers("See it", "portal/customers").chosen().Message
}

// PayoutPaidPurpose is the purpose of PayoutPaid, by which such a mail is recalled.
const PayoutPaidPurpose = "payout_paid"

// PayoutPaid notifies a partner that money was sent.
func PayoutPaid(to Reader, payoutID string, amountMinor int64, code string) Message {
	return to.letter(PayoutPaidPurpose, payoutID).titled("Your payout was sent").
		says("%s has sent you %s.", to.name(), line(to.Locale.Money(amountMinor, code))).
		offers("See your payouts", "portal/payouts").chosen().Message
}

// PayoutDetailsChanged notifies a partner that the payout method or its details have changed. Partners
// cannot turn it off, because it warns them of changes they did not make.
func PayoutDetailsChanged(to Reader, partnerID string, at clock.Time) Message {
	return to.letter("payout_details_changed", partnerID+" "+at.String()).titled("Your payout details were changed").
		says("Your payout details at %s were changed. Your next payout uses the new details.", to.name()).
		says("If you didn’t make this change, reply to this email immediately.").
		offers("See your payout details", "portal/settings").Message
}

// Invited sends a new partner the way into the portal; token is the link's.
func Invited(to Reader, partnerID, token string) Message {
	return to.letter("partner_invited", partnerID).titled("You are a partner of %s", to.name()).
		says("You’ve been invited to the %s partner program. Open your portal to get your link. "+
			"(The link works once, for 7 days.)", to.name()).
		offers("Open your portal", "portal/sign-in/"+token).Message
}

// Banned notifies a partner that the cooperation has ended, with the reason word for word.
func Banned(to Reader, partnerID, reason string, at clock.Time) Message {
	return to.letter("partner_banned", partnerID+" "+at.String()).
		titled("Your account with %s was suspended", to.name()).
		says("Your account in the affiliate program of %s was suspended. Unpaid commissions have been declined, "+
			"and your links and coupons no longer earn.", to.name()).
		quotes(lines(reason)).Message
}
