package mail

import (
	"fmt"
	"strings"

	"rail/server/rules"
)

// plainLine keeps what others have written from becoming markup or a second
// line.
func plainLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer("\\", "\\\\", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<", "\\<", ">", "\\>", "`", "\\`", "#", "\\#", "!", "\\!").Replace(s)
}

// EndpointOff tells the account's owner that an endpoint was turned off.
func EndpointOff(to, endpointID, url string, key string) Message {
	return Message{
		Purpose: "endpoint_off", Key: key, To: to, Subject: "A webhook endpoint was turned off",
		Markdown: fmt.Sprintf("The last 20 events sent to the webhook endpoint %s (%s) all failed, over at least five days. It was turned off and gets nothing more.\n\n"+
			"Turn it on again once the receiver works; events of the last 30 days can be replayed.\n", endpointID, plainLine(url)),
	}
}

// Approved tells an applicant the good news.
func Approved(to, applicationID, program string) Message {
	return Message{
		Purpose: "application_approved", Key: applicationID, To: to, Subject: "Welcome to " + program,
		Markdown: fmt.Sprintf("Your application to the affiliate program of %s was approved. You are a partner now.\n", plainLine(program)),
	}
}

// Rejected tells an applicant the reason, word for word.
func Rejected(to, applicationID, program, reason string) Message {
	return Message{
		Purpose: "application_rejected", Key: applicationID, To: to, Subject: "Your application to " + program,
		Markdown: fmt.Sprintf("Your application to the affiliate program of %s was not accepted.\n\n%s\n", plainLine(program), plainLine(reason)),
	}
}

// NewReferral tells a partner of a new lead; first says that it is the first.
func NewReferral(to, customerID string, first bool) Message {
	m := Message{Purpose: "new_referral", Key: customerID, To: to, Subject: "A new referral", Markdown: "Somebody whom you referred has just signed up.\n"}
	if first {
		m.Purpose, m.Subject = "first_referral", "Your first referral"
		m.Markdown = "Congratulations: somebody whom you referred has just signed up, the first one.\n"
	}
	return m
}

// PayoutPaid tells a partner that money was sent.
func PayoutPaid(to, payoutID string, amountMinor int64, currency string) Message {
	return Message{
		Purpose: "payout_paid", Key: payoutID, To: to, Subject: "Your payout was sent",
		Markdown: fmt.Sprintf("We have sent you %s %s.\n", rules.Decimal(amountMinor, currency), currency),
	}
}
