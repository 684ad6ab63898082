package mail

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"rail/server/locale"
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

// console begins a mail of Rail to a person of the console, in English.
func console(purpose, key, to string) letter {
	return letter{
		Message{Purpose: purpose, Key: key, To: to, Language: locale.English.Language()}, Recipient{Locale: locale.English},
	}
}

// link adds a button that opens an address.
func (l letter) link(text, url string) letter {
	return l.quotes(anchor(text, url, ` "`+buttonTitle+`"`))
}

// EndpointOff notifies the account's owner of a disabled endpoint.
func EndpointOff(to, endpointID, url string, key string) Message {
	l := console("endpoint_off", key, to)
	l.Subject = "A webhook endpoint was turned off"
	return l.says("The last 20 events sent to the webhook endpoint %s (%s) all failed, over at least five days. "+
		"It was turned off and gets no more events.", line(endpointID), line(url)).
		says("Turn it on again once the receiver works; events of the last 30 days can be replayed.").
		why("You’re receiving this email as the owner of the account.").Message
}

// PayoutAttention notifies the account's owner of a payout that a person should look at; why says the reason and the
// next step.
func PayoutAttention(to, key, program, why string) Message {
	l := console("payout_attention", key, to)
	l.Subject = "A payout of " + line(program).plain + " needs attention"
	return l.says("A payout of %s needs attention.", line(program)).says("%s", line(why)).
		says("All such payouts are in the console under Payouts, Needs attention. " +
			"You get this email at most once a day for each reason.").
		why("You’re receiving this email as the owner of the account.").Message
}

// PayoutsOverLimit notifies the account's owner of due payouts that are beyond the limits of automatic sending.
func PayoutsOverLimit(to, key, program string) Message {
	l := console("payouts_over_limit", key, to)
	l.Subject = "Payouts of " + line(program).plain + " wait for your confirmation"
	return l.says("Payouts of %s are due. Together with what was sent automatically, they are above the limit for a "+
		"run or a day, so none of them was sent.", line(program)).
		says("Check and send the run in the console under Payouts.").
		why("You’re receiving this email as the owner of the account.").Message
}

// ImportEnded notifies the person who started an import of its end. status is done, failed or undone, and how says
// more in a sentence.
func ImportEnded(to, key, program, status, how string, problems int64) Message {
	l := console("import_ended", key, to)
	l.Subject = "The import into " + line(program).plain + " is " + status
	if status == "failed" {
		l.Subject = "The import into " + line(program).plain + " failed"
	}
	l = l.says("%s", line(how))
	if problems > 0 {
		l = l.says("%s problems are listed in the console under Settings, Import.", line(strconv.FormatInt(problems, 10)))
	}
	return l.why("You’re receiving this email because you started the import, or own the account.").Message
}

// PayoutRailChanged notifies the account's owner of a change of a rail; change is the sentence that says it.
func PayoutRailChanged(to, key, program, change string) Message {
	l := console("payout_rail_changed", key, to)
	l.Subject = "A payout rail of " + line(program).plain + " was changed"
	return l.says("%s", line(change)).
		says("The rail sends payouts of %s. If your team did not do this, disconnect the rail in the console "+
			"under Payouts, Rails, and check who can sign in.", line(program)).
		why("You’re receiving this email as the owner of the account.").Message
}

// SignIn sends a console user a sign-in link.
func SignIn(to, key, org, url string) Message {
	l := console("console_sign_in", key, to)
	l.Subject = "Sign in to " + line(org).plain
	return l.says("Sign in to the affiliate program of %s with this link. It works once, for 15 minutes.", line(org)).
		link("Sign in", url).
		says("If you didn’t request it, you can ignore this email.").
		why("You’re receiving this email because someone asked for it on the sign-in page of %s.", line(org)).Message
}

// Password sends a console user a link to set a password.
func Password(to, key, org, url string) Message {
	l := console("console_password", key, to)
	l.Subject = "Your password for " + line(org).plain
	return l.says("Choose a new password for the affiliate program of %s with this link. It works once, for an hour.", line(org)).
		link("Choose a password", url).
		says("If you did not request it, you can ignore this email: your password stays the same.").
		why("You’re receiving this email because someone asked for it on the sign-in page of %s.", line(org)).Message
}

// Invitation sends a link to become a user of the console.
func Invitation(to, key, org, url string) Message {
	l := console("console_invitation", key, to)
	l.Subject = "You are invited to " + line(org).plain
	return l.says("You are invited to work on the affiliate program of %s. Choose a password with this link. "+
		"It works once, for seven days.", line(org)).
		link("Accept the invitation", url).
		why("You’re receiving this email because a person at %s invited you.", line(org)).Message
}

// says adds a paragraph in English.
func (l letter) says(text string, parts ...quote) letter { return l.quotes(english(text, parts)) }

// why sets the reason for a mail in English.
func (l letter) why(text string, parts ...quote) letter {
	l.Foot = english(text, parts).markdown
	return l
}

// english returns a text with its parts, in both forms.
func english(text string, parts []quote) quote {
	plain, markdown := make([]any, len(parts)), make([]any, len(parts))
	for i, p := range parts {
		plain[i], markdown[i] = p.plain, p.markdown
	}
	return quote{fmt.Sprintf(text, plain...), fmt.Sprintf(text, markdown...)}
}
