package mail

import "rail/server/locale"

const (
	// own begins the addresses of Rail's own pages in a text. The sender, who knows where the
	// service is reached, puts that in its place.
	own = "rail:///"
	// pressed is the title of a link that the sender draws as a button.
	pressed = "button"
)

// letter is a mail of a program's while it is written, paragraph by paragraph, in its reader's
// language.
type letter struct {
	Message
	to Reader
}

// letter begins a mail to the reader.
func (r Reader) letter(purpose, key string) letter {
	return letter{Message{Purpose: purpose, Key: key, To: r.Email, ProgramID: &r.ProgramID}, r}
}

// name is the program's, as a part of a text.
func (r Reader) name() quote { return line(r.Program) }

// portal is the way into the portal: to the pages of whoever is signed in, and for others to
// the form that asks for a link.
func (r Reader) portal() string { return "portal?program=" + r.ProgramID }

// titled gives the letter its subject.
func (l letter) titled(text string, parts ...quote) letter {
	l.Subject = in(l.to.Locale, text, parts).plain
	return l
}

// says adds a paragraph.
func (l letter) says(text string, parts ...quote) letter {
	return l.quotes(in(l.to.Locale, text, parts))
}

// quotes adds a paragraph of what others wrote.
func (l letter) quotes(q quote) letter {
	if l.Plain != "" {
		l.Plain, l.Markdown = l.Plain+"\n", l.Markdown+"\n"
	}
	l.Plain, l.Markdown = l.Plain+q.plain+"\n", l.Markdown+q.markdown+"\n"
	return l
}

// offers adds a button that leads to one of Rail's pages, by its path.
func (l letter) offers(text, path string) letter {
	return l.quotes(anchor(l.to.Locale.T(text), own+path, ` "`+pressed+`"`))
}

// chosen ends a mail that a partner can choose not to get.
func (l letter) chosen() letter {
	return l.quotes(quote{"--", "---"}).says("You’re receiving this email as a partner of %s.", l.to.name()).
		quotes(anchor(l.to.Locale.T("Email preferences"), own+"portal/settings#notifications", ""))
}

// anchor is a link in a line of its own. title is Markdown's.
func anchor(words, url, title string) quote {
	return quote{words + ": " + url, "[" + line(words).markdown + "](" + url + title + ")"}
}

// in is a text in a language, in both forms.
func in(l *locale.Locale, text string, parts []quote) quote {
	plain, markdown := make([]any, len(parts)), make([]any, len(parts))
	for i, p := range parts {
		plain[i], markdown[i] = p.plain, p.markdown
	}
	return quote{l.T(text, plain...), l.T(text, markdown...)}
}
