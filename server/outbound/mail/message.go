package mail

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"
	"github.com/yuin/goldmark"

	"rail/gen/db"
	"rail/server/locale/plain"
)

// reader reads in whose name a mail goes and, for those of a campaign or a sequence, whether
// it does, at the moment of sending: the partner may have unsubscribed since. A mail of the
// product's own has no reader. The read ends also while the server stops, since the mail is marked already.
func (s Sender) reader(ctx context.Context, m db.Mail) (*db.MailReaderRow, error) {
	if m.PartnerID == nil && m.ProgramID == nil {
		return nil, nil //nolint:nilnil // a mail of its own
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	r, err := queries.MailReader(ctx, s.Pool, db.MailReaderParams{ID: m.ID, OrgID: m.OrgID})
	return &r, err
}

// message builds the mail in HTML and in plain text, which for campaigns and
// sequences is the Markdown as written.
func (s Sender) message(m db.Mail, reader *db.MailReaderRow) (*gomail.Msg, error) {
	msg, name := gomail.NewMsg(), s.Name
	if reader != nil && reader.ProgramName != "" {
		name = reader.ProgramName
	}
	msg.FromMailAddress(&mail.Address{Name: printable(name), Address: s.From})
	if err := msg.To(m.Recipient); err != nil {
		return nil, fmt.Errorf("to: %w", err)
	}
	page, err := HTML(s.addressed(m.Body))
	if err != nil {
		return nil, err
	}
	text := m.Body
	if m.Plain != nil {
		text = s.addressed(*m.Plain)
	}
	if m.PartnerID != nil {
		text += s.foot(msg, m, reader, page)
	}
	if reader != nil {
		if to, err := mail.ParseAddress(reader.ReplyTo); err == nil {
			msg.ReplyToMailAddress(to)
		}
		page = s.dressed(page, *reader)
	}
	_, host, _ := strings.Cut(s.From, "@")
	// The same at every attempt, so that a receiver can drop a second copy.
	msg.SetMessageIDWithValue(m.ID + "@" + host)
	msg.SetDateWithValue(m.CreatedAt.Time)
	msg.Subject(m.Subject)
	msg.SetBodyString(gomail.TypeTextPlain, text)
	msg.AddAlternativeString(gomail.TypeTextHTML, page.String())
	return msg, nil
}

// HTML is a text in Markdown as a mail shows it. What is HTML in the text is left out.
func HTML(markdown string) (*bytes.Buffer, error) {
	var page bytes.Buffer
	return &page, goldmark.Convert([]byte(markdown), &page)
}

// printable returns a name in one line without invisible characters, which
// could end a header.
func printable(name string) string { return strings.Join(strings.Fields(plain.Name(name)), " ") }

// foot adds what a mail to many owes its reader: why it was sent, and a way to
// unsubscribe, for people and for mail programs (RFC 8058). It writes the HTML to
// page and returns the plain text.
func (s Sender) foot(msg *gomail.Msg, m db.Mail, reader *db.MailReaderRow, page *bytes.Buffer) string {
	out := unsubscribeURL(s.BaseURL, reader.MailToken)
	msg.SetGenHeader(gomail.HeaderListUnsubscribe, "<"+out+">")
	msg.SetGenHeader(gomail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
	why := "You get this mail as a partner of " + strings.Join(strings.Fields(reader.ProgramName), " ") + "."
	fmt.Fprintf(page, "<hr>\n<p><small>%s <a href=\"%s\">Unsubscribe</a></small></p>\n", html.EscapeString(why),
		html.EscapeString(out))
	if s.Pixel && m.CampaignID != nil {
		fmt.Fprintf(page, "<img src=\"%s\" width=\"1\" height=\"1\" alt=\"\">\n",
			html.EscapeString(s.pixelURL(*m.CampaignID, *m.PartnerID)))
	}
	return "\n\n-- \n" + why + "\nUnsubscribe: " + out + "\n"
}

// unsubscribeURL returns an address that needs no sign-in: the token is enough.
func unsubscribeURL(base, token string) string { return base + "/mail/unsubscribe/" + token }

// pixelURL returns the address of the picture that shows that a mail was opened.
// It bears the server's mark, so that nobody else can make mails look opened.
func (s Sender) pixelURL(campaign, partner string) string {
	return s.BaseURL + "/mail/open/" + campaign + "/" + partner + "/" + s.Keeper.Mark(campaign+" "+partner) + ".gif"
}
