package mail

import (
	"strings"

	"rail/server/locale"
)

const (
	// pagePrefix begins the addresses of Rail's pages in a text. The sender replaces it with the service's address.
	pagePrefix = "rail:///"
	// buttonTitle is the title of a link that the sender shows as a button.
	buttonTitle = "button"
)

// letter builds a program's mail, paragraph by paragraph, in the recipient's language.
type letter struct {
	Message
	to Recipient
}

// letter begins a mail to the recipient.
func (r Recipient) letter(purpose, key string) letter {
	l := letter{Message{Purpose: purpose, Key: key, To: r.Email, ProgramID: &r.ProgramID, Language: r.Locale.Language()}, r}
	return l.because("You’re receiving this email as a partner of %s.", r.name())
}

// name returns the program's name as a part of a text.
func (r Recipient) name() quote { return line(r.Program) }

// portal returns the path of the portal: signed-in partners see their pages, others the form for a link.
func (r Recipient) portal() string { return "portal?program=" + r.ProgramID }

// signIn returns the path of a sign-in link. It names the program, whose look the page has.
func (r Recipient) signIn(token string) string {
	return "portal/sign-in/" + token + "?program=" + r.ProgramID
}

// subject sets the subject.
func (l letter) subject(text string, parts ...quote) letter {
	l.Subject = in(l.to.Locale, text, parts).plain
	return l
}

// paragraph adds a paragraph.
func (l letter) paragraph(text string, parts ...quote) letter {
	return l.quotes(in(l.to.Locale, text, parts))
}

// quotes adds a paragraph of text by others.
func (l letter) quotes(q quote) letter {
	if l.Plain != "" {
		l.Plain, l.Markdown = l.Plain+"\n", l.Markdown+"\n"
	}
	l.Plain, l.Markdown = l.Plain+q.plain+"\n", l.Markdown+q.markdown+"\n"
	return l
}

// framed adds text by others as a quotation, so that it does not read as the mail's own words.
func (l letter) framed(text string) letter {
	q := lines(text)
	return l.quotes(quote{"> " + strings.ReplaceAll(q.plain, "\n", "\n> "), "> " + strings.ReplaceAll(q.markdown, "\n", "\n> ")})
}

// button adds a button that opens one of Rail's pages, by its path.
func (l letter) button(text, path string) letter {
	return l.quotes(anchor(l.to.Locale.T(text), pagePrefix+path, ` "`+buttonTitle+`"`))
}

// because sets the reason for the mail, which its foot shows.
func (l letter) because(text string, parts ...quote) letter {
	l.Foot = in(l.to.Locale, text, parts).markdown
	return l
}

// applicant sets the reason for a mail to an address that may not be a partner's.
func (l letter) applicant() letter {
	return l.because("You’re receiving this email because this address was used to apply to %s.", l.to.name())
}

// optional adds a link to the settings with which partners can turn this mail off.
func (l letter) optional() letter {
	l.Foot += "\\\n" + anchor(l.to.Locale.T("Email preferences"), pagePrefix+"portal/settings#notifications", "").markdown
	return l
}

// anchor returns a link on a separate line. title is the link's title in Markdown.
func anchor(words, url, title string) quote {
	return quote{words + ": " + url, "[" + line(words).markdown + "](" + url + title + ")"}
}

// in returns a text in a language, in both forms.
func in(l *locale.Locale, text string, parts []quote) quote {
	plain, markdown := make([]any, len(parts)), make([]any, len(parts))
	for i, p := range parts {
		plain[i], markdown[i] = p.plain, p.markdown
	}
	return quote{l.T(text, plain...), l.T(text, markdown...)}
}
