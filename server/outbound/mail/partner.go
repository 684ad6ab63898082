package mail

import (
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/locale"
	"rail/server/opt"
)

// Recipient is the partner or applicant a program's mail is addressed to.
type Recipient struct {
	Email, ProgramID, Program string
	Locale                    *locale.Locale
}

// ToPartner returns a partner as a recipient, in the partner's language or else the browser's, by its
// Accept-Language.
func ToPartner(p db.Partner, program db.Program, accept string) Recipient {
	return Recipient{p.Email, program.ID, program.Name, locale.Of(accept, opt.Value(p.LanguageCode))}
}

// PortalSignIn sends a partner a sign-in link to the portal; token is the link's.
func PortalSignIn(to Recipient, key, token string) Message {
	return to.letter("portal_sign_in", key).subject("Sign in to %s", to.name()).
		paragraph("Sign in to the partner portal of %s with this link. It works once, for 30 minutes.", to.name()).
		button("Sign in", to.signIn(token)).
		paragraph("If you didn’t request it, you can ignore this email.").Message
}

// The purposes of mails about decisions, for recalling them.
const (
	ApprovedPurpose = "application_approved"
	RejectedPurpose = "application_rejected"
)

// DecisionHold is how long a mail about a person's decision waits, so that the decision can be undone.
const DecisionHold = 10 * time.Minute

// Approved notifies an applicant of the approval. token is that of a link to the portal; "" for none.
func Approved(to Recipient, applicationID, token string) Message {
	l := to.letter(ApprovedPurpose, applicationID).subject("Welcome to %s", to.name()).
		paragraph("Your application to the affiliate program of %s was approved. You are a partner now.", to.name())
	if token == "" {
		return l.button("Open your portal", to.portal()).Message
	}
	return l.paragraph("Open your portal to get your link. (The button works once, for 7 days.)").
		button("Open your portal", to.signIn(token)).Message
}

// Rejected notifies an applicant of the rejection, with the reason verbatim.
func Rejected(to Recipient, applicationID, reason string) Message {
	return to.letter(RejectedPurpose, applicationID).applicant().subject("Your application to %s", to.name()).
		paragraph("Your application to the affiliate program of %s was not accepted.", to.name()).
		quotes(lines(reason)).Message
}

// NewReferral notifies a partner of a new lead; first marks the first one.
func NewReferral(to Recipient, customerID string, first bool) Message {
	l := to.letter("new_referral", customerID).subject("A new referral").
		paragraph("Good news: someone you referred to %s just signed up.", to.name())
	if first {
		l = to.letter("first_referral", customerID).subject("Your first referral").
			paragraph("Congratulations! Your first referral to %s just signed up.", to.name())
	}
	return l.button("See it", "portal/customers").optional().Message
}

// PayoutPaidPurpose is the purpose of PayoutPaid, for recalling it.
const PayoutPaidPurpose = "payout_paid"

// PayoutPaid notifies a partner that money was sent.
func PayoutPaid(to Recipient, payoutID string, amountMinor int64, code string) Message {
	return to.letter(PayoutPaidPurpose, payoutID).subject("Your payout was sent").
		paragraph("%s has sent you %s.", to.name(), line(to.Locale.Money(amountMinor, code))).
		button("See your payouts", "portal/payouts").optional().Message
}

// PayoutFailed notifies a partner that money came back, with the reason verbatim; why may be empty.
func PayoutFailed(to Recipient, key string, amountMinor int64, code, why string) Message {
	l := to.letter("payout_failed", key).subject("Your payout failed").
		paragraph("%s could not pay you %s. The payment was rejected or came back.", to.name(),
			line(to.Locale.Money(amountMinor, code)))
	if why != "" {
		l = l.framed(why)
	}
	return l.paragraph("Please check your payout details. Once they are correct, the payout can be sent again.").
		button("See your payout details", "portal/settings").Message
}

// PayoutDetailsChanged notifies a partner of changed payout details. Partners cannot turn it off, because it
// warns them of changes they did not make.
func PayoutDetailsChanged(to Recipient, partnerID string, at clock.Time) Message {
	return to.letter("payout_details_changed", partnerID+" "+at.String()).subject("Your payout details were changed").
		paragraph("Your payout details at %s were changed. Your next payout uses the new details.", to.name()).
		paragraph("If you didn’t make this change, reply to this email immediately.").
		button("See your payout details", "portal/settings").Message
}

// Invited sends a new partner a link to the portal; token is the link's.
func Invited(to Recipient, partnerID, token string) Message {
	return to.letter("partner_invited", partnerID).subject("You are a partner of %s", to.name()).
		paragraph("You’ve been invited to the %s partner program. Open your portal to get your link. "+
			"(The link works once, for 7 days.)", to.name()).
		button("Open your portal", to.signIn(token)).Message
}

// Lost is what a banned partner loses. Links and Coupons say what no longer earns.
type Lost struct{ Commissions, Links, Coupons bool }

// Banned notifies a partner that the cooperation has ended, of what that means, and of the reason verbatim.
func Banned(to Recipient, partnerID, reason string, lost Lost, at clock.Time) Message {
	l := to.letter("partner_banned", partnerID+" "+at.String()).
		subject("Your account with %s was suspended", to.name()).
		paragraph("Your account in the affiliate program of %s was suspended.", to.name())
	if lost.Commissions {
		l = l.paragraph("Your unpaid commissions have been declined.")
	}
	switch {
	case lost.Links && lost.Coupons:
		l = l.paragraph("Your links and coupons no longer earn.")
	case lost.Links:
		l = l.paragraph("Your links no longer earn.")
	case lost.Coupons:
		l = l.paragraph("Your coupons no longer earn.")
	}
	return l.paragraph("The reason:").framed(reason).Message
}
