package mail

import (
	"fmt"
	"regexp"
	"strings"

	"rail/server/clock"
	"rail/server/currency"
)

// quote is text that others wrote, in both forms of a mail: as it is in plain
// text, and in Markdown escaped so that it shows the same and is no markup.
type quote struct{ plain, markdown string }

// markup is every character that can be markup.
var markup = regexp.MustCompile("[!-/:-@\\[-`{-~]")

// line returns s as a quote of one line.
func line(s string) quote {
	s = strings.Join(strings.Fields(s), " ")
	return quote{s, markup.ReplaceAllString(s, `\$0`)}
}

// lines returns s as a quote that keeps its lines: in Markdown each but the last
// of a paragraph ends with a hard break, and indentation becomes &nbsp;.
func lines(s string) quote {
	s = strings.Trim(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s), "\n")
	rows := strings.Split(s, "\n")
	out := make([]string, len(rows))
	for i, row := range rows {
		text := strings.TrimLeft(row, " \t")
		out[i] = strings.Repeat("&nbsp;", len(row)-len(text)) + line(text).markdown
		if text == "" {
			out[i] = ""
		} else if i+1 < len(rows) && strings.TrimSpace(rows[i+1]) != "" {
			out[i] += `\`
		}
	}
	return quote{s, strings.Join(out, "\n")}
}

// link returns an address of Rail's own, which Markdown makes a link.
func link(url string) quote { return quote{url, "<" + url + ">"} }

// saying returns m with a text. Arguments are strings of Rail's own, which may be
// Markdown, and quotes.
func (m Message) saying(format string, args ...any) Message {
	plain, markdown := make([]any, len(args)), make([]any, len(args))
	for i, a := range args {
		plain[i], markdown[i] = a, a
		if q, ok := a.(quote); ok {
			plain[i], markdown[i] = q.plain, q.markdown
		}
	}
	m.Plain, m.Markdown = fmt.Sprintf(format, plain...), fmt.Sprintf(format, markdown...)
	return m
}

// EndpointOff notifies the account's owner that an endpoint was turned off.
func EndpointOff(to, endpointID, url string, key string) Message {
	return Message{Purpose: "endpoint_off", Key: key, To: to, Subject: "A webhook endpoint was turned off"}.saying(
		"The last 20 events sent to the webhook endpoint %s (%s) all failed, "+
			"over at least five days. It was turned off and gets nothing more.\n\n"+
			"Turn it on again once the receiver works; events of the last 30 days can be replayed.\n", endpointID, line(url))
}

// Approved notifies an applicant of the approval.
func Approved(to, applicationID, program string) Message {
	return Message{
		Purpose: "application_approved", Key: applicationID, To: to, Subject: "Welcome to " + line(program).plain,
	}.saying(
		"Your application to the affiliate program of %s was approved. You are a partner now.\n", line(program))
}

// Rejected notifies an applicant of the reason, word for word.
func Rejected(to, applicationID, program, reason string) Message {
	return Message{
		Purpose: "application_rejected", Key: applicationID, To: to, Subject: "Your application to " + line(program).plain,
	}.saying(
		"Your application to the affiliate program of %s was not accepted.\n\n%s\n", line(program), lines(reason))
}

// NewReferral notifies a partner of a new lead; first says that it is the first.
func NewReferral(to, customerID string, first bool) Message {
	if first {
		return Message{Purpose: "first_referral", Key: customerID, To: to, Subject: "Your first referral"}.saying(
			"Congratulations: somebody whom you referred has just signed up, the first one.\n")
	}
	return Message{
		Purpose: "new_referral", Key: customerID, To: to, Subject: "A new referral",
	}.saying("Somebody whom you referred has just signed up.\n")
}

// PayoutPaid notifies a partner that money was sent.
func PayoutPaid(to, payoutID string, amountMinor int64, code string) Message {
	return Message{Purpose: "payout_paid", Key: payoutID, To: to, Subject: "Your payout was sent"}.saying(
		"We have sent you %s %s.\n", currency.Decimal(amountMinor, code), code)
}

// Invited sends a new partner the way into the portal.
func Invited(to, partnerID, program, link string) Message {
	return Message{
		Purpose: "partner_invited", Key: partnerID, To: to, Subject: "You are a partner of " + line(program).plain,
	}.saying("You are a partner of %s now. Your links and what you earn are in the portal, which this link opens once, "+
		"within seven days:\n\n<%s>\n", line(program), link)
}

// Banned notifies a partner that the cooperation has ended, with the reason word for
// word.
func Banned(to, partnerID, program, reason string, at clock.Time) Message {
	return Message{
		Purpose: "partner_banned", Key: partnerID + " " + at.String(), To: to,
		Subject: "Your account with " + line(program).plain + " was suspended",
	}.saying(
		"Your account in the affiliate program of %s was suspended. What you had earned and not been paid was rejected; "+
			"your links and coupons earn nothing any more.\n\n%s\n", line(program), lines(reason))
}

// SignIn brings a user of the console a link to sign in.
func SignIn(to, key, org, url string) Message {
	return Message{Purpose: "console_sign_in", Key: key, To: to, Subject: "Sign in to " + line(org).plain}.saying(
		"Sign in to the affiliate program of %s with this link. It works once, for 15 minutes:\n\n%s\n\n"+
			"If you did not ask for it, nothing needs to be done.\n", line(org), link(url))
}

// Password brings a user of the console a link to set another password.
func Password(to, key, org, url string) Message {
	return Message{Purpose: "console_password", Key: key, To: to, Subject: "Your password for " + line(org).plain}.saying(
		"Choose a new password for the affiliate program of %s with this link. It works once, for an hour:\n\n%s\n\n"+
			"If you did not ask for it, nothing needs to be done: your password is still the same.\n", line(org), link(url))
}

// Invitation brings somebody a link to become a user of the console.
func Invitation(to, key, org, url string) Message {
	return Message{Purpose: "console_invitation", Key: key, To: to, Subject: "You are invited to " + line(org).plain}.saying(
		"You are invited to work on the affiliate program of %s. Choose a password with this link. "+
			"It works once, for seven days:\n\n%s\n", line(org), link(url))
}

// Test shows the text of a mail to many to whoever writes it.
func Test(to, key, subject, markdown string) Message {
	const foot = "\n\n---\n\nThis is a test: nobody else got it.\n"
	return Message{
		Purpose: "campaign_test", Key: key, To: to, Subject: "Test: " + subject, Markdown: markdown + foot, Plain: markdown + foot,
	}
}
