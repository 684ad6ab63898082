package mail

import (
	"fmt"
	"regexp"
	"strings"
)

// quote is text by others in both forms of a mail: plain, and as Markdown, escaped so that it looks the same
// without markup.
type quote struct{ plain, markdown string }

// markup matches every character that can be markup.
var markup = regexp.MustCompile("[!-/:-@\\[-`{-~]")

// line returns s as a quote of one line.
func line(s string) quote {
	s = strings.Join(strings.Fields(s), " ")
	return quote{s, markup.ReplaceAllString(s, `\$0`)}
}

// lines returns s as a quote that keeps its lines: in Markdown each but the last of a paragraph ends with a hard
// break, and indentation becomes &nbsp;.
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

// link returns an address of Rail, which Markdown makes a link.
func link(url string) quote { return quote{url, "<" + url + ">"} }

// withText returns m with a text. Arguments are Rail's own strings, which may be Markdown, and quotes.
func (m Message) withText(format string, args ...any) Message {
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

// EndpointOff notifies the account's owner of a disabled endpoint.
func EndpointOff(to, endpointID, url string, key string) Message {
	return Message{Purpose: "endpoint_off", Key: key, To: to, Subject: "A webhook endpoint was turned off"}.withText(
		"The last 20 events sent to the webhook endpoint %s (%s) all failed, "+
			"over at least five days. It was turned off and gets no more events.\n\n"+
			"Turn it on again once the receiver works; events of the last 30 days can be replayed.\n", endpointID, line(url))
}

// SignIn sends a console user a sign-in link.
func SignIn(to, key, org, url string) Message {
	return Message{Purpose: "console_sign_in", Key: key, To: to, Subject: "Sign in to " + line(org).plain}.withText(
		"Sign in to the affiliate program of %s with this link. It works once, for 15 minutes:\n\n%s\n\n"+
			"If you didn’t request it, you can ignore this email.\n", line(org), link(url))
}

// Password sends a console user a link to set a password.
func Password(to, key, org, url string) Message {
	return Message{Purpose: "console_password", Key: key, To: to, Subject: "Your password for " + line(org).plain}.withText(
		"Choose a new password for the affiliate program of %s with this link. It works once, for an hour:\n\n%s\n\n"+
			"If you did not request it, you can ignore this mail: your password stays the same.\n", line(org), link(url))
}

// Invitation sends a link to become a user of the console.
func Invitation(to, key, org, url string) Message {
	return Message{Purpose: "console_invitation", Key: key, To: to, Subject: "You are invited to " + line(org).plain}.withText(
		"You are invited to work on the affiliate program of %s. Choose a password with this link. "+
			"It works once, for seven days:\n\n%s\n", line(org), link(url))
}

// Test sends the text of a bulk mail to its author.
func Test(to, key, subject, markdown string) Message {
	const foot = "\n\n---\n\nThis is a test, sent only to you.\n"
	return Message{
		Purpose: "campaign_test", Key: key, To: to, Subject: "Test: " + subject, Markdown: markdown + foot, Plain: markdown + foot,
	}
}
